/* split_pattern.c - a rule's expression as PCRE2 gets it: \s and \S are Unicode's White_Space and
 * the rest, as those who wrote the rules have them. PCRE2's own takes U+180E for a space, too. */
#include "data/tokenizer/split.h"

#include <string.h>

/* Each ends with a range: a hyphen behind it stays a hyphen. */
#define WHITE                                                                                  \
  "\\x20\\x{85}\\x{a0}\\x{1680}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\t-\\r"           \
  "\\x{2000}-\\x{200a}"
#define VISIBLE                                                                                \
  "\\x00-\\x08\\x0e-\\x1f\\x21-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}"     \
  "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"               \
  "\\x{3001}-\\x{10ffff}"

/* How much of the expression is copied as it is: a quotation, a name of characters, an escaped
 * character or a plain one. */
static size_t plain_length(const char *at, bool in_class)
{
  const char *end = NULL;
  if (at[0] == '\\' && at[1] == 'Q') end = strstr(at + 2, "\\E");
  if (in_class && at[0] == '[' && at[1] == ':') end = strstr(at + 2, ":]");
  if (end != NULL) return (size_t)(end - at) + 2;
  if (at[0] == '\\' && at[1] == 'Q') return strlen(at); /* to the end */
  return at[0] == '\\' && at[1] != '\0' ? 2 : 1;
}

static bool add(mo_buffer *out, const char *text)
{
  return mo_buffer_add(out, text, strlen(text));
}

static bool add_space(mo_buffer *out, bool white, bool in_class)
{
  if (in_class) return add(out, white ? WHITE : VISIBLE);
  return add(out, white ? "[" WHITE "]" : "[^" WHITE "]");
}

/* The start of a class: a ] there is one of its characters. */
static size_t class_start(const char *at)
{
  const size_t length = at[1] == '^' ? 2 : 1;
  return at[length] == ']' ? length + 1 : length;
}

bool split_pattern_has_sets(const char *pattern)
{
  bool in_class = false;
  for (const char *at = pattern; *at != '\0';) {
    const bool opens = !in_class && *at == '[';
    if (in_class && ((at[0] == '[' && at[1] != ':') || (at[0] == '&' && at[1] == '&')))
      return true;
    const size_t length = opens ? class_start(at) : plain_length(at, in_class);
    if (opens || (in_class && *at == ']')) in_class = opens;
    at += length;
  }
  return false;
}

bool split_pattern_spell(const char *pattern, mo_buffer *out)
{
  bool in_class = false, fine = true;
  for (const char *at = pattern; *at != '\0' && fine;) {
    const bool opens = !in_class && *at == '[';
    if (at[0] == '\\' && (at[1] == 's' || at[1] == 'S')) {
      fine = add_space(out, at[1] == 's', in_class);
      at += 2;
      continue;
    }
    const size_t length = opens ? class_start(at) : plain_length(at, in_class);
    if (opens || (in_class && *at == ']')) in_class = opens;
    fine = mo_buffer_add(out, at, length);
    at += length;
  }
  return fine && mo_buffer_add(out, "", 1);
}
