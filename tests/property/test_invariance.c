/* test_invariance.c - what an update must not depend on: on what other matrices left in the work
 * memory, on the scale that state is kept on. */
#include "property/against.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, COLS = 17, COUNT = ROWS * COLS };

static void clear_gradient(rig_param *p)
{
  memset(p->grad, 0, p->count * sizeof *p->grad);
  for (size_t i = 0; i < RIG_MAX_INPUTS; i++) {
    const mousse_input *input = mousse_algorithm_input(p->algorithm, i);
    if (input == NULL) break;
    if (input->rows != input->cols) memset(p->inputs[i], 0, p->count * sizeof(float));
  }
}

/* The same matrix at the same step, whatever else the optimizer has. */
static void give(rig_param *p, uint64_t step, bool nothing)
{
  fill_normal(p->grad, p->count, 1, 11, step);
  fill_inputs(p, step);
  if (nothing) clear_gradient(p);
}

/* A matrix whose first gradients are 0, after a larger one on the same thread has filled the
 * work memory, and alone. */
static void check_company(const char *algorithm, const char *options)
{
  mousse_env env = MOUSSE_ENV_INIT;
  rig both, alone;
  env.threads = 1;
  rig_single(&alone, &env, algorithm, ROWS, COLS, options);
  rig_start(&both, &env);
  rig_add(&both, algorithm, 2 * ROWS, 2 * COLS, options);
  rig_add(&both, algorithm, ROWS, COLS, options);
  rig_prepare(&both);
  float *before = rig_weights(&alone);
  memcpy(both.params[1].value, before, COUNT * sizeof *before);
  for (uint64_t t = 1; t <= 14; t++) {
    give(&both.params[0], t, false);
    give(&both.params[1], t, t <= 3);
    give(&alone.params[0], t, t <= 3);
    assert_int_equal(mousse_step(both.opt), MOUSSE_OK);
    assert_int_equal(mousse_step(alone.opt), MOUSSE_OK);
    if (memcmp(both.params[1].value, alone.params[0].value, COUNT * sizeof(float)) != 0)
      fail_msg("%s '%s': step %d depends on another matrix", algorithm, options, (int)t);
    if (t <= 3 && !rig_weights_are(&alone, before))
      fail_msg("%s '%s': moves without a gradient", algorithm, options);
  }
  free(before);
  rig_stop(&both);
  rig_stop(&alone);
}

static void test_company_does_not_matter(void **state)
{
  (void)state;
  static const char *const more[][2] = {
      {"mousse", "weight_decay=0 refresh_every=2 refresh=qr"},
      {"soap", "weight_decay=0 refresh_every=2"},
      {"spectral", "weight_decay=0 kernel=many nesterov=0"},
      {"spectral", "weight_decay=0 kernel=two"},
      {"limuon", "weight_decay=0 rank=1"},
  };
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    check_company(name, "weight_decay=0");
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) check_company(more[i][0], more[i][1]);
}

/* Gradients of 2^38 still fit the scale that state begins with, those of 2^44 do not: state is
 * converted in the middle of the run, and the weights follow the reference, which has no scale. */
typedef struct crossing {
  double from, to;
} crossing;

static void fill_crossing(rig_param *p, const void *context, uint64_t step)
{
  const crossing *c = context;
  fill_normal(p->grad, p->count, step <= 8 ? c->from : c->to, 12, step);
}

static void check_crossing(const char *algorithm, const char *options, double from, double to)
{
  static const size_t shape[2] = {ROWS, COLS};
  const crossing c = {from, to};
  const double error = error_against(algorithm, shape, options, 16, fill_crossing, &c);
  if (!(error <= 0.03))
    fail_msg("%s '%s' from %g to %g: off by %g of the way", algorithm, options, from, to,
             error);
}

static void test_state_changes_its_scale(void **state)
{
  (void)state;
  static const char *const rows[][2] = {{"muon", ""},
                                        {"mousse", ""},
                                        {"mousse", "sides=left"},
                                        {"shampoo", ""},
                                        {"soap", ""},
                                        {"normuon", ""},
                                        {"adamuon", ""},
                                        {"muon2", ""},
                                        {"asgo", ""},
                                        {"caspr", ""},
                                        {"fismo", "trace_norm=1"},
                                        {"klshampoo", ""},
                                        {"klsoap", ""},
                                        {"pmuon", ""},
                                        {"soapmuon", ""},
                                        {"sinksoap", ""},
                                        {"dion2", ""},
                                        {"sumo", ""},
                                        {"limuon", ""},
                                        {"kfac", ""},
                                        {"newtonmuon", ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    check_crossing(rows[i][0], rows[i][1], 0x1p38, 0x1p44);
    check_crossing(rows[i][0], rows[i][1], 0x1p44, 0x1p38);
  }
}

/* What a wrapper keeps are weights, which have no such scale: gradients of 2^44 after those of 2^38
 * leave there what gradients of 64 after those of 1 do. */
static void read_wrapped(const char *wrapper, const char *array, double scale, float *values)
{
  rig r;
  rig_start(&r, NULL);
  rig_add(&r, "muon", ROWS, COLS, "weight_decay=0");
  assert_int_equal(mousse_set_text(r.opt, MOUSSE_OBJECT, "wrapper", wrapper), MOUSSE_OK);
  assert_int_equal(mousse_set(r.opt, MOUSSE_OBJECT, "average", 1), MOUSSE_OK);
  rig_prepare(&r);
  for (uint64_t t = 1; t <= 16; t++) {
    fill_normal(r.params[0].grad, COUNT, t <= 8 ? scale : 64 * scale, 14, t);
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  }
  if (mousse_state_read(r.opt, "p0", array, values, COUNT) != MOUSSE_OK)
    fail_msg("%s %s: %s", wrapper, array, mousse_error(r.opt));
  rig_stop(&r);
}

static void test_wrappers_keep_weights(void **state)
{
  (void)state;
  static const char *const rows[][2] = {{"none", "average"},
                                        {"lookahead", "base"},
                                        {"lookahead", "direction"},
                                        {"schedule_free", "iterate"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    float small[COUNT], large[COUNT];
    read_wrapped(rows[i][0], rows[i][1], 1, small);
    read_wrapped(rows[i][0], rows[i][1], 0x1p38, large);
    for (size_t k = 0; k < COUNT; k++)
      if (!(fabsf(small[k] - large[k]) <= 1e-4f))
        fail_msg("%s %s: %g and %g", rows[i][0], rows[i][1], (double)small[k],
                 (double)large[k]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_company_does_not_matter),
      cmocka_unit_test(test_state_changes_its_scale),
      cmocka_unit_test(test_wrappers_keep_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
