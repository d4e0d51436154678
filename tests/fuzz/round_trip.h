/* round_trip.h - encoding and decoding with a tokenizer gives the bytes back. */
#ifndef MOUSSE_TESTS_ROUND_TRIP_H
#define MOUSSE_TESTS_ROUND_TRIP_H

#include "data/shards/decode.h"
#include "fuzz.h"

#include <string.h>

static inline void check_round_trip(const mo_tokenizer *tokenizer, const uint8_t *data,
                                    size_t size)
{
  mo_encoder *encoder = NULL;
  mo_error error;
  mo_id_list ids = {0};
  mo_buffer text = {0};
  FUZZ_CHECK(encoder_open(&encoder, tokenizer, &error) == MOUSSE_OK);
  /* A rule from a file may give up on a text; then there is nothing to compare. */
  if (encoder_encode(encoder, (const char *)data, size, &ids, &error) == MOUSSE_OK) {
    mo_tokenizer all = *tokenizer;
    all.end_of_text = TOKENIZER_NONE; /* raw bytes: byte 0 is text here */
    FUZZ_CHECK(decode_ids(&all, ids.ids, ids.count, &text, &error) == MOUSSE_OK);
    FUZZ_CHECK(text.size == size && (size == 0 || memcmp(text.data, data, size) == 0));
  }
  encoder_close(encoder);
  mo_id_list_close(&ids);
  mo_buffer_close(&text);
}

#endif
