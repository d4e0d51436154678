/* test_endurance.c - thousands of steps of gradients that no training should have and some does.
 *
 * Every algorithm, 5,000 steps of each schedule below: weights stay finite, and where there is a
 * reference in double they are its weights. Then every end of every option's range, through all
 * of the schedules in one run. The registry is the list: a new algorithm is in it by being
 * registered, with its reference as soon as there is one.
 *
 *     ctest --preset dev -R endurance -V        prints the table of docs/optimizers.md
 */
#include "property/against.h"
#include "reference/dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 5000, ROWS = 8, COLS = 8, COUNT = ROWS * COLS };

/* The size of the gradient at a step; the elements are random normal numbers times it. */
static double zeros(int t)
{
  return t == 1 ? 1 : 0;
}

static double denormals(int t)
{
  (void)t;
  return 1e-41;
}

static double shrinking(int t)
{
  return pow(0.97, t); /* below the smallest float from step 3,400 on */
}

static double growing(int t)
{
  return 1e-38 * pow(10, 75.0 * t / LONG); /* to 1e37 */
}

static double ordinary(int t)
{
  (void)t;
  return 1e-3;
}

/* 1,700 steps are enough for a momentum of mu = 0.95 to fade to where floats end. */
static double pauses(int t)
{
  return t % 1800 < 5 ? 1e30 : 0;
}

static double alternating(int t)
{
  return t % 2 ? 1e-30 : 1e30;
}

typedef enum pattern { EVERY_ELEMENT, ONE_OUTLIER, ONE_ROW } pattern;

typedef struct schedule {
  const char *name;
  double (*size)(int t);
  pattern pattern;
} schedule;

static const schedule schedules[] = {
    {"zeros", zeros, EVERY_ELEMENT},
    {"denormals", denormals, EVERY_ELEMENT},
    {"shrinking", shrinking, EVERY_ELEMENT},
    {"growing", growing, EVERY_ELEMENT},
    {"outliers", ordinary, ONE_OUTLIER},
    {"pauses", pauses, EVERY_ELEMENT},
    {"alternating", alternating, EVERY_ELEMENT},
    {"one row", ordinary, ONE_ROW},
};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

static void fill(const rig_param *p, const schedule *s, int t)
{
  const double size = s->size(t);
  fill_normal(p->grad, p->count, 1, 7, (uint64_t)t);
  for (size_t i = 0; i < p->count; i++) p->grad[i] = (float)((double)p->grad[i] * size);
  if (s->pattern == ONE_OUTLIER && t % 500 == 300) p->grad[4] = 3e14f;
  if (s->pattern == ONE_ROW)
    memset(p->grad + p->cols, 0, (p->count - p->cols) * sizeof *p->grad);
}

/* All schedules in turn; the first lasts until momentum and statistics have faded. */
static void fill_medley(const rig_param *p, int t)
{
  static const int until[SCHEDULES] = {1800, 2000, 2600, 3200, 3700, 4200, 4600, LONG};
  size_t which = 0;
  while (t > until[which]) which++;
  const int first = which > 0 ? until[which - 1] : 0;
  fill(p, &schedules[which], schedules[which].size == growing ? (t - first) * 8 : t - first);
}

static void step(rig *r, const char *name, const char *options, const char *schedule_name,
                 int t)
{
  if (mousse_step(r->opt) != MOUSSE_OK)
    fail_msg("%s '%s' %s step %d: %s", name, options, schedule_name, t, mousse_error(r->opt));
  if (!rig_weights_finite(r))
    fail_msg("%s '%s' %s: not finite after step %d", name, options, schedule_name, t);
}

/* One matrix, by the library and by its reference. */
typedef struct race {
  rig r;
  ref_optimizer *reference; /* NULL: there is none */
  double start[COUNT], w[COUNT], g[COUNT], *inputs[REF_INPUTS];
} race;

static void race_start(race *x, const char *name, const char *options)
{
  rig_single(&x->r, NULL, name, ROWS, COLS, options);
  x->reference = ref_exists(name) ? ref_create(name, ROWS, COLS, options) : NULL;
  for (size_t i = 0; i < REF_INPUTS; i++) x->inputs[i] = NULL;
  for (size_t i = 0; i < COUNT; i++) x->w[i] = x->start[i] = x->r.params[0].value[i];
}

static void race_step(race *x)
{
  if (x->reference == NULL) return;
  if (x->inputs[0] == NULL) give_inputs(&x->r.params[0], 1, x->reference, x->inputs);
  for (size_t i = 0; i < COUNT; i++) x->g[i] = x->r.params[0].grad[i];
  ref_step(x->reference, x->w, x->g);
}

/* |W - W_ref| / |W_ref - W_0|; negative: there is no reference. `allowed`: what rounding the
 * weights to float in every step may have done of it. */
static double race_end(race *x, double *allowed)
{
  double wrong = 0, way = 0, size = 0;
  for (size_t i = 0; x->reference != NULL && i < COUNT; i++) {
    wrong = hypot(wrong, x->w[i] - (double)x->r.params[0].value[i]);
    way = hypot(way, x->w[i] - x->start[i]);
    size = hypot(size, fmax(fabs(x->start[i]), fabs(x->w[i])));
  }
  const double error = x->reference == NULL ? -1 : way > 0 ? wrong / way : wrong;
  *allowed = 4 * sqrt(LONG) * 0x1p-25 * (way > 0 ? size / way : size);
  if (x->reference != NULL) ref_free(x->reference);
  for (size_t i = 0; i < REF_INPUTS; i++) free(x->inputs[i]);
  rig_stop(&x->r);
  return error;
}

static double run(const char *name, const schedule *s, double *allowed)
{
  race x;
  race_start(&x, name, "");
  for (int t = 1; t <= LONG; t++) {
    fill(&x.r.params[0], s, t);
    race_step(&x);
    step(&x.r, name, "", s->name, t);
  }
  return race_end(&x, allowed);
}

/* Methods whose step has one length however short the momentum: they follow its direction to the
 * end of float, their references beyond it. */
static bool never_fades(const char *name)
{
  static const char *const names[] = {"adamuon", "asgo", "dasgo", "sinksoap"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

/* How far from the reference it may be, as a part of the way. */
static double limit(const char *name, const schedule *s)
{
  /* Adam in an eigenbasis: a projection in float carries 1e-7 of an outlier of 3e14 to every
   * element, where ordinary gradients are 1e-3; and with one row, most of the basis is free. */
  if (strcmp(name, "soap") == 0 && s->pattern == ONE_OUTLIER) return 3;
  if (strcmp(name, "soap") == 0 && s->pattern == ONE_ROW) return 0.1;
  /* The polar factor leaves out singular values of less than 1e-6 of the largest; an outlier
   * makes them pass that limit one by one as it fades. */
  if (never_fades(name) && (s->size == zeros || s->size == shrinking || s->size == pauses))
    return 1;
  /* It sees the scale: far above 1 its damping is below the rounding of its factors. */
  if (strcmp(name, "fismo") == 0 && s->size != ordinary) return 1;
  if (strcmp(name, "fismo") == 0 && s->pattern == ONE_OUTLIER) return 3;
  /* Statistics divided by eigenvalues that are 1e30 off from step to step. */
  if (strncmp(name, "kl", 2) == 0 && s->size == alternating) return 2;
  /* The basis of one gradient, and that gradient again: all elements but the diagonal ones are
   * rounding, and are divided by their own size. */
  if (strcmp(name, "soapmuon") == 0 && (s->size == zeros || s->size == pauses)) return 0.5;
  if (strcmp(name, "sumo") == 0 && s->pattern == ONE_OUTLIER) return 0.2;
  /* From 1e30 on, the momentum reaches the end of float before an epsilon of 1e-7 ends it. */
  return s->size == pauses ? 5e-2 : 2e-2;
}

static void test_every_algorithm_through_every_schedule(void **state)
{
  (void)state;
  const char *name;
  size_t wrong = 0;
  printf("%-10s", "");
  for (size_t s = 0; s < SCHEDULES; s++) printf(" %11s", schedules[s].name);
  printf("\n");
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    printf("%-10s", name);
    for (size_t s = 0; s < SCHEDULES; s++) {
      double allowed = 0;
      const double error = run(name, &schedules[s], &allowed);
      if (error < 0)
        printf(" %11s", "finite");
      else
        printf(" %11.1e", error);
      if (error <= limit(name, &schedules[s]) + allowed) continue;
      print_error("%s %s: off by %g of the way\n", name, schedules[s].name, error);
      wrong++;
    }
    printf("\n");
  }
  assert_int_equal(wrong, 0);
}

static void endure(const char *name, const char *options)
{
  rig r;
  rig_single(&r, NULL, name, 9, 6, options);
  for (int t = 1; t <= LONG; t++) {
    fill_medley(&r.params[0], t);
    step(&r, name, options, "medley", t);
  }
  rig_stop(&r);
}

static void endure_ends(const char *name, const mousse_option *o)
{
  char options[128];
  for (size_t i = 0; o->choices != NULL && o->choices[i] != NULL; i++) {
    snprintf(options, sizeof options, "%s=%s", o->name, o->choices[i]);
    endure(name, options);
  }
  for (int end = 0; o->choices == NULL && end < 2; end++) {
    snprintf(options, sizeof options, "%s=%.17g", o->name, end ? o->max : o->min);
    endure(name, options);
  }
}

static void test_every_end_of_every_option(void **state)
{
  (void)state;
  const char *name;
  const mousse_option *o;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (size_t i = 0; (o = mousse_algorithm_option(name, i)) != NULL; i++)
      endure_ends(name, o);
}

/* Ends that are harder together. */
static void test_several_ends_at_once(void **state)
{
  (void)state;
  static const char *const cases[][2] = {
      {"mousse", "alpha=0.5 eps=1e-10 refresh=cholesky form=fused"},
      {"mousse", "alpha=0.5 eps=1e-10 refresh=qr form=plain trace_norm=0"},
      {"mousse", "alpha=0.5 eps=1e-10 graft=off outer=on trace_norm=0"},
      {"mousse", "trace_norm=0 refresh=cholesky"},
      {"mousse", "trace_norm=0 sides=left refresh_every=1 graft=off"},
      {"shampoo", "graft=none refresh=cholesky"},
      {"shampoo", "graft=sgd refresh=cholesky eps=1e-12"},
      {"shampoo", "graft=none beta2=0 beta1=0.999999 refresh_every=1"},
      {"soap", "eps=1e-20 beta2=0.999999 beta1=0"},
      {"soap", "eps=1e-20 beta2=0 beta1=0.999999 refresh_every=1"},
      {"adamw", "eps=1e-20 beta2=0 beta1=0.999999"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) endure(cases[i][0], cases[i][1]);
}

static double beta_error(const char *name, const char *option, double beta)
{
  enum { SHORT = 300 };
  char options[64];
  race x;
  snprintf(options, sizeof options, "%s=%.9g weight_decay=0 lr=0.001", option, beta);
  race_start(&x, name, options);
  for (size_t i = 0; i < COUNT; i++) x.w[i] = x.start[i] = x.r.params[0].value[i] = 0;
  double wrong = 0, way = 0;
  for (int t = 1; t <= SHORT; t++) {
    fill(&x.r.params[0], &schedules[4], t);
    race_step(&x);
    step(&x.r, name, options, "ordinary", t);
  }
  for (size_t i = 0; i < COUNT; i++) {
    wrong = hypot(wrong, x.w[i] - (double)x.r.params[0].value[i]);
    way = hypot(way, x.w[i]);
  }
  race_end(&x, &(double){0});
  return wrong / way;
}

/* 1 - beta is not taken from a rounded beta: the step would be 7e-3 too long at the end. */
static void test_every_beta(void **state)
{
  (void)state;
  static const double betas[] = {0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.999999};
  for (size_t b = 0; b < sizeof betas / sizeof *betas; b++) {
    const double beta = betas[b];
    const double errors[] = {
        beta_error("adamw", "beta1", beta),   beta_error("adamw", "beta2", beta),
        beta_error("sgd", "mu", beta),        beta_error("lion", "beta2", beta),
        beta_error("shampoo", "beta1", beta), beta_error("muon", "mu", beta)};
    static const double most[] = {1e-6, 1e-6, 1e-6, 1e-6, 1e-4, 1e-4};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
      if (!(errors[i] <= most[i])) fail_msg("case %zu, beta %g: off by %g", i, beta, errors[i]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_algorithm_through_every_schedule),
      cmocka_unit_test(test_every_end_of_every_option),
      cmocka_unit_test(test_several_ends_at_once),
      cmocka_unit_test(test_every_beta),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
