/* tokenizer_build.c - a tokenizer from its parts, with the checks that every source shares. */
#include "data/tokenizer/tokenizer.h"

#include "data/tokenizer/alphabet.h"
#include "data/tokenizer/sentencepiece.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static mousse_status no_memory(mo_error *error)
{
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a tokenizer");
}

static bool add_special(mo_tokenizer *tokenizer, const char *bytes, size_t length)
{
  uint32_t number = 0;
  bool added = false;
  return mo_text_table_add(&tokenizer->specials, bytes, length, &number, &added);
}

mousse_status tokenizer_add_token(mo_tokenizer *tokenizer, const char *bytes, size_t length,
                                  bool special, mo_error *error)
{
  uint32_t id = 0;
  bool added = false;
  const uint32_t next = tokenizer->tokens.count;
  if (length == 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "token %u is empty, expected text", next);
  if (!mo_text_table_add(&tokenizer->tokens, bytes, length, &id, &added))
    return no_memory(error);
  if (!added && special)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "added token %u is '%.*s', which is also what token %u stands for; two ids "
                   "for one text are not supported (GPT-NeoX's and Pythia's runs of spaces), "
                   "so use another tokenizer",
                   next, length < 80 ? (int)length : 80, bytes, id);
  if (!added)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "tokens %u and %u are both '%.*s'", id, next,
                   length < 80 ? (int)length : 80, bytes);
  if (special && !add_special(tokenizer, bytes, length)) return no_memory(error);
  return MOUSSE_OK;
}

static mousse_status find_token(const mo_tokenizer *tokenizer, const char *bytes, size_t length,
                                uint32_t *id, mo_error *error)
{
  if (mo_text_table_find(&tokenizer->tokens, bytes, length, id)) return MOUSSE_OK;
  char spelled[161];
  size_t shown = length < 80 ? length : 80;
  if (tokenizer->sentencepiece)
    memcpy(spelled, bytes, shown);
  else
    shown = alphabet_spell(bytes, shown, spelled);
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "merge %zu needs the token '%.*s', which is not in the vocabulary",
                 tokenizer->merge_count, (int)shown, spelled);
}

mousse_status tokenizer_add_merge(mo_tokenizer *tokenizer, const char *left, size_t left_length,
                                  const char *right, size_t right_length, mo_error *error)
{
  char small[256];
  uint32_t left_id = 0, right_id = 0, result = 0;
  const size_t length = left_length + right_length;
  char *joined = length <= sizeof small ? small : mo_allocate(NULL, length);
  if (joined == NULL) return no_memory(error);
  memcpy(joined, left, left_length);
  memcpy(joined + left_length, right, right_length);
  mousse_status status = find_token(tokenizer, left, left_length, &left_id, error);
  if (status == MOUSSE_OK)
    status = find_token(tokenizer, right, right_length, &right_id, error);
  if (status == MOUSSE_OK) status = find_token(tokenizer, joined, length, &result, error);
  if (joined != small) mo_release(NULL, joined, length);
  MO_TRY(status);

  const size_t rank = tokenizer->merge_count;
  if (mo_pair_table_find(&tokenizer->pairs, left_id, right_id) != NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "merge %zu (ids %u and %u) appears twice", rank,
                   left_id, right_id);
  const mo_pair_slot pair = {left_id, right_id, (uint32_t)rank, result};
  if (!mo_grow(NULL, &tokenizer->merges, &tokenizer->merge_capacity, rank + 1,
               sizeof *tokenizer->merges) ||
      !mo_pair_table_add(&tokenizer->pairs, pair))
    return no_memory(error);
  tokenizer->merges[rank] = (tokenizer_merge){left_id, right_id};
  tokenizer->merge_count++;
  return MOUSSE_OK;
}

/* Without a token for every byte there would be text that has no ids. */
static mousse_status find_bytes(mo_tokenizer *tokenizer, const char *name, mo_error *error)
{
  for (unsigned byte = 0; byte < 256; byte++) {
    const char text = (char)byte;
    if (!mo_text_table_find(&tokenizer->tokens, &text, 1, &tokenizer->byte_ids[byte]))
      return mo_fail(error, MOUSSE_BAD_FORMAT,
                     "%s: the vocabulary has no token for byte 0x%02x; byte-level BPE has all "
                     "256, and SentencePiece tokenizers set model.byte_fallback",
                     name, byte);
  }
  return MOUSSE_OK;
}

static bool is_raw_bytes(const mo_tokenizer *tokenizer)
{
  if (tokenizer->tokens.count != 256 || tokenizer->merge_count != 0) return false;
  for (uint32_t byte = 0; byte < 256; byte++)
    if (tokenizer->byte_ids[byte] != byte) return false;
  return true;
}

static const char *const end_names[] = {TOKENIZER_END_OF_TEXT, "<|end_of_text|>", "</s>"};
enum { END_NAMES = sizeof end_names / sizeof *end_names };

bool tokenizer_names_end(const char *text, size_t length)
{
  for (size_t i = 0; i < END_NAMES; i++)
    if (strlen(end_names[i]) == length && memcmp(end_names[i], text, length) == 0) return true;
  return false;
}

/* vocab.json does not say which of its tokens are special. */
static bool find_end_of_text(mo_tokenizer *tokenizer)
{
  for (size_t i = 0; i < END_NAMES; i++) {
    const char *name = end_names[i];
    uint32_t id = 0;
    if (!mo_text_table_find(&tokenizer->tokens, name, strlen(name), &id)) continue;
    tokenizer->end_of_text = id;
    return add_special(tokenizer, name, strlen(name));
  }
  tokenizer->end_of_text = TOKENIZER_NONE;
  return true;
}

mousse_status tokenizer_finish(mo_tokenizer *tokenizer, const char *name, const char *pattern,
                               mo_error *error)
{
  tokenizer->start_of_text = TOKENIZER_NONE;
  if (!tokenizer->sentencepiece) MO_TRY(find_bytes(tokenizer, name, error));
  if (!tokenizer->sentencepiece && is_raw_bytes(tokenizer)) {
    tokenizer->end_of_text = 0;
    return MOUSSE_OK;
  }
  if (!find_end_of_text(tokenizer)) return no_memory(error);
  if (tokenizer->sentencepiece) return sentencepiece_finish(tokenizer, name, error);
  if (pattern != NULL) {
    tokenizer->pattern = mo_allocate(NULL, strlen(pattern) + 1);
    if (tokenizer->pattern == NULL) return no_memory(error);
    memcpy(tokenizer->pattern, pattern, strlen(pattern) + 1);
  }
  mo_error inner = {{0}};
  const mousse_status status = split_rule_open(&tokenizer->rule, pattern, &inner);
  return status == MOUSSE_OK ? status : mo_fail(error, status, "%s: %s", name, inner.text);
}

mousse_status tokenizer_make_bytes(mo_tokenizer *tokenizer, mo_error *error)
{
  *tokenizer = (struct mo_tokenizer){0};
  for (unsigned byte = 0; byte < 256; byte++) {
    const char text = (char)byte;
    const mousse_status status = tokenizer_add_token(tokenizer, &text, 1, false, error);
    if (status == MOUSSE_OK) continue;
    tokenizer_close(tokenizer);
    return status;
  }
  return tokenizer_finish(tokenizer, "bytes", NULL, error);
}

void tokenizer_close(mo_tokenizer *tokenizer)
{
  mo_text_table_close(&tokenizer->specials);
  mo_text_table_close(&tokenizer->shown);
  added_tokens_close(&tokenizer->found);
  added_tokens_close(&tokenizer->found_late);
  mo_release(NULL, tokenizer->merges, tokenizer->merge_capacity * sizeof *tokenizer->merges);
  mo_pair_table_close(&tokenizer->pairs);
  split_rule_close(tokenizer->rule);
  if (tokenizer->pattern != NULL)
    mo_release(NULL, tokenizer->pattern, strlen(tokenizer->pattern) + 1);
  mo_release(NULL, tokenizer->attributes,
             tokenizer->tokens.count * sizeof *tokenizer->attributes);
  mo_release(NULL, tokenizer->text_ends,
             tokenizer->tokens.count * sizeof *tokenizer->text_ends);
  mo_buffer_close(&tokenizer->texts);
  mo_text_table_close(&tokenizer->tokens); /* the last: its count is needed above */
  *tokenizer = (struct mo_tokenizer){0};
}

const char *tokenizer_bytes(const mo_tokenizer *tokenizer, uint32_t id, size_t *length)
{
  const size_t *ends = tokenizer->text_ends;
  if (id >= tokenizer->tokens.count) return NULL;
  if (ends == NULL) return mo_text_table_get(&tokenizer->tokens, id, length);
  const size_t start = id > 0 ? ends[id - 1] : 0;
  *length = ends[id] - start;
  return tokenizer->texts.data + start;
}

/* Is a space behind this id none of the text's? */
static bool has_prefix_behind(const mo_tokenizer *t, uint32_t id)
{
  return id == t->end_of_text || id == t->start_of_text ||
         (tokenizer_is_found(t, id) && tokenizer_starts_behind(t, id));
}

const char *tokenizer_bytes_after(const mo_tokenizer *tokenizer, uint32_t before, uint32_t id,
                                  size_t *length)
{
  const char *bytes = tokenizer_bytes(tokenizer, id, length);
  if (bytes == NULL || tokenizer->prefix == TOKENIZER_PREFIX_NONE || bytes[0] != ' ' ||
      !has_prefix_behind(tokenizer, before) || tokenizer_is_found(tokenizer, id))
    return bytes;
  (*length)--;
  return bytes + 1;
}

uint32_t tokenizer_first(const mo_tokenizer *t)
{
  return t->start_of_text != TOKENIZER_NONE ? t->start_of_text : t->end_of_text;
}

static bool is_in(const mo_text_table *table, const mo_tokenizer *tokenizer, uint32_t id)
{
  size_t length = 0;
  uint32_t number = 0;
  if (id >= tokenizer->tokens.count) return false;
  const char *text = mo_text_table_get(&tokenizer->tokens, id, &length);
  return mo_text_table_find(table, text, length, &number);
}

bool tokenizer_is_special(const mo_tokenizer *tokenizer, uint32_t id)
{
  return is_in(&tokenizer->specials, tokenizer, id);
}

bool tokenizer_is_shown(const mo_tokenizer *tokenizer, uint32_t id)
{
  return is_in(&tokenizer->shown, tokenizer, id);
}

bool tokenizer_is_found(const mo_tokenizer *t, uint32_t id)
{
  size_t length = 0;
  if (id >= t->tokens.count) return false;
  const char *text = mo_text_table_get(&t->tokens, id, &length);
  return added_tokens_have(&t->found, text, length) ||
         added_tokens_have(&t->found_late, text, length);
}

bool tokenizer_starts_behind(const mo_tokenizer *t, uint32_t id)
{
  if (id == t->end_of_text || id == t->start_of_text) return true;
  return tokenizer_is_special(t, id) && t->prefix != TOKENIZER_PREFIX_FIRST;
}

static uint64_t add_to_checksum(uint64_t checksum, const void *data, size_t bytes)
{
  return XXH3_64bits_withSeed(data, bytes, checksum);
}

/* What few tokenizers have; nothing for the others, whose checksums are older than it. */
static uint64_t add_kind(const mo_tokenizer *t, uint64_t checksum)
{
  const uint32_t facts[] = {t->nfc, t->start_of_text, t->sentencepiece, t->prefix,
                            t->each_space};
  if (!t->nfc && t->start_of_text == TOKENIZER_NONE && !t->sentencepiece) return checksum;
  return add_to_checksum(checksum, facts, sizeof facts);
}

/* Likewise. */
static uint64_t add_found(const added_tokens *found, bool late, uint64_t checksum)
{
  for (size_t i = 0; i < found->count; i++) {
    const uint32_t facts[] = {found->sorted[i].id, late};
    checksum = add_to_checksum(checksum, facts, sizeof facts);
  }
  return checksum;
}

uint64_t tokenizer_checksum(const mo_tokenizer *t)
{
  const char *pattern = t->pattern != NULL ? t->pattern : "";
  const uint32_t facts[] = {t->tokens.count, t->specials.count, t->end_of_text, t->whole_words,
                            t->rule != NULL};
  uint64_t checksum = add_to_checksum(0, facts, sizeof facts);
  for (uint32_t id = 0; id < t->tokens.count; id++) {
    size_t length = 0;
    const char *bytes = mo_text_table_get(&t->tokens, id, &length);
    checksum = add_to_checksum(checksum, bytes, length);
  }
  for (size_t i = 0; i < t->merge_count; i++)
    checksum = add_to_checksum(checksum, &t->merges[i], sizeof t->merges[i]);
  checksum = add_kind(t, add_to_checksum(checksum, pattern, strlen(pattern)));
  return add_found(&t->found_late, true, add_found(&t->found, false, checksum));
}
