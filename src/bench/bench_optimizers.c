/* bench_optimizers.c - every optimizer on the matrices of the 162M model, against plain Muon.
 *
 * Measured are `layers` of its 12 layers, which have the same mix of shapes; times and bytes
 * are scaled by 12 / layers. A refresh of preconditioners is measured by making every step, or
 * none, refresh:
 *
 *     seconds per step = between + (refreshing - between) / BENCH_REFRESH_EVERY
 *
 * and what long sides add to it, which are refreshed more rarely (refresh_long), apart. The
 * first step of plain Muon, whose memory is new, does not count. When quick, the first step of
 * algorithms that compute a root is the refreshing one, and plain Muon is measured only now and
 * then. The first step of others sees gradients of 0, because what they do in it alone
 * (eigenvalue decompositions) is quicker for those.
 */
#include "base/clock.h"
#include "bench/bench_measure.h"
#include "bench/bench_set.h"

#include <stdio.h>
#include <string.h>

enum {
  WIDTH = 768,
  MODEL_LAYERS = 12,
  MOST_ROUNDS = 3,
  QUICK_WIDTH = 192, /* of the set that the largest step is looked for in, when quick */
  QUICK_LAYERS = 6,
  QUICK_YARDSTICKS = 3, /* subjects that share one measurement of plain Muon, when quick */
  AGE = 1100, /* steps that an optimizer is told it has done, so that its statistics are full */
  NEVER = 1000, /* refresh_long with which the steps after AGE refresh no long side */
};

typedef struct rules {
  size_t rounds, layers, stagger_width, stagger_layers;
} rules;

static rules rules_for(const bench_options *o)
{
  const size_t layers = o->layers > 0 ? o->layers : o->quick ? 1 : 2;
  return o->quick ? (rules){1, layers, QUICK_WIDTH, QUICK_LAYERS}
                  : (rules){MOST_ROUNDS, layers, WIDTH, layers};
}

/* What all subjects are measured on. */
typedef struct bench_ground {
  bench_set set, stagger_set;
  plain_muon *plain;
  double plain_seconds; /* the last measurement */
} bench_ground;

/* GFLOP of plain Muon on a set: per layer four square matrices, a tall and a wide one, each with
 * 5 iterations of three products. */
static double plain_work(size_t width, size_t layers)
{
  const double cube = (double)width * (double)width * (double)width;
  const double square = 5 * 3 * 2 * cube, oblong = 5 * (4 + 4 + 1) * 2 * cube;
  return 1e-9 * (double)layers * (4 * square + 2 * oblong);
}

/* What a step takes, in steps of plain Muon: rough, and only the progress shown depends on it. */
static double usual_cost(const bench_subject *s)
{
  if (s->refreshes) return 1;
  return s->orthogonalises ? 0.7 : 0.02;
}

static double refresh_cost(const bench_subject *s)
{
  return s->has_root ? 2 : s->refreshes ? 5 : 0;
}

static mousse_status build(const bench_subject *s, const bench_set *set, int threads,
                           bool stagger, mousse_optimizer **opt, mo_error *error)
{
  mousse_status status = bench_subject_create(s, threads, opt, error);
  if (status != MOUSSE_OK) return status;
  if (s->refreshes) mousse_set(*opt, 0, "stagger", stagger ? 1.0 : 0.0);
  for (size_t i = 0; status == MOUSSE_OK && i < set->count; i++) {
    char name[32];
    const bench_matrix *m = &set->matrices[i];
    snprintf(name, sizeof name, "matrix %zu", i);
    status = mousse_add_param(*opt, 0, name, m->rows, m->cols, m->value, m->gradient);
  }
  if (status == MOUSSE_OK) status = mousse_prepare(*opt);
  if (status == MOUSSE_OK) return status;
  return mo_fail(error, status, "%s: %s", s->algorithm, mousse_error(*opt));
}

static mousse_status time_step(bench_measure *m, mousse_optimizer *opt, double *seconds)
{
  const double start = mo_seconds();
  const mousse_status status = mousse_step(opt);
  *seconds = mo_seconds() - start;
  return status == MOUSSE_OK ? status : mo_fail(m->error, status, "%s", mousse_error(opt));
}

/* An optimizer that has taken its first step. */
static mousse_status make_optimizer(bench_measure *m, const bench_subject *s, bench_set *set,
                                    bool stagger, mousse_optimizer **opt, double *first_step)
{
  const int threads = m->options->threads;
  MO_TRY(build(s, set, threads, stagger, opt, m->error));
  if (s->has_root)
    bench_set_fill(set, threads);
  else
    bench_set_clear(set, threads);
  MO_TRY(time_step(m, *opt, first_step));
  if (!s->has_root) bench_set_fill(set, threads);
  return MOUSSE_OK;
}

static size_t state_bytes(const mousse_optimizer *opt)
{
  size_t bytes = 0;
  const char *name = NULL;
  for (size_t i = 0; (name = mousse_param_name(opt, i)) != NULL; i++)
    bytes += mousse_param_state_bytes(opt, name);
  return bytes;
}

static double time_plain(bench_measure *m, bench_ground *g)
{
  const size_t index = m->report->optimizer_count - 1;
  if (m->options->quick && index % QUICK_YARDSTICKS != 0) return g->plain_seconds;
  const double start = mo_seconds();
  plain_muon_step(g->plain);
  g->plain_seconds = mo_seconds() - start;
  return g->plain_seconds;
}

/* A step that refreshes all sides, and one that leaves out long sides. */
static mousse_status time_refreshes(bench_measure *m, const bench_subject *s,
                                    mousse_optimizer *opt, double first_step, double *all,
                                    double *without_long)
{
  *all = first_step;
  mousse_set(opt, 0, "refresh_every", 1);
  if (!m->options->quick || !s->has_root) {
    if (s->spares_long) mousse_set(opt, 0, "refresh_long", 1);
    MO_TRY(time_step(m, opt, all));
  }
  *without_long = *all;
  if (!s->spares_long) return MOUSSE_OK;
  mousse_set(opt, 0, "refresh_long", NEVER);
  return time_step(m, opt, without_long);
}

/* What is measured is the cost of a long run: a basis is moved, and not found anew, once the
 * gradients so far can span the longest side, four times the shortest; roots of long sides are
 * spared once the statistics are full. */
static mousse_status settle(bench_measure *m, const bench_subject *s, mousse_optimizer *opt)
{
  double ignored = 0;
  const char *name = NULL;
  for (size_t i = 0; s->spares_long && (name = mousse_param_name(opt, i)) != NULL; i++)
    mousse_set_param(opt, name, "steps", AGE);
  if (!s->refreshes || s->has_root) return MOUSSE_OK;
  mousse_set(opt, 0, "refresh_every", 1e9);
  for (int i = 0; i < 2; i++) MO_TRY(time_step(m, opt, &ignored));
  return MOUSSE_OK;
}

/* The two sides of the ratio take turns. */
static mousse_status compare(bench_measure *m, const bench_subject *s, bench_ground *g,
                             mousse_optimizer *opt, double first_step,
                             bench_optimizer_result *result)
{
  const rules r = rules_for(m->options);
  const double unit_work = plain_work(WIDTH, r.layers);
  double yardstick[MOST_ROUNDS], between[MOST_ROUNDS], all[MOST_ROUNDS],
      short_only[MOST_ROUNDS];
  double rarely = 1; /* refreshes that pass for one of a long side */
  if (s->spares_long) mousse_get(opt, 0, "refresh_long", &rarely);
  MO_TRY(settle(m, s, opt));
  for (size_t i = 0; i < r.rounds; i++) {
    yardstick[i] = time_plain(m, g);
    bench_tick(m, s->algorithm, unit_work);
    if (s->refreshes) mousse_set(opt, 0, "refresh_every", 1e9);
    MO_TRY(time_step(m, opt, &between[i]));
    bench_tick(m, s->algorithm, usual_cost(s) * unit_work);
    all[i] = short_only[i] = between[i];
    if (s->refreshes) MO_TRY(time_refreshes(m, s, opt, first_step, &all[i], &short_only[i]));
    bench_tick(m, s->algorithm, refresh_cost(s) * unit_work);
  }
  const double unit = bench_median(yardstick, r.rounds);
  const double usual = bench_median(between, r.rounds);
  const double often = bench_median(short_only, r.rounds);
  const double extra = often - usual + (bench_median(all, r.rounds) - often) / rarely;
  const double scale = (double)MODEL_LAYERS / (double)r.layers;
  result->seconds_per_step = (usual + extra / BENCH_REFRESH_EVERY) * scale;
  result->ratio = (usual + extra / BENCH_REFRESH_EVERY) / unit;
  result->ratio_between = usual / unit;
  result->state_bytes = (size_t)((double)state_bytes(opt) * scale);
  return MOUSSE_OK;
}

/* A step of a period: of every tenth matrix the preconditioner is renewed. */
static double staggered_work(const bench_options *o, const bench_subject *s)
{
  const rules r = rules_for(o);
  return plain_work(r.stagger_width, r.stagger_layers) *
         (usual_cost(s) + refresh_cost(s) / BENCH_REFRESH_EVERY);
}

/* The largest of the steps of one period, with staggered refreshes, of a long run. */
static mousse_status find_worst(bench_measure *m, const bench_subject *s, bench_set *set,
                                bench_optimizer_result *result)
{
  mousse_optimizer *opt = NULL;
  double worst = 0.0, sum = 0.0, first_step = 0.0;
  mousse_status status = make_optimizer(m, s, set, true, &opt, &first_step);
  if (status == MOUSSE_OK) status = settle(m, s, opt);
  if (status == MOUSSE_OK && s->refreshes)
    mousse_set(opt, 0, "refresh_every", BENCH_REFRESH_EVERY);
  for (int i = 0; status == MOUSSE_OK && i < BENCH_REFRESH_EVERY; i++) {
    double seconds = 0.0;
    status = time_step(m, opt, &seconds);
    worst = seconds > worst ? seconds : worst;
    sum += seconds;
    bench_tick(m, s->algorithm, staggered_work(m->options, s));
  }
  mousse_destroy(opt);
  result->worst_step_to_mean = worst * BENCH_REFRESH_EVERY / sum;
  return status;
}

static mousse_status measure_one(bench_measure *m, const bench_subject *s, bench_ground *g)
{
  bench_optimizer_result *result = &m->report->optimizers[m->report->optimizer_count++];
  mousse_optimizer *opt = NULL;
  double first_step = 0.0;
  *result = (bench_optimizer_result){.name = s->algorithm, .sides = s->sides};
  memcpy(result->options, s->options, sizeof result->options);
  mousse_status status = make_optimizer(m, s, &g->set, false, &opt, &first_step);
  if (status == MOUSSE_OK) status = compare(m, s, g, opt, first_step, result);
  mousse_destroy(opt);
  return status == MOUSSE_OK ? find_worst(m, s, &g->stagger_set, result) : status;
}

double bench_optimizers_work(const bench_measure *m)
{
  const rules r = rules_for(m->options);
  double work = 0;
  for (size_t i = 0; i < m->subject_count; i++) {
    const bench_subject *s = &m->subjects[i];
    const double steps = 1 + usual_cost(s) + refresh_cost(s);
    work += (double)r.rounds * steps * plain_work(WIDTH, r.layers) +
            BENCH_REFRESH_EVERY * staggered_work(m->options, s);
  }
  return work;
}

mousse_status bench_optimizers(bench_measure *m)
{
  const rules r = rules_for(m->options);
  bench_ground g = {.plain = NULL};
  m->report->layers = r.layers;
  mousse_status status = bench_set_create(&g.set, WIDTH, r.layers, m->error);
  if (status == MOUSSE_OK)
    status = bench_set_create(&g.stagger_set, r.stagger_width, r.stagger_layers, m->error);
  if (status == MOUSSE_OK)
    status = plain_muon_create(&g.plain, &g.set, m->options->threads, m->error);
  if (status == MOUSSE_OK && m->subject_count > 0) plain_muon_step(g.plain);
  for (size_t i = 0; status == MOUSSE_OK && i < m->subject_count; i++)
    status = measure_one(m, &m->subjects[i], &g);
  plain_muon_destroy(g.plain);
  bench_set_release(&g.stagger_set);
  bench_set_release(&g.set);
  return status;
}
