/* test_loader.c - batches as a pure function of seed, step and sequence. */
#include "check.h"
#include "data/shards/loader.h"

#include <string.h>

/* Three shards in memory whose tokens tell where they are: 1000 * shard + place. */
enum { SHARDS = 3, LENGTH = 4 };
static const size_t counts[SHARDS] = {21, 4, 14}; /* 5, 0 and 3 windows of 4 tokens */

static void make_set(shard_set *set, mo_shard shards[SHARDS], char files[SHARDS][1200])
{
  mo_error error = {{0}};
  *set = (shard_set){.shards = shards, .count = SHARDS};
  for (size_t k = 0; k < SHARDS; k++) {
    const int32_t header[] = {SHARD_MAGIC_16, SHARD_VERSION_16, (int32_t)counts[k]};
    memset(files[k], 0, 1200);
    memcpy(files[k], header, sizeof header);
    for (size_t i = 0; i < counts[k]; i++) {
      const uint16_t token = (uint16_t)(1000 * k + i);
      memcpy(files[k] + 1024 + 2 * i, &token, 2);
    }
    assert_int_equal(
        shard_parse(&shards[k], "memory", files[k], 1024 + 2 * counts[k], 65536, &error),
        MOUSSE_OK);
    set->tokens += counts[k];
  }
}

#define WITH_SET                                                                               \
  shard_set set;                                                                               \
  mo_shard shards[SHARDS];                                                                     \
  char files[SHARDS][1200];                                                                    \
  mo_error error = {{0}};                                                                      \
  mo_loader loader;                                                                            \
  (void)state;                                                                                 \
  make_set(&set, shards, files)

static void test_windows(void **state)
{
  WITH_SET;
  uint32_t inputs[LENGTH], targets[LENGTH];
  assert_int_equal(loader_open(&loader, &set, LENGTH, 2, LOADER_SEQUENTIAL, 0, &error),
                   MOUSSE_OK);
  assert_int_equal(loader.windows, 8);
  static const uint32_t starts[] = {0, 4, 8, 12, 16, 2000, 2004, 2008};
  for (uint64_t w = 0; w < 8; w++) {
    assert_int_equal(loader_read(&loader, w, inputs, targets, &error), MOUSSE_OK);
    for (uint32_t i = 0; i < LENGTH; i++) {
      assert_int_equal(inputs[i], starts[w] + i);
      assert_int_equal(targets[i], starts[w] + i + 1);
    }
  }
  assert_int_equal(loader_read(&loader, 8, inputs, targets, &error), MOUSSE_OUT_OF_RANGE);
  loader_close(&loader);
}

static void test_sequential_wraps(void **state)
{
  WITH_SET;
  assert_int_equal(loader_open(&loader, &set, LENGTH, 3, LOADER_SEQUENTIAL, 0, &error),
                   MOUSSE_OK);
  for (uint64_t step = 0; step < 10; step++)
    for (uint64_t i = 0; i < 3; i++)
      assert_int_equal(loader_window(&loader, step, i), (step * 3 + i) % 8);
  loader_close(&loader);
}

static void test_shuffled_epochs_are_permutations(void **state)
{
  WITH_SET;
  assert_int_equal(loader_open(&loader, &set, LENGTH, 4, LOADER_SHUFFLED, 5, &error),
                   MOUSSE_OK);
  unsigned differing = 0;
  for (uint64_t epoch = 0; epoch < 20; epoch++) {
    unsigned seen = 0;
    for (uint64_t q = 0; q < 8; q++) {
      const uint64_t w = loader_window(&loader, epoch * 2 + q / 4, q % 4);
      assert_true(w < 8);
      seen |= 1u << w;
      differing += w != q;
    }
    assert_int_equal(seen, 0xff);
  }
  assert_true(differing > 20 * 4);
  loader_close(&loader);
}

static void test_permutation_is_one_at_every_size(void **state)
{
  (void)state;
  static const uint64_t sizes[] = {1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257, 1000, 4097};
  static unsigned char seen[4097];
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < sizes[k]; i++) {
      const uint64_t p = loader_permute(1, k, i, sizes[k]);
      assert_true(p < sizes[k] && !seen[p]);
      seen[p] = 1;
    }
  }
  assert_true(loader_permute(1, 0, 12, UINT64_MAX) != loader_permute(2, 0, 12, UINT64_MAX));
}

/* The global batch is the same, in the same places, whatever the micro-batches. */
static void test_same_batch_in_any_micro_batches(void **state)
{
  WITH_SET;
  enum { BATCH = 8 };
  uint32_t whole[BATCH * LENGTH], targets[BATCH * LENGTH];
  uint32_t part[BATCH * LENGTH], part_targets[BATCH * LENGTH];
  assert_int_equal(loader_open(&loader, &set, LENGTH, BATCH, LOADER_SHUFFLED, 3, &error),
                   MOUSSE_OK);
  assert_int_equal(loader_fill(&loader, 7, 0, BATCH, whole, targets, &error), MOUSSE_OK);
  for (size_t micro_batch = 1; micro_batch <= BATCH; micro_batch *= 2)
    for (uint64_t first = 0; first < BATCH; first += micro_batch) {
      const size_t bytes = micro_batch * LENGTH * sizeof *part;
      assert_int_equal(loader_fill(&loader, 7, first, micro_batch, part, part_targets, &error),
                       MOUSSE_OK);
      assert_memory_equal(part, whole + first * LENGTH, bytes);
      assert_memory_equal(part_targets, targets + first * LENGTH, bytes);
    }
  loader_close(&loader);
}

/* Sequential, a micro-batch is B T + 1 contiguous tokens. */
static void test_blocks_are_contiguous(void **state)
{
  WITH_SET;
  uint32_t inputs[2 * LENGTH], targets[2 * LENGTH];
  assert_int_equal(loader_open(&loader, &set, LENGTH, 4, LOADER_SEQUENTIAL, 0, &error),
                   MOUSSE_OK);
  for (uint64_t micro = 0; micro < 2; micro++) {
    assert_int_equal(loader_fill(&loader, 0, 2 * micro, 2, inputs, targets, &error), MOUSSE_OK);
    for (uint32_t i = 0; i < 2 * LENGTH; i++) {
      assert_int_equal(inputs[i], micro * 2 * LENGTH + i);
      assert_int_equal(targets[i], inputs[i] + 1);
    }
  }
  loader_close(&loader);
}

static void test_refusals(void **state)
{
  WITH_SET;
  uint32_t inputs[LENGTH], targets[LENGTH];
  assert_int_equal(loader_open(&loader, &set, 21, 1, LOADER_SEQUENTIAL, 0, &error),
                   MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "too short for one sequence of 21"));
  assert_int_equal(loader_open(&loader, &set, 0, 1, LOADER_SEQUENTIAL, 0, &error),
                   MOUSSE_INVALID_ARGUMENT);
  assert_int_equal(loader_open(&loader, &set, 4, 0, LOADER_SEQUENTIAL, 0, &error),
                   MOUSSE_INVALID_ARGUMENT);
  shards[2].vocabulary = 2005;
  assert_int_equal(loader_open(&loader, &set, LENGTH, 1, LOADER_SEQUENTIAL, 0, &error),
                   MOUSSE_OK);
  assert_int_equal(loader_read(&loader, 5, inputs, targets, &error), MOUSSE_OK);
  assert_int_equal(loader_read(&loader, 6, inputs, targets, &error), MOUSSE_BAD_FORMAT);
  loader_close(&loader);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows),
      cmocka_unit_test(test_sequential_wraps),
      cmocka_unit_test(test_shuffled_epochs_are_permutations),
      cmocka_unit_test(test_permutation_is_one_at_every_size),
      cmocka_unit_test(test_same_batch_in_any_micro_batches),
      cmocka_unit_test(test_blocks_are_contiguous),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
