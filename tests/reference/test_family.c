/* test_family.c - why the references of the spectral family may be trusted: what each must
 * become when part of it is switched off, and the symmetries that it must have. All in double;
 * the library is not involved. */
#include "base/random.h"
#include "check.h"
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6 };

typedef struct shape {
  size_t rows, cols;
} shape;
static const shape square = {7, 7}, wide = {6, 11}, tall = {11, 6};
static const shape *const shapes[] = {&square, &wide, &tall};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Whom a run steps, and on what. */
typedef struct run {
  const char *algorithm, *options;
  shape size;
  int frozen;           /* >= 0: this part is set to 1 before the first step */
  double scale;         /* of the gradients; 0 means 1 */
  int transposed;       /* the gradients of the transposed shape, transposed */
  const double *rotate; /* square: G <- rotate*G*rotate */
} run;

static double *normal(size_t count, uint64_t seed)
{
  double *x = ref_zeros(count);
  for (size_t i = 0; i < count; i++) x[i] = mo_random_normal(seed, 3, i);
  return x;
}

static double *gradient(const run *what, uint64_t t)
{
  const size_t m = what->size.rows, n = what->size.cols;
  double *g = normal(m * n, t);
  if (what->transposed) {
    double *other = ref_copy(g, m * n);
    ref_transpose(n, m, other, g);
    free(other);
  }
  ref_scale(g, m * n, what->scale != 0 ? what->scale : 1);
  if (what->rotate != NULL) ref_sandwich(m, n, what->rotate, what->rotate, g);
  return g;
}

/* Inputs of limuon (a zero gradient) and of kfac and newtonmuon (identities). */
static void give_inputs(ref_optimizer *r, double *zero, double *left, double *right)
{
  ref_identity(r->rows, left);
  ref_identity(r->cols, right);
  const char *name = r->algorithm->name;
  r->input[0] = strcmp(name, "limuon") == 0 ? zero : strcmp(name, "kfac") == 0 ? left : right;
  r->input[1] = right;
}

/* The weights after STEPS steps from 0. */
static double *after(const run *what, size_t steps)
{
  const size_t m = what->size.rows, n = what->size.cols;
  ref_optimizer *r = ref_create(what->algorithm, m, n, what->options);
  double *w = ref_zeros(m * n), *zero = ref_zeros(m * n);
  double *left = ref_zeros(m * m), *right = ref_zeros(n * n);
  give_inputs(r, zero, left, right);
  if (what->frozen >= 0) {
    size_t counts[REF_PARTS] = {0};
    r->algorithm->layout(r, counts);
    for (size_t i = 0; i < counts[what->frozen]; i++) r->part[what->frozen][i] = 1;
  }
  for (uint64_t t = 1; t <= steps; t++) {
    double *g = gradient(what, t);
    ref_step(r, w, g);
    free(g);
  }
  free(right);
  free(left);
  free(zero);
  ref_free(r);
  return w;
}

static double difference(size_t count, const double *a, const double *b)
{
  double *d = ref_copy(a, count);
  for (size_t i = 0; i < count; i++) d[i] -= b[i];
  const double part = ref_norm(d, count) / ref_norm(b, count);
  free(d);
  return part;
}

static size_t differ(const run *a, const run *b, size_t steps, double factor, double tolerance)
{
  const size_t count = a->size.rows * a->size.cols;
  double *found = after(a, steps), *expected = after(b, steps);
  ref_scale(expected, count, factor);
  const double part = difference(count, found, expected);
  free(expected);
  free(found);
  if (part < tolerance) return 0;
  print_error("%s '%s' %zux%zu is not %s '%s': %.2g\n", a->algorithm, a->options, a->size.rows,
              a->size.cols, b->algorithm, b->options, part);
  return 1;
}

typedef struct reduction {
  const char *algorithm, *options;
  int frozen;
  const char *to, *to_options;
  double factor, tolerance;
  const char *where; /* of "swt": square, wide, tall */
} reduction;

#define MUON_JORDAN "newton_schulz=jordan5 shape=jordan weight_decay=0 lr=0.02"
#define MUON_EXACT  "newton_schulz=exact weight_decay=0 lr=0.02"

static const reduction reductions[] = {
    /* normuon: uniform statistics; rows of an exact factor that are orthonormal */
    {"normuon", "beta2=1", 1, "muon", MUON_JORDAN, 1, 1e-6, "swt"},
    {"normuon", "newton_schulz=exact", -1, "muon", MUON_EXACT " shape=jordan", 1, 1e-5, "sw"},
    {"normuon", "newton_schulz=exact axis=long", -1, "muon", MUON_EXACT " shape=jordan", 1,
     1e-5, "s"},
    /* adamuon: constant second moment */
    {"adamuon", "beta2=1 sign=0 newton_schulz=exact weight_decay=0", 1, "muon",
     MUON_EXACT " shape=rms", 1, 1e-7, "swt"},
    /* polargrad divided by the nuclear norm is tested below; namo: ||X0|| over itself */
    {"namo", "beta2=0 mu=0 eps=0 weight_decay=0", -1, "muon",
     "mu=0 newton_schulz=jordan5 weight_decay=0", 1, 1e-6, "swt"},
    {"namo", "beta2=0 mu=0 eps=0 weight_decay=0 bias_correction=1", -1, "muon",
     "mu=0 newton_schulz=jordan5 weight_decay=0", 1, 1e-6, "swt"},
    /* muon2: constant second moment, either form; exponent 0 */
    {"muon2", "beta2=1 eps=0 lr=0.02 weight_decay=0", 1, "muon", MUON_JORDAN, 1, 1e-6, "swt"},
    {"muon2", "beta2=1 outer=1 lr=0.02 weight_decay=0", 1, "muon", MUON_JORDAN, 1, 1e-6, "swt"},
    {"muon2", "alpha=0 outer=1 lr=0.02 weight_decay=0", -1, "muon", MUON_JORDAN, 1, 1e-6,
     "swt"},
    /* asgo: no memory */
    {"asgo", "beta2=0 mu=0 eps=1e-12 weight_decay=0 lr=0.02", -1, "muon",
     MUON_EXACT " mu=0 shape=rms", 1, 1e-5, "swt"},
    /* fismo: factors that stay the identity */
    {"fismo", "beta=1", -1, "muon", "nesterov=0 weight_decay=0", 1, 1e-6, "swt"},
    /* caspr: no memory; its four terms are then the same */
    {"caspr", "beta=0 mu=0 eps=1e-12 graft=none lr=0.02 refresh_every=1", -1, "muon",
     MUON_EXACT " mu=0 shape=none", 4, 1e-5, "swt"},
    /* pmuon: exponent 0; no memory */
    {"pmuon", "alpha=0 lr=0.02 weight_decay=0", -1, "muon",
     "newton_schulz=exact12 shape=jordan weight_decay=0", 1, 1e-6, "swt"},
    {"pmuon", "mu=0 beta=0 alpha=0.2 eps=1e-9 lr=0.02 newton_schulz=you5", -1, "mousse",
     "mu=0 beta=0 alpha=0.2 eps=5e-10 outer=0 refresh_every=1 shape=jordan weight_decay=0.025",
     1, 1e-5, "swt"},
    /* soapmuon: constant second moment */
    {"soapmuon", "beta2=1 lr=0.02", 1, "muon",
     "newton_schulz=exact12 divisor=schatten4 shape=jordan weight_decay=0", 1, 1e-6, "swt"},
    {"soapmuon", "beta2=1 lr=0.02 sides=small refresh_every=2", 1, "muon",
     "newton_schulz=exact12 divisor=schatten4 shape=jordan weight_decay=0", 1, 1e-6, "swt"},
    /* sinksoap: no memory, and row statistics that stay uniform */
    {"sinksoap", "mu=0 beta=0 beta2=1 lr=0.02 weight_decay=0", 1, "muon",
     MUON_EXACT " mu=0 shape=jordan", 1, 1e-4, "swt"},
    /* dion2: all rows */
    {"dion2", "fraction=1 newton_schulz=jordan5", -1, "muon",
     "nesterov=0 lr=0.01 newton_schulz=jordan5", 1, 1e-6, "swt"},
    /* sumo: the whole space, whichever basis of it */
    {"sumo", "rank=99 limit=0 refresh_every=2", -1, "muon", MUON_EXACT " nesterov=0 shape=none",
     1, 1e-5, "swt"},
    /* limuon: no correction (the other gradient is 0) and full rank */
    {"limuon", "rank=0", -1, "muon", MUON_EXACT " nesterov=0 shape=none", 1, 1e-5, "swt"},
    /* kfac and newtonmuon: covariances that are the identity */
    {"kfac", "eps=0 kl_clip=0", -1, "sgd", "lr=0.1 mu=0.9 weight_decay=0", 1, 1e-10, "swt"},
    {"newtonmuon", "lr=0.02 weight_decay=0", -1, "muon", MUON_JORDAN, 1, 1e-6, "swt"},
};

static void test_reductions(void **state)
{
  (void)state;
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
    for (size_t s = 0; s < SHAPES; s++) {
      const reduction *q = &reductions[i];
      if (strchr(q->where, "swt"[s]) == NULL) continue;
      const run a = {q->algorithm, q->options, *shapes[s], q->frozen, 0, 0, NULL};
      const run b = {q->to, q->to_options, *shapes[s], -1, 0, 0, NULL};
      wrong += differ(&a, &b, STEPS, q->factor, q->tolerance);
    }
  assert_int_equal(wrong, 0);
}

/* Methods that do not see the size of the gradients. */
static void test_scale_free(void **state)
{
  (void)state;
  static const char *const free_of_scale[][2] = {
      {"normuon", ""},
      {"normuon", "axis=long"},
      {"adamuon", ""},
      {"muon2", "outer=1"},
      {"asgo", ""},
      {"fismo", "trace_norm=1"},
      {"klshampoo", "refresh_every=2"},
      {"klsoap", "refresh_every=2"},
      {"caspr", ""},
      {"pmuon", ""},
      {"soapmuon", ""},
      {"soapmuon", "sides=small"},
      {"sinksoap", ""},
      {"dion2", ""},
      {"sumo", "rank=3"},
      {"limuon", "rank=0"},
      {"namo", ""},
  };
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof free_of_scale / sizeof *free_of_scale; i++)
    for (size_t s = 0; s < SHAPES; s++) {
      run a = {free_of_scale[i][0], free_of_scale[i][1], *shapes[s], -1, 64, 0, NULL};
      const run b = {a.algorithm, a.options, *shapes[s], -1, 0, 0, NULL};
      wrong += differ(&a, &b, STEPS, 1, 1e-5);
    }
  assert_int_equal(wrong, 0);
}

/* Methods that treat rows and columns alike. */
static void test_transposed(void **state)
{
  (void)state;
  static const char *const alike[][2] = {
      {"normuon", "axis=long shape=none"},
      {"adamuon", ""},
      {"polargrad", ""},
      {"polargrad", "order=polar_first"},
      {"namo", "shape=none"},
      {"muon2", "shape=none"},
      {"muon2", "shape=none outer=1"},
      {"asgo", ""},
      {"klshampoo", "refresh_every=2"},
      {"klsoap", "refresh_every=2"},
      {"caspr", ""},
      {"pmuon", "shape=none"},
      {"soapmuon", "shape=none"},
      {"soapmuon", "shape=none sides=small"},
      {"sinksoap", "shape=none sinkhorn=500"},
      {"dion2", "shape=none"},
      {"sumo", "rank=3"},
      {"limuon", "rank=0"},
      {"kfac", ""},
  };
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
    const run a = {alike[i][0], alike[i][1], tall, -1, 0, 1, NULL};
    const run b = {alike[i][0], alike[i][1], wide, -1, 0, 0, NULL};
    double *found = after(&a, STEPS), *other = after(&b, STEPS);
    double *expected = ref_zeros(wide.rows * wide.cols);
    ref_transpose(wide.rows, wide.cols, other, expected);
    const double part = difference(wide.rows * wide.cols, found, expected);
    if (part >= 1e-5) print_error("%s '%s' transposed: %.2g\n", a.algorithm, a.options, part);
    wrong += part >= 1e-5;
    free(expected);
    free(other);
    free(found);
  }
  assert_int_equal(wrong, 0);
}

/* Methods for which no basis is special: turned gradients give turned weights. */
static void test_turned(void **state)
{
  (void)state;
  static const char *const any_basis[][2] = {
      {"polargrad", ""},
      {"polargrad", "order=polar_first"},
      {"namo", ""},
      {"asgo", ""},
      {"fismo", ""},
      {"klshampoo", "refresh_every=2"},
      {"klshampoo", "refresh_every=2 floors=absolute"},
      {"klsoap", "refresh_every=2"},
      {"caspr", "graft=sgd"},
      {"pmuon", ""},
      {"soapmuon", ""},
      {"sinksoap", ""},
      {"sumo", "rank=3 residual=0.5 refresh_every=2"},
      {"limuon", "rank=0"},
  };
  const size_t n = square.rows;
  double *x = normal(n * n, 99), *turn = ref_zeros(n * n), *back = ref_zeros(n * n);
  ref_qr(n, x, turn);
  ref_transpose(n, n, turn, back);
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof any_basis / sizeof *any_basis; i++) {
    const run a = {any_basis[i][0], any_basis[i][1], square, -1, 0, 0, turn};
    const run b = {any_basis[i][0], any_basis[i][1], square, -1, 0, 0, NULL};
    double *found = after(&a, STEPS), *expected = after(&b, STEPS);
    ref_sandwich(n, n, turn, turn, expected);
    const double part = difference(n * n, found, expected);
    if (part >= 1e-6) print_error("%s '%s' turned: %.2g\n", a.algorithm, a.options, part);
    wrong += part >= 1e-6;
    free(expected);
    free(found);
  }
  free(back);
  free(turn);
  free(x);
  assert_int_equal(wrong, 0);
}

/* Zero gradients from the start move nothing, and nothing becomes NaN. */
static void test_zero(void **state)
{
  (void)state;
  static const char *const names[] = {"normuon", "adamuon", "polargrad", "namo",      "muon2",
                                      "asgo",    "dasgo",   "fismo",     "klshampoo", "klsoap",
                                      "caspr",   "pmuon",   "soapmuon",  "sinksoap",  "dion2",
                                      "sumo",    "limuon",  "kfac",      "newtonmuon"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ref_optimizer *r = ref_create(names[i], wide.rows, wide.cols, "weight_decay=0");
    double *g = ref_zeros(wide.rows * wide.cols), *w = ref_zeros(wide.rows * wide.cols);
    double *left = ref_zeros(wide.rows * wide.rows), *right = ref_zeros(wide.cols * wide.cols);
    give_inputs(r, g, left, right);
    for (int t = 0; t < 3; t++) ref_step(r, w, g);
    if (!(ref_norm(w, wide.rows * wide.cols) == 0)) fail_msg("%s moves", names[i]);
    free(right);
    free(left);
    free(w);
    free(g);
    ref_free(r);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reductions), cmocka_unit_test(test_scale_free),
      cmocka_unit_test(test_transposed), cmocka_unit_test(test_turned),
      cmocka_unit_test(test_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
