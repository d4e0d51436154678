/* split.c - cuts text into pieces with PCRE2, compiled to machine code. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/tokenizer/split.h"

#include "base/memory.h"
#include "data/tokenizer/alphabet.h"

#include <pcre2.h>
#include <string.h>

#define WHITE                                                                                  \
  "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"     \
  "\\x{3000}"

static const char gpt2_pattern[] = "'(?:[stmd]|re|ve|ll)"
                                   "| ?\\p{L}+| ?\\p{N}+| ?[^" WHITE "\\p{L}\\p{N}]+"
                                   "|[" WHITE "]+(?![^" WHITE "])|[" WHITE "]+";

struct split_rule {
  pcre2_code *code;
  bool is_gpt2;
};

struct split_scratch {
  pcre2_match_data *match;
  pcre2_match_context *context;
  pcre2_jit_stack *stack;
};

mousse_status split_rule_open(split_rule **rule, const char *pattern, mo_error *error)
{
  int number = 0;
  PCRE2_SIZE offset = 0;
  split_rule *made = mo_allocate(NULL, sizeof *made);
  if (made == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a split rule");
  const char *text = pattern != NULL ? pattern : gpt2_pattern;
  made->is_gpt2 = pattern == NULL;
  made->code =
      pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &number, &offset, NULL);
  if (made->code == NULL) {
    char reason[200] = "";
    pcre2_get_error_message(number, (PCRE2_UCHAR *)reason, sizeof reason);
    split_rule_close(made);
    return mo_fail(error, MOUSSE_BAD_FORMAT, "split rule '%.80s': %s at character %zu", text,
                   reason, (size_t)offset);
  }
  /* Without JIT (a processor it does not know) matching is slower but the same. */
  (void)pcre2_jit_compile(made->code, PCRE2_JIT_COMPLETE);
  *rule = made;
  return MOUSSE_OK;
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
  enum { STACK_BYTES = 1 << 20, MATCH_LIMIT = 10000000 };
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

/* One stretch of valid UTF-8. */
static mousse_status split_valid(const split_rule *rule, split_scratch *scratch,
                                 const char *text, size_t length, split_piece piece, void *user,
                                 mo_error *error)
{
  const PCRE2_SIZE *found = pcre2_get_ovector_pointer(scratch->match);
  size_t done = 0, from = 0;
  while (from < length) {
    const int result = pcre2_match(rule->code, (PCRE2_SPTR)text, length, from,
                                   PCRE2_NO_UTF_CHECK, scratch->match, scratch->context);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      char reason[200] = "";
      pcre2_get_error_message(result, (PCRE2_UCHAR *)reason, sizeof reason);
      return mo_fail(error, MOUSSE_BAD_FORMAT, "the split rule fails on this text: %s", reason);
    }
    const size_t start = found[0], end = found[1];
    if (end <= start) { /* an empty match: look again after the next character */
      from = start + utf8_sequence(text + start, length - start);
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
    const size_t valid = utf8_prefix(text + at, length - at);
    if (valid > 0) MO_TRY(split_valid(rule, scratch, text + at, valid, piece, user, error));
    at += valid;
    size_t run = 0;
    while (at + run < length && utf8_sequence(text + at + run, length - at - run) == 0) run++;
    if (run > 0) MO_TRY(piece(user, text + at, run));
    at += run;
  }
  return MOUSSE_OK;
}

static bool is_cut(unsigned char before, unsigned char after)
{
  return before > ' ' && before < 127 && (after == ' ' || after == '\n' || after == '\r');
}

size_t split_cut(const split_rule *rule, const char *text, size_t length, size_t least)
{
  if (!rule->is_gpt2) return 0;
  for (size_t at = length; at-- > 1 && at >= least;)
    if (is_cut((unsigned char)text[at - 1], (unsigned char)text[at])) return at;
  return 0;
}
