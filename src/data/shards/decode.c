/* decode.c - token shards back to text. */
#include "data/shards/decode.h"

enum { BLOCK = 1 << 16 };

static mousse_status decode_behind(const mo_tokenizer *tokenizer, uint32_t before,
                                   const uint32_t *ids, size_t count, mo_buffer *text,
                                   mo_error *error)
{
  for (size_t i = 0; i < count; before = ids[i++]) {
    size_t length = 0;
    const char *bytes = tokenizer_bytes_after(tokenizer, before, ids[i], &length);
    if (ids[i] == tokenizer->end_of_text || ids[i] == tokenizer->start_of_text) continue;
    if (bytes == NULL)
      return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                     "token %u is not in the tokenizer's vocabulary of %u", ids[i],
                     tokenizer->tokens.count);
    if (!mo_buffer_add(text, bytes, length))
      return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for decoded text");
  }
  return MOUSSE_OK;
}

mousse_status decode_ids(const mo_tokenizer *tokenizer, const uint32_t *ids, size_t count,
                         mo_buffer *text, mo_error *error)
{
  return decode_behind(tokenizer, DECODE_NOTHING, ids, count, text, error);
}

/* Hands on the ids of each document, or of a part of one, behind the token `before`. */
static mousse_status decode_block(const mo_tokenizer *tokenizer, uint32_t before,
                                  const uint32_t *ids, size_t count, mo_buffer *text,
                                  decode_text_fn part, void *user, mo_error *error)
{
  for (size_t from = 0; from < count;) {
    const bool starts = ids[from] == tokenizer->end_of_text;
    size_t end = from + 1;
    while (end < count && ids[end] != tokenizer->end_of_text) end++;
    text->size = 0;
    MO_TRY(decode_behind(tokenizer, before, ids + from, end - from, text, error));
    MO_TRY(part(user, text->data, text->size, starts, error));
    before = ids[end - 1];
    from = end;
  }
  return MOUSSE_OK;
}

static mousse_status decode_opened(const mo_shard *shard, const mo_tokenizer *tokenizer,
                                   uint32_t *before, decode_text_fn part, void *user,
                                   mo_error *error)
{
  mo_buffer text = {0};
  mousse_status status = MOUSSE_OK;
  uint32_t *ids = mo_allocate(NULL, BLOCK * sizeof *ids);
  if (ids == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to decode");
  for (size_t at = 0; at < shard->count && status == MOUSSE_OK; at += BLOCK) {
    const size_t count = shard->count - at < BLOCK ? shard->count - at : BLOCK;
    status = shard_read(shard, at, count, ids, error);
    if (status == MOUSSE_OK)
      status = decode_block(tokenizer, *before, ids, count, &text, part, user, error);
    *before = ids[count - 1];
  }
  mo_release(NULL, ids, BLOCK * sizeof *ids);
  mo_buffer_close(&text);
  return status;
}

mousse_status decode_shard(const char *path, const char *tokenizer_path, uint32_t *before,
                           decode_text_fn part, void *user, mo_error *error)
{
  char directory[4096];
  mo_tokenizer tokenizer;
  mo_shard shard;
  MO_TRY(mo_path_parent(directory, sizeof directory, path, error));
  MO_TRY(tokenizer_open(&tokenizer, tokenizer_path[0] != '\0' ? tokenizer_path : directory,
                        error));
  mousse_status status = shard_open(&shard, path, tokenizer.tokens.count, error);
  if (status == MOUSSE_OK) {
    status = decode_opened(&shard, &tokenizer, before, part, user, error);
    shard_close(&shard);
  }
  tokenizer_close(&tokenizer);
  return status;
}
