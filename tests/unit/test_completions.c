/* test_completions.c - prompts and completions: read from JSON lines, told apart in shards, and
 * handed on by the loader. */
#include "data/shards/loader.h"
#include "data/text/corpus.h"
#include "scratch.h"

#include <string.h>
#include <unistd.h>

static const corpus_options pairs = {.field = "prompt", .completion = "answer"};

/* Documents as [prompt|completion]. */
static mousse_status read_pairs(const char *path, char *text, mo_error *error)
{
  mo_corpus *corpus = NULL;
  corpus_piece piece;
  char *at = text;
  *at = '\0';
  MO_TRY(corpus_open(&corpus, &path, 1, &pairs, error));
  mousse_status status = corpus_next(corpus, &piece, error);
  for (; status == MOUSSE_OK && piece.length > 0; status = corpus_next(corpus, &piece, error)) {
    if (piece.starts_document) at += sprintf(at, "%s[", at > text ? "]" : "");
    if (piece.is_completion) *at++ = '|';
    memcpy(at, piece.text, piece.length);
    at += piece.length;
  }
  strcpy(at, at > text ? "]" : "");
  corpus_close(corpus);
  return status;
}

static void test_pairs(void **state)
{
  static const char lines[] = "{\"prompt\": \"a\", \"answer\": \"bc\", \"more\": [1]}\n"
                              "\n"
                              "{\"answer\": \"alone\"}\r\n"
                              "{\"answer\": \"d\", \"prompt\": \"\"}\n"
                              "  \n"
                              "{\"prompt\": \"\\u00e9 x\", \"answer\": \"\\n\"}";
  char text[512];
  mo_error error = {{0}};
  const char *path = scratch_write(state, "a.jsonl", lines, strlen(lines));
  assert_int_equal(read_pairs(path, text, &error), MOUSSE_OK);
  assert_string_equal(text, "[a|bc][|alone][|d][\xc3\xa9 x|\n]");
}

static void test_bad_pairs(void **state)
{
  static const struct {
    const char *name, *data, *expected;
  } cases[] = {
      {"a.txt", "{\"prompt\": \"a\", \"answer\": \"b\"}", "are read from JSON lines"},
      {"a.jsonl", "{\"prompt\": \"a\"}",
       "line 1 has no text in field 'answer'; --completion-field NAME"},
      {"a.jsonl", "{\"answer\": \"a\"}\n{\"answer\": \"\"}",
       "line 2: the completion 'answer' is"},
      {"a.jsonl", "{\"prompt\": 3, \"answer\": \"a\"}", "line 1 has no text in field 'prompt'"},
      {"a.jsonl", "{\"prompt\": null, \"answer\": \"a\"}", "no text in field 'prompt'"},
      {"a.jsonl", "[\"a\"]", "no text in field 'answer'"},
      {"a.jsonl", "{\"prompt\": \"a\"", "line 1, column"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    mo_error error = {{0}};
    const char *path =
        scratch_write(state, cases[i].name, cases[i].data, strlen(cases[i].data));
    assert_int_equal(read_pairs(path, text, &error), MOUSSE_BAD_FORMAT);
    if (strstr(error.text, cases[i].expected) == NULL) fail_msg("%s", error.text);
  }
}

enum { COUNT = 43 };

static bool is_learned(size_t token)
{
  return token % 7 < 3;
}

static void write_tokens(void **state)
{
  shard_writer tokens;
  targets_writer targets;
  assert_int_equal(
      shard_writer_open(&tokens, scratch_path(state, "x_train_000000.bin"), 100, NULL),
      MOUSSE_OK);
  assert_int_equal(
      targets_writer_open(&targets, scratch_path(state, "x_train_000000.targets"), NULL),
      MOUSSE_OK);
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_int_equal(shard_writer_add(&tokens, &i, 1, NULL), MOUSSE_OK);
    assert_int_equal(targets_writer_add(&targets, is_learned(i), 1, NULL), MOUSSE_OK);
  }
  assert_int_equal(shard_writer_commit(&tokens, NULL), MOUSSE_OK);
  assert_int_equal(targets_writer_commit(&targets, NULL), MOUSSE_OK);
}

/* A target is the next token where that is to be learned; a batch knows how many there are. */
static void test_targets_are_loaded(void **state)
{
  enum { LENGTH = 10, BATCH = 2 };
  uint32_t inputs[BATCH * LENGTH], targets[BATCH * LENGTH];
  shard_set set;
  mo_loader loader;
  mo_error error = {{0}};
  write_tokens(state);
  assert_int_equal(shard_set_open(&set, *state, "train", 100, &error), MOUSSE_OK);
  assert_int_equal(loader_open(&loader, &set, LENGTH, BATCH, LOADER_SHUFFLED, 1, &error),
                   MOUSSE_OK);
  assert_true(loader.has_targets);
  for (uint64_t step = 0; step < 5; step++) {
    uint64_t counted = 0, told = 0;
    assert_int_equal(loader_fill(&loader, step, 0, BATCH, inputs, targets, &error), MOUSSE_OK);
    for (size_t i = 0; i < BATCH * LENGTH; i++) {
      const uint32_t next = inputs[i] + 1;
      assert_int_equal(targets[i], is_learned(next) ? next : LOADER_NONE);
      counted += is_learned(next);
    }
    assert_int_equal(loader_targets(&loader, step, &told, &error), MOUSSE_OK);
    assert_int_equal(told, counted);
  }
  assert_int_equal(truncate(scratch_path(state, "x_train_000000.targets"), 0), 0);
  uint64_t told = 0;
  assert_int_equal(loader_fill(&loader, 0, 0, BATCH, inputs, targets, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "x_train_000000.targets: shrank from 1030 to 0 bytes"));
  assert_int_equal(loader_targets(&loader, 0, &told, &error), MOUSSE_IO);
  loader_close(&loader);
  shard_set_close(&set);
}

static void test_bad_targets(void **state)
{
  static const struct {
    size_t at, cut;
    char value;
    const char *expected;
  } cases[] = {{0, 0, 1, "magic number"},
               {4, 0, 9, "version 9"},
               {8, 0, 42, "42 tokens in 1030 bytes, but the shard beside it has 43"},
               {11, 0, -1, "but the shard beside it"},
               {0, 1, -68, "in 1029 bytes"},
               {0, 7, -68, "shorter than its header"}};
  char *data = NULL;
  size_t size = 0;
  write_tokens(state);
  const char *path = scratch_path(state, "x_train_000000.targets");
  assert_int_equal(mo_file_read(NULL, path, 4096, &data, &size, NULL), MOUSSE_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char bad[2048];
    mo_shard shard;
    mo_error error = {{0}};
    memcpy(bad, data, size);
    if (cases[i].cut == 0) bad[cases[i].at] = cases[i].value;
    scratch_write(state, "x_train_000000.targets", bad, size - cases[i].cut);
    assert_int_equal(shard_open(&shard, scratch_path(state, "x_train_000000.bin"), 100, &error),
                     MOUSSE_BAD_FORMAT);
    if (strstr(error.text, cases[i].expected) == NULL) fail_msg("%s", error.text);
  }
  mo_release(NULL, data, size + 1);
}

static void test_documents(void **state)
{
  (void)state;
  const uint32_t inputs[] = {5, 9, 1, 9, 9, 2, 3, 4, 4, 9};
  const uint32_t expected[] = {0, 1, 1, 3, 4, 0, 0, 0, 0, 4};
  uint32_t starts[10];
  mo_loader loader = {.length = 5, .document_token = 9};
  loader_documents(&loader, inputs, 2, starts);
  assert_memory_equal(starts, expected, sizeof starts);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(test_pairs),
      scratch_test(test_bad_pairs),
      scratch_test(test_targets_are_loaded),
      scratch_test(test_bad_targets),
      scratch_test(test_documents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
