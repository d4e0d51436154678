/* test_tokenizer.c - byte-level BPE: reading, training, encoding, decoding, bad files. */
#include "base/random.h"
#include "base/utf8.h"
#include "data/shards/decode.h"
#include "data/tokenizer/alphabet.h"
#include "data/tokenizer/batch_encoder.h"
#include "data/tokenizer/bpe_train.h"
#include "scratch.h"

#include <string.h>

static const char prose[] =
    "It is a truth universally acknowledged, that a single man in possession of a good "
    "fortune, "
    "must be in want of a wife.  However little known the feelings or views of such a man may "
    "be on his first entering a neighbourhood, this truth is so well fixed in the minds of the "
    "surrounding families, that he's considered as the rightful property of some one.\n";

static void train(mo_tokenizer *tokenizer, uint32_t vocabulary)
{
  bpe_trainer *trainer = NULL;
  mo_error error = {{0}};
  assert_int_equal(bpe_trainer_open(&trainer, &error), MOUSSE_OK);
  assert_int_equal(bpe_trainer_add(trainer, prose, strlen(prose), &error), MOUSSE_OK);
  assert_int_equal(bpe_trainer_finish(trainer, vocabulary, tokenizer, &error), MOUSSE_OK);
  bpe_trainer_close(trainer);
}

static void check_round_trip(const mo_tokenizer *tokenizer, const char *text, size_t length)
{
  mo_encoder *encoder = NULL;
  mo_error error = {{0}};
  mo_id_list ids = {0};
  mo_buffer back = {0};
  assert_int_equal(encoder_open(&encoder, tokenizer, &error), MOUSSE_OK);
  for (int pass = 0; pass < 2; pass++) { /* the second from the cache of words */
    ids.count = back.size = 0;
    assert_int_equal(encoder_encode(encoder, text, length, &ids, &error), MOUSSE_OK);
    assert_int_equal(decode_ids(tokenizer, ids.ids, ids.count, &back, &error), MOUSSE_OK);
    assert_int_equal(back.size, length);
    assert_memory_equal(back.data, text, length);
  }
  encoder_close(encoder);
  mo_id_list_close(&ids);
  mo_buffer_close(&back);
}

static void test_any_bytes_come_back(void **state)
{
  (void)state;
  mo_tokenizer tokenizer;
  static char bytes[70000];
  train(&tokenizer, 300);
  check_round_trip(&tokenizer, prose, strlen(prose));
  for (uint64_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)mo_random_below(1, 2, i, 256);
  check_round_trip(&tokenizer, bytes, sizeof bytes);
  for (uint64_t i = 0; i < sizeof bytes; i++) /* mostly UTF-8 of two bytes, some of it cut */
    bytes[i] = (char)(i % 2 == 0 ? 0xc3 : mo_random_below(1, 3, i, 20) == 0 ? 0xe2 : 0xa9);
  check_round_trip(&tokenizer, bytes, sizeof bytes);
  for (size_t length = 0; length < 40; length++) check_round_trip(&tokenizer, bytes, length);
  tokenizer_close(&tokenizer);
}

/* Without linear-ish time this would take minutes. */
static void test_a_million_equal_letters(void **state)
{
  (void)state;
  enum { LENGTH = 1000000 };
  mo_tokenizer tokenizer;
  mo_error error = {{0}};
  bpe_trainer *trainer = NULL;
  char *text = test_malloc(LENGTH);
  memset(text, 'a', LENGTH);
  assert_int_equal(bpe_trainer_open(&trainer, &error), MOUSSE_OK);
  assert_int_equal(bpe_trainer_add(trainer, text, LENGTH, &error), MOUSSE_OK);
  assert_int_equal(bpe_trainer_finish(trainer, 257 + 8, &tokenizer, &error), MOUSSE_OK);
  bpe_trainer_close(trainer);
  size_t longest = 0;
  assert_non_null(tokenizer_bytes(&tokenizer, 256 + 7, &longest));
  assert_int_equal(longest, 256); /* doubled eight times */
  check_round_trip(&tokenizer, text, LENGTH);
  test_free(text);
  tokenizer_close(&tokenizer);
}

static void test_merges_follow_ranks(void **state)
{
  (void)state;
  mo_tokenizer t = {0};
  mo_encoder *encoder = NULL;
  mo_error error = {{0}};
  mo_id_list ids = {0};
  for (unsigned k = 0; k < 256; k++) {
    const char byte = (char)alphabet_byte_at(k);
    assert_int_equal(tokenizer_add_token(&t, &byte, 1, false, &error), MOUSSE_OK);
  }
  assert_int_equal(tokenizer_add_token(&t, "bc", 2, false, &error), MOUSSE_OK); /* 256 */
  assert_int_equal(tokenizer_add_token(&t, "ab", 2, false, &error), MOUSSE_OK); /* 257 */
  assert_int_equal(tokenizer_add_token(&t, "abc", 3, false, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_token(&t, "aa", 2, false, &error), MOUSSE_OK); /* 259 */
  assert_int_equal(tokenizer_add_merge(&t, "b", 1, "c", 1, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_merge(&t, "a", 1, "b", 1, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_merge(&t, "a", 1, "bc", 2, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_merge(&t, "a", 1, "a", 1, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_finish(&t, "test", NULL, &error), MOUSSE_OK);
  assert_int_equal(t.end_of_text, TOKENIZER_NONE);
  assert_int_equal(encoder_open(&encoder, &t, &error), MOUSSE_OK);
  assert_int_equal(encoder_encode(encoder, "abcabaaaaa", 10, &ids, &error), MOUSSE_OK);
  const uint32_t expected[] = {258, 257, 259, 259, 64 + 0};
  assert_int_equal(ids.count, 5);
  for (size_t i = 0; i < 4; i++) assert_int_equal(ids.ids[i], expected[i]);
  assert_int_equal(ids.ids[4], t.byte_ids['a']);
  mo_id_list_close(&ids);
  encoder_close(encoder);
  tokenizer_close(&t);
}

/* Words that need no merging ("ignore_merges") are no way for a special token into text. */
static void test_whole_words_are_not_special(void **state)
{
  (void)state;
  mo_tokenizer t = {.whole_words = true};
  mo_encoder *encoder = NULL;
  mo_error error = {{0}};
  mo_id_list ids = {0};
  for (unsigned byte = 0; byte < 256; byte++)
    assert_int_equal(tokenizer_add_token(&t, &(char){(char)byte}, 1, false, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_token(&t, "word", 4, false, &error), MOUSSE_OK); /* 256 */
  assert_int_equal(tokenizer_add_token(&t, "end", 3, true, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_finish(&t, "test", NULL, &error), MOUSSE_OK);
  assert_int_equal(encoder_open(&encoder, &t, &error), MOUSSE_OK);
  assert_int_equal(encoder_encode(encoder, "word\nend", 8, &ids, &error), MOUSSE_OK);
  const uint32_t expected[] = {256, '\n', 'e', 'n', 'd'};
  assert_int_equal(ids.count, 5);
  assert_memory_equal(ids.ids, expected, sizeof expected);
  mo_id_list_close(&ids);
  encoder_close(encoder);
  tokenizer_close(&t);
}

static void test_training_is_greedy_and_repeatable(void **state)
{
  (void)state;
  mo_tokenizer a, b;
  size_t length = 0;
  train(&a, 280);
  train(&b, 280);
  assert_int_equal(a.tokens.count, 280);
  assert_int_equal(a.end_of_text, 279);
  assert_memory_equal(tokenizer_bytes(&a, 279, &length), "<|endoftext|>", 13);
  assert_int_equal(a.merge_count, b.merge_count);
  assert_memory_equal(a.merges, b.merges, a.merge_count * sizeof *a.merges);
  tokenizer_close(&a);
  tokenizer_close(&b);

  /* Words ab, " ab" twice, " abc" twice, " xy": pairs by count, then by ids (x is 87, the space
   * 220). */
  static const char *const expected[] = {"ab", " ab", " abc", "xy", " xy"};
  static const char text[] = "ab ab ab abc abc xy";
  bpe_trainer *trainer = NULL;
  mo_error error = {{0}};
  assert_int_equal(bpe_trainer_open(&trainer, &error), MOUSSE_OK);
  assert_int_equal(bpe_trainer_add(trainer, text, strlen(text), &error), MOUSSE_OK);
  assert_int_equal(bpe_trainer_finish(trainer, 262, &a, &error), MOUSSE_OK);
  for (uint32_t i = 0; i < 5; i++) {
    const char *bytes = tokenizer_bytes(&a, 256 + i, &length);
    assert_int_equal(length, strlen(expected[i]));
    assert_memory_equal(bytes, expected[i], length);
  }
  tokenizer_close(&a);
  bpe_trainer_close(trainer);

  assert_int_equal(bpe_trainer_open(&trainer, &error), MOUSSE_OK);
  assert_int_equal(bpe_trainer_add(trainer, "ab", 2, &error), MOUSSE_OK);
  assert_int_equal(bpe_trainer_finish(trainer, 4096, &a, &error), MOUSSE_OUT_OF_RANGE);
  assert_non_null(strstr(error.text, "at most 258"));
  bpe_trainer_close(trainer);
}

static void test_saved_tokenizer_is_the_same(void **state)
{
  mo_tokenizer made, read;
  mo_error error = {{0}};
  const char *path = scratch_path(state, "tokenizer.json");
  train(&made, 300);
  assert_int_equal(tokenizer_save(&made, path, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_open(&read, *state, &error), MOUSSE_OK);
  assert_int_equal(read.tokens.count, made.tokens.count);
  assert_int_equal(read.end_of_text, made.end_of_text);
  assert_int_equal(read.merge_count, made.merge_count);
  assert_memory_equal(read.merges, made.merges, made.merge_count * sizeof *made.merges);
  assert_memory_equal(read.tokens.pool, made.tokens.pool, made.tokens.pool_used);
  tokenizer_close(&read);
  tokenizer_close(&made);

  assert_int_equal(tokenizer_open(&made, "bytes", &error), MOUSSE_OK);
  assert_int_equal(tokenizer_save(&made, path, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_open(&read, path, &error), MOUSSE_OK);
  assert_int_equal(read.tokens.count, 256);
  assert_int_equal(read.end_of_text, 0);
  assert_null(read.rule);
  check_round_trip(&read, prose, strlen(prose));
  tokenizer_close(&read);
  tokenizer_close(&made);
}

/* Tokens that are never found in text but shown to readers, as Qwen's <think>, stay such. */
static void test_shown_tokens_stay_shown(void **state)
{
  static const char special[] = "\"special\": true";
  mo_tokenizer made, read;
  mo_error error = {{0}};
  char *text = NULL;
  size_t size = 0;
  const char *path = scratch_path(state, "tokenizer.json");
  train(&made, 300);
  assert_false(tokenizer_is_shown(&made, made.end_of_text));
  assert_int_equal(tokenizer_save(&made, path, &error), MOUSSE_OK);
  assert_int_equal(mo_file_read(NULL, path, 1 << 20, &text, &size, &error), MOUSSE_OK);
  memcpy(strstr(text, special), "\"special\":false", strlen(special));
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 0) assert_int_equal(mo_file_write(path, text, size, &error), MOUSSE_OK);
    assert_int_equal(tokenizer_open(&read, path, &error), MOUSSE_OK);
    assert_true(tokenizer_is_special(&read, made.end_of_text));
    assert_true(tokenizer_is_shown(&read, made.end_of_text));
    assert_false(tokenizer_is_shown(&read, 'a'));
    assert_int_equal(tokenizer_checksum(&read), tokenizer_checksum(&made));
    assert_int_equal(tokenizer_save(&read, path, &error), MOUSSE_OK);
    tokenizer_close(&read);
  }
  mo_release(NULL, text, size + 1);
  tokenizer_close(&made);
}

/* vocab.json of the 256 bytes and some more entries; merges.txt as given. */
static mousse_status read_pair(const char *more, const char *merges, mo_error *error)
{
  static char vocabulary[8192];
  size_t used = (size_t)snprintf(vocabulary, sizeof vocabulary, "{");
  for (unsigned k = 0; k < 256; k++) {
    const char byte = (char)alphabet_byte_at(k);
    char spelled[4];
    const size_t length = alphabet_spell(&byte, 1, spelled);
    const bool escape = byte == '"' || byte == '\\';
    used += (size_t)snprintf(vocabulary + used, sizeof vocabulary - used, "%s\"%s%.*s\": %u",
                             k > 0 ? ", " : "", escape ? "\\" : "", (int)length, spelled, k);
  }
  used += (size_t)snprintf(vocabulary + used, sizeof vocabulary - used, "%s}", more);
  mo_tokenizer tokenizer;
  const mousse_status status = tokenizer_parse_pair(
      &tokenizer, "vocab.json", vocabulary, used, "merges.txt", merges, strlen(merges), error);
  if (status == MOUSSE_OK) tokenizer_close(&tokenizer);
  return status;
}

static const struct bad_pair {
  const char *more, *merges, *word; /* word NULL: fine */
} bad_pairs[] = {
    {", \"ab\": 256", "#version: 0.2\na b\n", NULL},
    {", \"ab\": 256", "#version: 0.2\r\na b\r\n", NULL},
    {", \"ab\": 256", "a b", NULL},
    {", \"##\": 256", "# #\n", NULL},
    {", \"ab\": 257", "a b\n", "has id 257, expected 0 to 256"},
    {", \"ab\": -1", "a b\n", "has id -1"},
    {", \"ab\": 3", "a b\n", "id 3 is given to"},
    {", \"ab\": 1.5", "a b\n", "not a whole number"},
    {", \"ab\": 256, \"ab\": 257", "a b\n", "duplicate"},
    {", \"ab\": 256, \"\": 257", "a b\n", "vocab.json: token 257 is empty"},
    {", \"\xe2\x96\x81m\": 256", "a b\n", "byte-level alphabet"},
    {", \"ab\": 256", "a c\n", "needs the token 'ac'"},
    {", \"ab\": 256", "a xy\n", "needs the token 'xy'"},
    {", \"ab\": 256", "a b\na b\n", "twice"},
    {", \"ab\": 256", "a b c\n", "one space"},
    {", \"ab\": 256", "ab\n", "one space"},
    {", \"ab\": 256", " b\n", "one space"},
    {", \"ab\": 256", "a \n", "not two tokens"},
    {", \"ab\": 256, ", "a b\n", "line 1"},
};

static void test_bad_vocabularies_and_merges(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof bad_pairs / sizeof *bad_pairs; i++) {
    const struct bad_pair *b = &bad_pairs[i];
    mo_error error = {{0}};
    const mousse_status status = read_pair(b->more, b->merges, &error);
    if (b->word == NULL) {
      if (status != MOUSSE_OK) fail_msg("row %zu: %s", i, error.text);
      continue;
    }
    assert_int_equal(status, MOUSSE_BAD_FORMAT);
    if (strstr(error.text, b->word) == NULL)
      fail_msg("row %zu: '%s' does not say '%s'", i, error.text, b->word);
  }
}

static const struct bad_json {
  const char *text, *word;
} bad_jsons[] = {
    {"", "line 1"},
    {"[]", "model.type"},
    {"{}", "model.type"},
    {"{\"model\": {\"type\": \"Unigram\"}}", "model.type"},
    {"{\"model\": {\"type\": \"BPE\"}, \"normalizer\": {\"type\": \"NFKC\"}}", "normalizer"},
    {"{\"model\": {\"type\": \"BPE\"}}", "pre_tokenizer"},
    {"{\"model\": {\"type\": \"BPE\"}, \"pre_tokenizer\": {\"type\": \"Whitespace\"}}",
     "pre_tokenizer"},
    {"{\"model\": {\"type\": \"BPE\"}, \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
     "\"use_regex\": false}}",
     "pre_tokenizer"},
    {"{\"model\": {\"type\": \"BPE\"}, \"pre_tokenizer\": {\"type\": \"ByteLevel\"}}",
     "vocabulary is not"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {}}, \"pre_tokenizer\": {\"type\": "
     "\"ByteLevel\"}}",
     "0 tokens"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}, "
     "\"pre_tokenizer\": {\"type\": \"ByteLevel\"}}",
     "no token for byte 0x00"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [1]}, "
     "\"pre_tokenizer\": {\"type\": \"ByteLevel\"}}",
     "model.merges[0]"},
};

static void test_bad_json(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof bad_jsons / sizeof *bad_jsons; i++) {
    mo_tokenizer tokenizer;
    mo_error error = {{0}};
    assert_int_equal(tokenizer_parse_json(&tokenizer, "t.json", bad_jsons[i].text,
                                          strlen(bad_jsons[i].text), &error),
                     MOUSSE_BAD_FORMAT);
    if (strstr(error.text, bad_jsons[i].word) == NULL)
      fail_msg("'%s' does not say '%s'", error.text, bad_jsons[i].word);
  }
}

/* Cut off anywhere, a file gives a sentence. */
static void test_truncated_json(void **state)
{
  mo_tokenizer made, read;
  mo_error error = {{0}};
  char *data = NULL;
  size_t size = 0;
  const char *path = scratch_path(state, "tokenizer.json");
  train(&made, 260);
  assert_int_equal(tokenizer_save(&made, path, &error), MOUSSE_OK);
  tokenizer_close(&made);
  assert_int_equal(mo_file_read(NULL, path, 1 << 20, &data, &size, &error), MOUSSE_OK);
  for (size_t cut = 0; cut < size; cut += 13)
    assert_int_equal(tokenizer_parse_json(&read, "t.json", data, cut, &error),
                     MOUSSE_BAD_FORMAT);
  assert_int_equal(tokenizer_parse_json(&read, "t.json", data, size, &error), MOUSSE_OK);
  tokenizer_close(&read);
  mo_release(NULL, data, size + 1);
}

static void test_missing_files(void **state)
{
  mo_tokenizer tokenizer;
  mo_error error = {{0}};
  assert_int_equal(tokenizer_open(&tokenizer, *state, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "no tokenizer here"));
  assert_int_equal(tokenizer_open(&tokenizer, scratch_path(state, "none.json"), &error),
                   MOUSSE_IO);
  scratch_write(state, "vocab.json", "{}", 2);
  assert_int_equal(tokenizer_open(&tokenizer, *state, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "merges.txt"));
}

static void test_utf8(void **state)
{
  (void)state;
  assert_int_equal(mo_utf8_prefix("abc\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", 13), 13);
  static const char *const bad[] = {"\x80",         "\xc0\x80",         "\xc3",
                                    "\xe0\x80\x80", "\xed\xa0\x80",     "\xf0\x80\x80\x80",
                                    "\xe2\x82",     "\xf4\x90\x80\x80", "\xff"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(mo_utf8_sequence(bad[i], strlen(bad[i])), 0);
}

/* The same ids at 1 and 4 threads, whole or cut where cutting is allowed. */
static void test_batches_and_cuts(void **state)
{
  (void)state;
  mo_tokenizer tokenizer;
  mo_error error = {{0}};
  mo_id_list lists[2] = {{0}, {0}};
  split_scratch *scratch = NULL;
  train(&tokenizer, 300);
  assert_int_equal(split_scratch_open(&scratch, tokenizer.rule, &error), MOUSSE_OK);
  for (int pass = 0; pass < 2; pass++) {
    batch_encoder *batch = NULL;
    bool full = false;
    assert_int_equal(
        batch_encoder_open(&batch, &tokenizer, CHAT_AUTO, pass == 0 ? 1 : 4, &error),
        MOUSSE_OK);
    for (size_t at = 0; at < strlen(prose);) {
      const size_t left = strlen(prose) - at;
      const size_t part = pass == 1 && left > 30
                              ? tokenizer_cut(&tokenizer, scratch, prose + at, left, 1, 30)
                              : left;
      assert_int_equal(
          batch_encoder_add(
              batch,
              &(batch_text){.text = prose + at, .length = part, .starts_document = at == 0},
              &full, &error),
          MOUSSE_OK);
      at += part;
    }
    assert_true(pass == 0 || batch_encoder_count(batch) > 10);
    assert_int_equal(batch_encoder_encode(batch, &error), MOUSSE_OK);
    for (size_t i = 0; i < batch_encoder_count(batch); i++) {
      const batch_unit *unit = batch_encoder_get(batch, i);
      assert_true(mo_id_list_reserve(&lists[pass], unit->ids.count));
      memcpy(lists[pass].ids + lists[pass].count, unit->ids.ids,
             unit->ids.count * sizeof(uint32_t));
      lists[pass].count += unit->ids.count;
    }
    batch_encoder_close(batch);
  }
  assert_int_equal(lists[0].count, lists[1].count);
  assert_memory_equal(lists[0].ids, lists[1].ids, lists[0].count * sizeof(uint32_t));
  mo_id_list_close(&lists[0]);
  mo_id_list_close(&lists[1]);
  split_scratch_close(scratch);
  tokenizer_close(&tokenizer);
}

static const char *const words[] = {"a",
                                    " the",
                                    "\n",
                                    "  ",
                                    "don't",
                                    "\t",
                                    "\xe4\xb8\xad",
                                    "\xe3\x80\x82",
                                    "\xe3\x80\x80",
                                    "12",
                                    ".",
                                    "\xff",
                                    "\r\n",
                                    "'s",
                                    "\xc3\xa9",
                                    "\xc2\xa0",
                                    "\xe4",
                                    "\xf0\x9f\x98\x80"};

/* Where pieces end, both sides of a cut together and the whole. */
typedef struct borders {
  size_t at, count, ends[4096];
} borders;

static mousse_status note_border(void *user, const char *piece, size_t length)
{
  borders *b = user;
  (void)piece;
  b->ends[b->count++] = b->at += length;
  return MOUSSE_OK;
}

/* Random text of all kinds: cut places lie where they may, and both sides split as the whole. */
static void test_cuts_are_exact(void **state)
{
  static const char *const rules[] = {
      NULL, "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
            "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"};
  enum { LEAST = 100, MOST = 300, LENGTH = 600 };
  mo_error error = {{0}};
  (void)state;
  for (uint64_t round = 0; round < 400; round++) {
    char text[LENGTH + 16];
    size_t length = 0;
    split_rule *rule = NULL;
    split_scratch *scratch = NULL;
    static borders whole, parts;
    for (uint64_t i = 0; length < LENGTH; i++) {
      const char *word = words[mo_random_below(5, round, i, sizeof words / sizeof *words)];
      memcpy(text + length, word, strlen(word));
      length += strlen(word);
    }
    assert_int_equal(split_rule_open(&rule, rules[round % 2], &error), MOUSSE_OK);
    assert_int_equal(split_scratch_open(&scratch, rule, &error), MOUSSE_OK);
    const size_t at = split_cut(rule, scratch, text, length, LEAST, MOST);
    assert_in_range(at, LEAST, MOST);
    whole.at = whole.count = parts.at = parts.count = 0;
    split_text(rule, scratch, text, length, note_border, &whole, &error);
    split_text(rule, scratch, text, at, note_border, &parts, &error);
    split_text(rule, scratch, text + at, length - at, note_border, &parts, &error);
    assert_int_equal(whole.count, parts.count);
    assert_memory_equal(whole.ends, parts.ends, whole.count * sizeof *whole.ends);
    split_scratch_close(scratch);
    split_rule_close(rule);
  }
}

/* \\s of any rule is Unicode's White_Space, in and outside of classes; U+180E is none. */
static void test_white_space_of_rules(void **state)
{
  static const char *const rules[] = {NULL,
                                      "[^\\s]+|\\s+",
                                      "\\S+|[\\s]+",
                                      "[^\\S]+|[\\S]+",
                                      "[]\\S-]+|[\\s]+",
                                      "[[:alpha:]\\S]+|\\s+"};
  static const char text[] = "a\xe1\xa0\x8e\xe1\xa0\x8e\xe2\x80\x83\xc2\x85\xe3\x80\x80";
  static borders found;
  mo_error error = {{0}};
  (void)state;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    split_rule *rule = NULL;
    split_scratch *scratch = NULL;
    const size_t first = rules[i] == NULL ? 1 : 0; /* GPT-2's: letters, then what is none */
    assert_int_equal(split_rule_open(&rule, rules[i], &error), MOUSSE_OK);
    assert_int_equal(split_scratch_open(&scratch, rule, &error), MOUSSE_OK);
    found.at = found.count = 0;
    split_text(rule, scratch, text, strlen(text), note_border, &found, &error);
    assert_int_equal(found.count, 2 + first);
    assert_int_equal(found.ends[first], 7);
    split_scratch_close(scratch);
    split_rule_close(rule);
  }
}

/* What other libraries read as sets of characters, and PCRE2 would read as characters. */
static void test_rules_with_sets(void **state)
{
  static const char *const refused[] = {"[a-z&&[^b]]+", "[\\p{L}&&x]", "[^[a]b]"};
  static const char *const fine[] = {"[a\\[b\\&&]+", "a&&b|\\[[&]", "[[:alpha:]&]"};
  split_rule *rule = NULL;
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    mo_error error = {{0}};
    assert_int_equal(split_rule_open(&rule, refused[i], &error), MOUSSE_BAD_FORMAT);
    assert_non_null(strstr(error.text, "classes within classes"));
    assert_int_equal(split_rule_open(&rule, fine[i], &error), MOUSSE_OK);
    split_rule_close(rule);
  }
}

/* Text without borders: between characters, or anywhere in bytes that are none. */
static void test_cuts_inside_words(void **state)
{
  char text[512];
  split_rule *rule = NULL;
  split_scratch *scratch = NULL;
  mo_error error = {{0}};
  (void)state;
  assert_int_equal(split_rule_open(&rule, NULL, &error), MOUSSE_OK);
  assert_int_equal(split_scratch_open(&scratch, rule, &error), MOUSSE_OK);
  memset(text, 'x', sizeof text);
  assert_int_equal(split_cut(rule, scratch, text, sizeof text, 100, 200), 200);
  for (size_t i = 0; i + 3 <= sizeof text; i += 3) memcpy(text + i, "\xe4\xb8\xad", 3);
  assert_int_equal(split_cut(rule, scratch, text, sizeof text, 100, 200), 198);
  assert_int_equal(split_cut(NULL, NULL, text, sizeof text, 100, 200), 198);
  memset(text, 0x80, sizeof text);
  assert_int_equal(split_cut(rule, scratch, text, sizeof text, 100, 200), 200);
  assert_int_equal(split_cut(rule, scratch, text, sizeof text, 200, 200), 200);
  split_scratch_close(scratch);
  split_rule_close(rule);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cuts_are_exact),
      cmocka_unit_test(test_cuts_inside_words),
      cmocka_unit_test(test_white_space_of_rules),
      cmocka_unit_test(test_rules_with_sets),
      cmocka_unit_test(test_any_bytes_come_back),
      cmocka_unit_test(test_a_million_equal_letters),
      cmocka_unit_test(test_merges_follow_ranks),
      cmocka_unit_test(test_whole_words_are_not_special),
      cmocka_unit_test(test_training_is_greedy_and_repeatable),
      scratch_test(test_saved_tokenizer_is_the_same),
      scratch_test(test_shown_tokens_stay_shown),
      cmocka_unit_test(test_bad_vocabularies_and_merges),
      cmocka_unit_test(test_bad_json),
      scratch_test(test_truncated_json),
      scratch_test(test_missing_files),
      cmocka_unit_test(test_utf8),
      cmocka_unit_test(test_batches_and_cuts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
