/* tokenizer_cut.c - where long text is cut, with what a tokenizer does to it before it is split:
 * added tokens, normal form, SentencePiece's spaces. */
#include "data/tokenizer/tokenizer.h"

#include "base/utf8.h"
#include "data/tokenizer/nfc.h"

enum {
  NEAR = 4 * ADDED_LONGEST, /* enough that normal form C of it is as long as any token */
  MOST_TRIES = 2 * ADDED_LONGEST,
};

/* What is near a place, in normal form C; false: no memory. Where text may be cut, both sides of
 * it in normal form are the whole in it. */
static bool normalise_near(mo_buffer *near, size_t *middle, const char *text, size_t length,
                           size_t at)
{
  size_t from = at > NEAR ? at - NEAR : 0;
  const size_t behind = length - at < NEAR ? length - at : NEAR;
  while (from < at && mo_utf8_continues(text[from])) from++;
  if (!nfc_add(near, text + from, at - from)) return false;
  *middle = near->size;
  return nfc_add(near, text + at, behind);
}

/* What a cut does to the tokens that are found in normal form. */
typedef struct late_cut {
  bool parts;  /* one has bytes on both sides */
  bool before; /* one begins right there */
} late_cut;

static late_cut look_at_cut(const mo_tokenizer *t, const char *text, size_t length, size_t at)
{
  mo_buffer near = {0};
  size_t middle = 0;
  late_cut cut = {.parts = true};
  if (normalise_near(&near, &middle, text, length, at)) {
    size_t place = middle;
    cut.parts = added_tokens_cross(&t->found_late, near.data, near.size, middle);
    cut.before = added_tokens_find(&t->found_late, near.data, near.size, &place) != NULL &&
                 place == middle;
  }
  mo_buffer_close(&near);
  return cut;
}

/* Is what looks like a token here one in normal form, too? */
static bool is_late_token(const mo_tokenizer *t, const char *text, size_t length, size_t at)
{
  if (nfc_cut(text, length, at, at) != at) return false;
  const late_cut cut = look_at_cut(t, text, length, at);
  return cut.before && !cut.parts;
}

typedef size_t (*find_cut)(const char *text, size_t length, size_t least, size_t most);

static size_t find_space(const char *text, size_t length, size_t least, size_t most)
{
  (void)length;
  return split_cut_before_space(text, least, most);
}

/* The last place that `find` finds and where no token is parted; 0: none. */
static size_t cut_beside_late(const mo_tokenizer *t, find_cut find, const char *text,
                              size_t length, size_t least, size_t most)
{
  size_t at = find(text, length, least, most);
  if (t->found_late.count == 0) return at;
  for (int tries = 0; at > 0 && look_at_cut(t, text, length, at).parts; tries++)
    at = at > least && tries < MOST_TRIES ? find(text, length, least, at - 1) : 0;
  return at;
}

/* In text without added tokens, but for those that only its normal form has. */
static size_t cut_plain(const mo_tokenizer *t, split_scratch *scratch, bool changes,
                        const char *text, size_t length, size_t least, size_t most)
{
  size_t at = 0;
  /* Where the rule sees other text than this, or none: before a space nothing is joined. */
  if (changes) at = cut_beside_late(t, find_space, text, length, least, most);
  if (changes && at == 0) at = cut_beside_late(t, nfc_cut, text, length, least, most);
  if (t->sentencepiece) at = split_cut_before_space(text, least, most);
  return at > 0 ? at : split_cut(t->rule, scratch, text, length, least, most);
}

/* What lies between two added tokens, where `most` is, or the last such place before it. */
typedef struct token_gap {
  size_t start, end;
  size_t token; /* where the last token before or at `most` begins; 0: there is none */
} token_gap;

static void narrow(token_gap *gap, const added_tokens *tokens, const char *text, size_t most)
{
  for (size_t at = gap->start; at < gap->end;) {
    const added_token *found = added_tokens_find(tokens, text, gap->end, &at);
    if (found == NULL || at > most) {
      gap->end = at;
      return;
    }
    gap->token = at;
    gap->start = at += found->length;
  }
}

size_t tokenizer_cut(const mo_tokenizer *t, split_scratch *scratch, const char *text,
                     size_t length, size_t least, size_t most)
{
  token_gap gap = {.end = length};
  narrow(&gap, &t->found, text, most);
  const char *rest = text + gap.start;
  const size_t rest_length = gap.end - gap.start;
  const bool changes = t->nfc && !nfc_is_certain(rest, rest_length);
  token_gap late = gap; /* where text changes, this is only what it looks like before */
  narrow(&late, &t->found_late, text, most);
  if (late.token >= least && (!changes || late.token == gap.token ||
                              is_late_token(t, rest, rest_length, late.token - gap.start)))
    return late.token;
  if (gap.token >= least) return gap.token;
  if (!changes) gap = late;
  /* Not right behind a token, where some tokenizers put a space. */
  const size_t low = least > gap.start ? least : gap.start + 1;
  if (low > most) return most; /* a token fills the whole range */
  return gap.start + cut_plain(t, scratch, changes, text + gap.start, gap.end - gap.start,
                               low - gap.start, most - gap.start);
}
