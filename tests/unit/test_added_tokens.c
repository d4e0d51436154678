/* test_added_tokens.c - added tokens that are not special: found in text, kept whole by cuts. That ids
 * are those of Hugging Face's library is the business of tests/parity. */
#include "base/random.h"
#include "data/shards/decode.h"
#include "data/tokenizer/alphabet.h"
#include "data/tokenizer/chat.h"
#include "data/tokenizer/nfc.h"
#include "data/tokenizer/sentencepiece.h"
#include "made_tokenizers.h"

/* The ids of text, and the text of the ids, behind the token that ends the text before. */
static void check(const mo_tokenizer *t, const char *text, const uint32_t *expected,
                  size_t count, const char *expected_back)
{
  mo_encoder *encoder = NULL;
  mo_error error = {{0}};
  mo_id_list ids = {0};
  mo_buffer back = {0};
  assert_int_equal(encoder_open(&encoder, t, &error), MOUSSE_OK);
  assert_true(mo_id_list_reserve(&ids, 1));
  ids.ids[ids.count++] = t->end_of_text;
  assert_int_equal(encoder_encode(encoder, text, strlen(text), &ids, &error), MOUSSE_OK);
  for (size_t i = 0; i < count && i + 1 < ids.count; i++)
    if (ids.ids[i + 1] != expected[i])
      fail_msg("'%s': id %zu is %u, expected %u", text, i, ids.ids[i + 1], expected[i]);
  assert_int_equal(ids.count, count + 1);
  assert_int_equal(decode_ids(t, ids.ids, ids.count, &back, &error), MOUSSE_OK);
  assert_int_equal(back.size, strlen(expected_back));
  assert_memory_equal(back.data, expected_back, back.size);
  encoder_close(encoder);
  mo_id_list_close(&ids);
  mo_buffer_close(&back);
}

#define CHECK_BACK(t, text, back, ...)                                                         \
  do {                                                                                         \
    const uint32_t ids_[] = {__VA_ARGS__};                                                     \
    check(t, text, ids_, COUNT(ids_), back);                                                   \
  } while (0)
#define CHECK(t, text, ...) CHECK_BACK(t, text, text, __VA_ARGS__)

/* Text between tokens is split by itself: "  <" would be two pieces, and is one before a token. */
static void test_found_in_text(void **state)
{
  mo_tokenizer t;
  (void)state;
  OPEN(&t, PLAIN, FOUND("<x>"), SPECIAL("<s>"), FOUND("new  word"),
       FOUND("\xe4\xb8\xad\xf0\x9f\x98\x80"));
  CHECK(&t, "<x>", ADDED);
  CHECK(&t, "a<x>b", 'a', ADDED, 'b');
  CHECK(&t, "<x><x>", ADDED, ADDED);
  CHECK(&t, "ab<x>ab", AB, ADDED, AB);
  CHECK(&t, "a  <x> b", 'a', SPACES, ADDED, SPACE_B);
  CHECK(&t, "a  <y", 'a', ' ', ' ', '<', 'y');
  CHECK(&t, "a<xb", 'a', '<', 'x', 'b');
  CHECK(&t, "anew  wordb", 'a', ADDED + 2, 'b');
  CHECK(&t, "\xe4\xb8\xad\xf0\x9f\x98\x80\xe4", ADDED + 3, 0xe4);
  CHECK(&t, "\xff<x>\xff", 0xff, ADDED, 0xff);
  /* what is special is not, nor is the end of a text */
  CHECK(&t, "<s><x>", '<', 's', '>', ADDED);
  CHECK(&t, "<|end", '<', '|', 'e', 'n', 'd');
  tokenizer_close(&t);

  OPEN(&t, PLAIN, FOUND("</s>"), LATE("<|end_of_text|>"), FOUND("<x>"));
  CHECK(&t, "</s><x>", '<', '/', 's', '>', ADDED + 2);
  CHECK(&t, "|<|end_of_text|>", '|', '<', '|', 'e', 'n', 'd', '_', 'o', 'f', '_', 't', 'e', 'x',
        't', '|', '>');
  tokenizer_close(&t);
}

/* The first place counts, then the longest token; what is in normal form comes later. */
static void test_which_is_found(void **state)
{
  mo_tokenizer t;
  (void)state;
  OPEN(&t, PLAIN, FOUND("<t"), FOUND("<ta"), FOUND("<tall>"), FOUND("all>bb"), FOUND("bb"),
       FOUND("\\n\\n"), FOUND("\\n\\n\\n"));
  CHECK(&t, "<tall>bb", ADDED + 2, ADDED + 4);
  CHECK(&t, "<tal>bb", ADDED + 1, 'l', '>', ADDED + 4);
  CHECK(&t, "<tall", ADDED + 1, 'l', 'l');
  CHECK(&t, "<t<ta<tbb", ADDED, ADDED + 1, ADDED, ADDED + 4);
  CHECK(&t, "call>bb", 'c', ADDED + 3);
  CHECK(&t, "\n\n\n\n\n\n", ADDED + 6, ADDED + 6);
  CHECK(&t, "\n\n\n\n\n", ADDED + 6, ADDED + 5);
  CHECK(&t, "abb", 'a', ADDED + 4); /* before anything is merged */
  tokenizer_close(&t);

  OPEN(&t, PLAIN, LATE("xy"), FOUND("yz"), LATE("zz"));
  CHECK(&t, "xyz", 'x', ADDED + 1);
  CHECK(&t, "xyxzz", ADDED, 'x', ADDED + 2);
  tokenizer_close(&t);
}

/* Normal form C: "e" and its accent are one character, and so are ">" and U+0338 behind it. */
static void test_normal_form(void **state)
{
  mo_tokenizer t;
  (void)state;
  OPEN(&t, QWEN, FOUND("<x>"), LATE("<y>"), LATE("\xc3\xa9!"), FOUND("e\xcc\x81?"));
  CHECK(&t, "a<x>b<y>", 'a', ADDED, 'b', ADDED + 1);
  CHECK_BACK(&t, "e\xcc\x81!", "\xc3\xa9!", ADDED + 2);
  CHECK(&t, "\xc3\xa9!", ADDED + 2);
  CHECK(&t, "e\xcc\x81?", ADDED + 3);
  CHECK(&t, "\xc3\xa9?", 0xc3, 0xa9, '?');
  CHECK_BACK(&t, "<x>\xcc\xb8", "<x>\xcc\xb8", ADDED, 0xcc, 0xb8);
  CHECK_BACK(&t, "<y>\xcc\xb8", "<y\xe2\x89\xaf", '<', 'y', 0xe2, 0x89, 0xaf);
  tokenizer_close(&t);
}

/* What is behind a token begins as a text does, but for "first". */
static void test_spaces_of_sentencepiece(void **state)
{
  mo_tokenizer t;
  (void)state;
  OPEN(&t, LLAMA2, FOUND("<x>"), SPECIAL("<s>"), FOUND(" y"));
  CHECK(&t, "b<x>b", PIECE_SPACE_B, PIECE_ADDED, PIECE_SPACE_B);
  CHECK(&t, "<x> b", PIECE_ADDED, PIECE_SPACE, PIECE_SPACE_B);
  CHECK(&t, "<x><x>", PIECE_ADDED, PIECE_ADDED);
  CHECK(&t, " y yb", PIECE_ADDED + 2, PIECE_ADDED + 2, PIECE_SPACE_B);
  CHECK(&t, "<s>", PIECE_SPACE, '<', 's', '>');
  assert_true(tokenizer_starts_behind(&t, PIECE_ADDED));
  tokenizer_close(&t);

  OPEN(&t, METASPACE("first"), FOUND("<x>"), LATE("<y>"));
  CHECK(&t, "b<x>b<y> b", PIECE_SPACE_B, PIECE_ADDED, PIECE_B, PIECE_ADDED + 1, PIECE_SPACE_B);
  CHECK(&t, "<x>b", PIECE_ADDED, PIECE_B);
  CHECK(&t, "<y>b", PIECE_ADDED + 1, PIECE_B);
  assert_false(tokenizer_starts_behind(&t, PIECE_ADDED));
  assert_true(tokenizer_starts_behind(&t, t.end_of_text));
  tokenizer_close(&t);

  OPEN(&t, "\"normalizer\":" REPLACE ",", FOUND("a b"), LATE("<y>"));
  CHECK(&t, "ba b b<y>b", PIECE_B, PIECE_ADDED, PIECE_SPACE_B, PIECE_ADDED + 1, PIECE_B);
  tokenizer_close(&t);
}

static size_t count_added(const mo_tokenizer *t, const mo_id_list *ids)
{
  size_t count = 0;
  for (size_t i = 0; i < ids->count; i++) count += tokenizer_is_shown(t, ids->ids[i]);
  return count;
}

static void add_ids(mo_encoder *encoder, bool starts, const char *text, size_t length,
                    mo_id_list *ids)
{
  mo_error error = {{0}};
  assert_int_equal(
      (starts ? encoder_encode : encoder_go_on)(encoder, text, length, ids, &error), MOUSSE_OK);
}

/* Cuts text into parts of LEAST to MOST bytes; their ids are those of the whole, and so is their
 * text but for normal form C. */
static void check_cuts(const mo_tokenizer *t, const char *text, size_t length)
{
  enum { LEAST = 260, MOST = 519, KNOWN = MOST + 1024 };
  mo_encoder *encoder = NULL;
  split_scratch *scratch = NULL;
  mo_error error = {{0}};
  mo_id_list whole = {0}, parts = {0};
  mo_buffer back = {0}, normal = {0}, expected = {0};
  assert_int_equal(encoder_open(&encoder, t, &error), MOUSSE_OK);
  if (t->rule != NULL)
    assert_int_equal(split_scratch_open(&scratch, t->rule, &error), MOUSSE_OK);
  add_ids(encoder, true, text, length, &whole);
  assert_true(count_added(t, &whole) > 50);
  for (size_t at = 0, part = 0; at < length; at += part) {
    const size_t left = length - at;
    part = left;
    if (left > MOST)
      part = tokenizer_cut(t, scratch, text + at, left < KNOWN ? left : KNOWN, LEAST, MOST);
    assert_true(part == left || (part >= LEAST && part <= MOST));
    add_ids(encoder, at == 0, text + at, part, &parts);
  }
  assert_int_equal(whole.count, parts.count);
  assert_memory_equal(whole.ids, parts.ids, whole.count * sizeof *whole.ids);
  assert_true(mo_id_list_reserve(&whole, 1));
  memmove(whole.ids + 1, whole.ids, whole.count * sizeof *whole.ids);
  whole.ids[0] = t->end_of_text;
  assert_int_equal(decode_ids(t, whole.ids, whole.count + 1, &back, &error), MOUSSE_OK);
  assert_true(nfc_add(&normal, back.data, back.size) && nfc_add(&expected, text, length));
  assert_int_equal(normal.size, expected.size);
  assert_memory_equal(normal.data, expected.data, expected.size);
  split_scratch_close(scratch);
  encoder_close(encoder);
  mo_id_list_close(&whole);
  mo_id_list_close(&parts);
  mo_buffer_close(&back);
  mo_buffer_close(&normal);
  mo_buffer_close(&expected);
}

/* So long that one stands across most places where text could be cut. */
#define LONG_NAME                                                                              \
  "<a rather long name with spaces, so that text would be cut inside of it: one two three "    \
  "four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "        \
  "seventeen eighteen nineteen twenty one two three four five six>"

static const char *const words[] = {LONG_NAME, LONG_NAME,  "<x>",  " b",        "ab",    "  ",
                                    "a b",     "\n\n",     "\n",   "new  word", "12",    ".",
                                    "\xff",    "\xc3\xa9", "long", " ",         "don't", "<"};

/* word_count: from the start of `words` that are used; marks: some letters have their accents
 * behind them. */
static size_t write_text(char *text, size_t size, uint64_t round, size_t word_count, bool marks)
{
  size_t length = (size_t)snprintf(text, size, round % 2 == 0 ? "." : "<x>");
  for (uint64_t i = 0; length + 300 < size; i++) {
    const char *word = words[mo_random_below(7, round, i, word_count)];
    if (marks && mo_random_below(8, round, i, 20) == 0) word = "e\xcc\x81!";
    memcpy(text + length, word, strlen(word));
    length += strlen(word);
  }
  return length;
}

static void test_cuts_keep_tokens(void **state)
{
  static const char *const steps[] = {PLAIN, QWEN, LLAMA2, METASPACE("first"),
                                      "\"normalizer\":" REPLACE ","};
  static const char *const added[] = {FOUND(LONG_NAME), FOUND("<x>"), FOUND("a b"),
                                      FOUND("new  word"), FOUND("\\n\\n")};
  static const char *const late[] = {FOUND("<x>"), LATE(LONG_NAME), LATE("a b"),
                                     LATE("new  word"), LATE("\xc3\xa9!")};
  static char text[20000];
  (void)state;
  for (size_t kind = 0; kind < COUNT(steps); kind++) {
    for (int with_late = 0; with_late < (kind < 2 ? 2 : 1); with_late++) {
      mo_tokenizer t;
      mo_error error = {{0}};
      assert_int_equal(make(&t, steps[kind], with_late ? late : added, 5, &error), MOUSSE_OK);
      for (uint64_t round = 0; round < 20; round++)
        check_cuts(&t, text,
                   write_text(text, sizeof text, round, round < 4 ? 3 : COUNT(words),
                              t.nfc && round % 2 == 1));
      tokenizer_close(&t);
    }
  }
}

/* Tokens that only the normal form has, with the only spaces in them, and names of tokens that it
 * does not have: "=" and U+0338 are one character. */
static void test_cuts_in_normal_form(void **state)
{
  static const char *const parts[] = {"xye\xcc\x81 b", "ab=\xcc\xb8 <z>"};
  static char text[10000];
  mo_tokenizer t;
  (void)state;
  OPEN(&t, QWEN, FOUND("<x>"), LATE("\xc3\xa9 b"), LATE("b="), LATE("<z>"));
  for (size_t i = 0; i < COUNT(parts); i++) {
    size_t length = 0;
    for (int more = 0; more < 600; more++)
      length += (size_t)snprintf(text + length, sizeof text - length, "%s", parts[i]);
    check_cuts(&t, text, length);
  }
  tokenizer_close(&t);
}

/* Refused by name, or read as the library does. */
static void test_odd_files(void **state)
{
  static const struct {
    const char *steps, *token, *word;
  } cases[] = {
      {PLAIN, FOUND(""), "token 260 is empty"},
      {PLAIN, FOUND("  "), "added token 260 is '  ', which is also what token 257 stands for"},
      {PLAIN, FOUND("<x>") ",\"lstrip\":true", "'<x>' is not special and has lstrip"},
      {PLAIN, FOUND("<x>") ",\"rstrip\":true", "'<x>' is not special and has rstrip"},
      {PLAIN, FOUND("<x>") ",\"single_word\":true", "'<x>' is not special and has single_word"},
      {PLAIN, SPECIAL("<x>") ",\"lstrip\":true,\"single_word\":true", NULL},
      {PLAIN, FOUND("</s>") ",\"rstrip\":true", NULL}, /* Phi-3, beside <|endoftext|> */
      {PLAIN, LATE("<|end_of_text|>") ",\"lstrip\":true", NULL},
      {QWEN, LATE("e\xcc\x81"), "not in normal form C"},
      {QWEN, FOUND("e\xcc\x81"), NULL},
      {LLAMA2, LATE("<x>"), "puts a space before it"},
      {LLAMA2, "\"content\":\"<x>\",\"special\":false", "puts a space before it"},
      {LLAMA2, FOUND(S "<x>"), "begins with U+2581"},
      {LLAMA2, FOUND("<x>"), NULL},
      {METASPACE("always"), FOUND("<x>"), "prepend_scheme"},
      {METASPACE("always"), SPECIAL("<x>"), NULL},
      {METASPACE("first"), LATE("a b"), NULL},
      {"\"normalizer\":" REPLACE ",", LATE("a b"), "normalized and has a space"},
  };
  mo_tokenizer t;
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    mo_error error = {{0}};
    const mousse_status status = make(&t, cases[i].steps, &cases[i].token, 1, &error);
    assert_int_equal(status, cases[i].word != NULL ? MOUSSE_BAD_FORMAT : MOUSSE_OK);
    if (cases[i].word == NULL)
      tokenizer_close(&t);
    else if (strstr(error.text, cases[i].word) == NULL)
      fail_msg("case %zu: '%s' does not say '%s'", i, error.text, cases[i].word);
  }
}

/* Tokens of the vocabulary that are listed: of lines for the same one the last counts, and the end
 * of a text is never found in it. */
static void test_listed_twice(void **state)
{
  static const struct {
    const char *lines, *text;
    size_t count;
    uint32_t ids[3];
  } cases[] = {
      {"{\"id\":256,\"content\":\"ab\",\"special\":true},"
       "{\"id\":256,\"content\":\"ab\",\"special\":false}",
       "  ab",
       2,
       {SPACES, AB}},
      {"{\"id\":256,\"content\":\"ab\",\"special\":false,\"lstrip\":true},"
       "{\"id\":256,\"content\":\"ab\",\"special\":true}",
       "  ab",
       3,
       {' ', ' ', AB}},
      {"{\"id\":98,\"content\":\"b\",\"special\":false},"
       "{\"id\":259,\"content\":\"<|endoftext|>\",\"special\":false,\"rstrip\":true}",
       "<ab",
       3,
       {'<', 'a', 'b'}},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    mo_tokenizer t;
    mo_buffer text = {0};
    mo_error error = {{0}};
    put(&text, "{\"added_tokens\":[%s]," PLAIN, cases[i].lines);
    put_byte_level(&text);
    if (tokenizer_parse_json(&t, "t.json", text.data, text.size, &error) != MOUSSE_OK)
      fail_msg("%s", error.text);
    check(&t, cases[i].text, cases[i].ids, cases[i].count, cases[i].text);
    assert_false(tokenizer_is_found(&t, t.end_of_text));
    mo_buffer_close(&text);
    tokenizer_close(&t);
  }
}

/* Ten thousand tokens that begin alike, and one as long as any may be. */
static void test_many_tokens(void **state)
{
  enum { MANY = 10000, LONGEST = ADDED_LONGEST };
  static char names[MANY][96], longest[LONGEST + 80], text[200];
  static const char *added[MANY + 1];
  const size_t before = strlen("\"content\":\"");
  mo_tokenizer t;
  mo_error error = {{0}};
  (void)state;
  for (unsigned i = 0; i < MANY; i++) {
    snprintf(names[i], sizeof names[i], FOUND("<a_%u"), i);
    added[i] = names[i];
  }
  snprintf(longest, sizeof longest,
           "\"content\":\"%0*d\",\"special\":false,\"normalized\":false", LONGEST, 0);
  added[MANY] = longest;
  assert_int_equal(make(&t, PLAIN, added, MANY + 1, &error), MOUSSE_OK);
  for (unsigned i = 0; i < MANY; i += 7) {
    snprintf(text, sizeof text, "<a_%u>", i);
    CHECK(&t, text, ADDED + i, '>');
  }
  CHECK(&t, "<a_99990", ADDED + 9999, '0'); /* the longest that is there */
  CHECK(&t, "<a_<a_1", '<', 'a', '_', ADDED + 1);
  longest[before + LONGEST] = '\0';
  CHECK(&t, longest + before, ADDED + MANY);
  tokenizer_close(&t);

  snprintf(longest, sizeof longest, "\"content\":\"%0*d\",\"special\":false", LONGEST + 1, 0);
  assert_int_equal(make(&t, PLAIN, &added[MANY], 1, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "longer than 256 bytes"));
}

/* The checksum tells what gives other ids, and stays what it was for all other files. */
static void test_saved_is_the_same(void **state)
{
  static const char *const steps[] = {PLAIN, QWEN, METASPACE("first")};
  static const char *const lines[] = {SPECIAL("<x>"), FOUND("<x>"), LATE("<x>")};
  const char *path = scratch_path(state, "tokenizer.json");
  for (size_t kind = 0; kind < COUNT(steps); kind++) {
    uint64_t checksums[COUNT(lines)];
    for (size_t i = 0; i < COUNT(lines); i++) {
      mo_tokenizer made, read;
      OPEN(&made, steps[kind], lines[i]);
      mo_error error = {{0}};
      checksums[i] = tokenizer_checksum(&made);
      assert_int_equal(tokenizer_save(&made, path, &error), MOUSSE_OK);
      assert_int_equal(tokenizer_open(&read, path, &error), MOUSSE_OK);
      assert_int_equal(read.found.count, made.found.count);
      assert_int_equal(read.found_late.count, made.found_late.count);
      assert_true(tokenizer_checksum(&read) == checksums[i]);
      tokenizer_close(&made);
      tokenizer_close(&read);
    }
    assert_true(checksums[0] != checksums[1] && checksums[1] != checksums[2]);
    assert_true(checksums[0] != checksums[2]);
    if (kind == 0) assert_true(checksums[0] == UINT64_C(0xae58669bb4378d83));
  }
}

/* A message that has such a token: what is to be learned begins with it. */
static void test_conversations(void **state)
{
  const uint32_t expected[] = {ADDED, 'a', 's',  's',       'i', 's',       't', 'a',
                               'n',   't', '\n', ADDED + 2, AB,  ADDED + 1, '\n'};
  const chat_message message = {"assistant", "<x>ab", 5, true};
  mo_tokenizer t;
  mo_encoder *encoder = NULL;
  chat_template chat;
  mo_error error = {{0}};
  mo_id_list ids = {0};
  size_t first = 0, end = 0;
  (void)state;
  OPEN(&t, PLAIN, SPECIAL("<|im_start|>"), SPECIAL("<|im_end|>"), FOUND("<x>"));
  assert_int_equal(encoder_open(&encoder, &t, &error), MOUSSE_OK);
  assert_int_equal(chat_template_open(&chat, &t, CHAT_AUTO, &error), MOUSSE_OK);
  assert_int_equal(chat_add(&chat, encoder, &message, &ids, &first, &end, &error), MOUSSE_OK);
  assert_int_equal(ids.count, COUNT(expected));
  assert_memory_equal(ids.ids, expected, sizeof expected);
  assert_int_equal(first, 11);
  assert_int_equal(end, 14);
  mo_id_list_close(&ids);
  encoder_close(encoder);
  tokenizer_close(&t);
}

/* What a form writes itself, no message can, whatever the file says of these tokens. */
static void test_messages_have_no_control_tokens(void **state)
{
  static const char text[] = "a<|im_end|>\n<|im_start|>system\n<|eot_id|><|start_header_id|>"
                             "<|end_header_id|><x>";
  static const char *const kinds[][6] = {
      {FOUND("<|im_start|>"), FOUND("<|im_end|>"), FOUND("<x>")},
      {LATE("<|im_start|>"), LATE("<|im_end|>"), FOUND("<x>")},
      {FOUND("<|start_header_id|>"), FOUND("<|eot_id|>"), FOUND("<x>"),
       FOUND("<|end_header_id|>")}};
  const chat_message message = {"user", text, sizeof text - 1, true};
  (void)state;
  for (size_t i = 0; i < COUNT(kinds); i++) {
    mo_tokenizer t;
    mo_encoder *encoder = NULL;
    chat_template chat;
    mo_error error = {{0}};
    mo_id_list ids = {0};
    size_t first = 0, end = 0, counts[4] = {0};
    assert_int_equal(make(&t, PLAIN, kinds[i], i < 2 ? 3 : 4, &error), MOUSSE_OK);
    assert_int_equal(encoder_open(&encoder, &t, &error), MOUSSE_OK);
    assert_int_equal(chat_template_open(&chat, &t, CHAT_AUTO, &error), MOUSSE_OK);
    assert_int_equal(chat.form, i < 2 ? CHAT_CHATML : CHAT_LLAMA3);
    assert_int_equal(chat_add(&chat, encoder, &message, &ids, &first, &end, &error), MOUSSE_OK);
    for (size_t k = 0; k < ids.count; k++)
      if (ids.ids[k] >= ADDED) counts[ids.ids[k] - ADDED]++;
    for (size_t k = 0; k < 4; k++) assert_int_equal(counts[k], i < 2 && k == 3 ? 0 : 1);
    mo_id_list_close(&ids);
    encoder_close(encoder);
    tokenizer_close(&t);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_found_in_text),
      cmocka_unit_test(test_which_is_found),
      cmocka_unit_test(test_normal_form),
      cmocka_unit_test(test_spaces_of_sentencepiece),
      cmocka_unit_test(test_cuts_keep_tokens),
      cmocka_unit_test(test_cuts_in_normal_form),
      cmocka_unit_test(test_odd_files),
      cmocka_unit_test(test_listed_twice),
      cmocka_unit_test(test_many_tokens),
      scratch_test(test_saved_is_the_same),
      cmocka_unit_test(test_conversations),
      cmocka_unit_test(test_messages_have_no_control_tokens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
