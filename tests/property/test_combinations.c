/* test_combinations.c - options together that nobody tried together: pairs of spectral's choices, and
 * options drawn at random, of every algorithm, under an allocator that notices writes past an end. */
#include "property/harness.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The weights of a 20 x 12 matrix under spectral after 5 steps; free(). */
static float *spectral_weights(const char *options, double gain)
{
  const mousse_env env = {.struct_size = sizeof env,
                          .threads = 1}; /* small, and many of them */
  rig r;
  rig_single(&r, &env, "spectral", 20, 12, options);
  for (uint64_t t = 1; t <= 5; t++) {
    rig_gradients(&r, t);
    for (size_t i = 0; i < r.params[0].count; i++) r.params[0].grad[i] *= (float)gain;
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  }
  float *weights = rig_weights(&r);
  rig_stop(&r);
  return weights;
}

/* ||x - y|| / ||y|| of the 20 x 12 weights under two settings. */
static double apart(const char *options, double gain, const char *others)
{
  float *x = spectral_weights(options, gain), *y = spectral_weights(others, 1);
  double squares = 0, all = 0;
  for (size_t i = 0; i < 20 * 12; i++) {
    squares += pow((double)x[i] - (double)y[i], 2);
    all += pow((double)y[i], 2);
  }
  free(x);
  free(y);
  return sqrt(squares / all);
}

/* Preconditioners that need whole sides, or both, have them whatever `block` and `sides` say. */
static void test_whole_sides_are_not_cut(void **state)
{
  (void)state;
  static const char *const rows[][2] = {{"fisher", "block=5"},     {"fisher", "sides=left"},
                                        {"fisher", "sides=right"}, {"fisher", "sides=small"},
                                        {"rms", "block=5"},        {"sinkhorn", "block=5"},
                                        {"kl", "block=5"},         {"kl", "sides=small"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char options[200], whole[120];
    snprintf(whole, sizeof whole, "inner=%s refresh_every=2", rows[i][0]);
    snprintf(options, sizeof options, "%s %s", whole, rows[i][1]);
    if (apart(options, 1, whole) != 0) fail_msg("%s", options);
  }
}

/* What docs/optimizers.md says has no effect without other options, and has one with them. */
static void test_options_that_need_others(void **state)
{
  (void)state;
  static const struct {
    const char *without, *with, *option; /* NULL: there is none */
  } rows[] = {
      {"inner=sinkhorn", "inner=diag", "alpha=0.3"},
      {"inner=rms", "inner=sum", "block=5"},
      {"inner=fisher", "inner=kron", "stats_of=momentum"},
      {"inner=rms", "inner=sum", "stats_when=after"},
      {"inner=sinkhorn", "inner=sum", "stats_of=momentum"},
      {"inner=rms", "inner=kron", "alpha=0.3"},
      {"inner=fisher", "inner=sum", "alpha=0.3"},
      {"inner=kl", "inner=fisher", "trace_norm=off"},
      {"inner=rms", "inner=kron", "trace_norm=off"},
      {"inner=kron", "inner=kl", "floors=absolute"},
      {"inner=fisher", "inner=rms eps=0.01", "floors=absolute"},
      {"inner=diag outer=on", "inner=diag outer=off eps=0.1", "floors=absolute"},
      {"inner=sum", "inner=sinkhorn eps=0.01", "floors=absolute"},
      {"inner=kron", "inner=rms", "gate=on"},
      {"inner=rms refresh=qr", "inner=rms refresh=eigh", "refresh=cholesky"},
      {"inner=sinkhorn refresh=qr", NULL, "refresh=cholesky"},
      {"inner=kl refresh=qr", NULL, "refresh=cholesky"},
      {"ortho=topk", "ortho=newton_schulz", "divisor=schatten4"},
      {"ortho=low_rank", NULL, "divisor=schatten4"},
      {"newton_schulz=exact", NULL, "divisor=schatten4"},
      {"inner=kron outer=off", "inner=kron outer=on", "form=fused"},
      {"inner=sum", NULL, "form=fused"},
      {"inner=kron post=element", NULL, "form=fused"},
      {"inner=kron newton_schulz=exact", NULL, "form=fused"},
      {"inner=kron ortho=topk", NULL, "form=fused"},
      {"norm=rms", "norm=keep", "post=scalar"},
      {"norm=relative", "norm=nuclear", "post=scalar"},
      {"inner=rms", "inner=kl", "outer=off"},
      {"inner=sinkhorn", "inner=fisher", "outer=off"},
      {"inner=rows", "inner=sum", "outer=off"},
      {"inner=kron norm=rms", "inner=kron norm=keep", "graft=off"},
      {"radius=ball", "radius=pin", "shape=rms"},
      {"radius=ball", "radius=brake", "norm=rms"},
      {"radius=ball inner=kron", "radius=pin inner=kron", "graft=off"},
      {"radius=ball", "radius=pin", "weight_decay=1"},
      {"radius=ball weight_decay=1", "radius=pin weight_decay=1", "decay=cautious"},
      {"radius=ball floor_target=10", "radius=pin floor_target=10", "floor=matrix"},
      {"radius=ball floor=matrix", "radius=ball floor=row floor_target=1", "shape=rms"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char base[200], options[240];
    for (int with = 0; with < 2; with++) {
      if (with == 1 && rows[i].with == NULL) continue;
      snprintf(base, sizeof base, "%s refresh_every=2", with ? rows[i].with : rows[i].without);
      snprintf(options, sizeof options, "%s %s", base, rows[i].option);
      const double part = apart(options, 1, base);
      /* form = fused, which may differ by rounding alone, differs not even by that */
      const double rounding = strcmp(rows[i].option, "form=fused") == 0 ? 0 : 1e-6;
      if ((part > rounding) != (with == 1)) fail_msg("%s: %.2g", options, part);
    }
  }
}

/* Roots are of statistics, before the step or after it, and have their scale alone. */
static void test_statistics_are_scale_free(void **state)
{
  (void)state;
  static const char *const inner[] = {"kron", "sum"}, *const of[] = {"gradient", "momentum"},
                           *const when[] = {"before", "after"};
  for (int i = 0; i < 8; i++) {
    char options[120];
    snprintf(options, sizeof options, "inner=%s stats_of=%s stats_when=%s refresh_every=1",
             inner[i & 1], of[i >> 1 & 1], when[i >> 2]);
    const double by_scale = apart(options, 1048576, options);
    if (!(by_scale < 1e-5)) fail_msg("%s: a gradient's scale changes %g", options, by_scale);
  }
}

/* An exponent of 0 whitens nothing, so that another one must show. */
static void test_roots_are_computed_after_the_step_too(void **state)
{
  (void)state;
  static const char *const inner[] = {"kron", "sum"}, *const when[] = {"before", "after"};
  for (int i = 0; i < 4; i++) {
    char options[120], without[160];
    snprintf(options, sizeof options, "inner=%s stats_when=%s", inner[i & 1], when[i >> 1]);
    snprintf(without, sizeof without, "%s alpha=0", options);
    if (!(apart(options, 1, without) > 1e-4)) fail_msg("%s: nothing is whitened", options);
  }
}

static void test_every_end_moves_the_weights(void **state)
{
  (void)state;
  static const char *const ortho[] = {"newton_schulz", "none", "topk", "low_rank"},
                           *const ends[] = {
                               "post=rows",     "post=element",   "post=scalar",
                               "norm=sqrt_min", "norm=sqrt_rows", "norm=rms",
                               "norm=relative", "norm=nuclear",   "post=scalar norm=nuclear"};
  for (size_t i = 0; i < 4; i++)
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
      char options[120], still[160];
      snprintf(options, sizeof options, "weight_decay=0 ortho=%s %s", ortho[i], ends[k]);
      snprintf(still, sizeof still, "%s lr=0", options);
      if (!(apart(options, 1, still) > 1e-3)) fail_msg("%s: weights do not move", options);
    }
}

/* An allocator that knows what was written past the end of a block. */
enum { GUARD = 1 << 14, GUARD_BYTE = 0xA5, ALIGNMENT = 64 };

typedef struct guarded {
  unsigned char fresh; /* what new memory is filled with */
  size_t overwritten;
} guarded;

static void *take(void *user, size_t bytes)
{
  const guarded *g = user;
  const size_t whole = (bytes + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  unsigned char *block = aligned_alloc(ALIGNMENT, whole);
  assert_non_null(block);
  memset(block, g->fresh, bytes);
  memset(block + bytes, GUARD_BYTE, GUARD);
  return block;
}

static void give_back(void *user, void *memory, size_t bytes)
{
  guarded *g = user;
  const unsigned char *block = memory;
  for (size_t i = 0; block != NULL && i < GUARD; i++)
    g->overwritten += block[bytes + i] != GUARD_BYTE;
  free(memory);
}

/* Numbers drawn one after the other. */
typedef struct dice {
  uint64_t seed, drawn;
} dice;

static double draw(dice *d)
{
  return mo_random_uniform(d->seed, 0, d->drawn++);
}

static bool is(const mousse_option *option, const char *name)
{
  return strcmp(option->name, name) == 0;
}

/* A value that a person might give: small where it counts something, any where it is a choice. */
static double draw_value(dice *d, const mousse_option *o)
{
  const double pick = draw(d), place = draw(d);
  double value = o->initial;
  if (o->choices != NULL)
    value = floor(place * (o->max + 1));
  else if (is(o, "lr") || is(o, "lr_peak"))
    value = o->initial;
  else if (is(o, "refresh_every") || is(o, "sinkhorn"))
    value = 1 + floor(3 * place);
  else if (o->integer)
    value = floor(20 * place);
  else if (strncmp(o->name, "mu", 2) == 0 || strncmp(o->name, "beta", 4) == 0)
    value = 0.5 + 0.45 * place; /* at their ends a step may be too small to show */
  else
    value = pick < 0.3                                      ? o->min
            : pick < 0.5 && strncmp(o->name, "eps", 3) != 0 ? fmin(o->max, 1) * place
                                                            : o->initial * (0.5 + place);
  return fmin(fmax(value, o->min), o->max);
}

/* Some of the options, and their text for a message; `later`: those that are not fixed. */
static void draw_options(rig *r, const char *algorithm, dice *d, bool later, char *text,
                         size_t size)
{
  const mousse_option *o;
  for (size_t i = 0; (o = mousse_algorithm_option(algorithm, i)) != NULL; i++) {
    const bool wanted = draw(d) < (later ? 0.1 : is(o, "inner") ? 1 : 0.3);
    const double value = draw_value(d, o);
    if (!wanted || (later && o->fixed)) continue;
    assert_int_equal(mousse_set(r->opt, 0, o->name, value), MOUSSE_OK);
    char number[40];
    mousse_get_text(r->opt, 0, o->name, number, sizeof number);
    snprintf(text + strlen(text), size - strlen(text), " %s=%s", o->name, number);
  }
}

typedef struct outcome {
  float *weights; /* free() */
  size_t bytes, overwritten;
  bool finite, moved;
  char text[2000];
} outcome;

/* A few steps under drawn options: the second without a gradient. */
static outcome try_options(const char *algorithm, uint64_t seed, unsigned char fresh)
{
  guarded g = {.fresh = fresh};
  const mousse_env env = {.struct_size = sizeof env,
                          .threads = 1,
                          .allocate = take,
                          .release = give_back,
                          .user = &g};
  outcome result = {.moved = true};
  dice d = {.seed = seed};
  rig r;
  rig_start(&r, &env);
  const size_t rows = 2 + (size_t)(24 * draw(&d)), cols = 2 + (size_t)(24 * draw(&d));
  const rig_param *p = rig_add(&r, algorithm, rows, draw(&d) < 0.2 ? rows : cols, "");
  snprintf(result.text, sizeof result.text, "%s %zux%zu", algorithm, p->rows, p->cols);
  draw_options(&r, algorithm, &d, false, result.text, sizeof result.text);
  rig_prepare(&r);
  for (uint64_t t = 1; t <= 4; t++) {
    float *before = rig_weights(&r);
    if (t > 1) draw_options(&r, algorithm, &d, true, result.text, sizeof result.text);
    if (t == 4) mousse_set(r.opt, 0, "weight_decay", 0); /* what moves then is the update */
    rig_gradients(&r, t);
    if (t == 2) memset(r.params[0].grad, 0, p->count * sizeof(float));
    if (mousse_step(r.opt) != MOUSSE_OK) fail_msg("%s: %s", result.text, mousse_error(r.opt));
    if (t == 4 && rig_weights_are(&r, before)) result.moved = false;
    free(before);
  }
  result.finite = rig_weights_finite(&r);
  result.weights = rig_weights(&r);
  result.bytes = p->count * sizeof(float);
  rig_stop(&r);
  result.overwritten = g.overwritten;
  return result;
}

/* Once with new memory of zeros and once of other bytes, which must not show. */
static void check_options(const char *algorithm, uint64_t seed)
{
  outcome zeros = try_options(algorithm, seed, 0), others = try_options(algorithm, seed, 0xC1);
  if (zeros.overwritten + others.overwritten > 0) fail_msg("%s: overflow", zeros.text);
  if (!zeros.finite) fail_msg("%s: not finite", zeros.text);
  if (!zeros.moved) fail_msg("%s: weights do not move", zeros.text);
  if (memcmp(zeros.weights, others.weights, zeros.bytes) != 0)
    fail_msg("%s: fresh memory shows", zeros.text);
  free(zeros.weights);
  free(others.weights);
}

static void test_options_at_random(void **state)
{
  (void)state;
  enum { OF_EACH = 6, OF_SPECTRAL = 400 };
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (uint64_t i = 0; i < OF_EACH; i++) check_options(name, 1000 * a + i);
  for (uint64_t i = 0; i < OF_SPECTRAL; i++) check_options("spectral", 1000000 + i);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole_sides_are_not_cut),
      cmocka_unit_test(test_options_that_need_others),
      cmocka_unit_test(test_statistics_are_scale_free),
      cmocka_unit_test(test_roots_are_computed_after_the_step_too),
      cmocka_unit_test(test_every_end_moves_the_weights),
      cmocka_unit_test(test_options_at_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
