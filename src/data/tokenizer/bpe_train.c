/* bpe_train.c - learns a byte-level BPE vocabulary from text.
 *
 * Each pair of neighbouring tokens keeps its count and the words it has been seen in, so a
 * merge touches only these words. The next pair comes from a heap whose entries may be stale:
 * an entry counts only if its count is still the pair's.
 */
#include "data/tokenizer/bpe_train.h"

#include "base/heap.h"
#include "data/tokenizer/alphabet.h"

#include <stdio.h>
#include <string.h>

typedef struct word {
  size_t start, length; /* in symbols */
  uint64_t count;
} word;

typedef struct counted_pair {
  uint32_t left, right;
  uint64_t count;
  uint32_t *words; /* owned; some may no longer hold the pair */
  size_t word_count, word_capacity;
  bool touched; /* its count grew in the merge going on */
} counted_pair;

struct bpe_trainer {
  split_rule *rule;
  split_scratch *scratch;
  mo_text_table texts; /* the distinct words */
  uint64_t *counts;    /* how often each was seen */
  size_t count_capacity;
  word *words;
  uint32_t *symbols; /* of all words, one after the other */
  size_t symbol_capacity;
  counted_pair *pairs;
  size_t pair_capacity;
  mo_pair_table index; /* rank = place in pairs */
  mo_heap heap;        /* of (2^64 - 1 - count, left << 32 | right) */
  size_t *places;      /* in the word being merged: where the new symbols are */
  size_t place_count, place_capacity;
  uint32_t *touched; /* pairs to put on the heap after the merge going on */
  size_t touched_count, touched_capacity;
};

mousse_status bpe_trainer_open(bpe_trainer **trainer, mo_error *error)
{
  bpe_trainer *made = mo_allocate(NULL, sizeof *made);
  if (made == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to train a tokenizer");
  mousse_status status = split_rule_open(&made->rule, NULL, error);
  if (status == MOUSSE_OK) status = split_scratch_open(&made->scratch, made->rule, error);
  if (status != MOUSSE_OK) {
    bpe_trainer_close(made);
    return status;
  }
  *trainer = made;
  return MOUSSE_OK;
}

void bpe_trainer_close(bpe_trainer *t)
{
  if (t == NULL) return;
  for (size_t i = 0; i < t->index.count; i++)
    mo_release(NULL, t->pairs[i].words, t->pairs[i].word_capacity * sizeof *t->pairs[i].words);
  mo_release(NULL, t->pairs, t->pair_capacity * sizeof *t->pairs);
  mo_pair_table_close(&t->index);
  mo_heap_close(&t->heap);
  mo_release(NULL, t->places, t->place_capacity * sizeof *t->places);
  mo_release(NULL, t->touched, t->touched_capacity * sizeof *t->touched);
  mo_release(NULL, t->words, t->texts.count * sizeof *t->words);
  mo_release(NULL, t->symbols, t->symbol_capacity * sizeof *t->symbols);
  mo_release(NULL, t->counts, t->count_capacity * sizeof *t->counts);
  mo_text_table_close(&t->texts);
  split_scratch_close(t->scratch);
  split_rule_close(t->rule);
  mo_release(NULL, t, sizeof *t);
}

static mousse_status count_word(void *user, const char *piece, size_t length)
{
  bpe_trainer *t = user;
  uint32_t number = 0;
  bool added = false;
  if (!mo_text_table_add(&t->texts, piece, length, &number, &added) ||
      !mo_grow(NULL, &t->counts, &t->count_capacity, (size_t)number + 1, sizeof *t->counts))
    return MOUSSE_NO_MEMORY;
  t->counts[number]++;
  return MOUSSE_OK;
}

mousse_status bpe_trainer_add(bpe_trainer *t, const char *text, size_t length, mo_error *error)
{
  const mousse_status status =
      split_text(t->rule, t->scratch, text, length, count_word, t, error);
  if (status != MOUSSE_NO_MEMORY) return status;
  return mo_fail(error, status, "no memory to count the words of the text");
}

size_t bpe_trainer_cut(bpe_trainer *t, const char *text, size_t length, size_t least,
                       size_t most)
{
  return split_cut(t->rule, t->scratch, text, length, least, most);
}

/* The most frequent pair comes first, of equals the one with the smallest ids. */
static bool push(bpe_trainer *t, uint32_t number)
{
  const counted_pair *p = &t->pairs[number];
  const uint64_t ids = (uint64_t)p->left << 32 | p->right;
  return mo_heap_push(&t->heap, (mo_heap_entry){UINT64_MAX - p->count, ids});
}

/* The record of a pair, made when it is new; NULL when there is no memory. */
static counted_pair *pair_of(bpe_trainer *t, uint32_t left, uint32_t right)
{
  const mo_pair_slot *slot = mo_pair_table_find(&t->index, left, right);
  if (slot != NULL) return &t->pairs[slot->rank];
  const uint32_t number = t->index.count;
  if (!mo_grow(NULL, &t->pairs, &t->pair_capacity, (size_t)number + 1, sizeof *t->pairs) ||
      !mo_pair_table_add(&t->index, (mo_pair_slot){left, right, number, 0}))
    return NULL;
  t->pairs[number].left = left;
  t->pairs[number].right = right;
  return &t->pairs[number];
}

static bool note_word(counted_pair *p, uint32_t number)
{
  if (p->word_count > 0 && p->words[p->word_count - 1] == number) return true;
  if (!mo_grow(NULL, &p->words, &p->word_capacity, p->word_count + 1, sizeof *p->words))
    return false;
  p->words[p->word_count++] = number;
  return true;
}

static bool fill_words(bpe_trainer *t, const mo_tokenizer *tokenizer)
{
  t->words = mo_allocate(NULL, t->texts.count * sizeof *t->words);
  if (t->words == NULL ||
      !mo_grow(NULL, &t->symbols, &t->symbol_capacity, t->texts.pool_used, sizeof *t->symbols))
    return false;
  for (uint32_t number = 0; number < t->texts.count; number++) {
    word *w = &t->words[number];
    const char *text = mo_text_table_get(&t->texts, number, &w->length);
    w->start = t->texts.starts[number];
    w->count = t->counts[number];
    for (size_t i = 0; i < w->length; i++)
      t->symbols[w->start + i] = tokenizer->byte_ids[(unsigned char)text[i]];
    for (size_t i = 0; i + 1 < w->length; i++) {
      counted_pair *p = pair_of(t, t->symbols[w->start + i], t->symbols[w->start + i + 1]);
      if (p == NULL || !note_word(p, number)) return false;
      p->count += w->count;
    }
  }
  for (uint32_t i = 0; i < t->index.count; i++)
    if (!push(t, i)) return false;
  return true;
}

/* Pairs first .. end - 1 of a word lose its count. */
static void take_away(bpe_trainer *t, const word *w, size_t first, size_t end)
{
  const uint32_t *s = t->symbols + w->start;
  for (size_t p = first; p < end && p + 1 < w->length; p++)
    /* gcc-suppress null-dereference - every pair of a word has been added: none needs memory */
    pair_of(t, s[p], s[p + 1])->count -= w->count;
}

/* Replaces left right by result in one word and notes where. Pairs that vanish, these two and
 * the ones with their neighbours, lose the word's count; a pair between two such places does so
 * once. What is still to be read has not been written over: the word only gets shorter. */
static bool merge_symbols(bpe_trainer *t, word *w, uint32_t left, uint32_t right,
                          uint32_t result)
{
  uint32_t *s = t->symbols + w->start;
  size_t kept = 0, settled = 0; /* pairs before `settled` are done */
  t->place_count = 0;
  for (size_t i = 0; i < w->length; kept++) {
    const bool joins = i + 1 < w->length && s[i] == left && s[i + 1] == right;
    if (joins) {
      take_away(t, w, i > settled ? i - 1 : settled, i + 2);
      settled = i + 2;
      if (!mo_grow(NULL, &t->places, &t->place_capacity, t->place_count + 1, sizeof *t->places))
        return false;
      t->places[t->place_count++] = kept;
    }
    s[kept] = joins ? result : s[i];
    i += joins ? 2 : 1;
  }
  w->length = kept;
  return true;
}

static bool touch(bpe_trainer *t, counted_pair *p)
{
  if (p->touched) return true;
  if (!mo_grow(NULL, &t->touched, &t->touched_capacity, t->touched_count + 1,
               sizeof *t->touched))
    return false;
  p->touched = true;
  t->touched[t->touched_count++] = (uint32_t)(p - t->pairs);
  return true;
}

/* One word: the pairs of each new symbol with its neighbours get the count, and learn of it. */
static bool merge_word(bpe_trainer *t, uint32_t number, uint32_t left, uint32_t right,
                       uint32_t result)
{
  word *w = &t->words[number];
  if (!merge_symbols(t, w, left, right, result)) return false;
  const uint32_t *s = t->symbols + w->start;
  size_t settled = 0; /* pairs before it are done */
  for (size_t k = 0; k < t->place_count; k++) {
    const size_t at = t->places[k];
    for (size_t i = at > settled ? at - 1 : settled; i <= at && i + 1 < w->length; i++) {
      counted_pair *p = pair_of(t, s[i], s[i + 1]);
      if (p == NULL || !note_word(p, number) || !touch(t, p)) return false;
      p->count += w->count;
    }
    settled = at + 1;
  }
  return true;
}

static bool merge_everywhere(bpe_trainer *t, uint32_t number, uint32_t result)
{
  const uint32_t left = t->pairs[number].left, right = t->pairs[number].right;
  /* The list may grow or move while it is walked: a pair such as (a, a) makes itself again. */
  for (size_t i = 0; i < t->pairs[number].word_count; i++)
    if (!merge_word(t, t->pairs[number].words[i], left, right, result)) return false;
  for (; t->touched_count > 0; t->touched_count--) {
    const uint32_t grown = t->touched[t->touched_count - 1];
    t->pairs[grown].touched = false;
    if (!push(t, grown)) return false;
  }
  return true;
}

/* The most frequent pair there is now; false when none is left. */
static bool best_pair(bpe_trainer *t, uint32_t *number, bool *memory)
{
  *memory = true;
  while (t->heap.count > 0) {
    const mo_heap_entry top = mo_heap_pop(&t->heap);
    const uint32_t left = (uint32_t)(top.second >> 32), right = (uint32_t)top.second;
    *number = mo_pair_table_find(&t->index, left, right)->rank;
    const uint64_t then = UINT64_MAX - top.first, count = t->pairs[*number].count;
    if (count == then && count > 0) return true;
    if (count < then && count > 0 && !push(t, *number)) {
      *memory = false;
      return false;
    }
  }
  return false;
}

/* The token that a merge makes: a new one, or one that another merge has made. */
static mousse_status join_tokens(mo_tokenizer *tokenizer, uint32_t left, uint32_t right,
                                 uint32_t *result, mo_error *error)
{
  size_t left_length = 0, right_length = 0;
  const char *text = tokenizer_bytes(tokenizer, left, &left_length);
  (void)tokenizer_bytes(tokenizer, right, &right_length);
  const size_t length = left_length + right_length;
  char *joined = mo_allocate(NULL, length);
  if (joined == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a token");
  memcpy(joined, text, left_length);
  memcpy(joined + left_length, tokenizer_bytes(tokenizer, right, &right_length), right_length);
  mousse_status status = MOUSSE_OK;
  if (!mo_text_table_find(&tokenizer->tokens, joined, length, result)) {
    *result = tokenizer->tokens.count;
    status = tokenizer_add_token(tokenizer, joined, length, false, error);
  }
  if (status == MOUSSE_OK)
    status = tokenizer_add_merge(tokenizer, joined, left_length, joined + left_length,
                                 right_length, error);
  mo_release(NULL, joined, length);
  return status;
}

static mousse_status learn(bpe_trainer *t, uint32_t vocabulary, mo_tokenizer *tokenizer,
                           mo_error *error)
{
  bool memory = fill_words(t, tokenizer);
  while (memory && tokenizer->tokens.count + 1 < vocabulary) {
    uint32_t number = 0, result = 0;
    if (!best_pair(t, &number, &memory)) break;
    MO_TRY(
        join_tokens(tokenizer, t->pairs[number].left, t->pairs[number].right, &result, error));
    memory = merge_everywhere(t, number, result);
  }
  if (!memory) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to train a tokenizer");
  if (tokenizer->tokens.count + 1 < vocabulary)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "the text is too small for a vocabulary of %u tokens; it gives at most %u",
                   vocabulary, tokenizer->tokens.count + 1);
  return MOUSSE_OK;
}

static mousse_status start_tokenizer(mo_tokenizer *tokenizer, mo_error *error)
{
  for (unsigned k = 0; k < 256; k++) {
    const char byte = (char)alphabet_byte_at(k);
    MO_TRY(tokenizer_add_token(tokenizer, &byte, 1, false, error));
    tokenizer->byte_ids[(unsigned char)byte] = k;
  }
  return MOUSSE_OK;
}

mousse_status bpe_trainer_finish(bpe_trainer *trainer, uint32_t vocabulary,
                                 mo_tokenizer *tokenizer, mo_error *error)
{
  *tokenizer = (struct mo_tokenizer){0};
  if (vocabulary < BPE_SMALLEST_VOCABULARY || vocabulary > BPE_LARGEST_VOCABULARY)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "a vocabulary of %u tokens; expected %d to %d",
                   vocabulary, BPE_SMALLEST_VOCABULARY, BPE_LARGEST_VOCABULARY);
  mousse_status status = start_tokenizer(tokenizer, error);
  if (status == MOUSSE_OK) status = learn(trainer, vocabulary, tokenizer, error);
  if (status == MOUSSE_OK)
    status = tokenizer_add_token(tokenizer, TOKENIZER_END_OF_TEXT,
                                 strlen(TOKENIZER_END_OF_TEXT), true, error);
  if (status == MOUSSE_OK) status = tokenizer_finish(tokenizer, "trained BPE", NULL, error);
  if (status != MOUSSE_OK) tokenizer_close(tokenizer);
  return status;
}
