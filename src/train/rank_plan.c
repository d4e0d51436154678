/* rank_plan.c - see scale.h. */
#include "train/rank_plan.h"

#include "base/clock.h"
#include "comm/comm.h"
#include "comm/ranks.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const double efficiency = 0.65; /* of layers and updates, against plain products */
static const double exchange_bytes = 1 << 24; /* the pieces in which a sum is taken */

/* The model's tensors at addresses that nobody looks at, as far apart as the tensors are large:
 * the plan looks at shapes only, but refuses tensors that overlap. */
static mousse_status list_tensors(gpt_params *params, const train_estimate *e, mo_error *error)
{
  uintptr_t address = MO_ALIGNMENT;
  *params = (gpt_params){.config = e->config, .tensor_count = e->tensor_count};
  params->tensors = mo_allocate(NULL, e->tensor_count * sizeof *params->tensors);
  if (params->tensors == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a list");
  for (size_t i = 0; i < e->tensor_count; i++) {
    gpt_tensor *t = &params->tensors[i];
    const uintptr_t bytes = e->tensors[i].rows * e->tensors[i].cols * sizeof(float);
    memcpy(t->name, e->tensors[i].name, sizeof t->name);
    t->rows = e->tensors[i].rows;
    t->cols = e->tensors[i].cols;
    t->role = e->tensors[i].role;
    t->value = (float *)address;
    t->gradient = (float *)(address + bytes);
    address += 2 * bytes;
  }
  return MOUSSE_OK;
}

/* The most that any rank holds and does. */
static mousse_status weigh(rank_plan *p, const train_groups *groups, mo_error *error)
{
  mousse_status status = mousse_plan(groups->optimizer, 0, &p->optimizer_bytes);
  for (int rank = 0; status == MOUSSE_OK && rank < p->ranks; rank++) {
    size_t bytes = 0, state = 0;
    double flops = 0;
    status = mousse_rank_load(groups->optimizer, rank, &state, &flops);
    if (flops == 0 || status != MOUSSE_OK) continue; /* nothing is left for it */
    status = mousse_plan(groups->optimizer, rank, &bytes);
    if (bytes > p->optimizer_bytes) p->optimizer_bytes = bytes;
    if (state > p->state_bytes) p->state_bytes = state;
    if (flops > p->optimizer_flops) p->optimizer_flops = flops;
  }
  return status == MOUSSE_OK ? MOUSSE_OK : groups_fail(groups, status, error);
}

static mousse_status divide(rank_plan *p, const train_options *run, const train_estimate *e,
                            mo_error *error)
{
  gpt_params params = {0};
  train_groups groups = {0};
  mousse_comm comm = mo_comm_self; /* nothing is said over it */
  comm.size = p->ranks;
  MO_TRY(list_tensors(&params, e, error));
  mousse_status status = groups_plan(&groups, run, &params, &comm, NULL, error);
  if (status == MOUSSE_OK) status = weigh(p, &groups, error);
  groups_close(&groups);
  mo_release(NULL, params.tensors, e->tensor_count * sizeof *params.tensors);
  return status;
}

static void count_exchange(rank_plan *p, const train_estimate *e)
{
  const double others = p->ranks - 1.0, bytes = 4.0 * (double)e->parameters;
  const double pieces = ceil(bytes / exchange_bytes);
  p->sent_bytes = 3.0 * bytes * others / p->ranks;
  const double shares = (double)e->tensor_count + others; /* tensors are cut at most so often */
  p->messages = 2.0 * pieces * others + shares * ceil(log2((double)p->ranks));
}

mousse_status rank_plan_make(rank_plan *p, const train_options *run, const train_estimate *e,
                             int ranks, const plan_machine *machine, mo_error *error)
{
  *p = (rank_plan){.ranks = ranks, .model_bytes = e->model_bytes};
  if (ranks > 1) p->model_bytes += (size_t)exchange_bytes;
  MO_TRY(divide(p, run, e, error));
  count_exchange(p, e);
  p->compute_flops = e->flops_per_step / ranks;
  p->compute_seconds = p->compute_flops / (efficiency * machine->flops);
  p->optimizer_seconds = p->optimizer_flops / (efficiency * machine->flops);
  p->exchange_seconds = p->sent_bytes / machine->bandwidth + p->messages * machine->latency;
  return MOUSSE_OK;
}

/* The shortest of several sums of `count` floats. */
static mousse_status time_sum(const mousse_comm *comm, float *data, size_t count, int times,
                              double *seconds, mo_error *error)
{
  *seconds = INFINITY;
  for (int i = 0; i < times; i++) {
    const double started = mo_seconds();
    MO_TRY(mo_ranks_sum(comm, data, count, error));
    const double took = mo_seconds() - started;
    if (took < *seconds) *seconds = took;
  }
  return MOUSSE_OK;
}

mousse_status rank_plan_measure(plan_machine *machine, const mousse_comm *comm, mo_error *error)
{
  const size_t count = 1 << 22, bytes = count * sizeof(float);
  const double others = comm->size - 1.0;
  double one = 0, many = 0;
  float *data = mo_allocate(NULL, bytes);
  mousse_status status =
      data != NULL ? MOUSSE_OK : mo_fail(error, MOUSSE_NO_MEMORY, "no memory to measure with");
  status = mo_ranks_agree(comm, status, error);
  if (status == MOUSSE_OK) status = time_sum(comm, data, 1, 100, &one, error);
  if (status == MOUSSE_OK) status = time_sum(comm, data, count, 5, &many, error);
  mo_release(NULL, data, bytes);
  if (status != MOUSSE_OK) return status;
  machine->latency = one / others;
  machine->bandwidth = 2 * (double)bytes * others / comm->size / many;
  return MOUSSE_OK;
}
