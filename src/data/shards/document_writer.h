/* document_writer.h - encoded documents into the splits: which of them is for validation, what they
 * start with, and which tokens are to be learned (dataset.h). */
#ifndef MOUSSE_DATA_SHARDS_DOCUMENT_WRITER_H
#define MOUSSE_DATA_SHARDS_DOCUMENT_WRITER_H

#include "data/shards/split_writer.h"
#include "data/tokenizer/batch_encoder.h"

typedef struct document_writer {
  const mo_tokenizer *tokenizer;
  double val_fraction;
  split_writer train, val;
  uint64_t text_bytes, val_bytes;
  bool last_to_val;
} document_writer;

mousse_status document_writer_add(document_writer *writer, const batch_unit *unit,
                                  mo_error *error);

#endif
