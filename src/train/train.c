/* train.c - the line from batch to weights, one call per arrow. */
#include "train/train.h"

#include "base/clock.h"
#include "base/file.h"
#include "comm/ranks.h"
#include "linalg/blas.h"
#include "support/signals.h"
#include "train/evaluate.h"
#include "train/rank_checks.h"
#include "train/session.h"
#include "train/text_sample.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

typedef struct trainer {
  train_session session;
  train_metrics metrics;
  const train_options *run;
  const mousse_comm *comm;
  const train_display *display;
  train_schedule schedule;
  run_notices notices; /* to the display and into log.txt */
  char early[2048];    /* notices, in lines, from before log.txt was open */
  uint64_t saved;      /* the step of the newest checkpoint; 0: none */
  int stop;            /* the signal that ends the run; 0: none */
  bool save_wanted;    /* a signal asked for a checkpoint */
} trainer;

static void tell(void *user, const char *text)
{
  trainer *t = user;
  const size_t used = strlen(t->early);
  run_notify(&t->display->notices, "%s", text);
  if (t->metrics.started > 0)
    metrics_note(&t->metrics, text);
  else
    snprintf(t->early + used, sizeof t->early - used, "\n%s", text);
}

static bool due(uint64_t step, int64_t every)
{
  return every > 0 && step % (uint64_t)every == 0;
}

/* The optimizer's step, watched when telemetry is due. */
static mousse_status take_step(trainer *t, uint64_t step)
{
  mousse_optimizer *optimizer = t->session.groups.optimizer;
  const bool watched = due(step, t->run->telemetry_every);
  if (!watched) return mousse_step(optimizer);
  metrics_telemetry_begin(&t->metrics, step);
  mousse_observe(optimizer, metrics_observe, &t->metrics);
  const mousse_status status = mousse_step(optimizer);
  mousse_observe(optimizer, NULL, NULL);
  metrics_telemetry_end(&t->metrics);
  return status;
}

/* A step whose loss or gradient is not finite changes nothing but the position; too many of
 * them in a row end the run. */
static mousse_status count_skips(trainer *t, bool skipped, mo_error *error)
{
  trainer_state *state = &t->session.state;
  state->skipped += skipped;
  state->skipped_in_row = skipped ? state->skipped_in_row + 1 : 0;
  if (!skipped) return MOUSSE_OK;
  run_notify(&t->notices, "step %llu skipped: its loss or gradient is not finite",
             (unsigned long long)state->step);
  if (state->skipped_in_row < (uint64_t)t->run->max_skipped) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NOT_FINITE,
                 "stopped at step %llu: the last %llu losses or gradients were not finite; "
                 "the newest checkpoint is of step %llu; try a smaller lr or --clip 1",
                 (unsigned long long)state->step, (unsigned long long)state->skipped_in_row,
                 (unsigned long long)t->saved);
}

static mousse_status update(trainer *t, const gradient_result *gradient, bool *skipped,
                            mo_error *error)
{
  trainer_state *state = &t->session.state;
  train_groups *groups = &t->session.groups;
  mousse_status status = MOUSSE_NOT_FINITE;
  MO_TRY(groups_schedule(groups, schedule_factor(&t->schedule, state->step), error));
  if (gradient->finite) status = take_step(t, state->step + 1);
  *skipped = status == MOUSSE_NOT_FINITE;
  if (status != MOUSSE_OK && !*skipped) return groups_fail(groups, status, error);
  state->step++;
  state->tokens += (uint64_t)t->run->batch_size * t->session.data.train.length;
  return count_skips(t, *skipped, error);
}

static mousse_status one_step(trainer *t, mo_error *error)
{
  const double started = mo_seconds();
  const uint64_t step = t->session.state.step;
  gradient_result gradient = {0};
  bool skipped = false;
  MO_TRY(gradient_collect(&t->session.gradient, step, &gradient, error));
  const mousse_status status = update(t, &gradient, &skipped, error);
  const step_report report = {
      .step = t->session.state.step,
      .tokens = t->session.state.tokens,
      .loss = gradient.loss,
      .lr = schedule_factor(&t->schedule, step) * t->session.groups.lr[GPT_MATRIX],
      .grad_norm = gradient.norm,
      .seconds = mo_seconds() - started,
      .skipped = skipped,
  };
  metrics_step(&t->metrics, &report);
  if (t->display->step != NULL) t->display->step(t->display->user, &report);
  return status;
}

static mousse_status validate(trainer *t, mo_error *error)
{
  const trainer_state *state = &t->session.state;
  const mo_loader *loader = &t->session.data.val;
  evaluation result = {0};
  const uint64_t windows = ((uint64_t)t->run->val_tokens + loader->length - 1) / loader->length;
  MO_TRY(evaluate(loader, t->session.pass, t->comm, options_micro_batch(t->run), windows, NULL,
                  NULL, &result, error));
  metrics_validation(&t->metrics, state->step, state->tokens, result.loss);
  if (t->display->validated != NULL)
    t->display->validated(t->display->user, state->step, result.loss);
  return MOUSSE_OK;
}

static mousse_status validate_when_due(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  const bool last = step == (uint64_t)t->run->num_iterations;
  if (t->session.data.val.windows == 0) return MOUSSE_OK;
  return last || due(step, t->run->val_loss_every) ? validate(t, error) : MOUSSE_OK;
}

static void collect_text(void *user, const char *bytes, size_t count)
{
  mo_buffer_add(user, bytes, count);
}

/* A sample is for people: what goes wrong with it is said and does not matter. */
static void sample_when_due(trainer *t)
{
  const trainer_state *state = &t->session.state;
  mo_error reason = {{0}};
  mo_buffer text = {0};
  if (!due(state->step, t->run->sample_every) || !t->session.data.has_tokenizer) return;
  if (t->comm->rank > 0) return;
  const text_request request = {
      .prompt = t->run->sample_prompt,
      .tokens = (size_t)t->run->sample_tokens,
      .sampling = {.temperature = 0.8, .top_p = 1, .seed = state->step, .stop_token = -1},
      .threads = options_threads(t->run),
      .put = collect_text,
      .user = &text};
  if (text_sample(t->session.params, &t->session.data.tokenizer, &request, &reason) !=
      MOUSSE_OK)
    run_notify(&t->notices, "no sample: %s", reason.text);
  else if (t->display->sampled != NULL)
    t->display->sampled(t->display->user, state->step, text.data, text.size);
  mo_buffer_close(&text);
}

static mousse_status save(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  const checkpoint_content content = session_content(&t->session);
  if (step == t->saved) return MOUSSE_OK;
  MO_TRY(ranks_compare_weights(t->session.params, t->comm, error));
  metrics_sync(&t->metrics);
  MO_TRY(checkpoint_save(t->session.checkpoints, &content, error));
  t->saved = step;
  if (t->comm->rank > 0) return MOUSSE_OK;
  checkpoint_prune(t->session.checkpoints, step, (uint64_t)t->run->keep_last,
                   (uint64_t)t->run->keep_every, &t->notices);
  return MOUSSE_OK;
}

/* A save that fails on the way is tried again at the next occasion; the last one must work. */
static mousse_status save_when_due(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  mo_error reason = {{0}};
  if (step == (uint64_t)t->run->num_iterations || t->stop != 0) return save(t, error);
  if (!t->save_wanted && !due(step, t->run->checkpoint_freq)) return MOUSSE_OK;
  const mousse_status status = save(t, &reason);
  if (status == MOUSSE_COMM) return mo_fail(error, status, "%s", reason.text);
  if (status != MOUSSE_OK)
    run_notify(&t->notices, "no checkpoint at step %llu, training goes on: %s",
               (unsigned long long)step, reason.text);
  else if (t->save_wanted)
    run_notify(&t->notices, "saved at step %llu", (unsigned long long)step);
  return MOUSSE_OK;
}

/* A signal may have reached one rank only, or not yet all: what one was asked, all do. */
static mousse_status take_requests(trainer *t, mo_error *error)
{
  const int signal = signals_stop();
  float wanted[2] = {signal != 0 ? 1.0f : 0.0f, signals_save() ? 1.0f : 0.0f};
  MO_TRY(mo_ranks_sum(t->comm, wanted, 2, error));
  if (wanted[0] > 0.0f) t->stop = signal != 0 ? signal : SIGTERM;
  t->save_wanted = wanted[1] > 0.0f;
  return MOUSSE_OK;
}

static mousse_status loop(trainer *t, mo_error *error)
{
  if (t->session.state.step == 0) MO_TRY(validate_when_due(t, error));
  while (t->session.state.step < (uint64_t)t->run->num_iterations && t->stop == 0) {
    MO_TRY(one_step(t, error));
    MO_TRY(validate_when_due(t, error));
    sample_when_due(t);
    MO_TRY(take_requests(t, error));
    MO_TRY(save_when_due(t, error));
  }
  return MOUSSE_OK;
}

static mousse_status write_config(const trainer *t, mo_error *error)
{
  char path[4096];
  MO_TRY(mo_path_join(path, sizeof path, t->session.directory, "config.yaml", error));
  return options_write(t->run, path, error);
}

static mousse_status announce(trainer *t, mo_error *error)
{
  const train_session *s = &t->session;
  double most = 0;
  MO_TRY(
      mo_ranks_largest(t->comm, (double)mousse_bytes_held(s->groups.optimizer), &most, error));
  const train_start start = {
      .directory = s->directory,
      .run = t->run,
      .config = s->params->config,
      .step = s->state.step,
      .tokens_per_step = (uint64_t)t->run->batch_size * s->data.train.length,
      .windows = s->data.train.windows,
      .parameters = s->params->value_count,
      .optimizer_bytes = (size_t)most,
      .ranks = t->comm->size,
      .threads = options_threads(t->run),
  };
  char head[512];
  snprintf(head, sizeof head, "mousse %s, %s, %d threads: %s, %llu parameters, from step %llu",
           mousse_version(), mo_blas_description(), start.threads, t->run->optimizer,
           (unsigned long long)start.parameters, (unsigned long long)start.step);
  metrics_note(&t->metrics, head);
  if (t->early[0] != '\0') metrics_note(&t->metrics, t->early + 1);
  if (t->display->started != NULL) t->display->started(t->display->user, &start);
  if (!s->data.has_tokenizer)
    run_notify(&t->notices, "%s has no tokenizer: no samples, and 'generate' will need one",
               t->run->data_dir);
  if (s->data.val.windows == 0)
    run_notify(&t->notices, "%s has no validation shards: no validation", t->run->data_dir);
  return MOUSSE_OK;
}

static mousse_status execute(trainer *t, train_outcome *outcome, mo_error *error)
{
  t->saved = t->session.state.step;
  if (t->comm->rank > 0)
    metrics_none(&t->metrics);
  else
    metrics_open(&t->metrics, t->session.directory, t->saved, t->run->tensorboard,
                 &t->display->notices);
  mousse_status status = MO_FIRST_RANK(t->comm, write_config(t, error), error);
  if (status == MOUSSE_OK) status = announce(t, error);
  if (status == MOUSSE_OK) {
    signals_watch();
    status = loop(t, error);
    signals_ignore();
  }
  outcome->signal = t->stop;
  outcome->state = t->session.state;
  outcome->complete = outcome->state.step >= (uint64_t)t->run->num_iterations;
  if (status != MOUSSE_OK) metrics_note(&t->metrics, error->text);
  metrics_close(&t->metrics);
  return status;
}

static mousse_status open_and_execute(trainer *t, train_outcome *outcome, mo_error *error)
{
  MO_TRY(session_open(&t->session, t->run, t->comm, &t->notices, error));
  memcpy(outcome->directory, t->session.directory, sizeof outcome->directory);
  const mousse_status status = execute(t, outcome, error);
  session_close(&t->session);
  return status;
}

mousse_status train_execute(const train_options *run, const mousse_comm *comm,
                            const train_display *display, train_outcome *outcome,
                            mo_error *error)
{
  train_options settled = *run;
  *outcome = (train_outcome){.signal = 0};
  MO_TRY(ranks_compare_options(run, comm, error));
  MO_TRY(ranks_settle_slices(&settled, comm, error));
  trainer t = {.run = &settled,
               .comm = comm,
               .display = display,
               .schedule = options_schedule(&settled)};
  t.notices = (run_notices){tell, &t};
  return open_and_execute(&t, outcome, error);
}
