/* test_sentencepiece.c - tokenizers that change text first: SentencePiece's kind, normal form C.
 * That ids are those of SentencePiece and of llama.cpp is the business of tests/parity. */
#include "base/utf8.h"
#include "data/shards/decode.h"
#include "data/tokenizer/chat.h"
#include "data/tokenizer/nfc.h"
#include "data/tokenizer/sentencepiece.h"
#include "scratch.h"

#include <stdio.h>
#include <string.h>

#define S       SENTENCEPIECE_SPACE
#define PREPEND "{\"type\":\"Prepend\",\"prepend\":\"" S "\"}"
#define REPLACE "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" S "\"}"
#define LLAMA2                                                                                 \
  "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" PREPEND "," REPLACE "]},"          \
  "\"pre_tokenizer\":null,"
#define METASPACE(more)                                                                        \
  "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" S         \
  "\"" more "},"
#define START(token)                                                                           \
  "\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},"        \
  "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"" token            \
  "\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}]}]},"
#define MERGES "[\"" S " " S "\",\"a b\",\"" S " a\",\"" S " ab\",\"" S "a b\",\"\xc3\xa9 b\"]"

enum { BYTES = 3, SPACE = BYTES + 256, A, B, E, SPACES, AB, SPACE_A, SPACE_AB, EB };

/* <unk>, <s>, </s>, the bytes, the tokens of the enumeration, three more added ones, of which one
 * has a space, then `last`. */
static mousse_status make(mo_tokenizer *t, const char *steps, const char *model,
                          const char *last, mo_error *error)
{
  static const char *const tokens[] = {S,    "a",   "b",    "\xc3\xa9", S S,
                                       "ab", S "a", S "ab", "\303\251b"};
  static char text[16384];
  size_t used = (size_t)snprintf(
      text, sizeof text,
      "{\"added_tokens\":[{\"id\":0,\"content\":\"<unk>\"},{\"id\":1,\"content\":\"<s>\"},"
      "{\"id\":2,\"content\":\"</s>\"},{\"id\":268,\"content\":\"" S
      "<PRE>\"},{\"id\":269,\"content\":\"<|im_start|>\"},"
      "{\"id\":270,\"content\":\"<|im_end|>\"}],%s\"model\":{\"type\":\"BPE\",%s\"vocab\":{",
      steps, model);
  for (unsigned byte = 0; byte < 256; byte++)
    used += (size_t)snprintf(text + used, sizeof text - used, "\"<0x%02X>\":%u,", byte,
                             BYTES + byte);
  for (unsigned i = 0; i < sizeof tokens / sizeof *tokens; i++)
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "\"%s\":%u,", tokens[i], SPACE + i);
  used +=
      (size_t)snprintf(text + used, sizeof text - used, "%s},\"merges\":%s}}", last, MERGES);
  return tokenizer_parse_json(t, "t.json", text, used, error);
}

static void open_one(mo_tokenizer *t, const char *steps)
{
  mo_error error = {{0}};
  if (make(t, steps, "\"byte_fallback\":true,", "\"z\":271", &error) != MOUSSE_OK)
    fail_msg("%s", error.text);
}

/* The ids of text, and the text of the ids behind a token that starts it. */
static void check(const mo_tokenizer *t, bool starts, const char *text,
                  const uint32_t *expected, size_t count, const char *expected_back)
{
  mo_encoder *encoder = NULL;
  mo_error error = {{0}};
  mo_id_list ids = {0};
  mo_buffer back = {0};
  assert_int_equal(encoder_open(&encoder, t, &error), MOUSSE_OK);
  assert_true(mo_id_list_reserve(&ids, 1));
  ids.ids[ids.count++] = starts ? t->end_of_text : A;
  assert_int_equal(
      (starts ? encoder_encode : encoder_go_on)(encoder, text, strlen(text), &ids, &error),
      MOUSSE_OK);
  assert_int_equal(ids.count, count + 1);
  for (size_t i = 0; i < count; i++)
    if (ids.ids[i + 1] != expected[i])
      fail_msg("'%s': id %zu is %u, expected %u", text, i, ids.ids[i + 1], expected[i]);
  assert_int_equal(decode_ids(t, ids.ids, ids.count, &back, &error), MOUSSE_OK);
  const size_t skip = starts ? 0 : 1;
  assert_int_equal(back.size - skip, strlen(expected_back));
  if (back.size > skip) assert_memory_equal(back.data + skip, expected_back, back.size - skip);
  encoder_close(encoder);
  mo_id_list_close(&ids);
  mo_buffer_close(&back);
}

#define CHECK(t, starts, text, back, ...)                                                      \
  do {                                                                                         \
    const uint32_t expected[] = {__VA_ARGS__};                                                 \
    check(t, starts, text, expected, sizeof expected / sizeof *expected, back);                \
  } while (0)

static void test_prepend(void **state)
{
  (void)state;
  mo_tokenizer t;
  open_one(&t, LLAMA2 START("<s>"));
  assert_true(t.spaces_lead && t.end_of_text == 2 && t.start_of_text == 1);
  assert_int_equal(tokenizer_first(&t), 1);
  CHECK(&t, true, "ab", "ab", SPACE_AB);
  CHECK(&t, false, "ab", "ab", AB);
  CHECK(&t, true, " ab", " ab", SPACES, AB); /* two spaces merge first */
  CHECK(&t, true, "a   a", "a   a", SPACE_A, SPACES, SPACE_A);
  CHECK(&t, true, "a \xc3\xa9\nb", "a \xc3\xa9\nb", SPACE_A, SPACE, E, BYTES + '\n', B);
  /* no token of its own, not UTF-8, and U+2581 itself */
  CHECK(&t, false, "\xe4\xb8\xad", "\xe4\xb8\xad", BYTES + 0xe4, BYTES + 0xb8, BYTES + 0xad);
  CHECK(&t, false, "\xe4\xb8z\xff", "\xe4\xb8z\xff", BYTES + 0xe4, BYTES + 0xb8, 271,
        BYTES + 0xff);
  CHECK(&t, true, "<0x41>" S "a", "<0x41> a", SPACE, BYTES + '<', BYTES + '0', BYTES + 'x',
        BYTES + '4', BYTES + '1', BYTES + '>', SPACE_A);
  CHECK(&t, false, "</s>", "</s>", BYTES + '<', BYTES + '/', BYTES + 's', BYTES + '>');
  check(&t, true, "", NULL, 0, "");
  tokenizer_close(&t);
}

static void test_metaspace(void **state)
{
  (void)state;
  mo_tokenizer t;
  open_one(&t, METASPACE(",\"prepend_scheme\":\"first\",\"split\":false"));
  assert_int_equal(t.start_of_text, TOKENIZER_NONE);
  assert_int_equal(tokenizer_first(&t), 2);
  CHECK(&t, true, "ab", "ab", SPACE_AB);
  CHECK(&t, true, " ab", "ab", SPACE_AB); /* as the library does: no second space */
  CHECK(&t, true, "a  a", "a  a", SPACE_A, SPACES, A);
  tokenizer_close(&t);
  open_one(&t, METASPACE("")); /* an old file: every space begins a piece */
  CHECK(&t, true, "a  a", "a  a", SPACE_A, SPACE, SPACE_A);
  tokenizer_close(&t);
  open_one(&t, METASPACE(",\"prepend_scheme\":\"never\",\"split\":false"));
  CHECK(&t, true, "ab", "ab", AB);
  CHECK(&t, true, " ab", " ab", SPACE_AB);
  tokenizer_close(&t);
  open_one(&t, "\"normalizer\":" REPLACE ",");
  CHECK(&t, true, "ab", "ab", AB);
  tokenizer_close(&t);
}

/* Of a conversation, "always" puts a space before every part, and "first" before none: there is a
 * token before the first part. */
static void test_schemes_in_conversations(void **state)
{
  static const struct {
    const char *steps;
    bool spaces;
  } cases[] = {{METASPACE(",\"prepend_scheme\":\"first\",\"split\":false"), false},
               {METASPACE(",\"prepend_scheme\":\"always\",\"split\":false"), true},
               {METASPACE(""), true},
               {LLAMA2, true}};
  const uint32_t expected[] = {269,         SPACE,       BYTES + 'u',  BYTES + 's',
                               BYTES + 'e', BYTES + 'r', BYTES + '\n', AB,
                               270,         SPACE,       BYTES + '\n'};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_tokenizer t;
    chat_template chat;
    mo_encoder *encoder = NULL;
    mo_error error = {{0}};
    mo_id_list ids = {0};
    size_t first = 0, end = 0, place = 0;
    open_one(&t, cases[i].steps);
    assert_int_equal(encoder_open(&encoder, &t, &error), MOUSSE_OK);
    assert_int_equal(chat_template_open(&chat, &t, CHAT_CHATML, &error), MOUSSE_OK);
    const chat_message message = {"user", "ab", 2, true};
    assert_int_equal(chat_add(&chat, encoder, &message, &ids, &first, &end, &error), MOUSSE_OK);
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++)
      if (expected[k] != SPACE || cases[i].spaces)
        assert_true(place < ids.count && ids.ids[place++] == expected[k]);
    assert_int_equal(place, ids.count);
    mo_id_list_close(&ids);
    encoder_close(encoder);
    tokenizer_close(&t);
  }
}

/* Where a token has a space inside, text is merged as a whole. */
static void test_inner_spaces(void **state)
{
  (void)state;
  mo_tokenizer t;
  mo_error error = {{0}};
  assert_int_equal(make(&t, LLAMA2, "\"byte_fallback\":true,", "\"b" S "a\":271", &error),
                   MOUSSE_OK);
  assert_false(t.spaces_lead);
  CHECK(&t, true, "ab ab", "ab ab", SPACE_AB, SPACE_AB);
  tokenizer_close(&t);
}

static void test_saved_is_the_same(void **state)
{
  static const char *const steps[] = {
      LLAMA2 START("<s>"),
      LLAMA2,
      METASPACE(",\"prepend_scheme\":\"first\",\"split\":false"),
      METASPACE(",\"prepend_scheme\":\"always\",\"split\":false"),
      METASPACE(""),
      METASPACE(",\"prepend_scheme\":\"never\""),
      "\"normalizer\":" REPLACE ",",
  };
  const char *path = scratch_path(state, "tokenizer.json");
  uint64_t before = 0;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    mo_tokenizer made, read;
    mo_error error = {{0}};
    open_one(&made, steps[i]);
    assert_int_equal(tokenizer_save(&made, path, &error), MOUSSE_OK);
    assert_int_equal(tokenizer_open(&read, path, &error), MOUSSE_OK);
    assert_true(tokenizer_checksum(&read) == tokenizer_checksum(&made));
    assert_true(tokenizer_checksum(&read) != before); /* every step tells */
    before = tokenizer_checksum(&read);
    tokenizer_close(&made);
    tokenizer_close(&read);
  }
}

static mousse_status gather(void *user, const char *text, size_t length, bool starts,
                            mo_error *error)
{
  (void)starts;
  (void)error;
  assert_true(mo_buffer_add(user, text, length));
  return MOUSSE_OK;
}

/* A document whose start token is the last of the ids that are read from a shard at a time. */
static void test_start_at_the_end_of_a_block(void **state)
{
  enum { BLOCK = 1 << 16 };
  const char *shard = scratch_path(state, "text_train_000000.bin");
  static uint32_t ids[BLOCK + 1];
  mo_tokenizer t;
  shard_writer writer;
  mo_buffer text = {0};
  mo_error error = {{0}};
  open_one(&t, LLAMA2 START("<s>"));
  assert_int_equal(tokenizer_save(&t, scratch_path(state, "tokenizer.json"), &error),
                   MOUSSE_OK);
  for (size_t i = 0; i < BLOCK - 2; i++) ids[i] = B;
  ids[BLOCK - 2] = t.end_of_text;
  ids[BLOCK - 1] = t.start_of_text;
  ids[BLOCK] = SPACE_AB;
  assert_int_equal(shard_writer_open(&writer, shard, t.tokens.count, &error), MOUSSE_OK);
  assert_int_equal(shard_writer_add(&writer, ids, BLOCK + 1, &error), MOUSSE_OK);
  assert_int_equal(shard_writer_commit(&writer, &error), MOUSSE_OK);
  uint32_t before = DECODE_NOTHING;
  assert_int_equal(decode_shard(shard, "", &before, gather, &text, &error), MOUSSE_OK);
  assert_int_equal(before, SPACE_AB);
  assert_int_equal(text.size, BLOCK - 2 + 2);
  assert_memory_equal(text.data + BLOCK - 2, "ab", 2);

  /* likewise the last of a shard */
  const char *next = scratch_path(state, "text_train_000001.bin");
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(shard_writer_open(&writer, i == 0 ? shard : next, t.tokens.count, &error),
                     MOUSSE_OK);
    assert_int_equal(shard_writer_add(&writer, ids + BLOCK - 2 + 2 * i, 2 - i, &error),
                     MOUSSE_OK);
    assert_int_equal(shard_writer_commit(&writer, &error), MOUSSE_OK);
  }
  text.size = 0;
  before = DECODE_NOTHING;
  assert_int_equal(decode_shard(shard, "", &before, gather, &text, &error), MOUSSE_OK);
  assert_int_equal(decode_shard(next, "", &before, gather, &text, &error), MOUSSE_OK);
  assert_int_equal(text.size, 2);
  assert_memory_equal(text.data, "ab", 2);
  mo_buffer_close(&text);
  tokenizer_close(&t);
}

static void test_refused(void **state)
{
  (void)state;
  static const struct {
    const char *steps, *model, *last, *word;
  } cases[] = {
      {LLAMA2, "", "\"z\":271", "model.byte_fallback"},
      {"", "\"byte_fallback\":true,", "\"z\":271", "U+2581"},
      {"\"normalizer\":" PREPEND ",", "\"byte_fallback\":true,", "\"z\":271", "U+2581"},
      {"\"normalizer\":" REPLACE ",\"pre_tokenizer\":{\"type\":\"Digits\"},",
       "\"byte_fallback\":true,", "\"z\":271", "U+2581"},
      {"\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" PREPEND "," PREPEND "," REPLACE
       "]},",
       "\"byte_fallback\":true,", "\"z\":271", "U+2581"},
      {METASPACE(",\"prepend_scheme\":\"sometimes\""), "\"byte_fallback\":true,", "\"z\":271",
       "U+2581"},
      {LLAMA2, "\"byte_fallback\":true,\"ignore_merges\":true,", "\"z\":271",
       "model.ignore_merges"},
      {LLAMA2, "\"byte_fallback\":true,\"end_of_word_suffix\":\"</w>\",", "\"z\":271",
       "model.end_of_word_suffix"},
      {LLAMA2 START("a"), "\"byte_fallback\":true,", "\"z\":271", "'a' before every text"},
      {LLAMA2 START("none"), "\"byte_fallback\":true,", "\"z\":271", "'none' before"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_tokenizer t;
    mo_error error = {{0}};
    assert_int_equal(make(&t, cases[i].steps, cases[i].model, cases[i].last, &error),
                     MOUSSE_BAD_FORMAT);
    if (strstr(error.text, cases[i].word) == NULL)
      fail_msg("case %zu: '%s' does not say '%s'", i, error.text, cases[i].word);
  }
}

static void test_normal_form(void **state)
{
  (void)state;
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"e\xcc\x81t\xc3\xa9", "\xc3\xa9t\xc3\xa9"},              /* joined; already so */
      {"q\xcc\x87\xcc\xa3", "q\xcc\xa3\xcc\x87"},               /* reordered only */
      {"s\xcc\x87\xcc\xa3", "\xe1\xb9\xa9"},                    /* both */
      {"a\xcc\x95\xcc\x80", "\xc3\xa0\xcc\x95"},                /* past one of another class */
      {"a\xcd\x81", "\xc3\xa1"},                                /* a mark that is another */
      {"\xe2\x84\xab\xef\xa4\x80", "\xc3\x85\xe8\xb1\x88"},     /* one for one */
      {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", "\xed\x95\x9c"}, /* Korean letters */
      {"\xed\x95\x98\xe1\x86\xab", "\xed\x95\x9c"},             /* syllable and letter */
      {"\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc"},             /* never joined */
      {"\xcc\x81", "\xcc\x81"},                                 /* nothing before it */
      {"e\xff\xcc\x81", "e\xff\xcc\x81"},                       /* a byte between */
      {"\xe2\x82", "\xe2\x82"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_buffer out = {0}, again = {0};
    const size_t length = strlen(cases[i].expected);
    assert_true(nfc_add(&out, cases[i].text, strlen(cases[i].text)));
    if (out.size != length || (length > 0 && memcmp(out.data, cases[i].expected, length) != 0))
      fail_msg("row %zu", i);
    assert_true(nfc_add(&again, out.data, out.size));
    assert_int_equal(again.size, out.size);
    if (nfc_is_certain(cases[i].text, strlen(cases[i].text)))
      assert_string_equal(cases[i].text, cases[i].expected);
    mo_buffer_close(&out);
    mo_buffer_close(&again);
  }
  assert_true(nfc_is_certain("plain \xc3\xa9 \xe4\xb8\xad", 12));
  assert_false(nfc_is_certain("e\xcc\x81", 3));
}

/* Every character comes back from its bytes. */
static void test_characters(void **state)
{
  (void)state;
  for (uint32_t c = 0; c < 0x110000; c++) {
    char bytes[4];
    if (c >= 0xd800 && c < 0xe000) continue;
    const size_t length = mo_utf8_put(c, bytes);
    assert_int_equal(mo_utf8_sequence(bytes, length), length);
    assert_int_equal(mo_utf8_character(bytes), c);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_prepend),
      cmocka_unit_test(test_metaspace),
      cmocka_unit_test(test_schemes_in_conversations),
      cmocka_unit_test(test_inner_spaces),
      scratch_test(test_saved_is_the_same),
      scratch_test(test_start_at_the_end_of_a_block),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_normal_form),
      cmocka_unit_test(test_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
