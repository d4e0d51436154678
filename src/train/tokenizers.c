/* tokenizers.c - comparing tokenizers, and the bytes behind their tokens. */
#include "train/tokenizers.h"

#include <math.h>

mousse_status tokenizer_check(const mo_tokenizer *tokenizer, const char *what,
                              const char *model_folder, bool allow, const run_notices *notices,
                              mo_error *error)
{
  mo_tokenizer own = {0};
  if (!tokenizer_exists(model_folder)) return MOUSSE_OK;
  MO_TRY(tokenizer_open(&own, model_folder, error));
  const uint64_t expected = tokenizer_checksum(&own), found = tokenizer_checksum(tokenizer);
  const size_t count = own.tokens.count;
  tokenizer_close(&own);
  if (expected == found) return MOUSSE_OK;
  if (!allow)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s: its tokenizer (%zu tokens) is not that of the model in %s (%zu "
                   "tokens), so the numbers would mean nothing; tokenize the text with the "
                   "model's (--tokenizer), or continue anyway with --allow-other-tokenizer",
                   what, (size_t)tokenizer->tokens.count, model_folder, count);
  run_notify(notices, "%s: its tokenizer is not that of the model in %s", what, model_folder);
  return MOUSSE_OK;
}

uint32_t *tokenizer_byte_lengths(const mo_tokenizer *tokenizer, size_t count)
{
  uint32_t *lengths = mo_allocate(NULL, count * sizeof *lengths);
  for (uint32_t id = 0; lengths != NULL && id < count && id < tokenizer->tokens.count; id++) {
    size_t length = 0;
    (void)tokenizer_bytes(tokenizer, id, &length);
    if (!tokenizer_is_special(tokenizer, id) || tokenizer_is_found(tokenizer, id))
      lengths[id] = (uint32_t)length;
  }
  return lengths;
}

double bits_per_byte(double nats, double bytes)
{
  return bytes > 0 ? nats / (M_LN2 * bytes) : NAN;
}
