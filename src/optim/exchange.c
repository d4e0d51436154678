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

static mousse_status change_unit(mousse_optimizer *opt, mo_param *param)
{
  mo_state_array arrays[MO_MAX_STATE_ARRAYS];
  const size_t count = param->own != NULL ? param->array_count : 0;
  int held = 0;
  for (size_t i = 0; i < count; i++) {
    arrays[i] = param->arrays[i];
    arrays[i].count = mo_share_floats(param, param->own, i);
  }
  const int mine = mo_grad_scale_held(param->scale_exponent, arrays, count, param->state);
  if (largest_of_ranks(opt, mine, &held) != 0) return mo_come_apart(opt, "agree on units");
  param->scale_exponent = mo_grad_scale_change(param->scale_exponent, param->largest, held,
                                               arrays, count, param->state);
  return MOUSSE_OK;
}

mousse_status mo_exchange_grad_scales(mousse_optimizer *opt)
{
  for (size_t i = 0; i < opt->param_count; i++)
    if (mo_grad_scale_outgrown(opt->params[i].scale_exponent, opt->params[i].largest))
      MO_TRY(change_unit(opt, &opt->params[i]));
  return MOUSSE_OK;
}

mousse_status mo_exchange_values(mousse_optimizer *opt)
{
  const mousse_comm *comm = &opt->comm;
  for (size_t i = 0; i < opt->param_count; i++) {
    const mo_param *param = &opt->params[i];
    for (size_t s = 0; s < param->share_count; s++) {
      const mo_share *share = &param->shares[s];
      if (comm->broadcast(comm->context, param->value + share->first, share->count,
                          share->owner) != 0)
        return mo_come_apart(opt, "share values");
    }
  }
  return MOUSSE_OK;
}

/* A quantity over `before` elements and over `more`: the root of the mean of its squares. */
static void merge(mo_telemetry *all, const mo_telemetry *next, size_t before, size_t more)
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
      merge(param->telemetry, &told, share->first, share->count);
  }
  return MOUSSE_OK;
}
