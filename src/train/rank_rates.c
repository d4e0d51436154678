/* rank_rates.c - what a rank's compute comes to, against plain products: the run's own model and
 * optimizer, for some seconds (rank_plan.h).
 */
#include "base/clock.h"
#include "base/random.h"
#include "comm/ranks.h"
#include "train/rank_plan.h"

#include <math.h>

enum { PASSES = 3, MOST_STEPS = 10 };
#define MOST_FLOPS      1.5e11 /* of a pass, where one sequence and one layer allow it */
#define LONGEST_SECONDS 3.0    /* of the optimizer's steps */

typedef struct trial {
  const train_options *run;
  const mousse_comm *comm;
  gpt_config config; /* the run's, with fewer layers if it is large */
  gpt_shape shape;
  gpt_params *params;
  gpt_pass *pass;
  uint32_t *tokens; /* with the targets behind them */
  mo_error *error;
} trial;

static double pass_flops(const trial *t)
{
  return gpt_flops_per_token(&t->config, t->shape.sequence) * (double)t->shape.sequence *
         (double)t->shape.batch;
}

/* As much as is quick of what a rank computes at a time. */
static void choose_size(trial *t)
{
  const size_t share = (size_t)t->run->batch_size / (size_t)t->comm->size;
  const size_t micro = options_micro_batch(t->run);
  t->shape = (gpt_shape){.batch = share > 0 && share < micro ? share : micro,
                         .sequence = t->config.sequence_len,
                         .threads = options_threads(t->run),
                         .gradients = true};
  while (t->shape.batch > 1 && pass_flops(t) > MOST_FLOPS) t->shape.batch--;
  while (t->config.n_layer > 1 && pass_flops(t) > MOST_FLOPS) t->config.n_layer--;
}

static mousse_status start(trial *t)
{
  const size_t count = 2 * t->shape.batch * t->shape.sequence;
  MO_TRY(gpt_params_create(&t->params, &t->config, true, NULL, t->error));
  gpt_params_initialise(t->params, 1, t->shape.threads);
  MO_TRY(gpt_pass_create(&t->pass, t->params, &t->shape, NULL, t->error));
  t->tokens = mo_allocate(NULL, count * sizeof *t->tokens);
  if (t->tokens == NULL)
    return mo_fail(t->error, MOUSSE_NO_MEMORY, "no memory to measure with");
  for (size_t i = 0; i < count; i++)
    t->tokens[i] = (uint32_t)mo_random_below(1, 0, i, t->config.vocab_size);
  return MOUSSE_OK;
}

static void end(trial *t)
{
  const size_t count = 2 * t->shape.batch * t->shape.sequence;
  mo_release(NULL, t->tokens, count * sizeof *t->tokens);
  gpt_pass_destroy(t->pass);
  gpt_params_destroy(t->params);
}

static mousse_status run_pass(trial *t)
{
  const size_t count = t->shape.batch * t->shape.sequence;
  const gpt_batch batch = {t->tokens, t->tokens + count, t->shape.batch, t->shape.sequence,
                           NULL};
  float loss = 0;
  return gpt_gradients(t->pass, &batch, 1.0f, false, &loss, t->error);
}

/* Operations per second of forward and backward; the first pass brings the pages in. */
static mousse_status time_model(trial *t, double *rate)
{
  MO_TRY(run_pass(t));
  const double started = mo_seconds();
  for (int i = 0; i < PASSES; i++) MO_TRY(run_pass(t));
  *rate = PASSES * pass_flops(t) / (mo_seconds() - started);
  return MOUSSE_OK;
}

/* The same of the optimizer, over a period of refreshes if that is short; the first step, in which
 * all are refreshed, is left out. */
static mousse_status time_steps(train_groups *groups, double *rate)
{
  size_t state = 0;
  double flops = 0;
  MO_TRY(mousse_rank_load(groups->optimizer, 0, &state, &flops));
  MO_TRY(mousse_step(groups->optimizer));
  const double started = mo_seconds();
  int steps = 0;
  while (steps < MOST_STEPS && (steps == 0 || mo_seconds() - started < LONGEST_SECONDS)) {
    MO_TRY(mousse_step(groups->optimizer));
    steps++;
  }
  *rate = steps * flops / (mo_seconds() - started);
  return MOUSSE_OK;
}

/* An optimizer that needs more than gradients is not measured. */
static mousse_status time_optimizer(trial *t, double *rate)
{
  train_groups groups = {0};
  MO_TRY(groups_open(&groups, t->run, t->params, NULL, t->error));
  if (time_steps(&groups, rate) != MOUSSE_OK) *rate = 0;
  groups_close(&groups);
  return MOUSSE_OK;
}

mousse_status rank_plan_rates(plan_machine *machine, const train_options *run,
                              const gpt_config *config, const mousse_comm *comm,
                              mo_error *error)
{
  trial t = {.run = run, .comm = comm, .config = *config, .error = error};
  double model = 0, optimizer = 0;
  choose_size(&t);
  mousse_status status = mo_ranks_agree(comm, start(&t), error); /* all begin together */
  if (status == MOUSSE_OK) status = time_model(&t, &model);
  status = mo_ranks_agree(comm, status, error);
  if (status == MOUSSE_OK) status = time_optimizer(&t, &optimizer);
  status = mo_ranks_agree(comm, status, error);
  end(&t);
  if (status != MOUSSE_OK) return status;
  float seconds[2] = {(float)(1 / model), optimizer > 0 ? (float)(1 / optimizer) : 0};
  if (comm->size > 1) MO_TRY(mo_ranks_sum(comm, seconds, 2, error));
  machine->model = comm->size / (double)seconds[0] / machine->flops;
  if (seconds[1] > 0) machine->optimizer = comm->size / (double)seconds[1] / machine->flops;
  return MOUSSE_OK;
}
