/* step.c - the hot call: check every gradient, update what this rank owns, share the results.
 *
 * All or nothing: nothing is touched before every gradient is known to be finite, and after
 * that nothing can fail but communication.
 */
#include "base/arithmetic.h"
#include "base/team.h"
#include "comm/ranks.h"
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "optim/exchange.h"
#include "optim/inputs.h"
#include "optim/sending.h"
#include "optim/update.h"
#include "optim/wrappers.h"

#include <math.h>
#include <stdio.h>

/* The largest magnitude of a stretch of a gradient, negative when an element is not finite, and
 * the sum of its squares. */
static float look(const mo_param *param, size_t first, size_t count, double *squares)
{
  enum { BUFFER = 2048 };
  float buffer[BUFFER], largest = 0.0f;
  if (mo_grad_plain(&param->storage, param->shape)) {
    const float *grad = (const float *)param->storage.grad + first;
    if (squares != NULL) *squares = mo_sum_squares(grad, count);
    return mo_largest(grad, count);
  }
  for (size_t done = 0; done < count && largest >= 0.0f; done += BUFFER) {
    const size_t some = count - done < BUFFER ? count - done : BUFFER;
    mo_read_grad(&param->storage, param->shape, first + done, some, buffer);
    const float found = mo_largest(buffer, some);
    if (squares != NULL) *squares += mo_sum_squares(buffer, some);
    if (found < 0.0f || found > largest) largest = found;
  }
  return largest;
}

static void look_at_piece(void *context, size_t item, int thread)
{
  mousse_optimizer *opt = context;
  const mo_piece piece = opt->pieces[item];
  const mo_param *param = &opt->params[piece.param];
  const size_t start = (size_t)piece.which * MO_PIECE, left = mo_elements(param->shape) - start;
  (void)thread;
  opt->largest[item] = 0.0f;
  opt->squares[item] = 0;
  if (param->skipped) return;
  opt->largest[item] = look(param, start, left < MO_PIECE ? left : MO_PIECE,
                            opt->options.clip_norm > 0 ? &opt->squares[item] : NULL);
}

/* Of every gradient and, for clipping, the norm of all. */
static void look_at_gradients(mousse_optimizer *opt)
{
  double squares = 0;
  for (size_t i = 0; i < opt->param_count; i++) {
    opt->params[i].skipped = opt->params[i].storage.grad == NULL;
    opt->params[i].largest = 0.0f;
  }
  mo_parallel(opt->threads, opt->piece_count, look_at_piece, opt);
  for (size_t i = 0; i < opt->piece_count; i++) {
    mo_param *param = &opt->params[opt->pieces[i].param];
    const float found = opt->largest[i];
    if (param->largest >= 0.0f && (found < 0.0f || found > param->largest))
      param->largest = found;
    squares += opt->squares[i];
  }
  opt->grad_norm = sqrt(squares);
}

/* The place of the first element that is not a number, for the message. Another thread may be
 * repairing it meanwhile. */
static size_t first_bad(const mo_param *param, float *found)
{
  const size_t count = mo_elements(param->shape);
  for (size_t i = 0; i < count; i++) {
    mo_read_grad(&param->storage, param->shape, i, 1, found);
    if (!isfinite(*found)) return i;
  }
  return count - 1;
}

static mousse_status not_finite(mousse_optimizer *opt, const mo_param *param)
{
  float found = 0;
  const size_t place = first_bad(param, &found);
  const size_t line = param->column_order ? param->shape.rows : param->shape.cols;
  const size_t row = param->column_order ? place % line : place / line;
  const size_t col = param->column_order ? place / line : place % line;
  return mo_fail(&opt->error, MOUSSE_NOT_FINITE,
                 "the gradient of '%.200s' is %f at row %zu, column %zu; nothing was changed",
                 param->name, (double)found, row, col);
}

/* How much shorter gradients must be; the same on all ranks. */
static mousse_status find_clip(mousse_optimizer *opt)
{
  const double longest = opt->options.clip_norm;
  opt->clip = 1.0f;
  if (!(longest > 0)) return MOUSSE_OK;
  MO_TRY(mo_exchange_norm(opt));
  if (isfinite(opt->grad_norm) && opt->grad_norm > longest)
    opt->clip = (float)(longest / opt->grad_norm);
  for (size_t i = 0; i < opt->param_count; i++) opt->params[i].largest *= opt->clip;
  return MOUSSE_OK;
}

static const mo_param *first_not_finite(const mousse_optimizer *opt)
{
  for (size_t i = 0; i < opt->param_count; i++)
    if (opt->params[i].largest < 0.0f) return &opt->params[i];
  return NULL;
}

/* Every rank must come to the same decision, even if only one of them sees the bad gradient,
 * lacks an input or has an observer; a refusal is put into words by the first rank that has a
 * reason. */
static mousse_status check_gradients(mousse_optimizer *opt)
{
  look_at_gradients(opt);
  MO_TRY(find_clip(opt));
  mousse_status mine = mo_check_inputs(opt);
  const mo_param *bad = first_not_finite(opt);
  if (mine == MOUSSE_OK && bad != NULL) mine = not_finite(opt, bad);
  mo_verdict verdict = {mine != MOUSSE_OK, opt->observe != NULL};
  MO_TRY(mo_exchange_verdicts(opt, &verdict));
  opt->watched = verdict.observer;
  if (!verdict.refused) return MOUSSE_OK;
  const mousse_status agreed = mo_ranks_agree(&opt->comm, mine, &opt->error);
  return agreed == MOUSSE_COMM ? mo_come_apart(opt, "compare gradients") : agreed;
}

static void update_one(void *context, size_t item, int thread)
{
  mo_sending *sending = context;
  mousse_optimizer *opt = sending->opt;
  const mo_piece piece = opt->items[item];
  mo_update_item(opt, &opt->params[piece.param], piece.which, thread);
  mo_sending_done(sending, &opt->params[piece.param]);
}

/* Costliest first, so that no thread is left with a long one at the end; a thread for which none is
 * left helps with the products of the others (linalg/cut.h). */
static size_t list_items(mousse_optimizer *opt)
{
  size_t count = 0;
  for (size_t i = 0; i < opt->owned_count; i++) {
    mo_param *param = &opt->params[opt->order[i]];
    param->items_left = param->skipped ? 0 : mo_update_items(opt, param);
    for (size_t k = 0; k < param->items_left; k++)
      opt->items[count++] = (mo_piece){(uint32_t)opt->order[i], (uint32_t)k};
  }
  return count;
}

/* What this rank owns, to all ranks, and theirs to this one. */
static mousse_status update_all(mousse_optimizer *opt)
{
  mo_sending sending;
  const size_t count = list_items(opt);
  mo_sending_start(&sending, opt);
  mo_blas_enter();
  mo_team_run(opt->threads, count, update_one, &sending);
  mo_blas_leave();
  return mo_sending_finish(&sending);
}

static void count_step(mousse_optimizer *opt)
{
  opt->steps++;
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    if (param->skipped) continue;
    param->blank = mo_blank_steps(param);
    param->steps++;
    param->begun = param->wrapped = true;
    param->changed = false;
    param->weight_sum += mo_wrapper_weight(opt, param);
  }
}

/* On the caller's thread and in the order of registration, whoever computed what when. */
static mousse_status tell_observer(mousse_optimizer *opt)
{
  for (size_t i = 0; opt->watched && i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    if (param->skipped) continue;
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
  MO_OWN_ARITHMETIC;
  MO_TRY(mo_require(opt, MO_READY, "mousse_step"));
  const double last_norm = opt->grad_norm;
  const mousse_status refused = check_gradients(opt);
  if (refused != MOUSSE_OK) {
    opt->grad_norm = last_norm;
    return refused;
  }
  MO_TRY(mo_exchange_grad_scales(opt));
  MO_TRY(update_all(opt));
  count_step(opt);
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
