/* round_trip.h - encoding and decoding with a tokenizer gives the bytes back, but for what its
 * kind changes first: normal form C, except in added tokens, and U+2581, which is a space to
 * SentencePiece. */
#ifndef MOUSSE_TESTS_ROUND_TRIP_H
#define MOUSSE_TESTS_ROUND_TRIP_H

#include "data/shards/decode.h"
#include "data/tokenizer/nfc.h"
#include "data/tokenizer/sentencepiece.h"
#include "fuzz.h"

#include <string.h>

static inline void expected_text(const mo_tokenizer *tokenizer, const char *data, size_t size,
                                 mo_buffer *out)
{
  const size_t mark = strlen(SENTENCEPIECE_SPACE);
  if (tokenizer->nfc || !tokenizer->sentencepiece) {
    FUZZ_CHECK(tokenizer->nfc ? nfc_add(out, data, size) : mo_buffer_add(out, data, size));
    return;
  }
  for (size_t at = 0, step = 1; at < size; at += step) {
    const bool space = size - at >= mark && memcmp(data + at, SENTENCEPIECE_SPACE, mark) == 0;
    FUZZ_CHECK(mo_buffer_add(out, space ? " " : data + at, 1));
    step = space ? mark : 1;
  }
}

static inline void normalise(mo_buffer *text)
{
  mo_buffer normal = {0};
  FUZZ_CHECK(nfc_add(&normal, text->data, text->size));
  mo_buffer_close(text);
  *text = normal;
}

static inline void check_round_trip(const mo_tokenizer *tokenizer, const uint8_t *data,
                                    size_t size)
{
  mo_encoder *encoder = NULL;
  mo_error error;
  mo_id_list ids = {0};
  mo_buffer text = {0}, expected = {0};
  FUZZ_CHECK(encoder_open(&encoder, tokenizer, &error) == MOUSSE_OK);
  /* A rule from a file may give up on a text; then there is nothing to compare. */
  if (encoder_go_on(encoder, (const char *)data, size, &ids, &error) == MOUSSE_OK) {
    mo_tokenizer all = *tokenizer;
    all.end_of_text = all.start_of_text = TOKENIZER_NONE; /* raw bytes: byte 0 is text here */
    FUZZ_CHECK(decode_ids(&all, ids.ids, ids.count, &text, &error) == MOUSSE_OK);
    if (tokenizer->nfc) normalise(&text);
    expected_text(tokenizer, (const char *)data, size, &expected);
    FUZZ_CHECK(text.size == expected.size);
    FUZZ_CHECK(text.size == 0 || memcmp(text.data, expected.data, text.size) == 0);
  }
  encoder_close(encoder);
  mo_id_list_close(&ids);
  mo_buffer_close(&text);
  mo_buffer_close(&expected);
}

#endif
