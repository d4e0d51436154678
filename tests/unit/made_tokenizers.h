/* made_tokenizers.h - small tokenizer.json files with added tokens, for tests. */
#ifndef MOUSSE_TESTS_MADE_TOKENIZERS_H
#define MOUSSE_TESTS_MADE_TOKENIZERS_H

#include "data/tokenizer/alphabet.h"
#include "data/tokenizer/sentencepiece.h"
#include "data/tokenizer/tokenizer.h"
#include "scratch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define S     SENTENCEPIECE_SPACE
#define PLAIN "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},"
#define QWEN                                                                                   \
  "\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"Sequence\","                \
  "\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"                             \
  "\"[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| "                                       \
  "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|"                                                   \
  "\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},\"behavior\":\"Isolated\"},"                  \
  "{\"type\":\"ByteLevel\",\"use_regex\":false}]},"
#define REPLACE "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" S "\"}"
#define LLAMA2                                                                                 \
  "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":"  \
  "\"" S "\"}," REPLACE "]},"
#define METASPACE(scheme)                                                                      \
  "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" S                             \
  "\",\"prepend_scheme\":\"" scheme "\",\"split\":false},"

/* An added token of the file that make() writes. */
#define SPECIAL(text) "\"content\":\"" text "\",\"special\":true,\"normalized\":false"
#define FOUND(text)   "\"content\":\"" text "\",\"special\":false,\"normalized\":false"
#define LATE(text)    "\"content\":\"" text "\",\"special\":false,\"normalized\":true"

/* Ids: the bytes of byte-level files are themselves; merges and the end; then what is added. */
enum { AB = 256, SPACES, SPACE_B, END, ADDED };
/* Of SentencePiece's kind. */
enum { PIECE_SPACE = 256, PIECE_A, PIECE_B, PIECE_SPACE_B, PIECE_END, PIECE_ADDED };

static void put(mo_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(mo_buffer *out, const char *format, ...)
{
  char text[4096];
  va_list list;
  va_start(list, format);
  const int length = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  assert_in_range(length, 0, sizeof text - 1);
  assert_true(mo_buffer_add(out, text, (size_t)length));
}

static void put_byte(mo_buffer *out, unsigned byte)
{
  char spelled[4];
  const size_t length = alphabet_spell(&(char){(char)byte}, 1, spelled);
  const bool escape = byte == '"' || byte == '\\';
  put(out, "\"%s%.*s\":%u,", escape ? "\\" : "", (int)length, spelled, byte);
}

static void put_byte_level(mo_buffer *out)
{
  put(out, "\"model\":{\"type\":\"BPE\",\"vocab\":{");
  for (unsigned byte = 0; byte < 256; byte++) put_byte(out, byte);
  put(out, "\"ab\":256,\"\xc4\xa0\xc4\xa0\":257,\"\xc4\xa0"
           "b\":258,\"<|endoftext|>\":259},"
           "\"merges\":[\"a b\",\"\xc4\xa0 \xc4\xa0\",\"\xc4\xa0 b\"]}}");
}

static void put_sentencepiece(mo_buffer *out)
{
  put(out, "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"vocab\":{");
  for (unsigned byte = 0; byte < 256; byte++) put(out, "\"<0x%02X>\":%u,", byte, byte);
  put(out, "\"" S "\":256,\"a\":257,\"b\":258,\"" S "b\":259,\"</s>\":260},\"merges\":[\"" S
           " b\"]}}");
}

/* A file with these added tokens, of which all but the last of equal ones get an id each. */
static mousse_status make(mo_tokenizer *t, const char *steps, const char *const *added,
                          size_t count, mo_error *error)
{
  const bool pieces = strstr(steps, S) != NULL;
  mo_buffer text = {0};
  put(&text, "{\"added_tokens\":[");
  for (size_t i = 0; i < count; i++)
    put(&text, "%s{\"id\":%zu,%s}", i > 0 ? "," : "", (pieces ? PIECE_ADDED : ADDED) + i,
        added[i]);
  put(&text, "],%s", steps);
  (pieces ? put_sentencepiece : put_byte_level)(&text);
  const mousse_status status = tokenizer_parse_json(t, "t.json", text.data, text.size, error);
  mo_buffer_close(&text);
  return status;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define OPEN(t, steps, ...)                                                                    \
  do {                                                                                         \
    const char *const list[] = {__VA_ARGS__};                                                  \
    mo_error e = {{0}};                                                                        \
    if (make(t, steps, list, COUNT(list), &e) != MOUSSE_OK) fail_msg("%s", e.text);            \
  } while (0)

#endif
