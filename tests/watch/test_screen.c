/* test_screen.c - the text screen of runs: what is in it fits. */
#include "watch/run_files.h"
#include "watch/text_screen.h"

#include <math.h>
#include <string.h>

/* Long runs and fast ones stay within their columns. */
static void times_and_rates_fit_a_screen(void **state)
{
  static const struct {
    double left, rate;
    const char *expected;
  } cases[] = {
      {185, 74512, "      3:05  5.0000       -    74.5k"},
      {86399, 999.4, "  23:59:59  5.0000       -      999"},
      {86399.7, 999.6, "   1d 0:00  5.0000       -       1k"},
      {86400 + 3 * 3600 + 4 * 60 + 5, 999600, "   1d 3:04  5.0000       -       1M"},
      {100 * 86400 - 61, 2.5e6, " 99d 23:59  5.0000       -     2.5M"},
      {123 * 86400.0, 999.7e6, "      123d  5.0000       -       1G"},
      {NAN, NAN, "         -  5.0000       -        -"},
  };
  watch_model m;
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 2\n", STEP(1, 5));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_buffer text = {0};
    m.runs[0]->running = true;
    m.runs[0]->course.step_seconds = cases[i].left; /* one step is left */
    m.runs[0]->course.tokens = (uint64_t)fmax(0, rint(cases[i].left * cases[i].rate));
    assert_true(text_screen(&m, (screen_size){.columns = 80}, &text));
    assert_true(mo_buffer_add(&text, "", 1));
    assert_non_null(strstr(text.data, cases[i].expected));
    mo_buffer_close(&text);
  }
  watch_model_close(&m);
}

static void large_losses_fit_a_screen(void **state)
{
  static const struct {
    double loss;
    const char *expected;
  } cases[] = {{99.12345, " 99.1235 "},
               {123.45678, "     123 "},
               {12345.678, " 1.2e+04 "},
               {1e300, "  1e+300 "},
               {-1e300, " -1e+300 "}};
  watch_model m;
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 2\n", STEP(1, 5));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_buffer text = {0};
    m.runs[0]->course.loss = m.runs[0]->course.best = cases[i].loss;
    assert_true(text_screen(&m, (screen_size){.columns = 80}, &text));
    assert_true(mo_buffer_add(&text, "", 1));
    const char *line = strstr(text.data, "\na ");
    assert_non_null(line);
    assert_non_null(strstr(line, cases[i].expected));
    assert_true(strcspn(line + 1, "\n") <= 80);
    mo_buffer_close(&text);
  }
  watch_model_close(&m);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(times_and_rates_fit_a_screen),
      scratch_test(large_losses_fit_a_screen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
