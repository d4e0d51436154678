/* state_access.c - arrays of one parameter's state, read and written by name. */
#include "base/arithmetic.h"
#include "base/text.h"
#include "comm/ranks.h"
#include "linalg/vector.h"
#include "optim/exchange.h"
#include "optim/grad_scale.h"
#include "optim/shares.h"
#include "optim/state_format.h"
#include "optim/wrappers.h"

#include <math.h>
#include <string.h>

static size_t array_of(const mo_param *param, const char *name)
{
  size_t i = 0;
  while (name != NULL && i < param->array_count && strcmp(param->arrays[i].name, name) != 0)
    i++;
  return name != NULL ? i : param->array_count;
}

const char *mousse_state_name(const mousse_optimizer *opt, const char *name, size_t index)
{
  const mo_param *param = opt != NULL ? mo_param_find(opt, name) : NULL;
  return param != NULL && index < param->array_count ? param->arrays[index].name : NULL;
}

size_t mousse_state_count(const mousse_optimizer *opt, const char *name, const char *array)
{
  const mo_param *param = opt != NULL ? mo_param_find(opt, name) : NULL;
  const size_t which = param != NULL ? array_of(param, array) : 0;
  return param != NULL && which < param->array_count ? param->arrays[which].count : 0;
}

static mousse_status unknown_array(mousse_optimizer *opt, const mo_param *param,
                                   const char *array)
{
  char list[200] = "";
  for (size_t i = 0; i < param->array_count; i++)
    mo_list_add(list, sizeof list, param->arrays[i].name);
  return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME,
                 "the state of '%.150s' has no array '%.60s'; it has %s", param->name,
                 array != NULL ? array : "(NULL)", list[0] != '\0' ? list : "none");
}

static mousse_status find(mousse_optimizer *opt, const char *name, const char *array,
                          const void *data, size_t count, mo_param **param, size_t *which)
{
  *param = mo_param_find(opt, name);
  if (*param == NULL) return mo_param_unknown(opt, name);
  *which = array_of(*param, array);
  if (*which == (*param)->array_count) return unknown_array(opt, *param, array);
  if (data == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "'%.60s' of '%.150s': data must not be NULL", array, name);
  if (count != (*param)->arrays[*which].count)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "'%.60s' of '%.150s' has %zu floats, and count is %zu", array, name,
                   (*param)->arrays[*which].count, count);
  return MOUSSE_OK;
}

/* From the scale that the state is kept on to that of the gradient, or back. */
static void convert(const mo_param *param, size_t which, size_t count, int change, float *data)
{
  mo_state_array array = param->arrays[which];
  array.count = count;
  mo_grad_scale_convert(change, &array, 1, &data);
}

/* One share to all ranks. */
static mousse_status spread_share(mousse_optimizer *opt, const mo_param *param, size_t which,
                                  const mo_share *share, float *data)
{
  const mousse_comm *comm = &opt->comm;
  const size_t all = mo_share_floats(param, share, which);
  if (share == param->own) memcpy(data, param->state[which], all * sizeof *data);
  for (size_t done = 0; comm->size > 1 && done < all; done += MO_EXCHANGE_FLOATS) {
    const size_t left = all - done,
                 count = left < MO_EXCHANGE_FLOATS ? left : MO_EXCHANGE_FLOATS;
    if (comm->broadcast(comm->context, data + done, count, share->owner) != 0)
      return mo_come_apart(opt, "share state");
  }
  return MOUSSE_OK;
}

mousse_status mousse_state_read(mousse_optimizer *opt, const char *name, const char *array,
                                float *data, size_t count)
{
  MO_OWN_ARITHMETIC;
  mo_param *param = NULL;
  size_t which = 0;
  MO_TRY(mo_require(opt, MO_READY, "mousse_state_read"));
  const mousse_status mine = find(opt, name, array, data, count, &param, &which);
  const mousse_status agreed = mo_ranks_agree(&opt->comm, mine, &opt->error);
  if (agreed == MOUSSE_COMM) return mo_come_apart(opt, "share state");
  MO_TRY(agreed);
  float *to = data;
  for (size_t i = 0; i < param->share_count; i++) {
    MO_TRY(spread_share(opt, param, which, &param->shares[i], to));
    to += mo_share_floats(param, &param->shares[i], which);
  }
  convert(param, which, count, -param->scale_exponent, data);
  return MOUSSE_OK;
}

/* Numbers too large for the scale of the state move it, as a gradient of their size does; all ranks
 * are given the same ones. */
static void make_room(mo_param *param, size_t which, const float *data)
{
  mo_state_array arrays[MO_MAX_ARRAYS];
  float *written = (float *)data; /* only looked at */
  const int held = mo_grad_scale_held(0, &param->arrays[which], 1, &written);
  const float like = ldexpf(0.5f, held);
  if (held <= param->scale_exponent || !mo_grad_scale_outgrown(param->scale_exponent, like))
    return;
  const size_t count = mo_share_arrays(param, arrays);
  param->scale_exponent =
      mo_grad_scale_change(param->scale_exponent, like, held, arrays, count, param->state);
}

/* Moments alone are no basis: what a first step makes may still be missing. */
uint64_t mo_state_sign(const mo_param *param, size_t array)
{
  const mo_state_array *a = &param->arrays[array];
  if (array >= param->algorithm_arrays) return mo_wrapper_array(a->name) ? MO_STATE_WRAPPED : 0;
  return a->degree == 0 || a->side.size > 0 ? MO_STATE_BEGUN : 0;
}

/* Whoever writes one array of a wrapper may leave the others as they are. */
static void note_written(mo_param *param, size_t which)
{
  const uint64_t sign = mo_state_sign(param, which);
  if (sign == MO_STATE_BEGUN) param->begun = true;
  if (sign == MO_STATE_WRAPPED && !param->wrapped) mo_wrapper_begin(param);
}

mousse_status mousse_state_write(mousse_optimizer *opt, const char *name, const char *array,
                                 const float *data, size_t count)
{
  MO_OWN_ARITHMETIC;
  mo_param *param = NULL;
  size_t which = 0;
  MO_TRY(mo_require(opt, MO_READY, "mousse_state_write"));
  MO_TRY(find(opt, name, array, data, count, &param, &which));
  if (mo_largest(data, count) < 0.0f)
    return mo_fail(&opt->error, MOUSSE_NOT_FINITE,
                   "'%.60s' of '%.150s' has an element that is infinite or NaN; nothing was "
                   "changed",
                   array, name);
  make_room(param, which, data);
  note_written(param, which);
  if (param->own == NULL) return MOUSSE_OK;
  const size_t first = param->share_count > 1 ? param->own->first : 0;
  const size_t floats = mo_share_floats(param, param->own, which);
  memcpy(param->state[which], data + first, floats * sizeof *data);
  convert(param, which, floats, param->scale_exponent, param->state[which]);
  return MOUSSE_OK;
}
