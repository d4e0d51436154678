/* batch_encoder.h - many pieces of text encoded at once, by several threads.
 *
 * Pieces are collected, then encoded in parallel, then read back in order: the ids are the same
 * for any number of threads.
 */
#ifndef MOUSSE_DATA_TOKENIZER_BATCH_ENCODER_H
#define MOUSSE_DATA_TOKENIZER_BATCH_ENCODER_H

#include "data/tokenizer/chat.h"

typedef struct batch_unit {
  size_t start, length;                /* of its text */
  bool starts_document, is_completion; /* as the caller has it */
  char role[32];                       /* whose message it is; empty: it is none */
  mo_id_list ids;
  size_t first_target, end_target; /* of ids: to be learned, where that is asked for */
  bool is_open; /* a message to be ended by an end-of-text token before another text */
  mousse_status status;
  mo_error error;
} batch_unit;

typedef struct batch_encoder batch_encoder;

/* form: of messages. */
mousse_status batch_encoder_open(batch_encoder **batch, const mo_tokenizer *tokenizer,
                                 chat_form form, int threads, mo_error *error);
void batch_encoder_close(batch_encoder *batch); /* accepts NULL */

typedef struct batch_text {
  const char *text;
  size_t length;
  bool starts_document, is_completion;
  const char *role; /* NULL: it is no message */
} batch_text;

/* Adds a copy of text to the batch; *full: encode now. */
mousse_status batch_encoder_add(batch_encoder *batch, const batch_text *text, bool *full,
                                mo_error *error);
mousse_status batch_encoder_encode(batch_encoder *batch, mo_error *error);
size_t batch_encoder_count(const batch_encoder *batch);
const batch_unit *batch_encoder_get(const batch_encoder *batch, size_t number);
void batch_encoder_clear(batch_encoder *batch);

#endif
