/* test_scales.c - gradients of every size and rank leave finite weights, and where float32 can
 * hold the numbers, those of the float64 reference.
 *
 * Muon and mousse divide by norm + 1e-7 and trace + eps, so their results do not depend on the
 * gradient's scale once it is large, and approach plain decay when it is far below 1e-7.
 */
#include "property/harness.h"
#include "reference/dense.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, COLS = 17, COUNT = ROWS * COLS };

static const double scales[] = {1e-38, 1e-30, 1e-23, 1e-15, 1e-8, 1e-4, 1,
                                1e4,   1e8,   1e15,  1e19,  1e23, 1e30, 1e37};
enum { SCALES = sizeof scales / sizeof *scales };

static void scaled_gradient(float *grad, size_t rank, double scale, uint64_t step)
{
  if (rank >= ROWS)
    fill_normal(grad, COUNT, 1, 50 + step, 0);
  else
    fill_low_rank(grad, ROWS, COLS, rank, 50 + step);
  for (size_t i = 0; i < COUNT; i++) grad[i] = (float)((double)grad[i] * scale);
}

static void test_every_algorithm_stays_finite(void **state)
{
  (void)state;
  static const size_t ranks[] = {0, 1, 2, ROWS};
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    /* sgd moves by the gradient itself: a huge gradient needs a tiny rate to stay finite */
    const char *options = strcmp(name, "sgd") == 0 ? "lr=1e-30" : "";
    for (size_t s = 0; s < SCALES; s++)
      for (size_t k = 0; k < 4; k++) {
        rig r;
        rig_single(&r, NULL, name, ROWS, COLS, options);
        for (uint64_t t = 1; t <= 12; t++) {
          scaled_gradient(r.params[0].grad, ranks[k], scales[s], t);
          if (mousse_step(r.opt) != MOUSSE_OK)
            fail_msg("%s scale %g rank %zu: %s", name, scales[s], ranks[k],
                     mousse_error(r.opt));
          if (!rig_weights_finite(&r))
            fail_msg("%s scale %g rank %zu step %d: not finite", name, scales[s], ranks[k],
                     (int)t);
        }
        rig_stop(&r);
      }
  }
}

/* A number in the state that is not finite would make it unreadable, or keep a preconditioner as
 * it is for ever while the weights look well. */
static void check_state(rig *r, const char *name, const char *options, uint64_t step)
{
  blob b = blob_new();
  rig_save(r, &b);
  if (mousse_load(r->opt, blob_read, &b) != MOUSSE_OK)
    fail_msg("%s '%s' step %d: %s", name, options, (int)step, mousse_error(r->opt));
  blob_free(&b);
}

/* At the very top the momentum itself leaves float32: refused or finite, never Inf. */
static void test_constant_gradients_of_1e38(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig r;
    rig_single(&r, NULL, name, ROWS, COLS, strcmp(name, "sgd") == 0 ? "lr=1e-38" : "");
    for (size_t i = 0; i < COUNT; i++) r.params[0].grad[i] = i % 3 ? 1e38f : -3e38f;
    for (int t = 0; t < 30; t++) {
      float *before = rig_weights(&r);
      const mousse_status s = mousse_step(r.opt);
      if (s != MOUSSE_OK) assert_int_equal(s, MOUSSE_NOT_FINITE);
      if (s != MOUSSE_OK) assert_true(rig_weights_are(&r, before));
      if (!rig_weights_finite(&r)) fail_msg("%s step %d: not finite", name, t);
      free(before);
      check_state(&r, name, "1e38", (uint64_t)t);
    }
    rig_stop(&r);
  }
}

/* Sizes that change from step to step, some of them 0: 10^-37 to 10^38. */
static void leaping_gradient(float *grad, uint64_t step, uint64_t run)
{
  float draw[2];
  fill_normal(draw, 2, 1, 900 + run, step);
  const double size = draw[0] > 1.4f ? 0 : pow(10, fmod(fabs((double)draw[1]) * 1000, 75) - 37);
  fill_normal(grad, COUNT, 0.25, 50 + run, step);
  for (size_t i = 0; i < COUNT; i++) grad[i] = (float)((double)grad[i] * size);
}

static void check_leaps(const char *name, const char *options, uint64_t run)
{
  rig r;
  rig_single(&r, NULL, name, ROWS, COLS, options);
  for (uint64_t t = 1; t <= 30; t++) {
    leaping_gradient(r.params[0].grad, t, run);
    if (strcmp(name, "limuon") == 0) /* another gradient, of any size */
      leaping_gradient(r.params[0].inputs[0], t, run + 100);
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    if (!rig_weights_finite(&r)) fail_msg("%s '%s' step %d: not finite", name, options, (int)t);
    check_state(&r, name, options, t);
  }
  rig_stop(&r);
}

static void test_states_stay_finite(void **state)
{
  (void)state;
  static const char *const cases[][2] = {{"fismo", "trace_norm=on"},
                                         {"spectral", "inner=fisher"},
                                         {"spectral", "inner=kl floors=absolute"},
                                         {"klshampoo", "floors=absolute"},
                                         {"klsoap", "floors=absolute"},
                                         {"limuon", "rank=4"},
                                         {"spectral", "radius=ball floor=row norm=nuclear"},
                                         {"spectral", "radius=ball floor=row post=scalar"}};
  const char *name;
  for (uint64_t run = 0; run < 12; run++) {
    for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
      check_leaps(name, strcmp(name, "sgd") == 0 ? "lr=1e-30" : "", run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      check_leaps(cases[i][0], cases[i][1], run);
  }
}

/* The least length of a step, where the gradient has none to speak of. */
static void test_floors_at_every_scale(void **state)
{
  (void)state;
  static const char *const ends[] = {"norm=nuclear", "post=scalar", "ortho=none"};
  static const double small[] = {1e-10, 1e-20, 1e-30, 1e-36};
  for (size_t k = 0; k < 12; k++) {
    rig r;
    char options[128];
    snprintf(options, sizeof options, "%s floor=row floor_target=0.5 lr=0.1 weight_decay=0",
             ends[k / 4]);
    rig_single(&r, NULL, "spectral", ROWS, COLS, options);
    float *before = rig_weights(&r);
    scaled_gradient(r.params[0].grad, ROWS, small[k % 4], 1);
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    for (size_t row = 0; row < ROWS; row++) {
      double moved = 0, size = 0;
      for (size_t i = row * COLS; i < (row + 1) * COLS; i++) {
        moved = hypot(moved, (double)r.params[0].value[i] - (double)before[i]);
        size = hypot(size, (double)before[i]);
      }
      if (!(fabs(moved / size - 0.05) < 1e-4))
        fail_msg("'%s' at %g: row %zu moves by %g", options, small[k % 4], row, moved / size);
    }
    free(before);
    rig_stop(&r);
  }
}

/* A library optimizer and its reference, side by side. */
typedef struct pair {
  rig r;
  ref_optimizer *reference;
  double *start, *w, *g;
} pair;

static void pair_start(pair *p, const char *algorithm, size_t rows, size_t cols,
                       const char *options)
{
  rig_single(&p->r, NULL, algorithm, rows, cols, options);
  p->reference = ref_create(algorithm, rows, cols, options);
  p->start = ref_zeros(rows * cols);
  p->g = ref_zeros(rows * cols);
  for (size_t i = 0; i < rows * cols; i++) p->start[i] = p->r.params[0].value[i];
  p->w = ref_copy(p->start, rows * cols);
}

/* One step of both with the gradient that is in the rig. */
static void pair_step(pair *p)
{
  for (size_t i = 0; i < p->r.params[0].count; i++) p->g[i] = p->r.params[0].grad[i];
  ref_step(p->reference, p->w, p->g);
  assert_int_equal(mousse_step(p->r.opt), MOUSSE_OK);
}

/* |W - W_ref| may be `tolerance` of the way plus the rounding of the weights themselves. */
static void pair_end(pair *p, double tolerance, const char *what)
{
  const size_t count = p->r.params[0].count;
  const double rounding = (double)p->reference->t * 0x1p-24 * ref_norm(p->start, count);
  double wrong = 0, way = 0;
  for (size_t i = 0; i < count; i++) {
    wrong = hypot(wrong, p->w[i] - (double)p->r.params[0].value[i]);
    way = hypot(way, p->w[i] - p->start[i]);
  }
  ref_free(p->reference);
  free(p->g);
  free(p->w);
  free(p->start);
  rig_stop(&p->r);
  if (!(wrong <= tolerance * way + rounding))
    fail_msg("%s: off by %g on a way of %g", what, wrong, way);
}

static void check_against_reference(const char *algorithm, const char *options, size_t rank,
                                    double scale, double tolerance)
{
  char what[120];
  pair p;
  pair_start(&p, algorithm, ROWS, COLS, options);
  for (uint64_t t = 1; t <= 12; t++) {
    scaled_gradient(p.r.params[0].grad, rank, scale, t);
    pair_step(&p);
  }
  snprintf(what, sizeof what, "%s '%s' rank %zu scale %g", algorithm, options, rank, scale);
  pair_end(&p, tolerance, what);
}

static void test_matrix_algorithms_follow_the_reference_at_every_scale(void **state)
{
  (void)state;
  for (size_t s = 0; s < SCALES; s++) {
    check_against_reference("muon", "", ROWS, scales[s], 1e-4);
    check_against_reference("mousse", "sides=left", ROWS, scales[s], 1e-3);
    check_against_reference("mousse", "", ROWS, scales[s], 1e-2);
    /* Without normalisation, eps is below the rounding of float statistics of large gradients
     * in directions that none of them has; one side has no such directions. */
    check_against_reference("mousse", "trace_norm=0 sides=left", ROWS, scales[s], 1e-2);
    check_against_reference("mousse", "graft=0", 2, scales[s], 1e-2);
    check_against_reference("mousse", "", 1, scales[s], 1e-2);
    check_against_reference("shampoo", "", ROWS, scales[s], 1e-2);
  }
}

/* Equal eigenvalues have arbitrary eigenvectors, but one power: the update is defined. (Not
 * soap's: Adam depends on the basis.) */
static void test_repeated_eigenvalues(void **state)
{
  (void)state;
  enum { N = 16 };
  const char *const algorithms[] = {"mousse", "muon", "shampoo"};
  for (size_t a = 0; a < 3; a++) {
    pair p;
    pair_start(&p, algorithms[a], N, N, "");
    for (int t = 1; t <= 12; t++) {
      for (size_t i = 0; i < N * N; i++)
        p.r.params[0].grad[i] = i % (N + 1) == 0 ? (i < N * N / 2 ? 2.0f : -0.5f) : 0.0f;
      pair_step(&p);
    }
    pair_end(&p, 1e-3, algorithms[a]);
  }
}

/* No gradient from the first step on: only weight decay acts. */
static void test_zero_gradients_only_decay(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig r;
    double lr = 0, decay = 0;
    rig_single(&r, NULL, name, ROWS, COLS, "");
    assert_int_equal(mousse_get(r.opt, 0, "lr", &lr), MOUSSE_OK);
    assert_int_equal(mousse_get(r.opt, 0, "weight_decay", &decay), MOUSSE_OK);
    float *start = rig_weights(&r);
    memset(r.params[0].grad, 0, COUNT * sizeof(float));
    const mousse_input *input = mousse_algorithm_input(name, 0);
    if (input != NULL && input->rows != input->cols) /* a gradient, too */
      memset(r.params[0].inputs[0], 0, COUNT * sizeof(float));
    for (int t = 0; t < 25; t++) assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    const double steps = first_step_is_idle(name) ? 24 : 25;
    const double keep = pow(1 - lr * decay, steps);
    for (size_t i = 0; i < COUNT; i++) {
      const double expected = keep * (double)start[i];
      assert_true(fabs((double)r.params[0].value[i] - expected) <= 3e-6 * fabs(expected));
    }
    free(start);
    rig_stop(&r);
  }
}

/* After the gradient has vanished and come back, the weights still follow the reference. */
static void test_a_gradient_that_vanishes_and_returns(void **state)
{
  (void)state;
  pair p;
  pair_start(&p, "mousse", ROWS, COLS, "refresh_every=3");
  for (uint64_t t = 1; t <= 20; t++) {
    scaled_gradient(p.r.params[0].grad, t > 4 && t < 12 ? 0 : ROWS, 1, t);
    pair_step(&p);
  }
  pair_end(&p, 1e-2, "mousse with a pause");
}

/* Multiplying every gradient by a power of two changes nothing but rounding. */
static void test_large_scales_do_not_matter(void **state)
{
  (void)state;
  const char *const algorithms[] = {"muon", "mousse"};
  for (size_t a = 0; a < 2; a++) {
    rig r, scaled;
    rig_single(&r, NULL, algorithms[a], ROWS, COLS, "");
    rig_single(&scaled, NULL, algorithms[a], ROWS, COLS, "");
    for (uint64_t t = 1; t <= 12; t++) {
      scaled_gradient(r.params[0].grad, ROWS, 0x1p20, t);
      scaled_gradient(scaled.params[0].grad, ROWS, 0x1p100, t);
      assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
      assert_int_equal(mousse_step(scaled.opt), MOUSSE_OK);
    }
    for (size_t i = 0; i < COUNT; i++)
      assert_true(fabsf(r.params[0].value[i] - scaled.params[0].value[i]) < 2e-5f);
    rig_stop(&scaled);
    rig_stop(&r);
  }
}

/* A long gradient is looked at in pieces: it is the largest of all that decides how it is scaled,
 * wherever it is, and not the one of the last piece. */
static void test_the_largest_may_be_in_any_piece(void **state)
{
  (void)state;
  enum { FEW = 8, MANY = 1 << 14, HALF = FEW * MANY / 2 };   /* two pieces */
  const char *options = "sides=left lr=1000 weight_decay=0"; /* elements move by about 0.1 */
  for (size_t large = 0; large < 2; large++) {
    rig r, scaled;
    rig_single(&r, NULL, "mousse", FEW, MANY, options);
    rig_single(&scaled, NULL, "mousse", FEW, MANY, options);
    for (uint64_t t = 1; t <= 3; t++) {
      float *grad = r.params[0].grad;
      rig_gradients(&r, t);
      for (size_t i = 0; i < 2 * HALF; i++) {
        const bool counts = i / HALF == large;
        grad[i] *= counts ? 0x1p100f : 0x1p-10f;
        scaled.params[0].grad[i] = counts ? grad[i] * 0x1p-80f : 0.0f;
      }
      assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
      assert_int_equal(mousse_step(scaled.opt), MOUSSE_OK);
    }
    for (size_t i = 0; i < 2 * HALF; i++)
      assert_true(fabsf(r.params[0].value[i] - scaled.params[0].value[i]) < 1e-3f);
    rig_stop(&scaled);
    rig_stop(&r);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_algorithm_stays_finite),
      cmocka_unit_test(test_constant_gradients_of_1e38),
      cmocka_unit_test(test_states_stay_finite),
      cmocka_unit_test(test_floors_at_every_scale),
      cmocka_unit_test(test_matrix_algorithms_follow_the_reference_at_every_scale),
      cmocka_unit_test(test_repeated_eigenvalues),
      cmocka_unit_test(test_zero_gradients_only_decay),
      cmocka_unit_test(test_a_gradient_that_vanishes_and_returns),
      cmocka_unit_test(test_large_scales_do_not_matter),
      cmocka_unit_test(test_the_largest_may_be_in_any_piece),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
