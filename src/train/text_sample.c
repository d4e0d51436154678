/* text_sample.c - prompt to ids, ids to ids, ids to text. */
#include "train/text_sample.h"

#include <string.h>

/* The document's first token, then the prompt, of which the end is kept when it is too long. */
static mousse_status encode_prompt(const mo_tokenizer *tokenizer, const char *prompt,
                                   mo_id_list *ids, mo_error *error)
{
  mo_encoder *encoder = NULL;
  if (!mo_id_list_reserve(ids, 1)) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for ids");
  ids->ids[ids->count++] =
      tokenizer->end_of_text != TOKENIZER_NONE ? tokenizer->end_of_text : 0;
  MO_TRY(encoder_open(&encoder, tokenizer, error));
  const mousse_status status = encoder_encode(encoder, prompt, strlen(prompt), ids, error);
  encoder_close(encoder);
  return status;
}

static mousse_status check_ids(const gpt_params *params, const mo_id_list *ids, mo_error *error)
{
  for (size_t i = 0; i < ids->count; i++)
    if (ids->ids[i] >= params->config.vocab_size)
      return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "the tokenizer gives token %u, but the model's vocabulary is %zu: they do "
                     "not belong together",
                     ids->ids[i], params->config.vocab_size);
  return MOUSSE_OK;
}

/* Feeds the last `count` ids to an empty generator. */
static mousse_status feed_end(gpt_generator *generator, const mo_id_list *ids, size_t count,
                              mo_error *error)
{
  if (count > ids->count) count = ids->count;
  gpt_generator_restart(generator);
  return gpt_generator_feed(generator, ids->ids + ids->count - count, count, error);
}

static bool is_end(const text_request *request, uint32_t token)
{
  for (size_t i = 0; i < request->end_count; i++)
    if (request->ends[i] == token) return true;
  return (int64_t)token == request->sampling.stop_token;
}

static mousse_status draw(gpt_generator *generator, size_t context,
                          const mo_tokenizer *tokenizer, const text_request *request,
                          mo_id_list *ids, mo_error *error)
{
  gpt_sampling sampling = request->sampling;
  size_t held = ids->count < context ? ids->count : context / 2 + 1;
  MO_TRY(feed_end(generator, ids, held, error));
  for (size_t drawn = 0; drawn < request->tokens; drawn++) {
    uint32_t token = 0;
    size_t length = 0;
    /* The chance is a function of seed and place, and places repeat after a restart. */
    sampling.seed = request->sampling.seed + drawn / context;
    MO_TRY(gpt_generator_sample(generator, &sampling, &token, error));
    if (is_end(request, token)) break;
    const char *bytes = tokenizer_bytes(tokenizer, token, &length);
    if (bytes != NULL) request->put(request->user, bytes, length);
    if (!mo_id_list_reserve(ids, 1))
      return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for ids");
    ids->ids[ids->count++] = token;
    if (held < context) {
      held++;
      MO_TRY(gpt_generator_feed(generator, &token, 1, error));
    } else {
      held = context / 2 + 1;
      MO_TRY(feed_end(generator, ids, held, error));
    }
  }
  return MOUSSE_OK;
}

mousse_status text_sample(const gpt_params *params, const mo_tokenizer *tokenizer,
                          const text_request *request, mo_error *error)
{
  mo_id_list ids = {0};
  gpt_generator *generator = NULL;
  const size_t context = params->config.sequence_len;
  size_t capacity = context; /* or less: long contexts need much memory */
  mousse_status status = encode_prompt(tokenizer, request->prompt, &ids, error);
  if (status == MOUSSE_OK) status = check_ids(params, &ids, error);
  if (status == MOUSSE_OK && ids.count + request->tokens < context)
    capacity = ids.count + request->tokens;
  if (status == MOUSSE_OK)
    status = gpt_generator_create(&generator, params, capacity, request->threads, NULL, error);
  if (status == MOUSSE_OK) status = draw(generator, context, tokenizer, request, &ids, error);
  gpt_generator_destroy(generator);
  mo_id_list_close(&ids);
  return status;
}
