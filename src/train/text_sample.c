/* text_sample.c - prompt to ids, ids to ids, ids to text. */
#include "train/text_sample.h"

#include <math.h>
#include <string.h>

/* Counted, not guessed from the bytes: normal form C can make text longer. */
mousse_status text_count(const mo_tokenizer *tokenizer, const char *text, size_t length,
                         size_t *count, mo_error *error)
{
  mo_encoder *encoder = NULL;
  mo_id_list ids = {0};
  MO_TRY(encoder_open(&encoder, tokenizer, error));
  const mousse_status status = encoder_encode(encoder, text, length, &ids, error);
  *count = ids.count + 1;
  mo_id_list_close(&ids);
  encoder_close(encoder);
  return status;
}

mousse_status text_writer_open(text_writer *w, const gpt_params *params,
                               const mo_tokenizer *tokenizer, size_t window, int threads,
                               mo_error *error)
{
  const size_t context = params->config.sequence_len;
  *w = (text_writer){
      .params = params, .tokenizer = tokenizer, .window = window < context ? window : context};
  mousse_status status = encoder_open(&w->encoder, tokenizer, error);
  if (status == MOUSSE_OK)
    status = gpt_generator_create(&w->generator, params, w->window, threads, NULL, error);
  if (status == MOUSSE_OK) status = text_writer_restart(w, error);
  if (status != MOUSSE_OK) text_writer_close(w);
  return status;
}

void text_writer_close(text_writer *w)
{
  gpt_generator_destroy(w->generator);
  encoder_close(w->encoder);
  mo_id_list_close(&w->ids);
  *w = (text_writer){0};
}

static mousse_status append(text_writer *w, uint32_t token, mo_error *error)
{
  if (!mo_id_list_reserve(&w->ids, 1))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for ids");
  w->ids.ids[w->ids.count++] = token;
  return MOUSSE_OK;
}

mousse_status text_writer_restart(text_writer *w, mo_error *error)
{
  const uint32_t first = tokenizer_first(w->tokenizer);
  w->ids.count = w->fed = w->held = 0;
  w->has_messages = w->is_answering = false;
  gpt_generator_restart(w->generator);
  return append(w, first != TOKENIZER_NONE ? first : 0, error);
}

static mousse_status check_ids(const text_writer *w, size_t first, mo_error *error)
{
  for (size_t i = first; i < w->ids.count; i++)
    if (w->ids.ids[i] >= w->params->config.vocab_size)
      return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "the tokenizer gives token %u, but the model's vocabulary is %zu: they do "
                     "not belong together",
                     w->ids.ids[i], w->params->config.vocab_size);
  return MOUSSE_OK;
}

mousse_status text_writer_add(text_writer *w, const char *text, size_t length, mo_error *error)
{
  const size_t before = w->ids.count;
  const bool starts = tokenizer_starts_behind(w->tokenizer, w->ids.ids[before - 1]);
  mousse_status status =
      (starts ? encoder_encode : encoder_go_on)(w->encoder, text, length, &w->ids, error);
  if (status == MOUSSE_OK) status = check_ids(w, before, error);
  if (status != MOUSSE_OK) w->ids.count = before;
  return status;
}

mousse_status text_writer_say(text_writer *w, const chat_template *chat, const char *role,
                              const char *text, size_t length, mo_error *error)
{
  const size_t before = w->ids.count;
  const uint32_t start = w->ids.ids[0];
  const chat_message message = {role, text, length, !w->has_messages};
  size_t first, end;
  /* These models expect no end of an earlier text before a conversation. */
  if (!w->has_messages && chat->form == CHAT_CHATML && start == w->tokenizer->end_of_text)
    w->ids.count = 0;
  mousse_status status =
      w->is_answering ? chat_end(chat, w->encoder, &w->ids, error) : MOUSSE_OK;
  if (status == MOUSSE_OK)
    status = chat_add(chat, w->encoder, &message, &w->ids, &first, &end, error);
  if (status == MOUSSE_OK) status = check_ids(w, before, error);
  if (status != MOUSSE_OK) {
    w->ids.count = before;
    w->ids.ids[0] = start;
    return status;
  }
  w->has_messages = true;
  w->is_answering = false;
  return MOUSSE_OK;
}

mousse_status text_writer_ask(text_writer *w, const chat_template *chat, mo_error *error)
{
  const size_t before = w->ids.count;
  mousse_status status = chat_ask(chat, w->encoder, &w->ids, error);
  if (status == MOUSSE_OK) status = check_ids(w, before, error);
  if (status != MOUSSE_OK) w->ids.count = before;
  w->is_answering = status == MOUSSE_OK;
  return status;
}

/* What the generator has not seen; where it is full, the second half of its context again. */
static mousse_status feed(text_writer *w, mo_error *error)
{
  size_t count = w->ids.count - w->fed;
  if (count == 0) return MOUSSE_OK;
  if (w->held + count > w->window) {
    gpt_generator_restart(w->generator);
    w->held = 0;
    count = w->window / 2 + 1 < w->ids.count ? w->window / 2 + 1 : w->ids.count;
  }
  MO_TRY(gpt_generator_feed(w->generator, w->ids.ids + w->ids.count - count, count, error));
  w->held += count;
  w->fed = w->ids.count;
  return MOUSSE_OK;
}

static bool is_end(const text_request *request, uint32_t token)
{
  for (size_t i = 0; i < request->end_count; i++)
    if (request->ends[i] == token) return true;
  return (int64_t)token == request->sampling.stop_token;
}

static mousse_status check_logits(const gpt_generator *generator, size_t count, mo_error *error)
{
  const float *logits = gpt_generator_logits(generator);
  for (size_t i = 0; i < count; i++)
    if (!isfinite(logits[i]))
      return mo_fail(error, MOUSSE_NOT_FINITE,
                     "the model's probabilities are not finite: its weights are broken");
  return MOUSSE_OK;
}

mousse_status text_writer_draw(text_writer *w, const text_request *request, mo_error *error)
{
  gpt_sampling sampling = request->sampling;
  MO_TRY(feed(w, error));
  for (size_t drawn = 0; drawn < request->tokens; drawn++) {
    uint32_t token = 0;
    size_t length = 0;
    sampling.recent = w->ids.ids + w->ids.count - w->held;
    sampling.recent_count = w->held;
    MO_TRY(check_logits(w->generator, w->params->config.vocab_size, error));
    MO_TRY(gpt_generator_sample(w->generator, &sampling, w->ids.count, &token, error));
    if (is_end(request, token)) break;
    const char *bytes =
        tokenizer_bytes_after(w->tokenizer, w->ids.ids[w->ids.count - 1], token, &length);
    MO_TRY(append(w, token, error));
    if (bytes != NULL && !request->put(request->user, bytes, length)) break;
    if (drawn + 1 < request->tokens) MO_TRY(feed(w, error));
  }
  return MOUSSE_OK;
}

mousse_status text_sample(const gpt_params *params, const mo_tokenizer *tokenizer,
                          const char *prompt, int threads, const text_request *request,
                          mo_error *error)
{
  text_writer writer;
  size_t given = 0;
  MO_TRY(text_count(tokenizer, prompt, strlen(prompt), &given, error));
  MO_TRY(text_writer_open(&writer, params, tokenizer, given + request->tokens, threads, error));
  mousse_status status = text_writer_add(&writer, prompt, strlen(prompt), error);
  if (status == MOUSSE_OK) status = text_writer_draw(&writer, request, error);
  text_writer_close(&writer);
  return status;
}
