/* step.c - the hot call: check every gradient, update what this rank owns, share the results.
 *
 * All or nothing: nothing is touched before every gradient is known to be finite, and after
 * that nothing can fail but communication.
 */
#include "base/parallel.h"
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "optim/exchange.h"
#include "optim/grad_scale.h"
#include "optim/inputs.h"
#include "optim/shares.h"

#include <math.h>
#include <stdio.h>

/* A run of elements of one parameter, for one thread: a long one must not hold up the rest. Cut
 * by length alone, at whole vector registers, so that the bits are those of the whole. */
typedef struct piece {
  size_t start, count;
} piece;

static piece cut(mo_shape shape, size_t which)
{
  const size_t start = which * MO_PIECE, left = mo_elements(shape) - start;
  return (piece){start, left < MO_PIECE ? left : MO_PIECE};
}

static void look_at_gradient(void *context, size_t item, int thread)
{
  mousse_optimizer *opt = context;
  const mo_param *param = opt->params;
  size_t which = item;
  (void)thread;
  for (; which >= mo_piece_count(param->shape); param++) which -= mo_piece_count(param->shape);
  const piece p = cut(param->shape, which);
  opt->largest[item] = mo_largest(param->grad + p.start, p.count);
}

/* The largest magnitude of every gradient, negative when an element is not finite. */
static void look_at_gradients(mousse_optimizer *opt)
{
  mo_parallel(opt->threads, opt->piece_count, look_at_gradient, opt);
  const float *largest = opt->largest;
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    param->largest = 0.0f;
    for (const float *end = largest + mo_piece_count(param->shape); largest < end; largest++)
      if (param->largest >= 0.0f && (*largest < 0.0f || *largest > param->largest))
        param->largest = *largest;
  }
}

/* The place of the first element that is not a number, for the message. */
static size_t first_bad(const mo_param *param)
{
  size_t i = 0;
  while (isfinite(param->grad[i])) i++;
  return i;
}

/* Every rank must come to the same decision, even if only one of them sees the bad gradient,
 * lacks an input or has an observer. */
static mousse_status check_gradients(mousse_optimizer *opt)
{
  look_at_gradients(opt);
  const mousse_status inputs = mo_check_inputs(opt);
  const mo_param *bad = NULL;
  for (size_t i = 0; bad == NULL && i < opt->param_count; i++)
    if (opt->params[i].largest < 0.0f) bad = &opt->params[i];

  float ranks[3] = {bad != NULL ? 1.0f : 0.0f, opt->observe != NULL ? 1.0f : 0.0f,
                    inputs != MOUSSE_OK ? 1.0f : 0.0f};
  if (opt->comm.sum(opt->comm.context, ranks, 3) != 0)
    return mo_come_apart(opt, "compare gradients");
  opt->watched = ranks[1] > 0.0f;
  if (inputs != MOUSSE_OK) return inputs;
  if (ranks[2] > 0.0f)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "an input of an algorithm is missing or not finite on another rank; nothing "
                   "was changed");
  if (bad != NULL) {
    const size_t place = first_bad(bad);
    return mo_fail(&opt->error, MOUSSE_NOT_FINITE,
                   "the gradient of '%s' is %f at row %zu, column %zu; nothing was changed",
                   bad->name, (double)bad->grad[place], place / bad->shape.cols,
                   place % bad->shape.cols);
  }
  if (ranks[0] > 0.0f)
    return mo_fail(&opt->error, MOUSSE_NOT_FINITE,
                   "a gradient on another rank is not finite; nothing was changed");
  return MOUSSE_OK;
}

static void note_beginning(mo_param *param)
{
  param->telemetry->count = 0;
  mo_note(param->telemetry, MO_GRAD_NORM,
          sqrt(mo_sum_squares(param->grad, mo_elements(param->shape))));
}

static void note_end(mo_param *param)
{
  mo_note(param->telemetry, MO_REFRESHES, (double)param->counts.refreshes);
  mo_note(param->telemetry, MO_RETRIES, (double)param->counts.retries);
  mo_note(param->telemetry, MO_FALLBACKS, (double)param->counts.fallbacks);
}

/* How many items of the parallel loop this rank's share is. What is told to an observer is told
 * about the whole of it. */
static size_t update_items(const mousse_optimizer *opt, const mo_param *param)
{
  const bool cuttable = mo_param_group(opt, param)->algorithm->element_wise;
  return cuttable && !opt->watched ? mo_piece_count(mo_share_shape(param, param->own)) : 1;
}

/* start: counted from the beginning of the share. */
static void update_part(mousse_optimizer *opt, mo_param *param, mo_shape shape, size_t start,
                        int thread)
{
  const mo_group *group = mo_param_group(opt, param);
  const size_t place = param->own->first + start;
  float *state[MO_MAX_STATE_ARRAYS];
  for (size_t i = 0; i < param->array_count; i++) state[i] = param->state[i] + start;
  const float *inputs[MO_MAX_INPUTS];
  for (size_t i = 0; i < MO_MAX_INPUTS; i++) /* element-wise: has the shape of the parameter */
    inputs[i] = param->inputs[i] != NULL ? param->inputs[i] + place : NULL;
  const mo_update u = {.shape = shape,
                       .step = opt->steps + 1,
                       .stagger_offset = param->stagger_offset,
                       .value = param->value + place,
                       .grad = param->grad + place,
                       .inputs = inputs,
                       .state = state,
                       .work = opt->work[thread],
                       .grad_scale = mo_grad_scale(param->scale_exponent),
                       .counts = &param->counts,
                       .telemetry = opt->watched ? param->telemetry : NULL};
  group->algorithm->update(group->config, &u);
}

static void update_one(void *context, size_t item, int thread)
{
  mousse_optimizer *opt = context;
  const size_t *at = opt->order;
  for (; item >= update_items(opt, &opt->params[*at]); at++)
    item -= update_items(opt, &opt->params[*at]);
  mo_param *param = &opt->params[*at];
  const mo_shape shape = mo_share_shape(param, param->own);
  if (update_items(opt, param) > 1) {
    const piece p = cut(shape, item);
    update_part(opt, param, (mo_shape){1, p.count}, p.start, thread);
    return;
  }
  if (opt->watched) note_beginning(param);
  update_part(opt, param, shape, 0, thread);
  if (opt->watched) note_end(param);
}

static void update_all(mousse_optimizer *opt)
{
  size_t items = 0;
  for (size_t i = 0; i < opt->owned_count; i++)
    items += update_items(opt, &opt->params[opt->order[i]]);
  mo_parallel(opt->threads, items, update_one, opt);
}

/* On the caller's thread and in the order of registration, whoever computed what when. */
static mousse_status tell_observer(mousse_optimizer *opt)
{
  for (size_t i = 0; opt->watched && i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    MO_TRY(mo_exchange_telemetry(opt, param));
    for (int64_t note = 0; opt->observe != NULL && note < param->telemetry->count; note++)
      opt->observe(opt->observe_user, param->name,
                   mo_quantity_name(param->telemetry->notes[note].quantity),
                   param->telemetry->notes[note].value);
  }
  return MOUSSE_OK;
}

/* A preconditioner that could not be computed is worth a line, once each time. */
static void warn_of_fallbacks(mousse_optimizer *opt)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    if (param->counts.fallbacks == param->fallbacks_told) continue;
    param->fallbacks_told = param->counts.fallbacks;
    if (opt->env.log == NULL) continue;
    char text[256];
    snprintf(text, sizeof text,
             "step %llu: every solver failed on '%.100s'; it keeps its previous "
             "preconditioner (%llu times so far)",
             (unsigned long long)opt->steps, param->name,
             (unsigned long long)param->fallbacks_told);
    opt->env.log(opt->env.user, 1, text);
  }
}

mousse_status mousse_step(mousse_optimizer *opt)
{
  MO_TRY(mo_require(opt, MO_READY, "mousse_step"));
  MO_TRY(check_gradients(opt));
  MO_TRY(mo_exchange_grad_scales(opt));
  mo_blas_enter();
  update_all(opt);
  mo_blas_leave();
  MO_TRY(mo_exchange_values(opt));
  opt->steps++;
  warn_of_fallbacks(opt);
  return tell_observer(opt);
}

mousse_status mousse_observe(mousse_optimizer *opt, mousse_observe_fn fn, void *user)
{
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  opt->observe = fn;
  opt->observe_user = user;
  return MOUSSE_OK;
}
