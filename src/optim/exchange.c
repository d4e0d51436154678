/* exchange.c - see exchange.h. */
#include "optim/exchange.h"

#include "optim/grad_scale.h"
#include "optim/shares.h"

#include <math.h>
#include <string.h>

mousse_status mo_come_apart(mousse_optimizer *opt, const char *could_not)
{
  opt->phase = MO_BROKEN;
  return mo_fail(&opt->error, MOUSSE_COMM, "could not %s with the other ranks", could_not);
}

/* The largest of the ranks' numbers: each has a place of its own in a sum. */
static int largest_of_ranks(mousse_optimizer *opt, int mine, int *largest)
{
  const size_t ranks = (size_t)opt->comm.size;
  *largest = mine;
  if (ranks == 1) return 0;
  memset(opt->exchange, 0, ranks * sizeof *opt->exchange);
  opt->exchange[opt->comm.rank] = (float)mine;
  if (opt->comm.sum(opt->comm.context, opt->exchange, ranks) != 0) return -1;
  for (size_t rank = 0; rank < ranks; rank++)
    if ((int)opt->exchange[rank] > *largest) *largest = (int)opt->exchange[rank];
  return 0;
}

static int exponent_of(float largest)
{
  int exponent = -1000;
  if (largest > 0.0f) frexpf(largest, &exponent);
  return exponent;
}

/* The gradient counts as what is held: it is the largest on any rank that decides. */
static mousse_status change_unit(mousse_optimizer *opt, mo_param *param)
{
  mo_state_array arrays[MO_MAX_ARRAYS];
  const size_t count = mo_share_arrays(param, arrays);
  int held = 0;
  int mine = mo_grad_scale_held(param->scale_exponent, arrays, count, param->state);
  if (exponent_of(param->largest) > mine) mine = exponent_of(param->largest);
  if (largest_of_ranks(opt, mine, &held) != 0) return mo_come_apart(opt, "agree on units");
  param->scale_exponent = mo_grad_scale_change(param->scale_exponent, param->largest, held,
                                               arrays, count, param->state);
  return MOUSSE_OK;
}

size_t mo_verdict_count(const mousse_optimizer *opt)
{
  return 2 + 2 * opt->param_count;
}

static bool outgrown(const mo_param *param)
{
  return !param->skipped && mo_grad_scale_outgrown(param->scale_exponent, param->largest);
}

static mousse_status check_skipped(mousse_optimizer *opt, const float *without)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    const int ranks = (int)without[2 * i];
    if (ranks > 0 && ranks < opt->comm.size)
      return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                     "the gradient of '%.200s' is NULL on %d of %d ranks; it must be on all or "
                     "none. Nothing was changed",
                     opt->params[i].name, ranks, opt->comm.size);
  }
  return MOUSSE_OK;
}

mousse_status mo_exchange_verdicts(mousse_optimizer *opt, mo_verdict *verdict)
{
  float *v = opt->verdicts;
  if (opt->comm.size == 1) return MOUSSE_OK;
  v[0] = verdict->refused ? 1.0f : 0.0f;
  v[1] = verdict->observer ? 1.0f : 0.0f;
  for (size_t i = 0; i < opt->param_count; i++) {
    v[2 + 2 * i] = opt->params[i].skipped ? 1.0f : 0.0f;
    v[3 + 2 * i] = outgrown(&opt->params[i]) ? 1.0f : 0.0f;
  }
  if (opt->comm.sum(opt->comm.context, v, mo_verdict_count(opt)) != 0)
    return mo_come_apart(opt, "compare gradients");
  *verdict = (mo_verdict){v[0] > 0.0f, v[1] > 0.0f};
  return check_skipped(opt, v + 2);
}

mousse_status mo_exchange_norm(mousse_optimizer *opt)
{
  float bits[sizeof(double) / sizeof(float)];
  memcpy(bits, &opt->grad_norm, sizeof bits);
  if (opt->comm.broadcast(opt->comm.context, bits, sizeof bits / sizeof *bits, 0) != 0)
    return mo_come_apart(opt, "compare gradients");
  memcpy(&opt->grad_norm, bits, sizeof bits);
  return MOUSSE_OK;
}

mousse_status mo_exchange_grad_scales(mousse_optimizer *opt)
{
  const bool alone = opt->comm.size == 1;
  for (size_t i = 0; i < opt->param_count; i++)
    if (alone ? outgrown(&opt->params[i]) : opt->verdicts[3 + 2 * i] > 0.0f)
      MO_TRY(change_unit(opt, &opt->params[i]));
  return MOUSSE_OK;
}

/* Values that are not plain floats travel as floats, which 16 bits are read back from exactly. */
int mo_exchange_share(mousse_optimizer *opt, const mo_param *param, const mo_share *share)
{
  const mousse_comm *comm = &opt->comm;
  if (mo_value_plain(&param->storage, param->shape))
    return comm->broadcast(comm->context, (float *)param->storage.value + share->first,
                           share->count, share->owner);
  for (size_t done = 0; done < share->count; done += MO_EXCHANGE_FLOATS) {
    const size_t left = share->count - done, first = share->first + done;
    const size_t count = left < MO_EXCHANGE_FLOATS ? left : MO_EXCHANGE_FLOATS;
    if (comm->rank == share->owner)
      mo_read_value(&param->storage, param->shape, first, count, opt->exchange);
    if (comm->broadcast(comm->context, opt->exchange, count, share->owner) != 0) return -1;
    if (comm->rank != share->owner)
      mo_write_value(&param->storage, param->shape, first, count, opt->exchange);
  }
  return 0;
}

void mo_telemetry_merge(mo_telemetry *all, const mo_telemetry *next, size_t before, size_t more)
{
  const double weight = (double)more / (double)(before + more);
  for (int64_t i = 0; i < all->count && i < next->count; i++) {
    double *value = &all->notes[i].value;
    const double other = next->notes[i].value;
    if (*value != other) *value = sqrt((1 - weight) * *value * *value + weight * other * other);
  }
}

mousse_status mo_exchange_telemetry(mousse_optimizer *opt, mo_param *param)
{
  const mousse_comm *comm = &opt->comm;
  const mo_telemetry own = *param->telemetry;
  if (comm->size == 1) return MOUSSE_OK;
  for (size_t s = 0; s < param->share_count; s++) {
    const mo_share *share = &param->shares[s];
    mo_telemetry told = own;
    if (comm->broadcast(comm->context, (float *)(void *)&told, sizeof told / sizeof(float),
                        share->owner) != 0)
      return mo_come_apart(opt, "share telemetry");
    if (s == 0)
      *param->telemetry = told;
    else
      mo_telemetry_merge(param->telemetry, &told, share->first, share->count);
  }
  return MOUSSE_OK;
}
