/* encoder.c - text to ids: merges by a heap, so that a piece of n bytes takes n log n however
 * it looks, behind a cache of recent words, which most of any text consists of. */
#include "data/tokenizer/tokenizer.h"

#include "base/heap.h"
#include "base/utf8.h"
#include "data/tokenizer/nfc.h"
#include "data/tokenizer/sentencepiece.h"

#include <string.h>

enum { CACHE_SLOTS = 1 << 15, CACHED_BYTES = 22, CACHED_IDS = 10, LONGEST_PART = 1 << 20 };

/* One cache line; length 0 is free. A new word replaces the one in its slot. */
typedef struct cached_word {
  uint8_t length, count;
  char text[CACHED_BYTES];
  uint32_t ids[CACHED_IDS];
} cached_word;

#define NO_RANK UINT32_MAX

/* The tokens of a piece as a doubly linked list over the places of its bytes. */
typedef struct merge_node {
  uint32_t id, previous, next;
  uint32_t rank; /* of the merge with the next node; NO_RANK: none, or no longer a node */
} merge_node;

struct mo_encoder {
  const mo_tokenizer *tokenizer; /* borrowed */
  split_scratch *scratch;
  cached_word *cache;
  merge_node *nodes;
  size_t node_capacity;
  mo_heap heap;    /* of (rank, place): the smallest is the next merge */
  mo_buffer text;  /* that was changed before it is encoded */
  mo_id_list *out; /* borrowed while encoding */
};

mousse_status encoder_open(mo_encoder **encoder, const mo_tokenizer *tokenizer, mo_error *error)
{
  struct mo_encoder *made = mo_allocate(NULL, sizeof *made);
  if (made != NULL) made->cache = mo_allocate(NULL, CACHE_SLOTS * sizeof *made->cache);
  if (made == NULL || made->cache == NULL) {
    encoder_close(made);
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for an encoder");
  }
  made->tokenizer = tokenizer;
  if (tokenizer->rule != NULL) {
    const mousse_status status = split_scratch_open(&made->scratch, tokenizer->rule, error);
    if (status != MOUSSE_OK) {
      encoder_close(made);
      return status;
    }
  }
  *encoder = made;
  return MOUSSE_OK;
}

void encoder_close(mo_encoder *encoder)
{
  if (encoder == NULL) return;
  split_scratch_close(encoder->scratch);
  mo_release(NULL, encoder->cache, CACHE_SLOTS * sizeof *encoder->cache);
  mo_release(NULL, encoder->nodes, encoder->node_capacity * sizeof *encoder->nodes);
  mo_heap_close(&encoder->heap);
  mo_buffer_close(&encoder->text);
  mo_release(NULL, encoder, sizeof *encoder);
}

/* Looks up what node `at` and the one after it merge to, and queues it. */
static bool queue_pair(mo_encoder *encoder, uint32_t at, uint32_t end)
{
  merge_node *n = &encoder->nodes[at];
  n->rank = NO_RANK;
  if (n->next == end) return true;
  const mo_pair_slot *pair =
      mo_pair_table_find(&encoder->tokenizer->pairs, n->id, encoder->nodes[n->next].id);
  if (pair == NULL) return true;
  n->rank = pair->rank;
  return mo_heap_push(&encoder->heap, (mo_heap_entry){pair->rank, at});
}

/* Joins node `at` with the next one; its neighbours get new pairs. */
static bool merge(mo_encoder *encoder, uint32_t at, uint32_t end)
{
  merge_node *n = &encoder->nodes[at], *gone = &encoder->nodes[n->next];
  n->id = mo_pair_table_find(&encoder->tokenizer->pairs, n->id, gone->id)->result;
  n->next = gone->next;
  gone->rank = NO_RANK;
  if (n->next != end) encoder->nodes[n->next].previous = at;
  return queue_pair(encoder, at, end) && (at == 0 || queue_pair(encoder, n->previous, end));
}

/* The ids that a piece starts as, one node each; returns how many. */
static uint32_t start_ids(const mo_encoder *encoder, const char *piece, size_t length)
{
  const mo_tokenizer *t = encoder->tokenizer;
  uint32_t count = 0;
  for (size_t at = 0, step = 1; at < length; at += step) {
    uint32_t ids[4] = {t->byte_ids[(unsigned char)piece[at]]};
    const size_t made =
        t->sentencepiece ? sentencepiece_start(t, piece + at, length - at, ids, &step) : 1;
    for (size_t i = 0; i < made; i++) encoder->nodes[count++].id = ids[i];
  }
  return count;
}

static bool start_nodes(mo_encoder *encoder, const char *piece, size_t length, uint32_t *end)
{
  if (!mo_grow(NULL, &encoder->nodes, &encoder->node_capacity, length, sizeof(merge_node)))
    return false;
  const uint32_t count = start_ids(encoder, piece, length);
  for (uint32_t i = 0; i < count; i++) {
    encoder->nodes[i].previous = i - 1;
    encoder->nodes[i].next = i + 1;
  }
  encoder->heap.count = 0;
  for (uint32_t i = 0; i < count; i++)
    if (!queue_pair(encoder, i, count)) return false;
  *end = count;
  return true;
}

/* Appends the ids of one piece by merging; false when there is no memory. */
static bool merge_piece(mo_encoder *encoder, const char *piece, size_t length)
{
  const mo_tokenizer *t = encoder->tokenizer;
  mo_id_list *out = encoder->out;
  uint32_t whole = 0;
  if (!mo_id_list_reserve(out, length)) return false;
  if (t->whole_words && mo_text_table_find(&t->tokens, piece, length, &whole) &&
      !tokenizer_is_special(t, whole)) {
    out->ids[out->count++] = whole;
    return true;
  }
  uint32_t end = 0;
  if (!start_nodes(encoder, piece, length, &end)) return false;
  while (encoder->heap.count > 0) {
    const mo_heap_entry entry = mo_heap_pop(&encoder->heap);
    const uint32_t at = (uint32_t)entry.second;
    if (encoder->nodes[at].rank != entry.first) continue; /* a neighbour has merged since */
    if (!merge(encoder, at, end)) return false;
  }
  for (uint32_t at = 0; at != end; at = encoder->nodes[at].next)
    out->ids[out->count++] = encoder->nodes[at].id;
  return true;
}

/* At most CACHED_BYTES bytes, with two or three possibly overlapping loads. */
static size_t cache_slot(const char *piece, size_t length)
{
  uint64_t first = 0, middle = 0, last = 0;
  if (length >= 8) {
    memcpy(&first, piece, 8);
    memcpy(&middle, piece + (length - 8) / 2, 8);
    memcpy(&last, piece + length - 8, 8);
  } else {
    for (size_t i = 0; i < length; i++) first = first << 8 | (unsigned char)piece[i];
  }
  uint64_t hash = (first ^ length) * UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ hash >> 32 ^ middle) * UINT64_C(0xbf58476d1ce4e5b9);
  hash = (hash ^ hash >> 32 ^ last) * UINT64_C(0x94d049bb133111eb);
  return (size_t)(hash >> 40) & (CACHE_SLOTS - 1);
}

/* A piece of any length, in parts that need little memory; no character is cut. */
static mousse_status merge_long(mo_encoder *encoder, const char *piece, size_t length)
{
  for (size_t at = 0, part = 0; at < length; at += part) {
    part = length - at;
    if (part > LONGEST_PART)
      for (part = LONGEST_PART; part > LONGEST_PART - 4; part--)
        if (!mo_utf8_continues(piece[at + part])) break;
    if (!merge_piece(encoder, piece + at, part)) return MOUSSE_NO_MEMORY;
  }
  return MOUSSE_OK;
}

static mousse_status add_piece(void *user, const char *piece, size_t length)
{
  mo_encoder *encoder = user;
  mo_id_list *out = encoder->out;
  if (length > CACHED_BYTES) return merge_long(encoder, piece, length);
  cached_word *word = &encoder->cache[cache_slot(piece, length)];
  if (word->length == length && memcmp(word->text, piece, length) == 0) {
    if (!mo_id_list_reserve(out, CACHED_IDS)) return MOUSSE_NO_MEMORY;
    memcpy(out->ids + out->count, word->ids, sizeof word->ids);
    out->count += word->count;
    return MOUSSE_OK;
  }
  const size_t before = out->count;
  if (!merge_piece(encoder, piece, length)) return MOUSSE_NO_MEMORY;
  if (out->count - before > CACHED_IDS) return MOUSSE_OK;
  word->length = (uint8_t)length;
  word->count = (uint8_t)(out->count - before);
  memcpy(word->text, piece, length);
  memcpy(word->ids, out->ids + before, word->count * sizeof *word->ids);
  return MOUSSE_OK;
}

static mousse_status encode_bytes(const char *text, size_t length, mo_id_list *ids)
{
  if (!mo_id_list_reserve(ids, length)) return MOUSSE_NO_MEMORY;
  for (size_t i = 0; i < length; i++) ids->ids[ids->count + i] = (unsigned char)text[i];
  ids->count += length;
  return MOUSSE_OK;
}

static mousse_status encode_spelled(mo_encoder *encoder, bool starts, const char *text,
                                    size_t length)
{
  const mo_tokenizer *t = encoder->tokenizer;
  mo_buffer *spelled = &encoder->text;
  spelled->size = 0;
  if (!sentencepiece_spell(t, text, length, starts, spelled)) return MOUSSE_NO_MEMORY;
  return sentencepiece_cut(t, spelled->data, spelled->size, add_piece, encoder);
}

/* Text in which no added token is looked for any more. starts: as if it began a document. */
static mousse_status encode_plain(mo_encoder *encoder, bool starts, const char *text,
                                  size_t length, mo_error *error)
{
  const mo_tokenizer *t = encoder->tokenizer;
  if (t->sentencepiece) return encode_spelled(encoder, starts, text, length);
  if (t->rule == NULL) return encode_bytes(text, length, encoder->out);
  return split_text(t->rule, encoder->scratch, text, length, add_piece, encoder, error);
}

typedef mousse_status (*encode_part)(mo_encoder *encoder, bool starts, const char *text,
                                     size_t length, mo_error *error);

/* The added tokens of text, and by `part` what lies between them. */
static mousse_status encode_between(mo_encoder *encoder, const added_tokens *tokens,
                                    encode_part part, bool starts, const char *text,
                                    size_t length, mo_error *error)
{
  mo_id_list *out = encoder->out;
  for (size_t done = 0;;) {
    size_t at = done;
    const added_token *found = added_tokens_find(tokens, text, length, &at);
    if (at > done) MO_TRY(part(encoder, starts, text + done, at - done, error));
    if (found == NULL) return MOUSSE_OK;
    if (!mo_id_list_reserve(out, 1)) return MOUSSE_NO_MEMORY;
    out->ids[out->count++] = found->id;
    starts = tokenizer_starts_behind(encoder->tokenizer, found->id);
    done = at + found->length;
  }
}

/* Text in the normal form that the tokenizer's file wants, in the encoder's memory where that
 * changes it; then its tokens that are found in such text. */
static mousse_status encode_normal(mo_encoder *encoder, bool starts, const char *text,
                                   size_t length, mo_error *error)
{
  const mo_tokenizer *t = encoder->tokenizer;
  if (t->nfc && !nfc_is_certain(text, length)) {
    encoder->text.size = 0;
    if (!nfc_add(&encoder->text, text, length)) return MOUSSE_NO_MEMORY;
    text = encoder->text.data;
    length = encoder->text.size;
  }
  return encode_between(encoder, &t->found_late, encode_plain, starts, text, length, error);
}

static mousse_status encode(mo_encoder *encoder, bool starts, const char *text, size_t length,
                            mo_id_list *ids, mo_error *error)
{
  if (error != NULL) error->text[0] = '\0';
  encoder->out = ids;
  const mousse_status status = encode_between(encoder, &encoder->tokenizer->found,
                                              encode_normal, starts, text, length, error);
  encoder->out = NULL;
  if (status == MOUSSE_NO_MEMORY)
    return mo_fail(error, status, "no memory to encode %zu bytes of text", length);
  return status;
}

mousse_status encoder_encode(mo_encoder *encoder, const char *text, size_t length,
                             mo_id_list *ids, mo_error *error)
{
  return encode(encoder, true, text, length, ids, error);
}

mousse_status encoder_go_on(mo_encoder *encoder, const char *text, size_t length,
                            mo_id_list *ids, mo_error *error)
{
  return encode(encoder, false, text, length, ids, error);
}
