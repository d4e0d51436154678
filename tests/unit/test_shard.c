/* test_shard.c - token shards: both formats, every bad input, sets of shards. */
#include "data/shards/shard_set.h"
#include "scratch.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *write_shard(void **state, const char *name, const uint32_t *ids,
                               size_t count, uint32_t vocabulary)
{
  const char *path = scratch_path(state, name);
  shard_writer writer;
  mo_error error = {{0}};
  assert_int_equal(shard_writer_open(&writer, path, vocabulary, &error), MOUSSE_OK);
  assert_int_equal(shard_writer_add(&writer, ids, count, &error), MOUSSE_OK);
  assert_int_equal(shard_writer_commit(&writer, &error), MOUSSE_OK);
  return path;
}

static void check_round_trip(void **state, uint32_t vocabulary, size_t width)
{
  enum { COUNT = 20000 };
  uint32_t *ids = test_calloc(COUNT, sizeof *ids), *back = test_calloc(COUNT, sizeof *back);
  mo_error error = {{0}};
  mo_shard shard;
  for (uint32_t i = 0; i < COUNT; i++) ids[i] = (i * 7919u) % vocabulary;
  const char *path = write_shard(state, "a.bin", ids, COUNT, vocabulary);
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_size, 1024 + COUNT * width);
  assert_int_equal(shard_open(&shard, path, vocabulary, &error), MOUSSE_OK);
  assert_int_equal(shard.count, COUNT);
  assert_int_equal(shard.width, width);
  assert_int_equal(shard_read(&shard, 0, COUNT, back, &error), MOUSSE_OK);
  assert_memory_equal(ids, back, COUNT * sizeof *ids);
  assert_int_equal(shard_read(&shard, COUNT - 1, 1, back, &error), MOUSSE_OK);
  assert_int_equal(back[0], ids[COUNT - 1]);
  assert_int_equal(shard_read(&shard, COUNT - 1, 2, back, &error), MOUSSE_OUT_OF_RANGE);
  assert_int_equal(shard_read(&shard, SIZE_MAX, 2, back, &error), MOUSSE_OUT_OF_RANGE);
  shard_close(&shard);
  test_free(ids);
  test_free(back);
}

static void test_round_trip(void **state)
{
  check_round_trip(state, 65536, 2);
  check_round_trip(state, 65537, 4);
}

/* A header and some bytes of tokens, and what the message must say. */
static const struct bad {
  int32_t magic, version, count;
  size_t bytes; /* of the file */
  const char *word;
} bads[] = {
    {20240521, 1, 4, 1032, "magic number 20240521"},
    {20240520, 2, 4, 1032, "version 2, expected 1"},
    {20240801, 1, 4, 1040, "version 1, expected 7"},
    {20240520, 1, 0, 1024, "token count 0"},
    {20240520, 1, -5, 1024, "token count -5"},
    {20240520, 1, 5, 1032, "cut off"},
    {20240520, 1, 0x7fffffff, 1032, "cut off"},
    {20240520, 1, 4, 1033, "longer than its header"},
    {20240520, 1, 4, 1034, "longer than its header"},
    {20240801, 7, 4, 1032, "cut off"},
    {20240520, 1, 4, 1023, "shorter than the 1024 bytes"},
    {20240520, 1, 4, 0, "shorter than the 1024 bytes"},
};

static void test_bad_shards(void **state)
{
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    char bytes[2048] = {0};
    const int32_t header[] = {bads[i].magic, bads[i].version, bads[i].count};
    mo_shard shard;
    mo_error error = {{0}};
    memcpy(bytes, header, sizeof header);
    const char *path = scratch_write(state, "bad.bin", bytes, bads[i].bytes);
    assert_int_equal(shard_open(&shard, path, 100, &error), MOUSSE_BAD_FORMAT);
    if (strstr(error.text, bads[i].word) == NULL)
      fail_msg("'%s' does not say '%s'", error.text, bads[i].word);
    assert_non_null(strstr(error.text, path));
  }
}

static void test_token_outside_vocabulary(void **state)
{
  const uint32_t ids[] = {1, 2, 3, 99, 5, 100};
  uint32_t back[6];
  mo_error error = {{0}};
  mo_shard shard;
  const char *path = write_shard(state, "a.bin", ids, 6, 50257);
  assert_int_equal(shard_open(&shard, path, 99, &error), MOUSSE_OK);
  assert_int_equal(shard_read(&shard, 0, 3, back, &error), MOUSSE_OK);
  assert_int_equal(shard_read(&shard, 1, 5, back, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "token 3 is 99"));
  shard_close(&shard);
}

static void test_shrinking_file_is_noticed(void **state)
{
  enum { COUNT = 100000 };
  uint32_t *ids = test_calloc(COUNT, sizeof *ids);
  mo_error error = {{0}};
  mo_shard shard;
  const char *path = write_shard(state, "a.bin", ids, COUNT, 256);
  assert_int_equal(shard_open(&shard, path, 256, &error), MOUSSE_OK);
  assert_int_equal(truncate(path, 2000), 0);
  assert_int_equal(shard_read(&shard, COUNT - 10, 10, ids, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "shrank from 201024 to 2000 bytes"));
  shard_close(&shard);
  test_free(ids);
}

/* A sparse file: 4 GiB long, next to nothing on disk. */
static void test_larger_than_two_gigabytes(void **state)
{
  const int32_t header[] = {SHARD_MAGIC_16, SHARD_VERSION_16, INT32_MAX};
  uint32_t ids[2] = {7, 7};
  mo_error error = {{0}};
  mo_shard shard;
  const char *path = scratch_write(state, "big.bin", header, sizeof header);
  assert_int_equal(truncate(path, 1024 + 2 * (off_t)INT32_MAX), 0);
  assert_int_equal(shard_open(&shard, path, 10, &error), MOUSSE_OK);
  assert_int_equal(shard_read(&shard, (size_t)INT32_MAX - 2, 2, ids, &error), MOUSSE_OK);
  assert_int_equal(ids[1], 0);
  shard_close(&shard);
}

static void test_sets(void **state)
{
  const uint32_t ids[] = {1, 2, 3};
  mo_error error = {{0}};
  shard_set set;
  char pattern[256];
  write_shard(state, "x_train_000001.bin", ids, 2, 10);
  write_shard(state, "x_train_000000.bin", ids, 3, 10);
  write_shard(state, "x_val_000000.bin", ids, 1, 10);
  assert_int_equal(shard_set_open(&set, *state, "train", 10, &error), MOUSSE_OK);
  assert_int_equal(set.count, 2);
  assert_int_equal(set.tokens, 5);
  assert_int_equal(set.shards[0].count, 3);
  shard_set_close(&set);
  snprintf(pattern, sizeof pattern, "%s/x_v*.bin", (const char *)*state);
  assert_int_equal(shard_set_open(&set, pattern, "train", 10, &error), MOUSSE_OK);
  assert_int_equal(set.tokens, 1);
  shard_set_close(&set);
  assert_true(shard_set_exists(*state, "val"));
  assert_false(shard_set_exists(*state, "test"));

  write_shard(state, "x_train_val.bin", ids, 3, 10); /* of a set that is called x_train */
  assert_int_equal(shard_set_open(&set, *state, "train", 10, &error), MOUSSE_OK);
  assert_int_equal(set.tokens, 5);
  shard_set_close(&set);

  write_shard(state, "tiny_dev.bin", ids, 2, 10); /* not numbered, as of llm.c's small sets */
  assert_int_equal(shard_set_open(&set, *state, "dev", 10, &error), MOUSSE_OK);
  assert_int_equal(set.tokens, 2);
  shard_set_close(&set);

  assert_int_equal(shard_set_open(&set, *state, "test", 10, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "no token shard matches"));
  assert_non_null(strstr(error.text, "*_test_*.bin"));
  assert_int_equal(mkdir(scratch_path(state, "x_train_000002.bin"), 0777), 0);
  assert_int_equal(shard_set_open(&set, *state, "train", 10, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "is a directory"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(test_round_trip),
      scratch_test(test_bad_shards),
      scratch_test(test_token_outside_vocabulary),
      scratch_test(test_shrinking_file_is_noticed),
      scratch_test(test_larger_than_two_gigabytes),
      scratch_test(test_sets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
