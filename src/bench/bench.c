/* bench.c - the whole measurement: matrix products, models, optimizers, threads. */
#include "bench/bench.h"

#include "bench/bench_measure.h"
#include "bench/bench_models.h"
#include "bench/bench_runner.h"
#include "gpt/gpt.h"

#include <string.h>

enum { MOST_ROUNDS = 25, WARM_UP_TOKENS = 64 };

static const double token_counts[BENCH_TOKEN_COUNTS] = {8192, 65536, 524288, 2097152};

/* Training steps on the smallest model, when quick, or the middle one. */
static size_t scaling_model(const bench_options *o)
{
  return o->quick ? 2 : 1;
}

static size_t model_rounds(const bench_options *o, size_t model)
{
  return o->quick ? bench_models[model].quick_rounds : bench_models[model].rounds;
}

double bench_median(double *seconds, size_t count)
{
  for (size_t i = 1; i < count; i++) {
    const double value = seconds[i];
    size_t place = i;
    for (; place > 0 && seconds[place - 1] > value; place--)
      seconds[place] = seconds[place - 1];
    seconds[place] = value;
  }
  /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) - count is at least 1 */
  return 0.5 * (seconds[(count - 1) / 2] + seconds[count / 2]);
}

void bench_tick(bench_measure *m, const char *what, double gflop)
{
  m->done += gflop;
  if (m->options->progress != NULL)
    m->options->progress(m->options->user, what, m->done, m->total);
}

static mousse_status make_runner(bench_measure *m, bench_runner *runner, size_t model,
                                 int threads, const char *optimizer)
{
  gpt_config config;
  const gpt_shape shape = {bench_models[model].batch, bench_models[model].sequence, threads,
                           true, false};
  MO_TRY(gpt_preset(bench_models[model].preset, &config, m->error));
  return bench_runner_create(runner, &config, &shape, optimizer, m->error);
}

/* GFLOP of one step of a model on one thread; on several it takes as much less time. */
static double model_work(size_t model)
{
  gpt_config config;
  if (gpt_preset(bench_models[model].preset, &config, NULL) != MOUSSE_OK) return 0;
  return gpt_flops_per_token(&config, bench_models[model].sequence) * 1e-9 *
         (double)(bench_models[model].batch * bench_models[model].sequence);
}

/* The same in the time that all threads would take for it: one of two takes twice as long. */
static double thread_work(const bench_options *o, size_t model, int threads)
{
  return model_work(model) * (double)o->threads / (double)threads;
}

/* Median seconds of a step of each runner, in turns. */
static mousse_status run_in_turns(bench_measure *m, const char *what, size_t model,
                                  bench_runner *runners, size_t count, size_t rounds,
                                  double *medians)
{
  double seconds[BENCH_MOST_THREAD_COUNTS][MOST_ROUNDS];
  double unused = 0.0;
  for (size_t i = 0; i < count; i++)
    MO_TRY(bench_runner_step(&runners[i], WARM_UP_TOKENS, &unused, m->error));
  for (size_t round = 0; round < rounds; round++) {
    for (size_t i = 0; i < count; i++) {
      MO_TRY(bench_runner_step(&runners[i], runners[i].shape.sequence, &seconds[i][round],
                               m->error));
      bench_tick(m, what, thread_work(m->options, model, runners[i].shape.threads));
    }
  }
  for (size_t i = 0; i < count; i++) medians[i] = bench_median(seconds[i], rounds);
  return MOUSSE_OK;
}

static mousse_status measure_sgemm(bench_measure *m, double *gflops)
{
  *gflops = bench_sgemm_gflops(m->options->threads);
  bench_tick(m, "sgemm", bench_sgemm_work(m->options->threads));
  if (*gflops > 0.0) return MOUSSE_OK;
  return mo_fail(m->error, MOUSSE_NO_MEMORY, "no memory for a product of 3072 x 3072 matrices");
}

/* The machine's rate is measured before every fourth part of a model's rounds and behind them:
 * what others do on the machine changes within seconds. */
enum { QUARTERS = 4, MOST_RATES = QUARTERS + 1 };

static size_t rounds_between(size_t rounds)
{
  return (rounds + QUARTERS - 1) / QUARTERS;
}

static size_t rates_of(size_t rounds)
{
  return (rounds + rounds_between(rounds) - 1) / rounds_between(rounds) + 1;
}

/* Seconds of every round, and rates_of(rounds) rates. */
static mousse_status take_turns(bench_measure *m, size_t model, bench_runner *runner,
                                size_t rounds, double *seconds, double *rates)
{
  const bench_model *measured = &bench_models[model];
  double unused = 0.0;
  MO_TRY(bench_runner_step(runner, WARM_UP_TOKENS, &unused, m->error));
  for (size_t round = 0; round < rounds; round++) {
    if (round % rounds_between(rounds) == 0) MO_TRY(measure_sgemm(m, rates++));
    MO_TRY(bench_runner_step(runner, runner->shape.sequence, &seconds[round], m->error));
    bench_tick(m, measured->preset, model_work(model));
  }
  return measure_sgemm(m, rates);
}

/* The rates go behind those of the models before it. */
static mousse_status measure_model(bench_measure *m, size_t model, double *rates)
{
  const bench_model *measured = &bench_models[model];
  const size_t rounds = model_rounds(m->options, model);
  double seconds[MOST_ROUNDS] = {0}, own[MOST_RATES] = {0};
  bench_runner runner = {0};
  mousse_status status = make_runner(m, &runner, model, m->options->threads, NULL);
  if (status == MOUSSE_OK) status = take_turns(m, model, &runner, rounds, seconds, own);
  bench_runner_release(&runner);
  MO_TRY(status);
  const double step = bench_median(seconds, rounds);
  memcpy(rates, own, rates_of(rounds) * sizeof *rates);
  m->report->models[model] = (bench_model_result){
      .name = measured->preset,
      .tokens_per_s = (double)(measured->batch * measured->sequence) / step,
      .utilisation = model_work(model) / step / bench_median(own, rates_of(rounds))};
  return MOUSSE_OK;
}

static mousse_status measure_models(bench_measure *m)
{
  double rates[BENCH_MODELS * MOST_RATES];
  size_t count = 0;
  for (size_t i = 0; i < BENCH_MODELS; i++) {
    MO_TRY(measure_model(m, i, rates + count));
    count += rates_of(model_rounds(m->options, i));
  }
  m->report->model_count = BENCH_MODELS;
  m->report->sgemm_gflops = bench_median(rates, count);
  return MOUSSE_OK;
}

/* 1, 2, 4, ... and the number asked for. */
static size_t thread_counts(int most, int *counts)
{
  size_t count = 0;
  for (int threads = 1; threads < most && count + 1 < BENCH_MOST_THREAD_COUNTS; threads *= 2)
    counts[count++] = threads;
  counts[count++] = most;
  return count;
}

static mousse_status measure_scaling(bench_measure *m)
{
  int counts[BENCH_MOST_THREAD_COUNTS];
  bench_runner runners[BENCH_MOST_THREAD_COUNTS] = {{0}};
  double seconds[BENCH_MOST_THREAD_COUNTS] = {0};
  const size_t count = thread_counts(m->options->threads, counts);
  const size_t model = scaling_model(m->options);
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; status == MOUSSE_OK && i < count; i++)
    status = make_runner(m, &runners[i], model, counts[i], "mousse");
  if (status == MOUSSE_OK)
    status = run_in_turns(m, "threads", model, runners, count, model_rounds(m->options, model),
                          seconds);
  for (size_t i = 0; i < count; i++) bench_runner_release(&runners[i]);
  for (size_t i = 0; status == MOUSSE_OK && i < count; i++) {
    m->report->scaling[i].threads = counts[i];
    m->report->scaling[i].speedup = seconds[0] / seconds[i];
  }
  m->report->scaling_count = count;
  return status;
}

static double optimizer_seconds(const bench_report *r, const char *name)
{
  for (size_t i = 0; i < r->optimizer_count; i++)
    if (strcmp(r->optimizers[i].name, name) == 0) return r->optimizers[i].seconds_per_step;
  return 0.0;
}

/* Both with the same model time and without the tensors that neither of them updates. */
static void compute_whole_steps(bench_report *r)
{
  const double mousse = optimizer_seconds(r, "mousse"), muon = optimizer_seconds(r, "muon");
  for (size_t i = 0; i < BENCH_TOKEN_COUNTS; i++) {
    const double model = token_counts[i] / r->models[0].tokens_per_s;
    r->whole_step[i].tokens = token_counts[i];
    r->whole_step[i].mousse_to_muon = (model + mousse) / (model + muon);
  }
}

static double count_other_work(const bench_options *o)
{
  int counts[BENCH_MOST_THREAD_COUNTS];
  const size_t model = scaling_model(o), count = thread_counts(o->threads, counts);
  double work = 0;
  for (size_t i = 0; i < BENCH_MODELS; i++)
    work += (double)model_rounds(o, i) * model_work(i) +
            (double)rates_of(model_rounds(o, i)) * bench_sgemm_work(o->threads);
  for (size_t i = 0; i < count; i++)
    work += (double)model_rounds(o, model) * thread_work(o, model, counts[i]);
  return work;
}

mousse_status bench_run(const bench_options *options, bench_report *report, mo_error *error)
{
  *report = (bench_report){.threads = options->threads};
  bench_measure m = {.options = options, .report = report, .error = error};
  MO_TRY(bench_list_subjects(options, m.subjects, &m.subject_count, error));
  m.total = bench_optimizers_work(&m);
  if (options->optimizers != NULL) return bench_optimizers(&m);
  m.total += count_other_work(options);
  MO_TRY(measure_models(&m));
  MO_TRY(bench_optimizers(&m));
  MO_TRY(measure_scaling(&m));
  compute_whole_steps(report);
  return MOUSSE_OK;
}
