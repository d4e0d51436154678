/* test_loader.c - batches as a pure function of seed, step and sequence. */
#include "check.h"
#include "data/shards/loader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* madvise is replaced by the linker (--wrap): what was asked for last, and how often. */
static struct {
  size_t calls, bytes;
  const char *start;
  int advice;
} asked;

int __wrap_madvise(void *start, size_t bytes, int advice);
int __wrap_madvise(void *start, size_t bytes, int advice)
{
  asked.calls++;
  asked.start = start;
  asked.bytes = bytes;
  asked.advice = advice;
  return 0;
}

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

/* Every round: the right number for each, evenly spread, each source's own numbers in order. */
static void test_dealing(void **state)
{
  static const double weights[][3] = {{0.7, 0.3, 0}, {1, 1, 1}, {5, 0.001, 2}};
  static const size_t source_counts[] = {2, 3, 3};
  mo_error error = {{0}};
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    mo_dealing dealing;
    size_t culprit = 0;
    const size_t count = source_counts[i];
    uint64_t next[3] = {0, 0, 0}, own = 0;
    double sum = 0;
    for (size_t k = 0; k < count; k++) sum += weights[i][k];
    assert_int_equal(dealing_open(&dealing, weights[i], count, &culprit, &error), MOUSSE_OK);
    for (uint64_t q = 0; q < 3 * DEALING_ROUND; q++) {
      const uint32_t k = dealing_find(&dealing, q, &own);
      assert_true(k < count);
      assert_int_equal(own, next[k]++);
      for (size_t j = 0; j < count; j++) {
        const double due = (double)(q + 1) * weights[i][j] / sum;
        assert_true((double)next[j] > due - 2 - 1e-4 * (double)q &&
                    (double)next[j] < due + 2 + 1e-4 * (double)q);
      }
    }
    for (size_t k = 0; k < count; k++) assert_int_equal(next[k], 3 * dealing.dealt[k]);
    dealing_close(&dealing);
  }
  mo_dealing dealing;
  size_t culprit = 0;
  assert_int_equal(dealing_open(&dealing, (const double[]){1, 1e-6}, 2, &culprit, &error),
                   MOUSSE_OUT_OF_RANGE);
  assert_int_equal(culprit, 1);
}

/* Shards 0 and 1 are one source, shard 2 another: each walks its own windows. */
static void test_sources(void **state)
{
  WITH_SET;
  set.source_count = 2;
  set.sources[0] = (shard_source){0, 2, 3};
  set.sources[1] = (shard_source){2, 1, 1};
  for (int order = LOADER_SEQUENTIAL; order <= LOADER_SHUFFLED; order++) {
    uint64_t seen[8] = {0}, taken[2] = {0, 0};
    assert_int_equal(loader_open(&loader, &set, LENGTH, 2, (loader_order)order, 9, &error),
                     MOUSSE_OK);
    assert_int_equal(loader.windows, 8);
    for (uint64_t q = 0; q < 40; q++) {
      const uint64_t window = loader_window(&loader, q / 2, q % 2);
      assert_true(window < 8);
      taken[window < 5 ? 0 : 1]++;
      if (q < loader.distinct) assert_int_equal(seen[window]++, 0);
    }
    assert_int_equal(taken[0], 30);
    assert_int_equal(taken[1], 10);
    assert_int_equal(loader.distinct, 7); /* then the source of five windows needs a sixth */
    loader_close(&loader);
  }
  set.sources[1] = (shard_source){1, 1, 1}; /* no window in it */
  assert_int_equal(loader_open(&loader, &set, LENGTH, 2, LOADER_SEQUENTIAL, 0, &error),
                   MOUSSE_BAD_FORMAT);
}

static void test_mixture_names(void **state)
{
  static const struct {
    const char *text;
    size_t count;
    const char *last;
    double weight;
  } good[] = {{"a", 1, "a", 1},       {"a:0.5", 1, "a", 0.5}, {"a:0.7,b:0.3", 2, "b", 0.3},
              {"a,b,c:2", 3, "c", 2}, {"a:b", 1, "a:b", 1},   {"x:1:2,y:z", 2, "y:z", 1},
              {"/,/:3", 2, "/", 3}};
  static const char *const bad[] = {"a,", ",a", "a:0", "a:-1", "a:nan", "a:inf", "a,,b"};
  mo_mixture mixture;
  mo_error error = {{0}};
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_int_equal(mixture_parse(&mixture, good[i].text, &error), MOUSSE_OK);
    assert_int_equal(mixture.count, good[i].count);
    assert_string_equal(mixture_path(&mixture, mixture.count - 1), good[i].last);
    assert_true(mixture.weights[mixture.count - 1] == good[i].weight);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_not_equal(mixture_parse(&mixture, bad[i], &error), MOUSSE_OK);
  assert_true(mixture_exists("/tmp") && mixture_exists("/tmp:1,/"));
  assert_false(mixture_exists("/tmp,/nothing-of-this-name"));
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

/* The pages of exactly the windows that will be read, and never more than the file has. */
static void test_read_ahead(void **state)
{
  WITH_SET;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 3 * page;
  unsigned char *file = NULL;
  const int32_t header[] = {SHARD_MAGIC_16, SHARD_VERSION_16, (int32_t)count};
  assert_int_equal(posix_memalign((void **)&file, page, 1024 + 2 * count), 0);
  memset(file, 0, 1024 + 2 * count);
  memcpy(file, header, sizeof header);
  assert_int_equal(shard_parse(&shards[0], "memory", file, 1024 + 2 * count, 65536, &error),
                   MOUSSE_OK);
  set.count = 1;
  assert_int_equal(loader_open(&loader, &set, page, 1, LOADER_SEQUENTIAL, 0, &error),
                   MOUSSE_OK);
  asked.calls = 0;
  loader_read_ahead(&loader, 0, 0, 1);
  assert_int_equal(asked.calls, 0); /* a shard that is in memory anyway */
  shards[0].map = (mo_map){.data = file, .size = 1024 + 2 * count};
  for (uint64_t step = 0; step < 2; step++) { /* windows of 2 pages, one token more */
    const size_t first = 1024 + 2 * step * page;
    loader_read_ahead(&loader, step, 0, 1);
    assert_int_equal(asked.calls, step + 1);
    assert_int_equal(asked.advice, MADV_WILLNEED);
    assert_ptr_equal(asked.start, file + first / page * page);
    assert_int_equal(asked.start - (char *)file + (ptrdiff_t)asked.bytes,
                     first + 2 * (page + 1));
  }
  mo_map_read_ahead(&shards[0].map, 1024 + 2 * count - 10, 100);
  assert_int_equal(asked.start - (char *)file + (ptrdiff_t)asked.bytes, 1024 + 2 * count);
  mo_map_read_ahead(&shards[0].map, 1024 + 2 * count, 100);
  assert_int_equal(asked.calls, 3);
  loader_close(&loader);
  free(file);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dealing),
      cmocka_unit_test(test_sources),
      cmocka_unit_test(test_mixture_names),
      cmocka_unit_test(test_windows),
      cmocka_unit_test(test_sequential_wraps),
      cmocka_unit_test(test_shuffled_epochs_are_permutations),
      cmocka_unit_test(test_permutation_is_one_at_every_size),
      cmocka_unit_test(test_same_batch_in_any_micro_batches),
      cmocka_unit_test(test_blocks_are_contiguous),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_read_ahead),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
