/* update.c - see update.h.
 *
 * An algorithm gets floats in row-major order. Where the caller has those, it works in place;
 * other values and gradients are read into the workspace, and values of 16 bits live as floats
 * in the state:
 *
 *     workspace   [ value, when it has gaps ] [ gradient, when it is not plain, or clipped ]
 *                 [ the algorithm's own ]
 */
#include "optim/update.h"

#include "linalg/vector.h"
#include "optim/exchange.h"
#include "optim/grad_scale.h"
#include "optim/shares.h"
#include "optim/wrappers.h"

#include <math.h>
#include <string.h>

static bool element_wise(const mousse_optimizer *opt, const mo_param *param)
{
  return mo_param_group(opt, param)->algorithm->element_wise;
}

static bool has_master(const mo_param *param)
{
  return param->storage.value_type != MOUSSE_FLOAT32;
}

static bool copies_value(const mo_param *param)
{
  return !has_master(param) && !mo_value_plain(&param->storage, param->shape);
}

static bool copies_grad(const mousse_optimizer *opt, const mo_param *param)
{
  return opt->options.clip_norm > 0 || !mo_grad_plain(&param->storage, param->shape);
}

/* What is updated at once. */
static mo_shape piece_shape(const mousse_optimizer *opt, const mo_param *param,
                            const mo_share *share)
{
  const mo_shape shape = mo_share_shape(param, share);
  if (!element_wise(opt, param) || mo_elements(shape) <= MO_PIECE) return shape;
  return (mo_shape){1, MO_PIECE};
}

size_t mo_update_floats(const mousse_optimizer *opt, const mo_param *param,
                        const mo_share *share)
{
  const mo_group *group = mo_param_group(opt, param);
  const mo_shape shape = piece_shape(opt, param, share);
  size_t floats = 0;
  if (copies_value(param)) floats += mo_scratch_floats(mo_elements(shape));
  if (copies_grad(opt, param)) floats += mo_scratch_floats(mo_elements(shape));
  if (group->algorithm->work_floats != NULL)
    floats += group->algorithm->work_floats(group->config, shape);
  return floats;
}

static void multiply_option(const mo_option *option, void *config, double factor)
{
  if (option == NULL || factor == 1.0) return;
  const double value = factor * mo_option_get(option, config);
  mo_option_put(option, config, value < option->info.max ? value : option->info.max);
}

/* The schedule's highest lr, unless it was given, is what lr would be without lr_factor. */
static void settle_peak(const mo_group *group, void *config, double factor)
{
  if (group->lr_peak != NULL && mo_option_get(group->lr_peak, config) == 0.0)
    mo_option_put(group->lr_peak, config, factor * mo_option_get(group->lr, config));
}

/* The group's options with the factors of the object and of the parameter; in `copy`, unless
 * they are all 1. */
static const void *tuned(const mousse_optimizer *opt, const mo_param *param, double *copy)
{
  const mo_group *group = mo_param_group(opt, param);
  const double lr = opt->options.lr_factor * param->options.lr_factor;
  const double decay = param->options.weight_decay_factor;
  if (lr == 1.0 && decay == 1.0) return group->config;
  memcpy(copy, group->config, group->algorithm->config_bytes);
  settle_peak(group, copy, param->options.lr_factor);
  multiply_option(group->lr, copy, lr);
  multiply_option(group->weight_decay, copy, decay);
  return copy;
}

static float *take_value(const mo_param *param, size_t place, size_t start, size_t count,
                         float **work)
{
  if (has_master(param)) {
    float *master = param->state[param->algorithm_arrays] + start;
    mo_take_over(&param->storage, param->shape, place, count, master);
    return master;
  }
  if (!copies_value(param)) return (float *)param->storage.value + place;
  float *copy = mo_scratch_take(work, count);
  mo_read_value(&param->storage, param->shape, place, count, copy);
  return copy;
}

static const float *take_grad(const mousse_optimizer *opt, const mo_param *param, size_t place,
                              size_t count, float **work)
{
  const float *plain = (const float *)param->storage.grad + place;
  const bool is_plain = mo_grad_plain(&param->storage, param->shape);
  if (is_plain && opt->clip == 1.0f) return plain;
  float *copy = mo_scratch_take(work, count);
  if (is_plain) {
    mo_copy_scaled(copy, plain, count, opt->clip);
    return copy;
  }
  mo_read_grad(&param->storage, param->shape, place, count, copy);
  if (opt->clip != 1.0f) mo_scale(copy, count, opt->clip);
  return copy;
}

/* Steps that were only set have left no statistics. */
uint64_t mo_blank_steps(const mo_param *param)
{
  return (param->begun ? param->blank : param->steps) + (param->largest == 0.0f);
}

/* start: counted from the beginning of the share. */
static void update(mousse_optimizer *opt, mo_param *param, mo_shape shape, size_t start,
                   mo_telemetry *telemetry, int thread)
{
  const size_t place = param->own->first + start, count = mo_elements(shape);
  double config[MO_MAX_CONFIG / sizeof(double)];
  float *work = opt->work[thread], *state[MO_MAX_ARRAYS];
  const float *inputs[MO_MAX_INPUTS];
  for (size_t i = 0; i < param->algorithm_arrays; i++) state[i] = param->state[i] + start;
  for (size_t i = 0; i < MO_MAX_INPUTS; i++) /* element-wise: has the shape of the parameter */
    inputs[i] = param->inputs[i] != NULL ? param->inputs[i] + place : NULL;
  float *value = take_value(param, place, start, count, &work);
  const float *grad = take_grad(opt, param, place, count, &work);
  const mo_update u = {.shape = shape,
                       .step = param->steps + 1,
                       .blank = mo_blank_steps(param),
                       .first = !param->begun,
                       .changed = param->changed,
                       .stagger_offset = param->stagger_offset,
                       .value = mo_wrapper_before(opt, param, start, count, value),
                       .grad = grad,
                       .inputs = inputs,
                       .state = state,
                       .work = work,
                       .grad_scale = mo_grad_scale(param->scale_exponent),
                       .counts = &param->counts,
                       .telemetry = telemetry};
  mo_param_group(opt, param)->algorithm->update(tuned(opt, param, config), &u);
  mo_wrapper_after(opt, param, start, count, value);
  if (has_master(param) || copies_value(param))
    mo_write_value(&param->storage, param->shape, place, count, value);
}

static double grad_squares(const mo_param *param)
{
  enum { BUFFER = 2048 };
  const size_t count = mo_elements(param->shape);
  float buffer[BUFFER];
  double sum = 0;
  if (mo_grad_plain(&param->storage, param->shape))
    return mo_sum_squares(param->storage.grad, count);
  for (size_t first = 0; first < count; first += BUFFER) {
    const size_t some = count - first < BUFFER ? count - first : BUFFER;
    mo_read_grad(&param->storage, param->shape, first, some, buffer);
    sum += mo_sum_squares(buffer, some);
  }
  return sum;
}

/* Piece after piece, as if nobody watched; what each notes is put together. */
static void update_watched(mousse_optimizer *opt, mo_param *param, int thread)
{
  const mo_shape shape = mo_share_shape(param, param->own);
  const mo_shape whole = piece_shape(opt, param, param->own);
  const size_t all = mo_elements(shape), most = mo_elements(whole);
  mo_telemetry total = {0}, noted = {0};
  for (size_t start = 0; start < all; start += most) {
    const size_t count = all - start < most ? all - start : most;
    noted.count = 0;
    update(opt, param, most == all ? shape : (mo_shape){1, count}, start, &noted, thread);
    if (start == 0)
      total = noted;
    else
      mo_telemetry_merge(&total, &noted, start, count);
  }
  mo_telemetry *t = param->telemetry;
  t->count = 0;
  mo_note(t, MO_GRAD_NORM, sqrt(grad_squares(param)));
  for (int64_t i = 0; i < total.count; i++)
    mo_note(t, (mo_quantity)total.notes[i].quantity, total.notes[i].value);
  mo_note(t, MO_REFRESHES, (double)param->counts.refreshes);
  mo_note(t, MO_RETRIES, (double)param->counts.retries);
  mo_note(t, MO_FALLBACKS, (double)param->counts.fallbacks);
}

size_t mo_update_items(const mousse_optimizer *opt, const mo_param *param)
{
  if (!element_wise(opt, param) || opt->watched) return 1;
  return mo_piece_count(mo_elements(mo_share_shape(param, param->own)));
}

void mo_update_item(mousse_optimizer *opt, mo_param *param, size_t item, int thread)
{
  if (opt->watched) {
    update_watched(opt, param, thread);
    return;
  }
  const mo_shape shape = mo_share_shape(param, param->own);
  if (mo_update_items(opt, param) == 1) {
    update(opt, param, shape, 0, NULL, thread);
    return;
  }
  const size_t start = item * MO_PIECE, left = mo_elements(shape) - start;
  update(opt, param, (mo_shape){1, left < MO_PIECE ? left : MO_PIECE}, start, NULL, thread);
}
