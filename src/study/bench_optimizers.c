/* bench_optimizers.c - every optimizer on the matrices of the 162M model, against plain Muon.
 *
 * Measured are `layers` of its 12 layers, which have the same mix of shapes; times and bytes
 * are scaled by 12 / layers. A refresh of preconditioners is measured by making every step, or
 * none, refresh:
 *
 *     seconds per step = between + (refreshing - between) / BENCH_REFRESH_EVERY
 *
 * The first step, which is not measured, sees gradients of 0: it makes the first
 * preconditioners, and those of nothing are cheap to decompose.
 */
#include "base/clock.h"
#include "study/bench_measure.h"
#include "study/bench_set.h"

#include <stdio.h>
#include <string.h>

enum {
  WIDTH = 768,
  MODEL_LAYERS = 12,
  MOST_ROUNDS = 3,
  QUICK_WIDTH = 192, /* of the set that the largest step is looked for in, when quick */
};

typedef struct rules {
  size_t rounds, layers, stagger_width, stagger_layers;
} rules;

static rules rules_for(const bench_options *o)
{
  const size_t layers = o->layers > 0 ? o->layers : o->quick ? 1 : 4;
  return o->quick ? (rules){1, layers, QUICK_WIDTH, MODEL_LAYERS}
                  : (rules){MOST_ROUNDS, layers, WIDTH, layers};
}

/* One algorithm with one choice of sides. */
typedef struct subject {
  const char *algorithm, *sides;
  bool chooses_sides, refreshes;
} subject;

static bool has_option(const char *algorithm, const char *name)
{
  const mousse_option *option = NULL;
  for (size_t i = 0; (option = mousse_algorithm_option(algorithm, i)) != NULL; i++)
    if (strcmp(option->name, name) == 0) return true;
  return false;
}

/* Every algorithm of the library; one that can choose its sides, with both and with small. */
static size_t list_subjects(subject *list)
{
  size_t count = 0;
  const char *name = NULL;
  for (size_t i = 0; (name = mousse_algorithm_name(i)) != NULL; i++) {
    const bool sides = has_option(name, "sides"), refreshes = has_option(name, "refresh_every");
    if (count + 2 > BENCH_MOST_OPTIMIZERS) break;
    list[count++] = (subject){name, refreshes ? "both" : "none", sides, refreshes};
    if (sides) list[count++] = (subject){name, "small", sides, refreshes};
  }
  return count;
}

static mousse_status build(const subject *s, const bench_set *set, int threads, bool stagger,
                           mousse_optimizer **opt)
{
  const mousse_env env = {.struct_size = sizeof env, .threads = threads};
  int group = 0;
  MO_TRY(mousse_create(&env, opt));
  MO_TRY(mousse_add_group(*opt, s->algorithm, &group));
  if (s->chooses_sides) MO_TRY(mousse_set_text(*opt, group, "sides", s->sides));
  if (s->refreshes) {
    MO_TRY(mousse_set(*opt, group, "refresh_every", BENCH_REFRESH_EVERY));
    MO_TRY(mousse_set(*opt, group, "stagger", stagger ? 1.0 : 0.0));
  }
  for (size_t i = 0; i < set->count; i++) {
    char name[32];
    const bench_matrix *m = &set->matrices[i];
    snprintf(name, sizeof name, "matrix %zu", i);
    MO_TRY(mousse_add_param(*opt, group, name, m->rows, m->cols, m->value, m->gradient));
  }
  return mousse_prepare(*opt);
}

static mousse_status make_optimizer(bench_measure *m, const subject *s, bench_set *set,
                                    bool stagger, mousse_optimizer **opt)
{
  const int threads = m->options->threads;
  mousse_status status = build(s, set, threads, stagger, opt);
  bench_set_clear(set, threads);
  if (status == MOUSSE_OK) status = mousse_step(*opt);
  bench_set_fill(set, threads);
  if (status == MOUSSE_OK) return status;
  return mo_fail(m->error, status, "%s: %s", s->algorithm,
                 *opt != NULL ? mousse_error(*opt) : mousse_status_text(status));
}

static mousse_status time_step(bench_measure *m, mousse_optimizer *opt, double *seconds)
{
  const double start = mo_seconds();
  const mousse_status status = mousse_step(opt);
  *seconds = mo_seconds() - start;
  return status == MOUSSE_OK ? status : mo_fail(m->error, status, "%s", mousse_error(opt));
}

static size_t state_bytes(const mousse_optimizer *opt)
{
  size_t bytes = 0;
  const char *name = NULL;
  for (size_t i = 0; (name = mousse_param_name(opt, i)) != NULL; i++)
    bytes += mousse_param_state_bytes(opt, name);
  return bytes;
}

/* The two sides of the ratio take turns. */
static mousse_status compare(bench_measure *m, const subject *s, mousse_optimizer *opt,
                             plain_muon *plain, bench_optimizer_result *result)
{
  const rules r = rules_for(m->options);
  double yardstick[MOST_ROUNDS], between[MOST_ROUNDS], refreshing[MOST_ROUNDS];
  for (size_t i = 0; i < r.rounds; i++) {
    const double start = mo_seconds();
    plain_muon_step(plain);
    yardstick[i] = mo_seconds() - start;
    bench_tick(m, s->algorithm);
    if (s->refreshes) mousse_set(opt, 0, "refresh_every", 1e9);
    MO_TRY(time_step(m, opt, &between[i]));
    bench_tick(m, s->algorithm);
    if (s->refreshes) mousse_set(opt, 0, "refresh_every", 1);
    refreshing[i] = between[i];
    if (s->refreshes) MO_TRY(time_step(m, opt, &refreshing[i]));
    bench_tick(m, s->algorithm);
  }
  const double unit = bench_median(yardstick, r.rounds);
  const double usual = bench_median(between, r.rounds);
  const double extra = bench_median(refreshing, r.rounds) - usual;
  const double scale = (double)MODEL_LAYERS / (double)r.layers;
  result->seconds_per_step = (usual + extra / BENCH_REFRESH_EVERY) * scale;
  result->ratio = (usual + extra / BENCH_REFRESH_EVERY) / unit;
  result->ratio_between = usual / unit;
  result->state_bytes = (size_t)((double)state_bytes(opt) * scale);
  return MOUSSE_OK;
}

/* The largest of the steps of one period, with staggered refreshes. */
static mousse_status find_worst(bench_measure *m, const subject *s, bench_set *set,
                                bench_optimizer_result *result)
{
  mousse_optimizer *opt = NULL;
  double worst = 0.0, sum = 0.0;
  mousse_status status = make_optimizer(m, s, set, true, &opt);
  for (int i = 0; status == MOUSSE_OK && i < BENCH_REFRESH_EVERY; i++) {
    double seconds = 0.0;
    status = time_step(m, opt, &seconds);
    worst = seconds > worst ? seconds : worst;
    sum += seconds;
    bench_tick(m, s->algorithm);
  }
  mousse_destroy(opt);
  result->worst_step_to_mean = worst * BENCH_REFRESH_EVERY / sum;
  return status;
}

static mousse_status measure_one(bench_measure *m, const subject *s, bench_set *set,
                                 bench_set *stagger_set, plain_muon *plain)
{
  bench_optimizer_result *result = &m->report->optimizers[m->report->optimizer_count++];
  mousse_optimizer *opt = NULL;
  *result = (bench_optimizer_result){.name = s->algorithm, .sides = s->sides};
  mousse_status status = make_optimizer(m, s, set, false, &opt);
  if (status == MOUSSE_OK) status = compare(m, s, opt, plain, result);
  mousse_destroy(opt);
  return status == MOUSSE_OK ? find_worst(m, s, stagger_set, result) : status;
}

size_t bench_optimizers_ticks(const bench_options *options)
{
  subject list[BENCH_MOST_OPTIMIZERS];
  return list_subjects(list) * (3 * rules_for(options).rounds + BENCH_REFRESH_EVERY);
}

mousse_status bench_optimizers(bench_measure *m)
{
  const rules r = rules_for(m->options);
  subject list[BENCH_MOST_OPTIMIZERS];
  const size_t count = list_subjects(list);
  bench_set set = {0}, stagger_set = {0};
  plain_muon *plain = NULL;
  m->report->layers = r.layers;
  mousse_status status = bench_set_create(&set, WIDTH, r.layers, m->error);
  if (status == MOUSSE_OK)
    status = bench_set_create(&stagger_set, r.stagger_width, r.stagger_layers, m->error);
  if (status == MOUSSE_OK)
    status = plain_muon_create(&plain, &set, m->options->threads, m->error);
  for (size_t i = 0; status == MOUSSE_OK && i < count; i++)
    status = measure_one(m, &list[i], &set, &stagger_set, plain);
  plain_muon_destroy(plain);
  bench_set_release(&stagger_set);
  bench_set_release(&set);
  return status;
}
