/* test_base.c - memory, text, random numbers, files and the parallel loop. */
#include "base/file.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/team.h"
#include "base/text.h"
#include "check.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_arena_gives_what_it_measured(void **state)
{
  (void)state;
  mo_arena arena = mo_arena_start(NULL);
  for (int pass = 0; pass < 2; pass++) {
    float *a = mo_arena_floats(&arena, 3);
    double *b = mo_arena_take(&arena, 5, sizeof *b);
    if (pass == 0) {
      assert_null(a);
      assert_null(b);
      assert_true(mo_arena_commit(&arena));
      continue;
    }
    assert_int_equal((uintptr_t)a % MO_ALIGNMENT, 0);
    assert_int_equal((uintptr_t)b % MO_ALIGNMENT, 0);
    assert_int_equal((unsigned char *)b - (unsigned char *)a, MO_ALIGNMENT);
    assert_true(a[2] == 0.0f && b[4] == 0.0);
    assert_int_equal(arena.used, arena.bytes);
  }
  mo_arena_release(&arena);
}

static void test_arena_refuses_sizes_that_wrap(void **state)
{
  (void)state;
  mo_arena arena = mo_arena_start(NULL);
  mo_arena_floats(&arena, SIZE_MAX / 2);
  assert_false(mo_arena_commit(&arena));
}

static void test_grow_keeps_contents(void **state)
{
  (void)state;
  int *numbers = NULL;
  size_t capacity = 0;
  for (int i = 0; i < 1000; i++) {
    assert_true(mo_grow(NULL, &numbers, &capacity, (size_t)i + 1, sizeof *numbers));
    numbers[i] = i;
  }
  for (int i = 0; i < 1000; i++) assert_int_equal(numbers[i], i);
  mo_release(NULL, numbers, capacity * sizeof *numbers);
}

static void test_numbers_are_strict(void **state)
{
  (void)state;
  double d = 0;
  int64_t i = 0;
  assert_true(mo_parse_double("1e-3", &d) && d == 1e-3);
  assert_true(mo_parse_double("nan", &d) && isnan(d));
  assert_false(mo_parse_double("1,5", &d));
  assert_false(mo_parse_double("1.5x", &d));
  assert_false(mo_parse_double(" 1", &d));
  assert_false(mo_parse_double("", &d));
  assert_true(mo_parse_integer("-7", &i) && i == -7);
  assert_true(mo_parse_integer("2M", &i) && i == 2000000);
  assert_true(mo_parse_integer("2e6", &i) && i == 2000000);
  assert_true(mo_parse_integer("-1E3", &i) && i == -1000);
  assert_false(mo_parse_integer("1.5", &i));
  assert_false(mo_parse_integer("1e-3", &i));
  assert_false(mo_parse_integer("1e16", &i)); /* not exact */
  assert_false(mo_parse_integer("1e3k", &i));
  assert_false(mo_parse_integer("1e", &i));
  assert_false(mo_parse_integer("99999999999999999999", &i));
  assert_false(mo_parse_integer("9223372036854775807k", &i));
}

static const char *meant(const char *word)
{
  static const char *const names[] = {"beta1", "beta2", "weight_decay", "lr"};
  mo_suggestion s = mo_suggest(word);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) mo_suggest_from(&s, names[i]);
  return s.best;
}

static void test_suggestions(void **state)
{
  (void)state;
  assert_string_equal(meant("beta3"), "beta1");
  assert_string_equal(meant("weight-dceay"), "weight_decay");
  assert_null(meant("momentum"));
  assert_null(meant(""));
}

static void test_random_is_addressed_and_normal(void **state)
{
  (void)state;
  enum { COUNT = 200000 };
  double sum = 0, squares = 0, fourth = 0;
  for (uint64_t i = 0; i < COUNT; i++) {
    const double x = mo_random_normal(1, 2, i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    assert_true(mo_random_below(1, 2, i, 10) < 10);
  }
  assert_true(fabs(sum / COUNT) < 0.01);
  assert_true(fabs(squares / COUNT - 1) < 0.02);
  assert_true(fabs(fourth / COUNT - 3) < 0.15);
  assert_int_equal(mo_random_bits(1, 2, 3), mo_random_bits(1, 2, 3));
  assert_true(mo_random_bits(1, 2, 3) != mo_random_bits(1, 3, 2));
}

static void square(void *context, size_t item, int thread)
{
  (void)thread;
  ((size_t *)context)[item] = item * item;
}

static void test_parallel_visits_each_item_once(void **state)
{
  (void)state;
  size_t squares[1000] = {0};
  mo_parallel(4, 1000, square, squares);
  for (size_t i = 0; i < 1000; i++) assert_int_equal(squares[i], i * i);
}

typedef struct table {
  size_t *cells;
  size_t row;
} table;

static void fill_cell(void *context, size_t item, int thread)
{
  const table *t = context;
  (void)thread;
  t->cells[t->row * 10 + item] += mo_team_inside() ? 100 : t->row + 1;
}

static void fill_row(void *context, size_t item, int thread)
{
  table row = {context, item};
  (void)thread;
  if (item % 5 == 1) mo_team_hurry();
  for (size_t again = 0; again < 3; again++) mo_team_divide(10, fill_cell, &row);
}

/* Every part of every loop, by whoever helps, before the loop ends; with items in a hurry. */
static void test_team_visits_each_part_once(void **state)
{
  (void)state;
  static const int threads[] = {1, 2, 3, 4, 7, 16};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
    for (size_t rows = 0; rows < 40; rows += 13) {
      size_t cells[400] = {0};
      mo_team_run(threads[i], rows, fill_row, cells);
      for (size_t k = 0; k < 400; k++)
        assert_int_equal(cells[k], k / 10 < rows ? 3 * (k / 10 + 1) : 0);
    }
}

static void test_files_are_complete_or_absent(void **state)
{
  (void)state;
  char directory[] = "/tmp/mousse-test-XXXXXX", path[128];
  mo_error error = {{0}};
  mo_writer writer;
  char *data = NULL;
  size_t size = 0;
  struct stat info;
  assert_non_null(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/a/b/file", directory);

  assert_int_equal(mo_file_write(path, "x", 1, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, path));
  snprintf(path, sizeof path, "%s/a/b", directory);
  assert_int_equal(mo_make_directories(path, &error), MOUSSE_OK);
  snprintf(path, sizeof path, "%s/a/b/file", directory);

  assert_int_equal(mo_writer_open(&writer, path, &error), MOUSSE_OK);
  assert_int_equal(mo_writer_write(&writer, "hello", 5, &error), MOUSSE_OK);
  assert_int_equal(access(path, F_OK), -1);
  mo_writer_abandon(&writer);
  assert_int_equal(access(writer.temporary, F_OK), -1);

  assert_int_equal(mo_writer_open(&writer, path, &error), MOUSSE_OK);
  assert_int_equal(mo_writer_write(&writer, "jello", 5, &error), MOUSSE_OK);
  assert_int_equal(mo_writer_patch(&writer, 0, "h", 1, &error), MOUSSE_OK);
  assert_int_equal(mo_writer_commit(&writer, &error), MOUSSE_OK);

  assert_int_equal(mo_file_read(NULL, path, 4, &data, &size, &error), MOUSSE_BAD_FORMAT);
  assert_int_equal(mo_file_read(NULL, path, 5, &data, &size, &error), MOUSSE_OK);
  assert_string_equal(data, "hello");
  mo_release(NULL, data, size + 1);

  mo_map map;
  assert_int_equal(mo_map_open(&map, path, &error), MOUSSE_OK);
  assert_memory_equal(map.data, "hello", 5);
  mo_map_close(&map);
  assert_int_equal(mo_map_open(&map, directory, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "is a directory"));

  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0); /* as devices, which it would take the place of */
  assert_int_equal(mo_file_write(path, "x", 1, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "not a regular file"));
  assert_int_equal(stat(path, &info), 0);
  assert_true(S_ISFIFO(info.st_mode));

  unlink(path);
  for (size_t i = strlen(path) - strlen("/file"); i > strlen(directory); i -= 2) {
    path[i] = '\0';
    rmdir(path);
  }
  assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arena_gives_what_it_measured),
      cmocka_unit_test(test_arena_refuses_sizes_that_wrap),
      cmocka_unit_test(test_grow_keeps_contents),
      cmocka_unit_test(test_numbers_are_strict),
      cmocka_unit_test(test_suggestions),
      cmocka_unit_test(test_random_is_addressed_and_normal),
      cmocka_unit_test(test_parallel_visits_each_item_once),
      cmocka_unit_test(test_team_visits_each_part_once),
      cmocka_unit_test(test_files_are_complete_or_absent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
