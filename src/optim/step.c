/* step.c - the hot call: check every gradient, update what this rank owns, share the results.
 *
 * All or nothing: nothing is touched before every gradient is known to be finite, and after
 * that nothing can fail but communication.
 */
#include "base/parallel.h"
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "optim/exchange.h"
#include "optim/shares.h"
#include "optim/unit.h"

#include <math.h>
#include <stdio.h>

static void look_at_gradient(void *context, size_t item, int thread)
{
  mousse_optimizer *opt = context;
  mo_param *param = &opt->params[item];
  (void)thread;
  param->largest = mo_largest(param->grad, mo_elements(param->shape));
}

/* The place of the first element that is not a number, for the message. */
static size_t first_bad(const mo_param *param)
{
  size_t i = 0;
  while (isfinite(param->grad[i])) i++;
  return i;
}

/* Every rank must come to the same decision, even if only one of them sees the bad gradient or
 * has an observer. */
static mousse_status check_gradients(mousse_optimizer *opt)
{
  mo_parallel(opt->threads, opt->param_count, look_at_gradient, opt);
  const mo_param *bad = NULL;
  for (size_t i = 0; bad == NULL && i < opt->param_count; i++)
    if (opt->params[i].largest < 0.0f) bad = &opt->params[i];

  float ranks[2] = {bad != NULL ? 1.0f : 0.0f, opt->observe != NULL ? 1.0f : 0.0f};
  if (opt->comm.sum(opt->comm.context, ranks, 2) != 0)
    return mo_come_apart(opt, "compare gradients");
  opt->watched = ranks[1] > 0.0f;
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
  mo_note(param->telemetry, "grad_norm",
          sqrt(mo_sum_squares(param->grad, mo_elements(param->shape))));
}

static void note_end(mo_param *param)
{
  mo_note(param->telemetry, "refreshes", (double)param->counts.refreshes);
  mo_note(param->telemetry, "retries", (double)param->counts.retries);
  mo_note(param->telemetry, "fallbacks", (double)param->counts.kept);
}

static void update_one(void *context, size_t item, int thread)
{
  mousse_optimizer *opt = context;
  mo_param *param = &opt->params[opt->order[item]];
  const mo_group *group = mo_param_group(opt, param);

  if (opt->watched) note_beginning(param);
  const mo_update u = {.shape = mo_share_shape(param, param->own),
                       .step = opt->steps + 1,
                       .phase = param->phase,
                       .value = param->value + param->own->first,
                       .grad = param->grad + param->own->first,
                       .state = param->state,
                       .work = opt->work[thread],
                       .gain = mo_unit_gain(param->unit),
                       .counts = &param->counts,
                       .telemetry = opt->watched ? param->telemetry : NULL};
  group->algorithm->update(group->config, &u);
  if (opt->watched) note_end(param);
}

/* On the caller's thread and in the order of registration, whoever computed what when. */
static mousse_status tell_observer(mousse_optimizer *opt)
{
  for (size_t i = 0; opt->watched && i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    MO_TRY(mo_exchange_telemetry(opt, param));
    for (int64_t note = 0; opt->observe != NULL && note < param->telemetry->count; note++)
      opt->observe(opt->observe_user, param->name, param->telemetry->notes[note].quantity,
                   param->telemetry->notes[note].value);
  }
  return MOUSSE_OK;
}

/* A preconditioner that could not be computed is worth a line, once each time. */
static void warn_of_fallbacks(mousse_optimizer *opt)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    if (param->counts.kept == param->kept_told) continue;
    param->kept_told = param->counts.kept;
    if (opt->env.log == NULL) continue;
    char text[256];
    snprintf(text, sizeof text,
             "step %llu: every solver failed on '%.100s'; it keeps its previous "
             "preconditioner (%llu times so far)",
             (unsigned long long)opt->steps, param->name, (unsigned long long)param->kept_told);
    opt->env.log(opt->env.user, 1, text);
  }
}

mousse_status mousse_step(mousse_optimizer *opt)
{
  MO_TRY(mo_require(opt, MO_READY, "mousse_step"));
  MO_TRY(check_gradients(opt));
  MO_TRY(mo_exchange_units(opt));
  mo_blas_enter();
  mo_parallel(opt->threads, opt->owned_count, update_one, opt);
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
