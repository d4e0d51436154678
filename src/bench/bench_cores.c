/* bench_cores.c - a training step on machines with more cores than this one, predicted. */
#include "bench/bench_cores.h"

#include "base/clock.h"
#include "bench/bench_measure.h"
#include "bench/bench_memory.h"
#include "bench/bench_runner.h"
#include "bench/recordings.h"
#include "bench/replay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  SEQUENCES = 8, /* of a micro-batch, as in training */
  STEPS = 2,     /* of the optimizer, behind the first, in which everything is refreshed */
  REFRESH_EVERY = 10,
  ROUNDS = 3,        /* of what shares are computed from; the quickest counts */
  PARTS_OF_WORK = 5, /* for the progress */
};
/* How often work is recorded, in turns with the clock. A machine that others use has slow minutes,
 * and a median of three outlives one. */
enum { LEAST_ROUNDS = 3 };
/* Operations of a micro-batch that is recorded more often than that. */
#define QUICK 1e12
enum { MODEL, OPTIMIZER, STEP };

typedef struct work {
  const cores_options *options;
  cores_report *report;
  mo_error *error;
  gpt_config config;
  size_t rounds; /* that are recorded, in turns with the clock */
  mo_recording model[RECORDINGS_MOST], optimizer[STEPS][RECORDINGS_MOST]; /* [0]: of all */
  mo_recording alone[ROUNDS], crowded[ROUNDS]; /* one layer, for the shares */
  double crowding; /* how much slower streaming is beside the other streams */
  double done;
} work;

static void tell(work *w, const char *what)
{
  if (w->options->progress != NULL)
    w->options->progress(w->options->user, what, w->done, PARTS_OF_WORK);
  w->done++;
}

static mousse_status record_failed(work *w)
{
  return mo_fail(w->error, MOUSSE_NO_MEMORY, "no memory to record a step");
}

static double best_rate(int threads)
{
  double best = 0;
  for (int i = 0; i < ROUNDS; i++) best = fmax(best, bench_stream_rate(threads));
  return best;
}

static void measure_machine(work *w)
{
  cores_report *r = w->report;
  tell(w, "memory");
  r->stream_rate = best_rate(1);
  r->stream_rate_all = best_rate(r->threads);
  r->fork = r->threads > 1 ? bench_fork_seconds(r->threads) : 2e-6;
}

static mousse_status record_layer(work *w, bench_runner *runner, mo_recording *into)
{
  mo_recording_start(into);
  mousse_status status = bench_runner_model(runner, 1, runner->shape.sequence, w->error);
  if (status == MOUSSE_OK) status = bench_runner_optimizer(runner, w->error);
  if (!mo_recording_stop(into) && status == MOUSSE_OK) status = record_failed(w);
  return status;
}

/* The same beside threads that stream, and how much slower streaming itself is there. */
static mousse_status record_crowded(work *w, bench_runner *runner, mo_recording *into)
{
  static bench_streamers others;
  MO_TRY(bench_streamers_start(&others, w->report->threads - 1, w->error));
  const mousse_status status = record_layer(w, runner, into);
  const double beside = bench_stream_rate(1);
  bench_streamers_stop(&others);
  if (beside > 0) w->crowding = fmin(w->crowding, w->report->stream_rate / beside);
  return status;
}

static mousse_status measure_shares(work *w)
{
  bench_runner runner = {0};
  gpt_config config = w->config;
  config.n_layer = 1;
  const gpt_shape shape = {1, config.sequence_len, w->report->threads, true, false};
  if (w->report->threads == 1) return MOUSSE_OK;
  tell(w, "one layer");
  mousse_status status = bench_runner_create(&runner, &config, &shape, NULL, w->error);
  if (status == MOUSSE_OK) status = bench_runner_restart(&runner, "mousse", 1, w->error);
  if (status == MOUSSE_OK) status = record_layer(w, &runner, &w->alone[0]); /* warms up */
  w->crowding = INFINITY;
  for (int i = 0; status == MOUSSE_OK && i < ROUNDS; i++) {
    status = record_layer(w, &runner, &w->alone[i]);
    if (status == MOUSSE_OK) status = record_crowded(w, &runner, &w->crowded[i]);
  }
  bench_runner_release(&runner);
  return status;
}

/* Seconds of the serial work of all items of a kind. */
static double seconds_of_kind(const mo_recording *r, const mo_recorded_kind *kind)
{
  double sum = 0;
  for (size_t i = 0; i < r->item_count; i++) {
    const mo_recorded_kind *k = &r->kinds[r->items[i].kind];
    if (strcmp(k->name, kind->name) != 0 || strcmp(k->file, kind->file) != 0) continue;
    sum += r->items[i].after;
    for (long l = r->items[i].first_loop; l != MO_NO_LOOP; l = r->loops[l].next)
      sum += r->loops[l].before;
  }
  return sum;
}

static double quickest(const mo_recording rounds[ROUNDS], const mo_recorded_kind *kind)
{
  double least = INFINITY;
  for (int i = 0; i < ROUNDS; i++) least = fmin(least, seconds_of_kind(&rounds[i], kind));
  return least;
}

/* For the kinds of a recording. NULL: no memory, or nothing was measured. */
static double *shares_of(const work *w, const mo_recording *r)
{
  double *shares = mo_allocate(NULL, r->kind_count * sizeof *shares);
  for (size_t i = 0; shares != NULL && w->crowding > 1.05 && i < r->kind_count; i++) {
    const double alone = quickest(w->alone, &r->kinds[i]);
    const double crowded = quickest(w->crowded, &r->kinds[i]);
    if (alone > 0) shares[i] = (crowded / alone - 1) / (w->crowding - 1);
    shares[i] = fmin(fmax(shares[i], 0), 1);
  }
  return shares;
}

static mousse_status record_model(work *w, bench_runner *runner, mo_recording *into)
{
  mo_recording_start(into);
  const mousse_status status =
      bench_runner_model(runner, SEQUENCES, runner->shape.sequence, w->error);
  return mo_recording_stop(into) || status != MOUSSE_OK ? status : record_failed(w);
}

/* On one thread, and by the clock on all of this machine. */
static mousse_status measure_model(work *w, bench_runner *runner, double *seconds)
{
  const size_t length = runner->shape.sequence;
  double taken[RECORDINGS_MOST];
  tell(w, "model");
  MO_TRY(bench_runner_model(runner, SEQUENCES, 64, w->error)); /* warms up */
  for (size_t i = 0; i < w->rounds; i++) {
    MO_TRY(record_model(w, runner, &w->model[i]));
    const double started = mo_seconds();
    MO_TRY(bench_runner_model(runner, SEQUENCES, length, w->error));
    taken[i] = mo_seconds() - started;
  }
  *seconds = bench_median(taken, w->rounds);
  MO_TRY(recordings_merge(w->model, w->rounds, w->error));
  return recording_even_out(&w->model[0], w->error);
}

/* A new one, behind its first step. */
static mousse_status start_optimizer(work *w, bench_runner *runner)
{
  MO_TRY(bench_runner_restart(runner, "mousse", REFRESH_EVERY, w->error));
  return bench_runner_optimizer(runner, w->error);
}

static mousse_status record_optimizer(work *w, bench_runner *runner, size_t round)
{
  MO_TRY(start_optimizer(w, runner));
  for (int i = 0; i < STEPS; i++) {
    mo_recording_start(&w->optimizer[i][round]);
    const mousse_status status = bench_runner_optimizer(runner, w->error);
    if (!mo_recording_stop(&w->optimizer[i][round]) && status == MOUSSE_OK)
      return record_failed(w);
    MO_TRY(status);
  }
  return MOUSSE_OK;
}

static mousse_status measure_optimizer(work *w, bench_runner *runner, double *seconds)
{
  double taken[RECORDINGS_MOST];
  tell(w, "optimizer");
  for (size_t i = 0; i < w->rounds; i++) {
    MO_TRY(record_optimizer(w, runner, i));
    MO_TRY(start_optimizer(w, runner));
    const double started = mo_seconds();
    for (int k = 0; k < STEPS; k++) MO_TRY(bench_runner_optimizer(runner, w->error));
    taken[i] = (mo_seconds() - started) / STEPS;
  }
  *seconds = bench_median(taken, w->rounds);
  for (int i = 0; i < STEPS; i++)
    MO_TRY(recordings_merge(w->optimizer[i], w->rounds, w->error));
  return MOUSSE_OK;
}

/* Cores of this machine have what was measured, others what was asked for. */
static replay_machine machine_of(const work *w, int cores)
{
  const cores_report *r = w->report;
  const double asked = w->options->bandwidth;
  const double there = asked > 0 ? asked : fmax(CORES_BYTES_PER_CORE * cores, r->stream_rate);
  const double rate = cores == r->threads ? r->stream_rate_all : there;
  return (replay_machine){.cores = cores,
                          .bandwidth = fmax(rate / fmax(r->stream_rate, 1), 1),
                          .fork = r->fork * log2(fmax(cores, 2)) / log2(fmax(r->threads, 2))};
}

/* "src/gpt/head.c", "loss_rows" -> "head: loss rows" */
static void name_limit(const mo_recorded_kind *kind, char *name, size_t size)
{
  const char *file = strrchr(kind->file, '/');
  file = file != NULL ? file + 1 : kind->file;
  snprintf(name, size, "%.*s: %s", (int)strcspn(file, "."), file, kind->name);
  for (char *c = name; *c != '\0'; c++)
    if (*c == '_') *c = ' ';
}

/* Behind those that leave more. */
static void insert_limit(cores_limit *limits, const cores_limit *added)
{
  int place = CORES_LIMITS;
  while (place > 0 &&
         added->waiting + added->serial > limits[place - 1].waiting + limits[place - 1].serial)
    place--;
  if (place == CORES_LIMITS) return;
  memmove(limits + place + 1, limits + place,
          (size_t)(CORES_LIMITS - 1 - place) * sizeof *limits);
  limits[place] = *added;
}

/* times: how often the recording stands in a step. */
static void find_limits(const mo_recording *r, const replay_loop *loops, double times,
                        double whole, cores_point *point)
{
  const double all = whole * point->cores;
  for (size_t i = 0; i < r->kind_count; i++) {
    const replay_loop *l = &loops[i];
    if (l->times == 0) continue;
    cores_limit limit = {.waiting = times * (point->cores * l->span - l->work) / all,
                         .serial = times * (point->cores - 1) * l->before / all,
                         .longest = l->longest};
    name_limit(&r->kinds[i], limit.name, sizeof limit.name);
    insert_limit(point->limits, &limit);
  }
}

/* One recording on some cores; limits go to the part's own point and to the step's. */
typedef struct played {
  replay_result result;
  replay_loop *loops;
} played;

static mousse_status play(work *w, const mo_recording *r, const replay_machine *machine,
                          played *p)
{
  double *shares = shares_of(w, r);
  p->loops = mo_allocate(NULL, r->kind_count * sizeof *p->loops);
  mousse_status status = MOUSSE_NO_MEMORY;
  if (shares != NULL && p->loops != NULL)
    status = replay(r, shares, machine, p->loops, &p->result, w->error);
  else
    status = record_failed(w);
  mo_release(NULL, shares, r->kind_count * sizeof *shares);
  return status;
}

static void set_point(cores_point *point, int cores, double one, double seconds)
{
  *point = (cores_point){.cores = cores,
                         .seconds = seconds,
                         .speedup = one / seconds,
                         .efficiency = one / seconds / cores};
}

static void add_limits(work *w, const played *all, cores_point *points[CORES_PARTS])
{
  const double micro = (double)w->report->micro_batches;
  find_limits(&w->model[0], all[0].loops, 1, points[MODEL]->seconds, points[MODEL]);
  find_limits(&w->model[0], all[0].loops, micro, points[STEP]->seconds, points[STEP]);
  /* The last of the steps stands for all. */
  const played *last = &all[STEPS];
  const mo_recording *r = &w->optimizer[STEPS - 1][0];
  find_limits(r, last->loops, 1, last->result.seconds, points[OPTIMIZER]);
  find_limits(r, last->loops, 1, points[STEP]->seconds, points[STEP]);
}

/* All parts on one number of cores. */
static mousse_status predict(work *w, int cores, cores_point *points[CORES_PARTS])
{
  played all[1 + STEPS] = {{.loops = NULL}};
  const replay_machine machine = machine_of(w, cores);
  mousse_status status = play(w, &w->model[0], &machine, &all[0]);
  for (int i = 0; status == MOUSSE_OK && i < STEPS; i++)
    status = play(w, &w->optimizer[i][0], &machine, &all[1 + i]);
  if (status == MOUSSE_OK) {
    const double micro = (double)w->report->micro_batches;
    double one = 0, seconds = 0;
    for (int i = 1; i <= STEPS; i++) {
      one += all[i].result.one_core / STEPS;
      seconds += all[i].result.seconds / STEPS;
    }
    const replay_result *m = &all[0].result;
    w->report->parts[MODEL].one_core = m->one_core;
    w->report->parts[OPTIMIZER].one_core = one;
    w->report->parts[STEP].one_core = micro * m->one_core + one;
    set_point(points[MODEL], cores, m->one_core, m->seconds);
    set_point(points[OPTIMIZER], cores, one, seconds);
    set_point(points[STEP], cores, micro * m->one_core + one, micro * m->seconds + seconds);
    add_limits(w, all, points);
  }
  mo_release(NULL, all[0].loops, w->model[0].kind_count * sizeof *all[0].loops);
  for (int i = 0; i < STEPS; i++)
    mo_release(NULL, all[1 + i].loops, w->optimizer[i][0].kind_count * sizeof *all[0].loops);
  return status;
}

static mousse_status predict_all(work *w)
{
  cores_report *r = w->report;
  cores_point here[CORES_PARTS];
  tell(w, "replay");
  for (size_t i = 0; i < w->options->count; i++) {
    cores_point *points[CORES_PARTS];
    for (size_t part = 0; part < CORES_PARTS; part++) points[part] = &r->parts[part].points[i];
    MO_TRY(predict(w, w->options->counts[i], points));
  }
  MO_TRY(predict(w, r->threads, (cores_point *[]){&here[0], &here[1], &here[2]}));
  for (size_t part = 0; part < CORES_PARTS; part++)
    r->parts[part].predicted_here = here[part].speedup;
  return MOUSSE_OK;
}

static mousse_status run(work *w, bench_runner *runner)
{
  cores_report *r = w->report;
  const gpt_shape shape = {SEQUENCES, w->config.sequence_len, r->threads, true, false};
  double model = 0, optimizer = 0;
  measure_machine(w);
  MO_TRY(measure_shares(w));
  MO_TRY(bench_runner_create(runner, &w->config, &shape, NULL, w->error));
  MO_TRY(measure_model(w, runner, &model));
  MO_TRY(measure_optimizer(w, runner, &optimizer));
  MO_TRY(predict_all(w));
  const double micro = (double)r->micro_batches;
  r->parts[MODEL].measured_here = r->parts[MODEL].one_core / model;
  r->parts[OPTIMIZER].measured_here = r->parts[OPTIMIZER].one_core / optimizer;
  r->parts[STEP].measured_here = r->parts[STEP].one_core / (micro * model + optimizer);
  return MOUSSE_OK;
}

static void release(work *w)
{
  for (int i = 0; i < STEPS * RECORDINGS_MOST; i++)
    mo_recording_release(&w->optimizer[i / RECORDINGS_MOST][i % RECORDINGS_MOST]);
  for (int i = 0; i < RECORDINGS_MOST; i++) mo_recording_release(&w->model[i]);
  for (int i = 0; i < ROUNDS; i++) mo_recording_release(&w->alone[i]);
  for (int i = 0; i < ROUNDS; i++) mo_recording_release(&w->crowded[i]);
}

/* How often a micro-batch of so many tokens is recorded. */
static size_t rounds_for(const gpt_config *config, size_t tokens)
{
  const double operations = gpt_flops_per_token(config, config->sequence_len) * (double)tokens;
  return (size_t)fmin(fmax(QUICK / operations, LEAST_ROUNDS), RECORDINGS_MOST);
}

mousse_status bench_cores(const cores_options *options, cores_report *report, mo_error *error)
{
  static const char *const names[CORES_PARTS] = {"model", "optimizer", "step"};
  work w = {.options = options, .report = report, .error = error};
  bench_runner runner = {0};
  MO_TRY(gpt_preset(options->preset, &w.config, error));
  if (options->layers > 0 && options->layers < w.config.n_layer)
    w.config.n_layer = options->layers;
  const size_t micro = SEQUENCES * w.config.sequence_len;
  w.rounds = rounds_for(&w.config, micro);
  *report = (cores_report){.preset = options->preset,
                           .threads = options->threads,
                           .layers = w.config.n_layer,
                           .count = options->count,
                           .micro_batches = (options->tokens + micro - 1) / micro};
  report->tokens = report->micro_batches * micro;
  for (size_t i = 0; i < CORES_PARTS; i++) report->parts[i].name = names[i];
  const mousse_status status = run(&w, &runner);
  bench_runner_release(&runner);
  release(&w);
  return status;
}
