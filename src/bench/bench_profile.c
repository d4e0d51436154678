/* bench_profile.c - see bench_profile.h. */
#include "bench/bench_profile.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "bench/bench_models.h"
#include "bench/bench_runner.h"
#include "gpt/profile.h"

#include <string.h>

enum { COPIED = 1 << 24, COPY_BLOCK = 1 << 18, TIMES = 3 }; /* floats */

static void copy_block(void *context, size_t item, int thread)
{
  float *memory = context;
  (void)thread;
  memcpy(memory + COPIED + item * COPY_BLOCK, memory + item * COPY_BLOCK,
         COPY_BLOCK * sizeof *memory);
}

double bench_memory_gigabytes(int threads)
{
  const size_t bytes = 2 * (size_t)COPIED * sizeof(float);
  float *memory = mo_allocate(NULL, bytes);
  double best = 0;
  if (memory == NULL) return 0;
  memset(memory, 1, bytes);
  for (int i = 0; i < TIMES; i++) {
    const double started = mo_seconds();
    mo_parallel(threads, COPIED / COPY_BLOCK, copy_block, memory);
    const double rate = (double)bytes / (mo_seconds() - started);
    if (rate > best) best = rate;
  }
  mo_release(NULL, memory, bytes);
  return 1e-9 * best;
}

/* Steps with a stop-watch in them; *seconds is their mean, *profile their sum. */
static mousse_status measure(bench_runner *runner, gpt_profile *profile, size_t rounds,
                             double *seconds, mo_error *error)
{
  const size_t sequence = runner->shape.sequence;
  double one = 0;
  MO_TRY(bench_runner_step(runner, sequence, &one, error)); /* warms up */
  gpt_pass_profile(runner->pass, profile);
  *seconds = 0;
  for (size_t i = 0; i < rounds; i++) {
    MO_TRY(bench_runner_step(runner, sequence, &one, error));
    *seconds += one / (double)rounds;
  }
  return MOUSSE_OK;
}

/* limits: of all threads, in operations or bytes per second. */
static void fill(bench_profile *p, const gpt_config *config, const gpt_profile *profile,
                 size_t rounds, const double limits[2])
{
  const double all = p->seconds * (double)rounds * p->threads;
  p->waiting = 1;
  for (int i = 0; i < GPT_PROFILE_KINDS; i++) {
    const gpt_profile_kind kind = (gpt_profile_kind)i;
    const gpt_profile_limit limit = gpt_profile_limited_by(kind);
    const double spent = gpt_profile_seconds(profile, kind);
    const double work = (double)rounds * gpt_profile_work(config, p->batch, p->sequence, kind);
    bench_profile_row *row = &p->rows[p->row_count++];
    *row = (bench_profile_row){.name = gpt_profile_name(kind),
                               .share = spent / all,
                               .of_limit = work * p->threads / spent / limits[limit],
                               .product = limit == GPT_LIMIT_PRODUCTS};
    p->waiting -= row->share;
  }
}

static mousse_status profile_model(const bench_options *o, size_t model, const double limits[2],
                                   bench_profile *p, mo_error *error)
{
  const bench_model *m = &bench_models[model];
  const gpt_shape shape = {m->batch, m->sequence, o->threads, true, false};
  const size_t rounds = o->quick ? m->quick_rounds : m->rounds;
  gpt_profile profile = {0};
  bench_runner runner = {0};
  gpt_config config;
  *p = (bench_profile){
      .model = m->preset, .batch = m->batch, .sequence = m->sequence, .threads = o->threads};
  MO_TRY(gpt_preset(m->preset, &config, error));
  mousse_status status = bench_runner_create(&runner, &config, &shape, NULL, error);
  if (status == MOUSSE_OK) status = measure(&runner, &profile, rounds, &p->seconds, error);
  bench_runner_release(&runner);
  if (status != MOUSSE_OK) return status;
  fill(p, &config, &profile, rounds, limits);
  p->utilisation = gpt_flops_per_token(&config, m->sequence) *
                   (double)(m->batch * m->sequence) / p->seconds / limits[GPT_LIMIT_PRODUCTS];
  return MOUSSE_OK;
}

mousse_status bench_profiles_run(const bench_options *o, bench_profiles *all, mo_error *error)
{
  *all = (bench_profiles){.sgemm_gflops = bench_sgemm_gflops(o->threads),
                          .memory_gigabytes = bench_memory_gigabytes(o->threads)};
  if (all->sgemm_gflops <= 0 || all->memory_gigabytes <= 0)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to measure the machine's rates with");
  const double limits[2] = {[GPT_LIMIT_PRODUCTS] = 1e9 * all->sgemm_gflops,
                            [GPT_LIMIT_MEMORY] = 1e9 * all->memory_gigabytes};
  for (size_t i = o->quick ? 1 : 0; i < BENCH_MODELS; i++) {
    MO_TRY(profile_model(o, i, limits, &all->models[all->count], error));
    all->count++;
    if (o->progress != NULL)
      o->progress(o->user, bench_models[i].preset, (double)all->count,
                  (double)(BENCH_MODELS - o->quick));
  }
  return MOUSSE_OK;
}
