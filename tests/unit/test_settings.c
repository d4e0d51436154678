/* test_settings.c - options from text, checked, and back to text. */
#include "base/settings.h"
#include "check.h"

#include <string.h>

typedef struct values {
  int64_t steps;
  double lr;
  bool resume;
  int order;
  char out[8];
} values;

static const char *const orders[] = {"sequential", "shuffled", NULL};
static const mo_setting rows[] = {
    MO_SETTING_INTEGER(values, steps, "1000", 1, 1e9, "steps"),
    MO_SETTING_NUMBER(values, lr, "0.02", 0, 10, "step size"),
    MO_SETTING_SWITCH(values, resume, "true", "go on"),
    MO_SETTING_CHOICE(values, order, "shuffled", orders, "order"),
    MO_SETTING_TEXT(values, out, "", "where to"),
};
static const mo_settings table = MO_SETTINGS(rows);

static values defaults(void)
{
  values v = {0};
  mo_error error;
  assert_int_equal(mo_settings_defaults(&table, &v, &error), MOUSSE_OK);
  return v;
}

static void test_defaults(void **state)
{
  (void)state;
  const values v = defaults();
  assert_int_equal(v.steps, 1000);
  assert_true(v.lr == 0.02 && v.resume && v.order == 1);
  assert_string_equal(v.out, "");
}

static void test_set(void **state)
{
  (void)state;
  values v = defaults();
  mo_error error;
  assert_int_equal(mo_settings_set(&table, &v, "steps", "2M", &error), MOUSSE_OK);
  assert_int_equal(mo_settings_set(&table, &v, "lr", "1e-3", &error), MOUSSE_OK);
  assert_int_equal(mo_settings_set(&table, &v, "resume", "off", &error), MOUSSE_OK);
  assert_int_equal(mo_settings_set(&table, &v, "order", "sequential", &error), MOUSSE_OK);
  assert_int_equal(mo_settings_set(&table, &v, "out", "1234567", &error), MOUSSE_OK);
  assert_int_equal(v.steps, 2000000);
  assert_true(v.lr == 1e-3 && !v.resume && v.order == 0);
  assert_string_equal(v.out, "1234567");
}

/* What is refused, and a word that the sentence must have. */
static const struct refusal {
  const char *name, *text, *word;
  mousse_status status;
} refusals[] = {
    {"steps", "0", "from 1 to", MOUSSE_OUT_OF_RANGE},
    {"steps", "1.5", "whole number", MOUSSE_INVALID_ARGUMENT},
    {"steps", "99999999999999999999", "whole number", MOUSSE_INVALID_ARGUMENT},
    {"steps", "", "whole number", MOUSSE_INVALID_ARGUMENT},
    {"lr", "nan", "from 0 to 10", MOUSSE_OUT_OF_RANGE},
    {"lr", "inf", "from 0 to 10", MOUSSE_OUT_OF_RANGE},
    {"lr", "0,5", "a number", MOUSSE_INVALID_ARGUMENT},
    {"resume", "maybe", "true or false", MOUSSE_INVALID_ARGUMENT},
    {"order", "random", "sequential, shuffled", MOUSSE_INVALID_ARGUMENT},
    {"out", "12345678", "at most 7 bytes", MOUSSE_OUT_OF_RANGE},
    {"ordre", "x", "did you mean 'order'", MOUSSE_UNKNOWN_NAME},
    {"zzzzzz", "x", "no option 'zzzzzz'", MOUSSE_UNKNOWN_NAME},
};

static void test_refusals(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    const struct refusal *r = &refusals[i];
    values v = defaults();
    const values before = v;
    mo_error error = {{0}};
    assert_int_equal(mo_settings_set(&table, &v, r->name, r->text, &error), r->status);
    if (strstr(error.text, r->word) == NULL)
      fail_msg("'%s' does not say '%s'", error.text, r->word);
    assert_non_null(strstr(error.text, r->name));
    assert_memory_equal(&v, &before, sizeof v);
  }
}

static void test_saved_text_reads_back(void **state)
{
  (void)state;
  values v = defaults(), back = defaults();
  mo_error error;
  v.steps = 123456789;
  v.lr = 0.1 + 0.2;
  v.resume = false;
  v.order = 0;
  memcpy(v.out, "x y", 4);
  for (size_t i = 0; i < table.count; i++) {
    char text[64];
    assert_true(mo_setting_text(&table.rows[i], &v, text, sizeof text));
    assert_int_equal(mo_setting_set(&table.rows[i], &back, text, &error), MOUSSE_OK);
  }
  assert_int_equal(back.steps, v.steps);
  assert_true(back.lr == v.lr && back.resume == v.resume && back.order == v.order);
  assert_string_equal(back.out, v.out);
  char small[2];
  assert_false(mo_setting_text(&table.rows[0], &v, small, sizeof small));
}

static void test_dash_is_underscore(void **state)
{
  (void)state;
  static const mo_setting row[] = {
      {.name = "val_fraction", .type = MO_TYPE_NUMBER, .initial = "0", .max = 1}};
  const mo_settings one = MO_SETTINGS(row);
  assert_non_null(mo_settings_find(&one, "val-fraction"));
  assert_non_null(mo_settings_find(&one, "val_fraction"));
  assert_null(mo_settings_find(&one, "val_fractio"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),           cmocka_unit_test(test_set),
      cmocka_unit_test(test_refusals),           cmocka_unit_test(test_saved_text_reads_back),
      cmocka_unit_test(test_dash_is_underscore),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
