/* test_tokenizer_files.c - what a tokenizer.json says beside tokens and merges: understood and written
 * again, or refused by name. */
#include "made_tokenizers.h"

#define POST(text)     PLAIN "\"post_processor\":" text ","
#define TEMPLATE(list) "{\"type\":\"TemplateProcessing\",\"single\":[" list "]}"
#define TEXT_A         "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"
#define TOKEN(name)    "{\"SpecialToken\":{\"id\":\"" name "\",\"type_id\":0}}"
#define BYTE_LEVEL     "{\"type\":\"ByteLevel\"}"
#define SEQUENCE(list) "{\"type\":\"Sequence\",\"processors\":[" list "]}"

/* What is put around a text is known, or the file is refused. */
static void test_post_processors(void **state)
{
  static const struct {
    const char *steps, *word; /* NULL: read */
    uint32_t start;
  } cases[] = {
      {PLAIN "\"post_processor\":null,", NULL, TOKENIZER_NONE},
      {POST(BYTE_LEVEL), NULL, TOKENIZER_NONE},
      {POST(TEMPLATE(TEXT_A)), NULL, TOKENIZER_NONE},
      {POST(TEMPLATE(TOKEN("<s>") "," TEXT_A)), NULL, ADDED},
      {POST(SEQUENCE(BYTE_LEVEL "," TEMPLATE(TOKEN("<s>") "," TEXT_A))), NULL, ADDED},
      {POST(SEQUENCE(TEMPLATE(TOKEN("<s>") "," TEXT_A) "," BYTE_LEVEL)), NULL, ADDED},
      {POST(TEMPLATE(TOKEN("<t>") "," TEXT_A)), "puts '<t>' before every text", 0},
      {POST(TEMPLATE(TEXT_A "," TOKEN("<s>"))), "other tokens around a text", 0},
      {POST(TEMPLATE(TOKEN("<s>") "," TEXT_A "," TOKEN("<s>"))), "other tokens", 0},
      {POST(TEMPLATE(TOKEN("<s>") "," TOKEN("<s>") "," TEXT_A)), "other tokens", 0},
      {POST(SEQUENCE(TEMPLATE(TOKEN("<s>") "," TEXT_A) "," TEMPLATE(TOKEN("<s>") "," TEXT_A))),
       "other tokens", 0},
      {POST("{\"type\":\"TemplateProcessing\",\"single\":[" TOKEN(
           "<s>") "," TEXT_A "],\"special_tokens\":{\"<s>\":{\"ids\":[260,259]}}}"),
       "other tokens", 0},
      {POST("{\"type\":\"RobertaProcessing\"}"), "type 'RobertaProcessing'", 0},
      {POST(SEQUENCE(BYTE_LEVEL ",{\"type\":\"BertProcessing\"}")), "type 'BertProcessing'", 0},
      {POST("{}"), "type '(none)'", 0},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    static const char *const added[] = {SPECIAL("<s>")};
    mo_tokenizer t;
    mo_error error = {{0}};
    const mousse_status status = make(&t, cases[i].steps, added, 1, &error);
    if (status != (cases[i].word != NULL ? MOUSSE_BAD_FORMAT : MOUSSE_OK) ||
        (cases[i].word != NULL && strstr(error.text, cases[i].word) == NULL))
      fail_msg("case %zu: %s", i, error.text);
    if (status != MOUSSE_OK) continue;
    assert_int_equal(t.start_of_text, cases[i].start);
    tokenizer_close(&t);
  }
}

/* What is said of a token that is not found is not lost, nor does it change what the checksum says. */
static void test_attributes_are_kept(void **state)
{
  static const char *const lines[] = {
      "\"content\":\"<a>\",\"special\":true,\"lstrip\":true",
      "\"content\":\"<b>\",\"special\":true,\"rstrip\":true,\"normalized\":true",
      "\"content\":\"</s>\",\"special\":false,\"rstrip\":true,\"normalized\":false",
      "\"content\":\"<c>\",\"special\":true,\"single_word\":true",
      SPECIAL("<d>"),
  };
  static const unsigned expected[] = {TOKENIZER_LSTRIP, TOKENIZER_RSTRIP | TOKENIZER_NORMALIZED,
                                      TOKENIZER_RSTRIP, TOKENIZER_SINGLE_WORD, 0};
  const char *path = scratch_path(state, "tokenizer.json");
  mo_tokenizer made, read;
  mo_error error = {{0}};
  assert_int_equal(make(&made, PLAIN, lines, COUNT(lines), &error), MOUSSE_OK);
  assert_int_equal(tokenizer_save(&made, path, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_open(&read, path, &error), MOUSSE_OK);
  assert_true(tokenizer_checksum(&made) == tokenizer_checksum(&read));
  for (size_t i = 0; i < COUNT(lines); i++) {
    assert_int_equal(made.attributes[ADDED + i], expected[i]);
    assert_int_equal(read.attributes[ADDED + i], expected[i]);
    assert_int_equal(tokenizer_is_shown(&read, (uint32_t)(ADDED + i)), i == 2);
  }
  tokenizer_close(&made);
  tokenizer_close(&read);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_post_processors),
      scratch_test(test_attributes_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
