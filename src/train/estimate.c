/* estimate.c - memory and operations of a run, from a plan of its optimizer. */
#include "train/estimate.h"

#include "base/clock.h"
#include "comm/comm.h"
#include "linalg/blas.h"
#include "linalg/gemm_grid.h"
#include "train/background_save.h"
#include "train/gradient.h"
#include "train/memory_room.h"
#include "train/row_blocks.h"
#include "train/step_inputs.h"

#include <string.h>

static mousse_status describe(estimate_tensor *row, const gpt_tensor *t, double factor,
                              const train_options *run, const train_groups *groups,
                              mo_error *error)
{
  double decay = 0;
  const mousse_status status =
      mousse_get(groups->optimizer, (int)t->role, "weight_decay", &decay);
  if (status != MOUSSE_OK) return groups_fail(groups, status, error);
  *row = (estimate_tensor){
      .rows = t->rows,
      .cols = t->cols,
      .role = t->role,
      .algorithm = t->frozen ? "frozen" : groups_algorithm(run, t->role),
      .lr = t->frozen ? 0 : factor * groups->lr[t->role],
      .weight_decay = t->frozen ? 0 : decay,
      .state_bytes = row_blocks_state_bytes(groups->optimizer, t),
  };
  memcpy(row->name, t->name, sizeof row->name);
  return MOUSSE_OK;
}

static mousse_status list_tensors(train_estimate *e, const train_options *run,
                                  const gpt_params *outline, const train_groups *groups,
                                  mo_error *error)
{
  e->tensor_count = outline->tensor_count;
  e->tensors = mo_allocate(NULL, e->tensor_count * sizeof *e->tensors);
  if (e->tensors == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a list");
  for (size_t i = 0; i < e->tensor_count; i++)
    MO_TRY(
        describe(&e->tensors[i], &outline->tensors[i], groups->factors[i], run, groups, error));
  return MOUSSE_OK;
}

/* The most that any rank holds and does. */
static mousse_status weigh(train_estimate *e, const train_groups *groups, mo_error *error)
{
  mousse_status status = mousse_plan(groups->optimizer, 0, &e->optimizer_bytes);
  for (int rank = 0; status == MOUSSE_OK && rank < e->ranks; rank++) {
    size_t bytes = 0, state = 0;
    double flops = 0;
    status = mousse_rank_load(groups->optimizer, rank, &state, &flops);
    if (flops == 0 || status != MOUSSE_OK) continue; /* nothing is left for it */
    status = mousse_plan(groups->optimizer, rank, &bytes);
    if (bytes > e->optimizer_bytes) e->optimizer_bytes = bytes;
    if (state > e->state_bytes) e->state_bytes = state;
    if (flops > e->optimizer_flops) e->optimizer_flops = flops;
  }
  return status == MOUSSE_OK ? MOUSSE_OK : groups_fail(groups, status, error);
}

/* What the optimizer asks for beside the gradient: a second gradient is as dear as the first. */
static mousse_status add_inputs(train_estimate *e, const train_options *run,
                                const gpt_params *outline, mo_error *error)
{
  step_demand demand;
  MO_TRY(step_demand_find(run, &demand, error));
  const double tokens = (double)run->covariance_tokens;
  const size_t covariances =
      gpt_covariances_bytes(outline, demand.input_covariance, demand.output_covariance);
  e->model_bytes += step_inputs_bytes(&demand, outline);
  if (demand.previous_gradient) e->flops_per_step *= 2;
  e->flops_per_step += tokens * (double)(covariances / sizeof(float));
  return MOUSSE_OK;
}

static mousse_status plan_copy(train_estimate *e, const train_options *run,
                               const gpt_params *outline, const train_groups *groups,
                               mo_error *error)
{
  step_demand demand;
  size_t state = 0;
  MO_TRY(step_demand_find(run, &demand, error));
  const size_t arrays = 1u + options_average(run) + demand.previous_gradient;
  for (size_t i = 0; i < e->tensor_count; i++) state += e->tensors[i].state_bytes;
  e->copy_bytes = background_save_bytes(groups->optimizer, outline, arrays, state);
  return MOUSSE_OK;
}

static gpt_shape shape_of(const train_options *run, const gpt_config *config, bool recompute)
{
  return (gpt_shape){options_micro_batch(run), config->sequence_len, options_threads(run), true,
                     recompute};
}

/* Products with frozen matrices have no gradients of weights: a third of their work. */
static double flops_of(const train_options *run, const gpt_params *outline)
{
  const gpt_config *c = &outline->config;
  double frozen = 0;
  for (size_t i = 0; i < outline->tensor_count; i++) {
    const gpt_tensor *t = &outline->tensors[i];
    const bool product = t->role == GPT_MATRIX || t->role == GPT_HEAD || c->tied;
    if (t->frozen && product) frozen += (double)t->rows * (double)t->cols;
  }
  return (gpt_flops_per_token(c, c->sequence_len) - 2 * frozen) * (double)c->sequence_len *
         (double)run->batch_size;
}

static mousse_status plan_model(train_estimate *e, const train_options *run,
                                const gpt_params *outline, mo_error *error)
{
  const gpt_shape shape = shape_of(run, &e->config, false);
  const gpt_shape again = shape_of(run, &e->config, true);
  const size_t pass = gpt_pass_bytes(&e->config, &shape);
  if (pass == 0)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "%zu sequences of %zu tokens at a time are too many for any memory",
                   shape.batch, shape.sequence);
  const size_t fewer = gpt_pass_bytes(&e->config, &again);
  if (fewer < pass) e->less_bytes = pass - fewer; /* otherwise it is not done */
  e->trained = outline->gradient_count;
  e->model_bytes = gpt_outline_bytes(outline) + pass + (e->ranks > 1 ? EXCHANGE_BYTES : 0);
  if (options_average(run)) e->model_bytes += outline->value_count * sizeof(float);
  e->gradient_bytes = gradient_tree_bytes(options_slices(run), (size_t)e->ranks, e->trained);
  e->flops_per_step = flops_of(run, outline);
  return MOUSSE_OK;
}

static mousse_status plan_all(train_estimate *e, const train_options *run,
                              const run_notices *notices, mo_error *error)
{
  gpt_params *outline = NULL;
  train_groups groups = {0};
  mousse_comm comm = mo_comm_self; /* nothing is said over it */
  comm.size = e->ranks;
  MO_TRY(gpt_params_outline(&outline, &e->config, run->freeze, error));
  mousse_status status = plan_model(e, run, outline, error);
  if (status == MOUSSE_OK) status = groups_plan(&groups, run, outline, &comm, notices, error);
  if (status == MOUSSE_OK) status = add_inputs(e, run, outline, error);
  if (status == MOUSSE_OK) status = weigh(e, &groups, error);
  if (status == MOUSSE_OK) status = list_tensors(e, run, outline, &groups, error);
  if (status == MOUSSE_OK) status = plan_copy(e, run, outline, &groups, error);
  groups_close(&groups);
  gpt_params_destroy(outline);
  return status;
}

/* The forward pass of all layers but two is done twice, the last product of each left out. */
static void choose_recompute(train_estimate *e, const train_options *run)
{
  e->recompute = run->recompute == RECOMPUTE_ON;
  if (run->recompute == RECOMPUTE_AUTO)
    e->recompute = e->less_bytes > 0 && estimate_bytes(e) > memory_room(e->ranks);
  if (!e->recompute) return;
  e->model_bytes -= e->less_bytes;
  e->flops_per_step *= 1.25;
}

/* After the other decision: a copy is what one can do without. */
static void choose_copy(train_estimate *e, const train_options *run)
{
  if (!run->save_in_background) return;
  e->copied = estimate_bytes(e) + e->copy_bytes <= memory_room(e->ranks);
}

mousse_status estimate_open(train_estimate *e, const train_options *run,
                            const gpt_config *config, int ranks, const run_notices *notices,
                            mo_error *error)
{
  *e = (train_estimate){
      .config = *config, .ranks = ranks, .parameters = gpt_parameter_count(config)};
  const mousse_status status = plan_all(e, run, notices, error);
  if (status != MOUSSE_OK) {
    estimate_close(e);
    return status;
  }
  choose_recompute(e, run);
  choose_copy(e, run);
  return MOUSSE_OK;
}

void estimate_close(train_estimate *e)
{
  mo_release(NULL, e->tensors, e->tensor_count * sizeof *e->tensors);
  *e = (train_estimate){0};
}

size_t estimate_bytes(const train_estimate *e)
{
  return e->model_bytes + e->gradient_bytes + e->optimizer_bytes +
         (e->copied ? e->copy_bytes : 0);
}

double estimate_speed(int threads)
{
  enum { SIZE = 512 };
  const size_t bytes = 3 * (size_t)SIZE * SIZE * sizeof(float);
  float *memory = mo_allocate(NULL, bytes);
  if (memory == NULL || !mo_blas_fits_memory(threads)) {
    mo_release(NULL, memory, bytes);
    return 0;
  }
  mo_product p = {.rows = SIZE,
                  .cols = SIZE,
                  .inner = SIZE,
                  .alpha = 1,
                  .a = memory,
                  .b = memory + SIZE * SIZE,
                  .c = memory + 2 * SIZE * SIZE,
                  .a_stride = SIZE,
                  .b_stride = SIZE,
                  .c_stride = SIZE,
                  .by_blas = true};
  const mo_task job = mo_product_plan(&p);
  double best = 0, started = mo_seconds();
  mo_blas_enter();
  while (mo_seconds() - started < 0.2) {
    const double before = mo_seconds();
    mo_parallel_tasks(threads, &job, 1);
    const double speed = 2.0 * SIZE * SIZE * SIZE / (mo_seconds() - before);
    if (speed > best) best = speed;
  }
  mo_blas_leave();
  mo_release(NULL, memory, bytes);
  return best;
}
