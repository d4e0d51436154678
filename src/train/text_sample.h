/* text_sample.h - text written by a model: tokens drawn one by one and decoded.
 *
 * A writer holds one text, which grows by what it is given and by what it draws. Beyond the
 * model's context it goes on from the second half of what the model saw; each token's chance is
 * a function of the seed and its place in the whole text, so no chance comes twice.
 */
#ifndef MOUSSE_TRAIN_TEXT_SAMPLE_H
#define MOUSSE_TRAIN_TEXT_SAMPLE_H

#include "data/tokenizer/chat.h"
#include "gpt/gpt.h"

typedef struct text_request {
  size_t tokens; /* to draw */
  gpt_sampling sampling;
  const uint32_t *ends; /* more tokens that end it, beside sampling.stop_token; not put */
  size_t end_count;
  /* Called with the bytes of each token drawn; false ends the text there. */
  bool (*put)(void *user, const char *bytes, size_t count);
  void *user;
} text_request;

typedef struct text_writer {
  const gpt_params *params;      /* borrowed */
  const mo_tokenizer *tokenizer; /* borrowed */
  gpt_generator *generator;
  mo_encoder *encoder;
  mo_id_list ids; /* the whole text, from the token that starts a document on */
  size_t fed;     /* how many of them the generator has seen */
  size_t held;    /* how many it holds: the last ones of those */
  size_t window;  /* how many it can hold */
  bool has_messages, is_answering; /* of a conversation; the model's answer has no end yet */
} text_writer;

/* The tokens of a text, with the one that starts it. */
mousse_status text_count(const mo_tokenizer *tokenizer, const char *text, size_t length,
                         size_t *count, mo_error *error);

/* window: how many tokens the model sees at most; long contexts need much memory. */
mousse_status text_writer_open(text_writer *writer, const gpt_params *params,
                               const mo_tokenizer *tokenizer, size_t window, int threads,
                               mo_error *error);
void text_writer_close(text_writer *writer); /* accepts a zeroed one */
/* An empty text, as a document starts. */
mousse_status text_writer_restart(text_writer *writer, mo_error *error);
mousse_status text_writer_add(text_writer *writer, const char *text, size_t length,
                              mo_error *error);
/* A message of a conversation; an answer that it follows is ended first. */
mousse_status text_writer_say(text_writer *writer, const chat_template *chat, const char *role,
                              const char *text, size_t length, mo_error *error);
/* From now on the model writes as the assistant; what it draws is its answer. */
mousse_status text_writer_ask(text_writer *writer, const chat_template *chat, mo_error *error);
mousse_status text_writer_draw(text_writer *writer, const text_request *request,
                               mo_error *error);

/* One text from a prompt; the writer lives for this call. */
mousse_status text_sample(const gpt_params *params, const mo_tokenizer *tokenizer,
                          const char *prompt, int threads, const text_request *request,
                          mo_error *error);

#endif
