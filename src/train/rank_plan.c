/* rank_plan.c - see rank_plan.h. */
#include "train/rank_plan.h"

#include "base/clock.h"
#include "comm/ranks.h"
#include "train/gradient.h"

#include <math.h>

static double rate(const plan_machine *machine, double part)
{
  return machine->flops * (part > 0 ? part : PLAN_EFFICIENCY);
}

/* Bytes that a rank sends, and messages that it waits for, one after the other. */
typedef struct traffic {
  double bytes, messages;
} traffic;

static traffic sum_traffic(const rank_plan *p, const train_estimate *e)
{
  const double others = p->ranks - 1.0, bytes = 4.0 * (double)e->trained;
  return (traffic){2.0 * bytes * others / p->ranks,
                   2.0 * ceil(bytes / EXCHANGE_BYTES) * others};
}

static traffic share_traffic(const rank_plan *p, const train_estimate *e)
{
  const double others = p->ranks - 1.0, bytes = 4.0 * (double)e->trained;
  const double shares = (double)e->tensor_count + others; /* tensors are cut at most so often */
  return (traffic){bytes * others / p->ranks, shares * ceil(log2((double)p->ranks))};
}

static double seconds_of(traffic t, const plan_machine *machine)
{
  return t.bytes / machine->bandwidth + t.messages * machine->latency;
}

/* The backward pass of a rank's last micro-batch. */
static double last_backward(const rank_plan *p, const train_options *run)
{
  const double sequences = (double)run->batch_size / p->ranks;
  const double micro = fmin((double)options_micro_batch(run), sequences);
  return 2.0 / 3.0 * p->compute_seconds * micro / sequences;
}

/* What of the share goes on behind the updates. */
static double hidden_share(const rank_plan *p, const train_estimate *e, double share)
{
  const double tensors = fmax((double)e->tensor_count / p->ranks, 1.0);
  return fmin(share, p->optimizer_seconds) * (1.0 - 1.0 / tensors);
}

static void count_exchange(rank_plan *p, const train_estimate *e, const train_options *run,
                           const plan_machine *machine)
{
  const traffic sum = sum_traffic(p, e), share = share_traffic(p, e);
  p->sent_bytes = sum.bytes + share.bytes;
  p->messages = sum.messages + share.messages;
  const double sum_seconds = seconds_of(sum, machine),
               share_seconds = seconds_of(share, machine);
  p->exchange_seconds = sum_seconds + share_seconds;
  p->hidden_seconds =
      fmin(sum_seconds, last_backward(p, run)) + hidden_share(p, e, share_seconds);
}

mousse_status rank_plan_make(rank_plan *p, const train_options *run, const gpt_config *config,
                             int ranks, const plan_machine *machine, mo_error *error)
{
  train_estimate e;
  train_options shared = *run;
  if (run->recompute == RECOMPUTE_AUTO) /* the machine is another one */
    shared.recompute = RECOMPUTE_OFF;
  if (!gradient_divides(options_slices(run), (size_t)ranks)) shared.slices = ranks;
  MO_TRY(estimate_open(&e, &shared, config, ranks, NULL, error));
  *p = (rank_plan){.ranks = ranks,
                   .model_bytes = e.model_bytes + e.gradient_bytes,
                   .optimizer_bytes = e.optimizer_bytes,
                   .state_bytes = e.state_bytes,
                   .copy_bytes = run->save_in_background ? e.copy_bytes : 0,
                   .optimizer_flops = e.optimizer_flops};
  p->compute_flops = e.flops_per_step / ranks;
  p->compute_seconds = p->compute_flops / rate(machine, machine->model);
  p->optimizer_seconds = p->optimizer_flops / rate(machine, machine->optimizer);
  count_exchange(p, &e, &shared, machine);
  estimate_close(&e);
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
