/* split_cut.c - where long text is cut into parts that are encoded one by one. */
#include "base/utf8.h"
#include "data/tokenizer/split.h"

enum { REMEMBERED = 16, AHEAD = 256 };

/* The character that ends at a place; 0 when the bytes there are not UTF-8. */
static uint32_t character_before(const char *text, size_t at)
{
  size_t start = at - 1;
  while (start > 0 && at - start < 4 && mo_utf8_continues(text[start])) start--;
  if (mo_utf8_sequence(text + start, at - start) != at - start) return 0;
  return mo_utf8_character(text + start);
}

/* Unicode's White_Space beyond the ASCII ones. */
static bool is_wide_space(uint32_t c)
{
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static bool is_space(char c)
{
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_visible_before(const char *text, size_t at)
{
  const uint32_t before = character_before(text, at);
  return before > ' ' && before != 127 && !is_wide_space(before);
}

/* For GPT-2's rule, fast and exact: none of its pieces joins a visible character and a space or
 * line end after it. */
static size_t cut_at_space(const char *text, size_t least, size_t most)
{
  for (size_t at = most; at >= least; at--) {
    if (text[at] != ' ' && text[at] != '\n' && text[at] != '\r') continue;
    if (is_visible_before(text, at)) return at;
  }
  return 0;
}

size_t split_cut_before_space(const char *text, size_t least, size_t most)
{
  const uint32_t space = 0x2581; /* SentencePiece's */
  for (size_t at = most; at >= least; at--)
    if (text[at] == ' ' && is_visible_before(text, at) && character_before(text, at) != space)
      return at;
  return 0;
}

/* The ends of the last pieces up to `most`. */
typedef struct ends {
  size_t at, most;
  size_t last[REMEMBERED]; /* end number i is in last[i % REMEMBERED] */
  size_t count;
} ends;

static mousse_status note_end(void *user, const char *piece, size_t length)
{
  ends *e = user;
  (void)piece;
  e->at += length;
  if (e->at > e->most) return MOUSSE_OUT_OF_RANGE; /* enough */
  e->last[e->count++ % REMEMBERED] = e->at;
  return MOUSSE_OK;
}

/* A number that differs when pieces end elsewhere. */
typedef struct trace {
  uint64_t at, sum;
} trace;

static mousse_status trace_end(void *user, const char *piece, size_t length)
{
  trace *t = user;
  (void)piece;
  t->at += length;
  t->sum = (t->sum ^ t->at) * UINT64_C(0x9e3779b97f4a7c15);
  return MOUSSE_OK;
}

/* Do text[from .. at) and text[at .. end) split as text[from .. end) does? */
static bool splits_alike(const split_rule *rule, split_scratch *scratch, const char *text,
                         size_t from, size_t at, size_t end)
{
  trace whole = {0, 0}, parts = {0, 0};
  return split_text(rule, scratch, text + from, end - from, trace_end, &whole, NULL) ==
             MOUSSE_OK &&
         split_text(rule, scratch, text + from, at - from, trace_end, &parts, NULL) ==
             MOUSSE_OK &&
         split_text(rule, scratch, text + at, end - at, trace_end, &parts, NULL) == MOUSSE_OK &&
         whole.sum == parts.sum;
}

/* For any rule: the text is split, and of the last borders the first one that holds is taken,
 * seen from two pieces before it to some way behind it. */
static size_t cut_between_pieces(const split_rule *rule, split_scratch *scratch,
                                 const char *text, size_t length, size_t least, size_t most)
{
  ends e = {.most = most};
  (void)split_text(rule, scratch, text, length, note_end, &e, NULL);
  for (size_t i = e.count; i > 0 && i + REMEMBERED > e.count + 2; i--) {
    const size_t at = e.last[(i - 1) % REMEMBERED];
    const size_t from = i > 2 ? e.last[(i - 3) % REMEMBERED] : 0;
    const size_t end = length - at < AHEAD ? length : at + AHEAD;
    if (at < least) return 0;
    if (splits_alike(rule, scratch, text, from, at, end)) return at;
  }
  return 0;
}

static size_t cut_anywhere(const char *text, size_t least, size_t most)
{
  for (size_t at = most; at >= least; at--)
    if (is_space(text[at]) && !is_space(text[at - 1])) return at;
  size_t at = most;
  while (at > least && most - at < 4 && mo_utf8_continues(text[at])) at--;
  return mo_utf8_continues(text[at]) ? most : at;
}

size_t split_cut(const split_rule *rule, split_scratch *scratch, const char *text,
                 size_t length, size_t least, size_t most)
{
  size_t at = 0;
  if (rule != NULL && split_is_gpt2(rule)) at = cut_at_space(text, least, most);
  if (rule != NULL && at == 0)
    at = cut_between_pieces(rule, scratch, text, length, least, most);
  return at > 0 ? at : cut_anywhere(text, least, most);
}
