/* text_sample.h - text written by a model: tokens drawn one by one and decoded. */
#ifndef MOUSSE_TRAIN_TEXT_SAMPLE_H
#define MOUSSE_TRAIN_TEXT_SAMPLE_H

#include "data/tokenizer/tokenizer.h"
#include "gpt/gpt.h"

typedef struct text_request {
  const char *prompt; /* "": the text starts as a document does */
  size_t tokens;      /* to draw */
  gpt_sampling sampling;
  const uint32_t *ends; /* more tokens that end it, beside sampling.stop_token; not put */
  size_t end_count;
  int threads;
  /* Called with the bytes of each token drawn. */
  void (*put)(void *user, const char *bytes, size_t count);
  void *user;
} text_request;

/* A text longer than the model's context goes on from its second half. */
mousse_status text_sample(const gpt_params *params, const mo_tokenizer *tokenizer,
                          const text_request *request, mo_error *error);

#endif
