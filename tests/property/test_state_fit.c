/* test_state_fit.c - state of another optimizer as far as it fits, options that differ, streams
 * of version 1, forged numbers behind a right checksum, and arrays of state by name. */
#include "property/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run(rig *r, uint64_t first, uint64_t last)
{
  for (uint64_t t = first; t <= last; t++) rig_step(r, t);
}

/* What was reported: "kind name\n" for each. */
typedef struct report {
  char lines[2048], texts[4096];
} report;

static void take_report(void *user, mousse_difference difference, const char *name,
                        const char *text)
{
  static const char *const kinds[] = {"missing", "unknown", "reshaped", "option"};
  report *r = user;
  const size_t used = strlen(r->lines), texts = strlen(r->texts);
  snprintf(r->lines + used, sizeof r->lines - used, "%s %s\n", kinds[difference], name);
  snprintf(r->texts + texts, sizeof r->texts - texts, "%s\n", text);
}

static void load_matching(rig *r, blob *b, report *told)
{
  *told = (report){"", ""};
  blob_rewind(b);
  if (mousse_load_matching(r->opt, blob_read, b, take_report, told) != MOUSSE_OK)
    fail_msg("%s", mousse_error(r->opt));
}

static float *state_of(rig *r, const char *param, const char *array, size_t *count)
{
  *count = mousse_state_count(r->opt, param, array);
  float *data = malloc((*count + 1) * sizeof *data);
  assert_non_null(data);
  if (mousse_state_read(r->opt, param, array, data, *count) != MOUSSE_OK)
    fail_msg("%s", mousse_error(r->opt));
  return data;
}

static bool same_state(rig *a, const char *in_a, rig *b, const char *in_b)
{
  bool same = true;
  const char *name;
  for (size_t i = 0; same && (name = mousse_state_name(a->opt, in_a, i)) != NULL; i++) {
    size_t m = 0, n = 0;
    float *x = state_of(a, in_a, name, &m), *y = state_of(b, in_b, name, &n);
    same = m == n && memcmp(x, y, m * sizeof *x) == 0;
    free(x);
    free(y);
  }
  return same;
}

/* A model that lost a layer, got a new head and another width in one place. */
static void test_what_fits_is_taken(void **state)
{
  (void)state;
  const char *algorithm;
  for (size_t a = 0; (algorithm = mousse_algorithm_name(a)) != NULL; a++) {
    rig old, new;
    blob saved;
    report told;
    rig_start(&old, NULL);
    rig_add(&old, algorithm, 4, 5, ""); /* p0: the same in both */
    rig_add(&old, algorithm, 6, 5, ""); /* p1: reshaped */
    rig_add(&old, "sgd", 3, 3, "");     /* p2: another algorithm, unless that is sgd */
    rig_add(&old, "sgd", 2, 2, "");     /* p3: gone */
    rig_prepare(&old);
    run(&old, 1, 5);
    rig_save(&old, &saved);
    rig_start(&new, NULL);
    rig_add(&new, algorithm, 4, 5, "");
    rig_add(&new, algorithm, 5, 6, "");
    rig_add(&new, "lion", 3, 3, "");
    rig_param *head = rig_new_param(&new, 2, 3);
    assert_int_equal(mousse_add_param(new.opt, 0, "head", 2, 3, head->value, head->grad),
                     MOUSSE_OK);
    bind_inputs(new.opt, algorithm, "head", 2, 3, head->inputs);
    rig_prepare(&new);
    run(&new, 20, 21);
    load_matching(&new, &saved, &told);
    assert_string_equal(told.lines, "reshaped p1\nreshaped p2\nunknown p3\nmissing head\n");
    assert_non_null(strstr(told.texts, "6 x 5"));
    assert_true(same_state(&new, "p0", &old, "p0"));
    assert_int_equal(mousse_param_steps(new.opt, "p0"), 5);
    assert_int_equal(mousse_param_steps(new.opt, "p1"), 2); /* as it was */
    assert_int_equal(mousse_param_steps(new.opt, "head"), 2);
    assert_int_equal(mousse_steps_done(new.opt), 5);
    blob_rewind(&saved);
    assert_int_equal(mousse_load(new.opt, blob_read, &saved), MOUSSE_BAD_FORMAT);
    memcpy(new.params[0].value, old.params[0].value, 20 * sizeof(float));
    rig_gradients(&old, 6);
    rig_gradients(&new, 6);
    assert_int_equal(mousse_step(old.opt), MOUSSE_OK);
    assert_int_equal(mousse_step(new.opt), MOUSSE_OK);
    assert_memory_equal(new.params[0].value, old.params[0].value, 20 * sizeof(float));
    blob_free(&saved);
    rig_stop(&new);
    rig_stop(&old);
  }
}

static char logged[1024];

static void take_log(void *user, int level, const char *text)
{
  (void)user;
  assert_int_equal(level, 1);
  snprintf(logged, sizeof logged, "%s", text);
}

static void test_options_that_differ_are_reported(void **state)
{
  (void)state;
  rig r, other;
  blob saved;
  report told;
  mousse_env env = MOUSSE_ENV_INIT;
  env.log = take_log;
  rig_single(&r, NULL, "mousse", 4, 5, "nesterov=on weight_decay=0.5");
  assert_int_equal(mousse_set(r.opt, 0, "lr", 0.5), MOUSSE_OK); /* a schedule: not compared */
  run(&r, 1, 2);
  rig_save(&r, &saved);
  rig_start(&other, &env);
  rig_add(&other, "mousse", 4, 5, "weight_decay=0.25");
  assert_int_equal(mousse_set(other.opt, MOUSSE_OBJECT, "lr_factor", 2), MOUSSE_OK);
  rig_prepare(&other);
  load_matching(&other, &saved, &told);
  assert_non_null(strstr(told.lines, "option lr_factor\n"));
  assert_non_null(strstr(told.lines, "option nesterov\n"));
  assert_non_null(strstr(told.lines, "option weight_decay\n"));
  assert_null(strstr(told.lines, "option lr\n"));
  assert_non_null(strstr(told.texts, "nesterov of group 0 (mousse) is off"));
  assert_non_null(strstr(told.texts, "0.25; the state was saved with 0.5"));
  logged[0] = '\0';
  rig_load(&other, &saved);
  assert_non_null(strstr(logged, "the state was saved with"));
  assert_int_equal(mousse_set_param(other.opt, "p0", "lr_factor", 1.00000000001), MOUSSE_OK);
  load_matching(&other, &saved, &told);
  assert_non_null(strstr(told.texts, "is 1.00000000001; the state was saved with 1\n"));
  blob_free(&saved);
  rig_save(&other, &saved);
  assert_int_equal(mousse_set_param(other.opt, "p0", "lr_factor", 1), MOUSSE_OK);
  load_matching(&other, &saved, &told);
  assert_non_null(strstr(told.texts, "is 1; the state was saved with 1.00000000001\n"));
  blob_free(&saved);
  rig_save(&r, &saved);
  load_matching(&r, &saved, &told);
  assert_string_equal(told.lines, "");
  blob_free(&saved);
  rig_stop(&other);
  rig_stop(&r);
}

/* Versions 1 to 4 go on in the same bits. */
static void test_earlier_versions_are_read(void **state)
{
  (void)state;
  const char *algorithm;
  for (size_t a = 0; (algorithm = mousse_algorithm_name(a / 4)) != NULL; a++) {
    rig r, second;
    blob saved, old;
    rig_single(&r, NULL, algorithm, 4, 5, "");
    run(&r, 1, 4);
    rig_save(&r, &saved);
    old = stream_version(&saved, (uint32_t)(a % 4) + 1);
    rig_single(&second, NULL, algorithm, 4, 5, "");
    memcpy(second.params[0].value, r.params[0].value, 20 * sizeof(float));
    rig_load(&second, &old);
    assert_int_equal(mousse_param_steps(second.opt, "p0"), 4);
    run(&r, 5, 9);
    run(&second, 5, 9);
    assert_same_weights(&second, &r);
    blob_free(&old);
    blob_free(&saved);
    rig_stop(&second);
    rig_stop(&r);
  }
}

/* A patch of 8 bytes at `at` behind a right checksum: refused, and nothing changes. */
static void assert_forgery_refused(rig *r, const blob *good, size_t at, const void *bytes,
                                   size_t count, const char *word)
{
  blob forged = blob_new(), before, after;
  blob_write(&forged, good->data, good->size);
  memcpy(forged.data + at, bytes, count);
  stream_seal(&forged);
  rig_save(r, &before);
  for (int matching = 0; matching < 2; matching++) {
    blob_rewind(&forged);
    const mousse_status s = matching
                                ? mousse_load_matching(r->opt, blob_read, &forged, NULL, NULL)
                                : mousse_load(r->opt, blob_read, &forged);
    assert_int_equal(s, MOUSSE_BAD_FORMAT);
    assert_error_mentions(r->opt, word);
  }
  rig_save(r, &after);
  assert_int_equal(before.size, after.size);
  assert_memory_equal(before.data, after.data, before.size);
  blob_free(&before);
  blob_free(&after);
  blob_free(&forged);
}

static void test_forged_numbers(void **state)
{
  (void)state;
  static const int64_t exponents[] = {-2000000000, 2147483647, -2147483648LL, -1073741824, 4096,
                                      128,         1,          INT64_MAX,     INT64_MIN};
  static const double offsets[] = {NAN, -0.5, 1, 1e300, INFINITY};
  static const double sums[] = {NAN, -1, INFINITY};
  const uint64_t steps = UINT64_MAX;
  const float bad[] = {NAN, INFINITY, -INFINITY};
  rig r;
  blob good;
  rig_single(&r, NULL, "muon", 4, 5, "");
  run(&r, 1, 3);
  rig_save(&r, &good);
  const size_t record = stream_record(&good, "p0", "muon");
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++)
    assert_forgery_refused(&r, &good, record, &exponents[i], 8, "the unit of 'p0'");
  for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
    assert_forgery_refused(&r, &good, record + 8, &offsets[i], 8, "the phase of 'p0'");
  assert_forgery_refused(&r, &good, record + 16, &steps, 8, "the number of steps of 'p0'");
  assert_forgery_refused(&r, &good, 16, &steps, 8, "the number of steps");
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
    assert_forgery_refused(&r, &good, record + 24, &sums[i], 8, "the sum of weights of 'p0'");
  for (size_t i = 0; i < 3; i++)
    assert_forgery_refused(&r, &good, stream_array(&good, "momentum", 0) + 8, &bad[i], 4,
                           "infinite or NaN");
  static const uint64_t flags[] = {1 << 20, 4}; /* muon does not take elements as they lie */
  for (size_t i = 0; i < 2; i++)
    assert_forgery_refused(&r, &good, record + 56, &flags[i], 8, "a flag of 'p0'");
  assert_forgery_refused(&r, &good, record + 64, &steps, 8,
                         "the number of blank steps of 'p0'");
  const uint32_t version = 6;
  assert_forgery_refused(&r, &good, 8, &version, 4, "version 6");
  run(&r, 4, 5);
  blob_free(&good);
  rig_stop(&r);
}

/* The moments of another optimizer, brought along: as if they had been made here. */
static void test_state_goes_over_by_name(void **state)
{
  (void)state;
  const char *algorithm, *name;
  for (size_t a = 0; (algorithm = mousse_algorithm_name(a)) != NULL; a++) {
    rig from, to;
    rig_single(&from, NULL, algorithm, 4, 5, "");
    rig_single(&to, NULL, algorithm, 4, 5, "");
    run(&from, 1, 4);
    for (size_t i = 0; (name = mousse_state_name(from.opt, "p0", i)) != NULL; i++) {
      size_t count = 0;
      float *data = state_of(&from, "p0", name, &count);
      assert_int_equal(mousse_state_write(to.opt, "p0", name, data, count), MOUSSE_OK);
      free(data);
    }
    assert_int_equal(mousse_set_param(to.opt, "p0", "steps", 4), MOUSSE_OK);
    memcpy(to.params[0].value, from.params[0].value, 20 * sizeof(float));
    run(&from, 5, 6);
    run(&to, 5, 6);
    assert_same_weights(&to, &from);
    rig_stop(&to);
    rig_stop(&from);
  }
}

/* How far two runs are apart, relative to the way of the second since `start`. */
static double apart(const rig *found, const rig *expected, const float *start)
{
  double off = 0, way = 0;
  for (size_t i = 0; i < expected->params[0].count; i++) {
    const double w = (double)expected->params[0].value[i];
    off += pow((double)found->params[0].value[i] - w, 2);
    way += pow(w - (double)start[i], 2);
  }
  return sqrt(off / way);
}

enum { FORM_ROWS = 24, FORM_COLS = 16, FORM_BYTES = FORM_ROWS * FORM_COLS * sizeof(float) };

/* The fused form keeps other roots than the plain one: a state goes over from one to the other,
 * long before the next refresh. */
static void test_state_of_another_form(void **state)
{
  (void)state;
  static const char *const pairs[][2] = {{"form=fused", "form=plain"},
                                         {"form=plain", "form=fused"},
                                         {"form=fused", "form=fused outer=off"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    rig from, to, refreshed;
    blob saved;
    rig_single(&from, NULL, "mousse", FORM_ROWS, FORM_COLS, pairs[i][0]);
    rig_single(&to, NULL, "mousse", FORM_ROWS, FORM_COLS, pairs[i][1]);
    run(&from, 1, 4);
    rig_save(&from, &saved);
    rig_load(&to, &saved);
    float *start = rig_weights(&from);
    memcpy(to.params[0].value, start, FORM_BYTES);
    run(&to, 5, 9);
    /* In the form of now from the beginning, and refreshed in the step after that load. */
    rig_single(&refreshed, NULL, "mousse", FORM_ROWS, FORM_COLS, pairs[i][1]);
    run(&refreshed, 1, 4);
    memcpy(refreshed.params[0].value, start, FORM_BYTES);
    assert_int_equal(mousse_set(refreshed.opt, 0, "refresh_every", 4), MOUSSE_OK);
    run(&refreshed, 5, 5);
    assert_int_equal(mousse_set(refreshed.opt, 0, "refresh_every", 10), MOUSSE_OK);
    run(&refreshed, 6, 9);
    if (apart(&to, &refreshed, start) > 1e-3)
      fail_msg("%s after %s: %g", pairs[i][1], pairs[i][0], apart(&to, &refreshed, start));
    free(start);
    blob_free(&saved);
    rig_stop(&refreshed);
    rig_stop(&to);
    rig_stop(&from);
  }
}

/* Nor does an option that may be set between steps part the forms. */
static void test_forms_stay_alike(void **state)
{
  (void)state;
  rig fused, plain;
  rig_single(&fused, NULL, "spectral", FORM_ROWS, FORM_COLS, "inner=kron form=fused");
  rig_single(&plain, NULL, "spectral", FORM_ROWS, FORM_COLS, "inner=kron form=plain");
  run(&fused, 1, 4);
  run(&plain, 1, 4);
  float *start = rig_weights(&plain);
  memcpy(fused.params[0].value, start, FORM_BYTES);
  assert_int_equal(mousse_set_text(fused.opt, 0, "divisor", "schatten4"), MOUSSE_OK);
  assert_int_equal(mousse_set_text(plain.opt, 0, "divisor", "schatten4"), MOUSSE_OK);
  run(&fused, 5, 9);
  run(&plain, 5, 9);
  if (apart(&fused, &plain, start) > 1e-3) fail_msg("%g", apart(&fused, &plain, start));
  free(start);
  rig_stop(&plain);
  rig_stop(&fused);
}

/* Read in the units of the gradient, whatever scale the state is kept on. */
static void test_state_is_read_in_true_units(void **state)
{
  (void)state;
  rig r;
  size_t count = 0;
  rig_single(&r, NULL, "muon", 4, 5, "mu=0.5");
  for (size_t i = 0; i < 20; i++) r.params[0].grad[i] = 1e20f * (float)(i + 1);
  assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  float *momentum = state_of(&r, "p0", "momentum", &count);
  assert_int_equal(count, 20);
  assert_memory_equal(momentum, r.params[0].grad, 20 * sizeof(float));
  momentum[3] = 5e20f;
  assert_int_equal(mousse_state_write(r.opt, "p0", "momentum", momentum, 20), MOUSSE_OK);
  float *again = state_of(&r, "p0", "momentum", &count);
  assert_memory_equal(again, momentum, 20 * sizeof(float));
  free(again);
  free(momentum);
  rig_stop(&r);
}

/* Ordinary numbers written where gradients were tiny so far: they are there, and the state can be
 * saved and loaded. */
static void test_any_numbers_can_be_written(void **state)
{
  (void)state;
  const char *algorithm, *name;
  static const float sizes[] = {1e-6f, 1.0f, 1e6f};
  for (size_t a = 0; (algorithm = mousse_algorithm_name(a)) != NULL; a++) {
    rig r;
    blob saved;
    rig_single(&r, NULL, algorithm, 4, 5, "");
    for (int t = 0; t < 2; t++) {
      for (size_t i = 0; i < 20; i++) r.params[0].grad[i] = 1e-36f * (float)(i * i % 7 + 1);
      fill_inputs(&r.params[0], 1);
      assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    }
    for (size_t i = 0; (name = mousse_state_name(r.opt, "p0", i)) != NULL; i++) {
      size_t count = 0;
      float *data = state_of(&r, "p0", name, &count), *back = NULL;
      const float size = sizes[i % 3];
      for (size_t k = 0; k < count; k++) data[k] = size * (float)(k % 5);
      assert_int_equal(mousse_state_write(r.opt, "p0", name, data, count), MOUSSE_OK);
      back = state_of(&r, "p0", name, &count);
      for (size_t k = 0; k < count; k++)
        if (back[k] != data[k])
          fail_msg("%s: %g in %s became %g", algorithm, (double)data[k], name, (double)back[k]);
      free(back);
      free(data);
    }
    rig_save(&r, &saved);
    rig_load(&r, &saved);
    blob_free(&saved);
    rig_stop(&r);
  }
}

static void test_bad_access(void **state)
{
  (void)state;
  rig r;
  float data[20] = {0};
  rig_start(&r, NULL);
  rig_add(&r, "muon", 4, 5, "");
  assert_int_equal(mousse_state_read(r.opt, "p0", "momentum", data, 20), MOUSSE_WRONG_PHASE);
  rig_prepare(&r);
  const mousse_status bad = MOUSSE_INVALID_ARGUMENT, unknown = MOUSSE_UNKNOWN_NAME;
  assert_int_equal(mousse_state_read(r.opt, "p1", "momentum", data, 20), unknown);
  assert_int_equal(mousse_state_read(r.opt, "p0", "momenta", data, 20), unknown);
  assert_error_mentions(r.opt, "'momenta'");
  assert_int_equal(mousse_state_read(r.opt, "p0", NULL, data, 20), unknown);
  assert_int_equal(mousse_state_read(r.opt, NULL, "momentum", data, 20), bad);
  assert_int_equal(mousse_state_read(r.opt, "p0", "momentum", NULL, 20), bad);
  assert_int_equal(mousse_state_read(r.opt, "p0", "momentum", data, 19), bad);
  assert_error_mentions(r.opt, "20 floats");
  data[7] = NAN;
  assert_int_equal(mousse_state_write(r.opt, "p0", "momentum", data, 20), MOUSSE_NOT_FINITE);
  assert_int_equal(mousse_state_read(NULL, "p0", "momentum", data, 20), bad);
  assert_int_equal(mousse_state_write(NULL, "p0", "momentum", data, 20), bad);
  assert_null(mousse_state_name(NULL, "p0", 0));
  assert_null(mousse_state_name(r.opt, "p1", 0));
  assert_int_equal(mousse_state_count(r.opt, "p0", "none"), 0);
  rig_step(&r, 1);
  rig_stop(&r);
}

/* From float32 to bfloat16 and back: the master copy is ours, and may be missing or too many. */
static void test_state_moves_between_types(void **state)
{
  (void)state;
  rig wide, narrow;
  blob saved;
  uint16_t value[20] = {0};
  rig_single(&wide, NULL, "adamw", 4, 5, "");
  run(&wide, 1, 3);
  rig_save(&wide, &saved);
  rig_start(&narrow, NULL);
  rig_param *p = rig_new_param(&narrow, 4, 5);
  assert_int_equal(mousse_add_group(narrow.opt, "adamw", &p->group), MOUSSE_OK);
  const mousse_tensor t = {.struct_size = sizeof t,
                           .name = "p0",
                           .rows = 4,
                           .cols = 5,
                           .value_type = MOUSSE_BFLOAT16,
                           .value = value,
                           .grad = p->grad};
  assert_int_equal(mousse_add_tensor(narrow.opt, p->group, &t), MOUSSE_OK);
  rig_prepare(&narrow);
  rig_load(&narrow, &saved);
  run(&narrow, 4, 4);
  blob_free(&saved);
  rig_save(&narrow, &saved);
  rig_load(&wide, &saved);
  assert_int_equal(mousse_steps_done(wide.opt), 4);
  blob_free(&saved);
  rig_stop(&narrow);
  rig_stop(&wide);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_fits_is_taken),
      cmocka_unit_test(test_options_that_differ_are_reported),
      cmocka_unit_test(test_earlier_versions_are_read),
      cmocka_unit_test(test_forged_numbers),
      cmocka_unit_test(test_state_goes_over_by_name),
      cmocka_unit_test(test_state_of_another_form),
      cmocka_unit_test(test_forms_stay_alike),
      cmocka_unit_test(test_state_is_read_in_true_units),
      cmocka_unit_test(test_any_numbers_can_be_written),
      cmocka_unit_test(test_bad_access),
      cmocka_unit_test(test_state_moves_between_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
