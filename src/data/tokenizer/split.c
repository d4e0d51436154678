/* split.c - cuts text into pieces with PCRE2, compiled to machine code. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/tokenizer/split.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <pcre2.h>
#include <string.h>

static const char gpt2_pattern[] = "'(?:[stmd]|re|ve|ll)"
                                   "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
                                   "|\\s+(?!\\S)|\\s+";

enum {
  LONGEST_PATTERN = 1 << 14,
  STACK_BYTES = 1 << 20,
  MATCH_LIMIT = 10000000,
  HEAP_KILOBYTES = 1 << 14,
  WINDOW = 1 << 12, /* how far a match looks at first */
};

struct split_rule {
  pcre2_code *code;
  bool is_gpt2;
};

struct split_scratch {
  pcre2_match_data *match;
  pcre2_match_context *context;
  pcre2_jit_stack *stack;
};

/* Settings at the start of an expression, "(*NO_JIT)" and the like, are not the file's to make:
 * they switch off what keeps memory and time bounded. */
static mousse_status check_pattern(const char *pattern, mo_error *error)
{
  if (strncmp(pattern, "(*", 2) == 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "split rule '%.80s': settings at the start, (*...), are not allowed",
                   pattern);
  if (split_pattern_has_sets(pattern))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "split rule '%.80s': classes within classes, [a[b]] and [a&&b], are not "
                   "supported; a single character is spelled \\[ or \\&",
                   pattern);
  if (strlen(pattern) > LONGEST_PATTERN)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "split rule '%.80s...': longer than %d bytes",
                   pattern, LONGEST_PATTERN);
  return MOUSSE_OK;
}

/* Compiles an expression that is spelled for PCRE2. */
static mousse_status compile(split_rule *rule, const char *pattern, const char *spelled,
                             mo_error *error)
{
  int number = 0;
  PCRE2_SIZE offset = 0;
  char reason[200] = "";
  rule->code =
      pcre2_compile((PCRE2_SPTR)spelled, PCRE2_ZERO_TERMINATED,
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &number, &offset, NULL);
  /* Without JIT (a processor it does not know) matching is slower but the same. */
  if (rule->code != NULL) (void)pcre2_jit_compile(rule->code, PCRE2_JIT_COMPLETE);
  if (rule->code != NULL) return MOUSSE_OK;
  pcre2_get_error_message(number, (PCRE2_UCHAR *)reason, sizeof reason);
  const size_t left = strlen(spelled) - offset, whole = strlen(pattern); /* \s got longer */
  return mo_fail(error, MOUSSE_BAD_FORMAT, "split rule '%.80s': %s at character %zu", pattern,
                 reason, left < whole ? whole - left : 0);
}

mousse_status split_rule_open(split_rule **rule, const char *pattern, mo_error *error)
{
  if (pattern != NULL) MO_TRY(check_pattern(pattern, error));
  const char *text = pattern != NULL ? pattern : gpt2_pattern;
  mo_buffer spelled = {0};
  split_rule *made = mo_allocate(NULL, sizeof *made);
  mousse_status status = MOUSSE_OK;
  if (made == NULL || !split_pattern_spell(text, &spelled)) {
    status = mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a split rule");
  } else {
    made->is_gpt2 = pattern == NULL;
    status = compile(made, text, spelled.data, error);
  }
  mo_buffer_close(&spelled);
  if (status == MOUSSE_OK)
    *rule = made;
  else
    split_rule_close(made);
  return status;
}

void split_rule_close(split_rule *rule)
{
  if (rule == NULL) return;
  if (rule->code != NULL) pcre2_code_free(rule->code);
  mo_release(NULL, rule, sizeof *rule);
}

mousse_status split_scratch_open(split_scratch **scratch, const split_rule *rule,
                                 mo_error *error)
{
  split_scratch *made = mo_allocate(NULL, sizeof *made);
  if (made != NULL) {
    made->match = pcre2_match_data_create_from_pattern(rule->code, NULL);
    made->context = pcre2_match_context_create(NULL);
    made->stack = pcre2_jit_stack_create(32 << 10, STACK_BYTES, NULL);
  }
  if (made == NULL || made->match == NULL || made->context == NULL) {
    split_scratch_close(made);
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to split text");
  }
  /* A rule from a file may be one that backtracks without end. */
  pcre2_set_match_limit(made->context, MATCH_LIMIT);
  pcre2_set_depth_limit(made->context, MATCH_LIMIT);
  pcre2_set_heap_limit(made->context, HEAP_KILOBYTES);
  if (made->stack != NULL) pcre2_jit_stack_assign(made->context, NULL, made->stack);
  *scratch = made;
  return MOUSSE_OK;
}

void split_scratch_close(split_scratch *scratch)
{
  if (scratch == NULL) return;
  if (scratch->stack != NULL) pcre2_jit_stack_free(scratch->stack);
  if (scratch->context != NULL) pcre2_match_context_free(scratch->context);
  if (scratch->match != NULL) pcre2_match_data_free(scratch->match);
  mo_release(NULL, scratch, sizeof *scratch);
}

/* The next match from a place on. It sees at least half a window beyond its end, but no more
 * than it needs: a rule that looks to the end of the text from every place, as a(?=.*z) does,
 * would otherwise take the square of its length. */
static int find_match(const split_rule *rule, split_scratch *scratch, const char *text,
                      size_t length, size_t from)
{
  const PCRE2_SIZE *found = pcre2_get_ovector_pointer(scratch->match);
  for (size_t window = WINDOW;; window *= 2) {
    size_t end = window < length - from ? from + window : length;
    while (end < length && mo_utf8_continues(text[end])) end++;
    const int result = pcre2_match(rule->code, (PCRE2_SPTR)text, end, from, PCRE2_NO_UTF_CHECK,
                                   scratch->match, scratch->context);
    const bool clear = result >= 0 && found[1] + WINDOW / 2 <= end;
    if (end == length || clear || (result < 0 && result != PCRE2_ERROR_NOMATCH)) return result;
  }
}

/* One stretch of valid UTF-8. */
static mousse_status split_valid(const split_rule *rule, split_scratch *scratch,
                                 const char *text, size_t length, split_piece piece, void *user,
                                 mo_error *error)
{
  const PCRE2_SIZE *found = pcre2_get_ovector_pointer(scratch->match);
  size_t done = 0, from = 0;
  while (from < length) {
    const int result = find_match(rule, scratch, text, length, from);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      char reason[200] = "";
      pcre2_get_error_message(result, (PCRE2_UCHAR *)reason, sizeof reason);
      return mo_fail(error, MOUSSE_BAD_FORMAT, "the split rule fails on this text: %s", reason);
    }
    const size_t start = found[0], end = found[1];
    if (end <= start) { /* an empty match: look again after the next character */
      from = start + mo_utf8_sequence(text + start, length - start);
      if (start >= length) break;
      continue;
    }
    if (start > done) MO_TRY(piece(user, text + done, start - done));
    MO_TRY(piece(user, text + start, end - start));
    done = from = end;
  }
  return done < length ? piece(user, text + done, length - done) : MOUSSE_OK;
}

mousse_status split_text(const split_rule *rule, split_scratch *scratch, const char *text,
                         size_t length, split_piece piece, void *user, mo_error *error)
{
  for (size_t at = 0; at < length;) {
    const size_t valid = mo_utf8_prefix(text + at, length - at);
    if (valid > 0) MO_TRY(split_valid(rule, scratch, text + at, valid, piece, user, error));
    at += valid;
    size_t run = 0;
    while (at + run < length && mo_utf8_sequence(text + at + run, length - at - run) == 0)
      run++;
    if (run > 0) MO_TRY(piece(user, text + at, run));
    at += run;
  }
  return MOUSSE_OK;
}

bool split_is_gpt2(const split_rule *rule)
{
  return rule->is_gpt2;
}
