/* test_corpus.c - documents from text, JSON lines, compressed files and directories. */
#include "data/shards/dataset.h"
#include "data/text/corpus.h"
#include "data/text/unwrap.h"
#include "scratch.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* All documents of the inputs, each as [text]. */
static mousse_status read_all(const char *const *inputs, size_t count,
                              const corpus_options *options, char *text, mo_error *error)
{
  mo_corpus *corpus = NULL;
  corpus_piece piece;
  char *at = text;
  *at = '\0';
  MO_TRY(corpus_open(&corpus, inputs, count, options, error));
  mousse_status status = corpus_next(corpus, &piece, error);
  for (; status == MOUSSE_OK && piece.length > 0; status = corpus_next(corpus, &piece, error)) {
    if (piece.starts_document) at += sprintf(at, "%s[", at > text ? "]" : "");
    memcpy(at, piece.text, piece.length);
    at += piece.length;
  }
  strcpy(at, at > text ? "]" : "");
  corpus_close(corpus);
  return status;
}

static void check_file(void **state, const char *name, const char *data, size_t size,
                       const char *expected)
{
  char text[4096];
  mo_error error = {{0}};
  const char *path = scratch_write(state, name, data, size);
  /* Pieces of one byte too: wherever text is cut, the documents are the same. */
  for (size_t piece_bytes = 0; piece_bytes < 3; piece_bytes++) {
    const corpus_options options = {.separator = "<|end|>", .piece_bytes = piece_bytes};
    const mousse_status status = read_all(&path, 1, &options, text, &error);
    if (status != MOUSSE_OK) fail_msg("%s", error.text);
    assert_string_equal(text, expected);
  }
}

static void check_text(void **state, const char *name, const char *data, const char *expected)
{
  check_file(state, name, data, strlen(data), expected);
}

static void test_text_documents(void **state)
{
  check_text(state, "a.txt", "one\n<|end|>\ntwo\n\n<|end|>\nthree", "[one\n][two\n\n][three]");
  check_text(state, "a.txt", "one\n<|end|>\r\n<|end|>\n\n<|end|>\n<|end|>", "[one\n][\n]");
  check_text(state, "a.txt", "x<|end|>\n<|end|>y\n <|end|>\n",
             "[x<|end|>\n<|end|>y\n <|end|>\n]");
  check_text(state, "a.txt", "<|end|>\nx", "[x]");
  check_text(state, "a.txt", "", "");
}

static void test_long_lines(void **state)
{
  enum { LENGTH = 300000 };
  char *text = test_malloc(LENGTH), *back = test_malloc(LENGTH + 16);
  mo_error error = {{0}};
  const corpus_options options = {.separator = "<|end|>"};
  memset(text, 'x', LENGTH);
  memcpy(text + LENGTH - 9, "\n<|end|>\n", 9);
  memcpy(text + 65536 - 3, "<|end|>", 7); /* across the blocks that are read */
  const char *path = scratch_write(state, "long.txt", text, LENGTH);
  assert_int_equal(read_all(&path, 1, &options, back, &error), MOUSSE_OK);
  assert_int_equal(strlen(back), LENGTH - 8 + 2);
  assert_memory_equal(back + 1, text, LENGTH - 8);
  test_free(text);
  test_free(back);
}

static void test_json_lines(void **state)
{
  check_text(state, "a.jsonl",
             "{\"text\": \"one\\n\"}\n\n{\"id\": 1, \"text\": \"tw\\u00e9\"}\n",
             "[one\n][tw\xc3\xa9]");
  check_text(state, "a.jsonl", "{\"hash\": 18446744073709551615, \"text\": \"one\"}", "[one]");
  check_text(state, "a.ndjson", "{\"text\": \"\"}\n{\"text\": \"x\"}", "[x]");
  static const struct bad {
    const char *text, *word;
  } bads[] = {
      {"{\"text\": \"a\"}\n{\"text\": \"b\"\n", "line 2"},
      {"{\"txt\": \"a\"}\n",
       "line 1 has no text in field 'text'; --field NAME chooses another"},
      {"{\"text\": 7}\n", "line 1 has no text"},
      {"[1]\n", "line 1 has no text"},
      {"{\"text\": \"\xff\"}\n", "line 1"},
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    char text[256];
    mo_error error = {{0}};
    const corpus_options options = {0};
    const char *path = scratch_write(state, "b.jsonl", bads[i].text, strlen(bads[i].text));
    assert_int_equal(read_all(&path, 1, &options, text, &error), MOUSSE_BAD_FORMAT);
    if (strstr(error.text, bads[i].word) == NULL)
      fail_msg("'%s' does not say '%s'", error.text, bads[i].word);
  }
}

static void test_gzip(void **state)
{
  char text[256];
  mo_error error = {{0}};
  const corpus_options options = {0};
  const char *path = scratch_path(state, "a.txt.gz");
  for (int member = 0; member < 2; member++) { /* gzip files may follow each other */
    gzFile file = gzopen(path, member == 0 ? "w" : "a");
    gzputs(file, member == 0 ? "hello " : "world");
    gzclose(file);
  }
  assert_int_equal(read_all(&path, 1, &options, text, &error), MOUSSE_OK);
  assert_string_equal(text, "[hello world]");
  char *data = NULL;
  size_t size = 0;
  assert_int_equal(mo_file_read(NULL, path, 1000, &data, &size, &error), MOUSSE_OK);
  const char *cut = scratch_write(state, "cut.gz", data, size - 3);
  assert_int_equal(read_all(&cut, 1, &options, text, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "cut off"));
  data[12] ^= 0x55;
  const char *bad = scratch_write(state, "bad.gz", data, size);
  assert_int_equal(read_all(&bad, 1, &options, text, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "damaged gzip"));
  mo_release(NULL, data, size + 1);
}

static void test_directories(void **state)
{
  char text[256];
  mo_error error = {{0}};
  const corpus_options options = {0};
  const char *folder = *state;
  assert_int_equal(mkdir(scratch_path(state, "b"), 0777), 0);
  scratch_write(state, "c.txt", "3", 1);
  scratch_write(state, "b/x.jsonl", "{\"text\": \"2\"}", 13);
  scratch_write(state, "a.txt", "1", 1);
  scratch_write(state, ".hidden", "0", 1);
  assert_int_equal(read_all(&folder, 1, &options, text, &error), MOUSSE_OK);
  assert_string_equal(text, "[1][2][3]");
  const char *none = scratch_path(state, "none");
  assert_int_equal(read_all(&none, 1, &options, text, &error), MOUSSE_IO);
  assert_int_equal(mkdir(none, 0777), 0);
  assert_int_equal(read_all(&none, 1, &options, text, &error), MOUSSE_INVALID_ARGUMENT);
}

/* Two links in each directory to the next one: a thousand million ways to the last. */
static void test_directories_are_listed_once(void **state)
{
  enum { FOLDERS = 30 };
  char text[256], name[32], target[32];
  mo_error error = {{0}};
  const corpus_options options = {0};
  for (int i = 0; i <= FOLDERS; i++) {
    snprintf(name, sizeof name, "d%d", i);
    assert_int_equal(mkdir(scratch_path(state, name), 0777), 0);
    snprintf(target, sizeof target, "../d%d", i < FOLDERS ? i + 1 : 0); /* the last: a loop */
    for (const char *link = "xy"; *link != '\0'; link++) {
      snprintf(name, sizeof name, "d%d/%c", i, *link);
      assert_int_equal(symlink(target, scratch_path(state, name)), 0);
    }
  }
  scratch_write(state, "d30/a.txt", "1", 1);
  scratch_write(state, "d0/z.txt", "2", 1);
  const char *folders[] = {scratch_path(state, "d0"), *state};
  assert_int_equal(read_all(folders, 2, &options, text, &error), MOUSSE_OK);
  assert_string_equal(text, "[1][2]");
}

static void test_unwrap(void **state)
{
  (void)state;
  static const char text[] = "\n  TITLE \r\n\n\n\none\ntwo  \n three\n   \nfour";
  for (size_t part = 1; part < sizeof text; part++) {
    mo_unwrap unwrap = {0};
    mo_buffer out = {0};
    for (size_t at = 0; at < strlen(text); at += part) {
      const size_t left = strlen(text) - at;
      assert_true(unwrap_add(&unwrap, text + at, left < part ? left : part, &out));
    }
    assert_true(unwrap_finish(&unwrap, &out) && mo_buffer_add(&out, "", 1));
    assert_string_equal(out.data, "TITLE\n\none two three\n\nfour\n");
    unwrap_close(&unwrap);
    mo_buffer_close(&out);
  }
}

/* A line is handed on as it comes, but for space at what may be its end. */
static void test_unwrap_of_long_lines(void **state)
{
  enum { PART = 1 << 10, PARTS = 200 };
  char text[PART];
  mo_unwrap unwrap = {0};
  mo_buffer out = {0};
  (void)state;
  memset(text, 'x', sizeof text);
  for (size_t i = 1; i <= PARTS; i++) {
    assert_true(unwrap_add(&unwrap, text, sizeof text, &out));
    assert_int_equal(out.size, i * PART);
  }
  assert_true(unwrap_add(&unwrap, " \t", 2, &out) && unwrap_add(&unwrap, "y \r", 3, &out));
  assert_int_equal(out.size, PARTS * PART + 3);
  assert_memory_equal(out.data + PARTS * PART, " \ty", 3);
  out.size = 0;
  memset(text, ' ', sizeof text);
  for (size_t i = 0; i < PARTS; i++) {
    assert_true(unwrap_add(&unwrap, text, sizeof text, &out));
    assert_true(unwrap.space.size <= (1 << 16) + PART);
  }
  assert_true(unwrap_add(&unwrap, "\nz", 2, &out) && unwrap_finish(&unwrap, &out));
  assert_memory_equal(out.data + out.size - 4, "  z\n", 4);
  unwrap_close(&unwrap);
  mo_buffer_close(&out);
}

/* Building a data set: shares, end-of-text tokens, sizes of shards, and nothing left behind. */
static void test_build(void **state)
{
  char *text = test_malloc(200000);
  mo_error error = {{0}};
  mo_dataset made = {0};
  bool existed = true;
  for (size_t i = 0; i < 200000; i++) text[i] = i % 100 == 99 ? '\n' : i % 10 == 9 ? ' ' : 'x';
  const char *inputs[] = {scratch_write(state, "a.txt", text, 200000)};
  const char *out = scratch_path(state, "out");
  dataset_options options = {.inputs = inputs,
                             .input_count = 1,
                             .tokenizer = "bytes",
                             .out = out,
                             .name = "x",
                             .val_fraction = 0.1,
                             .shard_tokens = 50000,
                             .field = "text",
                             .separator = "",
                             .threads = 2};
  assert_int_equal(dataset_build(&options, &made, &existed, &error), MOUSSE_OK);
  assert_false(existed);
  assert_int_equal(made.text_bytes, 200000);
  assert_int_equal(made.train.shards, 4);
  assert_int_equal(made.train.tokens + made.val.tokens,
                   200000 + made.train.documents + made.val.documents);
  assert_true(made.val.tokens > 18000 && made.val.tokens < 22000);
  assert_int_equal(dataset_build(&options, &made, &existed, &error), MOUSSE_OK);
  assert_true(existed);
  options.val_fraction = 0.2;
  assert_int_equal(dataset_build(&options, &made, &existed, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "exists"));
  options.out = scratch_path(state, "other");
  options.tokenizer = "train:100000";
  assert_int_equal(dataset_build(&options, &made, &existed, &error), MOUSSE_OUT_OF_RANGE);
  assert_int_not_equal(access(scratch_path(state, "other.partial"), F_OK), 0);
  test_free(text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(test_text_documents), scratch_test(test_long_lines),
      scratch_test(test_json_lines),     scratch_test(test_gzip),
      scratch_test(test_directories),    scratch_test(test_directories_are_listed_once),
      cmocka_unit_test(test_unwrap),     cmocka_unit_test(test_unwrap_of_long_lines),
      scratch_test(test_build),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
