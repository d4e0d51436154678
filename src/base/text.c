/* text.c - strict numbers and "did you mean". */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mo_parse_double(const char *text, double *value)
{
  if (text == NULL || *text == '\0' || isspace((unsigned char)*text)) return false;
  /* strtod follows the host program's locale, where a decimal point may be a comma. */
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (c_locale == (locale_t)0) return false;
  char *end = NULL;
  const double parsed = strtod_l(text, &end, c_locale);
  freelocale(c_locale);
  if (end == text || *end != '\0') return false;
  *value = parsed;
  return true;
}

void mo_number_text(double value, char *text, size_t capacity)
{
  char whole[40];
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t before = c_locale != (locale_t)0 ? uselocale(c_locale) : (locale_t)0;
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(whole, sizeof whole, "%.*g", digits, value);
    if (strtod(whole, NULL) == value) break;
  }
  if (c_locale != (locale_t)0) {
    uselocale(before);
    freelocale(c_locale);
  }
  if (capacity == 0) return;
  const size_t length = strlen(whole) < capacity ? strlen(whole) : capacity - 1;
  memcpy(text, whole, length);
  text[length] = '\0';
}

static int64_t suffix_factor(const char *suffix)
{
  if (strcmp(suffix, "") == 0) return 1;
  if (strcmp(suffix, "k") == 0 || strcmp(suffix, "K") == 0) return 1000;
  if (strcmp(suffix, "M") == 0) return 1000000;
  if (strcmp(suffix, "G") == 0) return 1000000000;
  return 0;
}

/* "2e6": a whole number that was written with an exponent. */
static bool parse_whole(const char *text, int64_t *value)
{
  const double largest = 9007199254740992.0;
  double number = 0;
  if (!mo_parse_double(text, &number) || !(number >= -largest && number <= largest))
    return false;
  *value = (int64_t)number;
  return (double)*value == number;
}

bool mo_parse_integer(const char *text, int64_t *value)
{
  if (text == NULL || *text == '\0' || isspace((unsigned char)*text)) return false;
  char *end = NULL;
  errno = 0;
  const long long parsed = strtoll(text, &end, 10);
  if (errno != 0 || end == text) return false;
  if (*end == 'e' || *end == 'E') return parse_whole(text, value);
  const int64_t factor = suffix_factor(end);
  return factor != 0 && !__builtin_mul_overflow((int64_t)parsed, factor, value);
}

static char folded(char c)
{
  return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

enum { LONGEST_NAME = 63 };

/* Optimal string alignment: insertions, deletions, replacements and swapped neighbours. SIZE_MAX
 * as soon as it must be more than most: a file of unknown names is compared with every option. */
static size_t edit_distance(const char *a, const char *b, size_t most)
{
  const size_t a_length = strlen(a), b_length = strlen(b);
  size_t rows[3][LONGEST_NAME + 1];
  size_t *before = rows[0], *last = rows[1], *row = rows[2], least_before = 0;
  if (a_length > LONGEST_NAME || b_length > LONGEST_NAME) return SIZE_MAX;

  for (size_t j = 0; j <= b_length; j++) last[j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t least = row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      size_t best = last[j - 1] + (same ? 0 : 1);
      if (last[j] + 1 < best) best = last[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
          folded(a[i - 2]) == folded(b[j - 1]) && before[j - 2] + 1 < best)
        best = before[j - 2] + 1;
      row[j] = best;
      if (best < least) least = best;
    }
    if (least > most && least_before >= most) return SIZE_MAX; /* a swap skips a row */
    least_before = least;
    size_t *recycled = before;
    before = last;
    last = row;
    row = recycled;
  }
  return last[b_length];
}

mo_suggestion mo_suggest(const char *word)
{
  return (mo_suggestion){.word = word, .distance = SIZE_MAX};
}

void mo_suggest_from(mo_suggestion *suggestion, const char *name)
{
  const size_t length = strlen(suggestion->word), other = strlen(name);
  const size_t apart = length > other ? length - other : other - length; /* at least that far */
  const size_t near_enough = length / 3 + 1;
  if (apart > near_enough || apart >= suggestion->distance) return;
  const size_t distance = edit_distance(suggestion->word, name, near_enough);
  if (distance > near_enough || distance >= suggestion->distance) return;
  suggestion->best = name;
  suggestion->distance = distance;
}

void mo_list_add(char *list, size_t capacity, const char *name)
{
  const size_t used = strlen(list);
  const size_t needed = strlen(name) + (used > 0 ? 2 : 0);
  if (needed < capacity - used)
    snprintf(list + used, capacity - used, "%s%s", used > 0 ? ", " : "", name);
}
