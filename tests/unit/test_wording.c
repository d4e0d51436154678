/* test_wording.c - counts, sizes, durations, and text that must not steer a terminal. */
#include "base/wording.h"
#include "check.h"

#include <string.h>

static void test_counts(void **state)
{
  (void)state;
  assert_string_equal(MO_COUNT(0, "step"), "0 steps");
  assert_string_equal(MO_COUNT(1, "thread"), "1 thread");
  assert_string_equal(MO_COUNT(1024, "batch"), "1,024 batches");
  assert_string_equal(MO_COUNT(2, "loss"), "2 losses");
  assert_string_equal(MO_NUMBER(999), "999");
  assert_string_equal(MO_NUMBER(UINT64_MAX), "18,446,744,073,709,551,615");
}

static void test_sizes(void **state)
{
  (void)state;
  assert_string_equal(MO_BYTES(0), "0 bytes");
  assert_string_equal(MO_BYTES(1), "1 byte");
  assert_string_equal(MO_BYTES(1000), "1.0 kB");
  assert_string_equal(MO_BYTES(999960), "1.0 MB");
  assert_string_equal(MO_BYTES(1.23e9), "1.2 GB");
  assert_string_equal(MO_BYTES(1e21), "1000000.0 PB");
}

static void test_durations(void **state)
{
  (void)state;
  assert_string_equal(MO_DURATION(0.4), "0:00");
  assert_string_equal(MO_DURATION(185), "3:05");
  assert_string_equal(MO_DURATION(3723), "1:02:03");
  assert_string_equal(MO_DURATION(86400 + 3661), "1 day 1:01:01");
  assert_string_equal(MO_DURATION(-5.0), "0:00");
}

static void test_cleaning(void **state)
{
  (void)state;
  char line[] = "a\x1b[2Jb\nc\td\x7f\xc2\x9b"
                "31m\x9b\xff é 中";
  mo_clean_line(line);
  assert_string_equal(line, "a?[2Jb c d??31m?\xff é 中");
  char empty[] = "";
  mo_clean_line(empty);
  assert_string_equal(empty, "");
}

static void test_columns(void **state)
{
  (void)state;
  assert_int_equal(mo_columns("abc"), 3);
  assert_int_equal(mo_columns("é中"), 3);
  assert_int_equal(mo_columns("e\xcc\x81"), 1); /* an accent of its own */
  assert_int_equal(mo_columns("\xe4\xb8"), 2);  /* a character that was cut: its bytes */
  assert_int_equal(mo_character_bytes("\xf0\x9f\x98\x80"), 4);
  assert_int_equal(mo_character_bytes("\xf5"), 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),    cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_durations), cmocka_unit_test(test_cleaning),
      cmocka_unit_test(test_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
