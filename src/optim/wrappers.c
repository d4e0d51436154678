/* wrappers.c - see wrappers.h. */
#include "optim/wrappers.h"

#include "base/arithmetic.h"
#include "base/simd.h"
#include "comm/ranks.h"
#include "linalg/vector.h"
#include "optim/exchange.h"
#include "optim/shares.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char *const array_names[] = {"average", "base", "direction", "iterate"};

bool mo_wrapper_array(const char *name)
{
  for (size_t i = 0; i < sizeof array_names / sizeof *array_names; i++)
    if (strcmp(array_names[i], name) == 0) return true;
  return false;
}

static void add_array(mo_param *param, const char *name)
{
  param->arrays[param->array_count++] =
      (mo_state_array){name, mo_elements(param->shape), 0, {0}};
}

void mo_wrapper_arrays(const mousse_optimizer *opt, mo_param *param)
{
  const int wrapper = (int)opt->options.wrapper;
  if (opt->options.average > 0) add_array(param, "average");
  if (wrapper != MO_NO_WRAPPER) add_array(param, "base");
  if (wrapper == MO_LOOKAHEAD) add_array(param, "direction");
  if (wrapper == MO_SCHEDULE_FREE) add_array(param, "iterate");
}

/* NULL: the parameter has none of that name. */
static float *array_of(const mo_param *param, const char *name, size_t start)
{
  for (size_t i = param->algorithm_arrays; i < param->array_count; i++)
    if (strcmp(param->arrays[i].name, name) == 0) return param->state[i] + start;
  return NULL;
}

void mo_wrapper_begin(mo_param *param)
{
  param->wrapped = true;
  for (size_t i = param->algorithm_arrays; param->own != NULL && i < param->array_count; i++) {
    const char *name = param->arrays[i].name;
    const size_t count = param->own->count;
    if (strcmp(name, "direction") == 0)
      memset(param->state[i], 0, count * sizeof(float));
    else if (mo_wrapper_array(name))
      mo_read_value(&param->storage, param->shape, param->own->first, count, param->state[i]);
  }
}

static bool is_wrapped(const mo_param *param)
{
  return param->wrapped && param->steps > 0;
}

float *mo_wrapper_before(const mousse_optimizer *opt, const mo_param *param, size_t start,
                         size_t count, float *value)
{
  float *base = array_of(param, "base", start), *iterate = array_of(param, "iterate", start);
  if (base == NULL) return value;
  if (!is_wrapped(param)) memcpy(base, value, count * sizeof *value);
  if (opt->options.wrapper != MO_SCHEDULE_FREE) return value;
  if (!is_wrapped(param)) memcpy(iterate, value, count * sizeof *value);
  return iterate;
}

/* Weights stop at the end of float, as do their averages. Differences of weights may be beyond it,
 * and 0 times such a one is no number: `otherwise`. */
static inline float bounded(float x, float otherwise)
{
  const float number = x == x ? x : otherwise, below = number > FLT_MAX ? FLT_MAX : number;
  return below < -FLT_MAX ? -FLT_MAX : below;
}

/* The sum of two products in double, where both are exact: whichever of them a compiler takes into
 * one instruction with the sum, for some of the elements or for all, the bits are the same. */
MO_CLONES(static void look_ahead(float *restrict value, float *restrict base,
                                 float *restrict direction, size_t count, float keep,
                                 float ahead))
{
  for (size_t i = 0; i < count; i++) {
    const float w = value[i], moved = w - base[i];
    const double sum =
        (double)keep * (double)direction[i] + (double)(1.0f - keep) * (double)moved;
    const float d = mo_nearest_float(sum);
    direction[i] = d;
    base[i] = w;
    value[i] = bounded(w + ahead * d, w);
  }
}

MO_CLONES(static void mix(float *restrict value, float *restrict base,
                          const float *restrict iterate, size_t count, float newest,
                          float beta))
{
  for (size_t i = 0; i < count; i++) {
    const float x = bounded(base[i] + newest * (iterate[i] - base[i]), base[i]);
    base[i] = x;
    value[i] = bounded(iterate[i] + beta * (x - iterate[i]), iterate[i]);
  }
}

MO_CLONES(static void follow(float *restrict average, const float *restrict w, size_t count,
                             float share))
{
  for (size_t i = 0; i < count; i++)
    average[i] = bounded(average[i] + share * (w[i] - average[i]), average[i]);
}

double mo_wrapper_weight(const mousse_optimizer *opt, const mo_param *param)
{
  const mo_object_options *o = &opt->options;
  const mo_group *group = mo_param_group(opt, param);
  if (o->wrapper != MO_SCHEDULE_FREE) return 0.0;
  const double lr = group->lr != NULL ? mo_option_get(group->lr, group->config) : 1.0;
  return pow(lr * o->lr_factor * param->options.lr_factor, o->schedule_free_power);
}

/* The part of the newest iterate in their average. While no step has counted (a schedule that
 * begins with 0), all of it: nothing has moved. */
static double newest_part(const mousse_optimizer *opt, const mo_param *param)
{
  const double weight = mo_wrapper_weight(opt, param), sum = param->weight_sum + weight;
  return sum > 0.0 ? weight / sum : 1.0;
}

void mo_wrapper_after(const mousse_optimizer *opt, const mo_param *param, size_t start,
                      size_t count, float *value)
{
  const mo_object_options *o = &opt->options;
  float *base = array_of(param, "base", start), *average = array_of(param, "average", start);
  const uint64_t step = param->steps + 1;
  if (o->wrapper == MO_LOOKAHEAD)
    look_ahead(value, base, array_of(param, "direction", start), count,
               (float)o->lookahead_decay, (float)(o->lookahead * o->lr_factor));
  if (o->wrapper == MO_SCHEDULE_FREE)
    mix(value, base, array_of(param, "iterate", start), count, (float)newest_part(opt, param),
        (float)o->schedule_free_beta);
  if (average == NULL) return;
  const float *w = base != NULL ? base : value;
  if ((double)step <= o->average_from || !is_wrapped(param))
    memcpy(average, w, count * sizeof *average);
  else
    follow(average, w, count, (float)(1.0 / o->average_horizon));
}

/* Of elements of the own share. */
static void put_evaluated(const mousse_optimizer *opt, const mo_param *param, size_t start,
                          size_t count, float *to)
{
  const float *base = array_of(param, "base", start), *e = array_of(param, "average", start);
  const float weight = (float)opt->options.average_weight;
  const size_t place = param->own->first + start;
  if (base != NULL && is_wrapped(param))
    memcpy(to, base, count * sizeof *to);
  else if (param->storage.value_type != MOUSSE_FLOAT32) {
    /* gcc-suppress null-argument - values that are no float32 have master copies */
    memcpy(to, array_of(param, "master", start), count * sizeof *to);
    mo_take_over(&param->storage, param->shape, place, count, to);
  } else {
    mo_read_value(&param->storage, param->shape, place, count, to);
  }
  for (size_t i = 0; e != NULL && is_wrapped(param) && i < count; i++)
    to[i] = bounded(to[i] + weight * (e[i] - to[i]), to[i]);
}

/* Elements from number `first` on, to their places in a row-major matrix. */
static void put(const mo_param *param, size_t first, size_t count, const float *from,
                float *data)
{
  const size_t rows = param->shape.rows, cols = param->shape.cols;
  if (!param->column_order) memcpy(data + first, from, count * sizeof *data);
  for (size_t i = 0; param->column_order && i < count; i++)
    data[(first + i) % rows * cols + (first + i) / rows] = from[i];
}

static mousse_status spread_share(mousse_optimizer *opt, const mo_param *param,
                                  const mo_share *share, float *data)
{
  enum { CHUNK = 4096 };
  const mousse_comm *comm = &opt->comm;
  float chunk[CHUNK];
  for (size_t done = 0; done < share->count; done += CHUNK) {
    const size_t left = share->count - done, count = left < CHUNK ? left : CHUNK;
    if (share == param->own) put_evaluated(opt, param, done, count, chunk);
    if (comm->size > 1 && comm->broadcast(comm->context, chunk, count, share->owner) != 0)
      return mo_come_apart(opt, "share weights");
    put(param, share->first + done, count, chunk, data);
  }
  return MOUSSE_OK;
}

static mousse_status check(mousse_optimizer *opt, const char *name, const float *data,
                           size_t count, mo_param **param)
{
  *param = mo_param_find(opt, name);
  if (*param == NULL) return mo_param_unknown(opt, name);
  if (data != NULL && count == mo_elements((*param)->shape)) return MOUSSE_OK;
  return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                 "'%.200s' has %zu elements; data is %s and count %zu", name,
                 mo_elements((*param)->shape), data == NULL ? "NULL" : "given", count);
}

mousse_status mousse_read_weights(mousse_optimizer *opt, const char *name, float *data,
                                  size_t count)
{
  MO_OWN_ARITHMETIC;
  mo_param *param = NULL;
  MO_TRY(mo_require(opt, MO_READY, "mousse_read_weights"));
  const mousse_status mine = check(opt, name, data, count, &param);
  const mousse_status agreed = mo_ranks_agree(&opt->comm, mine, &opt->error);
  if (agreed == MOUSSE_COMM) return mo_come_apart(opt, "share weights");
  MO_TRY(agreed);
  for (size_t i = 0; i < param->share_count; i++)
    MO_TRY(spread_share(opt, param, &param->shares[i], data));
  return MOUSSE_OK;
}
