/* train.c - the line from batch to weights, one call per arrow. */
#include "train/trainer.h"

#include "base/clock.h"
#include "base/file.h"
#include "comm/ranks.h"
#include "linalg/blas.h"
#include "support/json_lines.h"
#include "support/signals.h"
#include "train/history.h"
#include "train/rank_checks.h"
#include "train/run_out.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void tell(void *user, const char *text)
{
  trainer *t = user;
  const size_t used = strlen(t->early);
  run_notify(&t->display->notices, "%s", text);
  if (t->metrics.started > 0) {
    metrics_note(&t->metrics, text);
    metrics_tell(&t->metrics, t->session.state.step, "notice", text, strlen(text));
  } else {
    snprintf(t->early + used, sizeof t->early - used, "\n%s", text);
  }
}

/* The optimizer's step, watched when telemetry is due. */
static mousse_status take_step(trainer *t, uint64_t step)
{
  mousse_optimizer *optimizer = t->session.groups.optimizer;
  const bool watched = trainer_due(step, t->run->telemetry_every);
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
  char newest[64] = "there is no checkpoint";
  milestone_end_save(t);
  if (t->saved > 0)
    snprintf(newest, sizeof newest, "the newest checkpoint is of step %llu",
             (unsigned long long)t->saved);
  return mo_fail(error, MOUSSE_NOT_FINITE,
                 "stopped at step %llu: the last %llu losses or gradients were not finite; "
                 "%s; try a smaller lr or --clip 1",
                 (unsigned long long)state->step, (unsigned long long)state->skipped_in_row,
                 newest);
}

/* This rank's part of the batch: forward and backward, one micro-batch after the other. */
static mousse_status own_gradient(trainer *t, uint64_t step, mo_error *error)
{
  train_gradient *gradient = &t->session.gradient;
  for (size_t micro = gradient->first; micro < gradient->end; micro++) {
    gpt_batch batch;
    MO_TRY(gradient_batch(gradient, step, micro, &batch, error));
    gpt_pass_sample(t->session.pass, step_inputs_sampled(&t->session.inputs, micro), step);
    MO_TRY(gradient_add(gradient, micro, &batch, error));
  }
  return MOUSSE_OK;
}

/* The gradient of the step's batch at the weights before the last step, where the optimizer asks
 * for it. *finite: whether it is, and so the step may be taken. */
static mousse_status previous_gradient(trainer *t, uint64_t step, bool *finite, mo_error *error)
{
  step_inputs *inputs = &t->session.inputs;
  train_gradient *gradient = &t->session.gradient;
  *finite = true;
  if (inputs->other == NULL) return MOUSSE_OK;
  average_swap(&inputs->previous);
  const mousse_status own = own_gradient(t, step, error);
  const mousse_status status = gradient_sum(gradient, own, error);
  average_swap(&inputs->previous);
  MO_TRY(status);
  *finite = gradient_measure(gradient).finite;
  step_inputs_take(inputs);
  return MOUSSE_OK;
}

/* The weights move, unless the gradient is not finite. */
static mousse_status update(trainer *t, const gradient_result *result, bool *skipped,
                            mo_error *error)
{
  trainer_state *state = &t->session.state;
  train_groups *groups = &t->session.groups;
  mousse_status status = MOUSSE_NOT_FINITE;
  MO_TRY(groups_schedule(groups, schedule_factor(&t->schedule, state->step), error));
  MO_TRY(groups_look_ahead(groups, t->run, state->step + 1, error));
  if (result->finite) {
    step_inputs_remember(&t->session.inputs);
    status = take_step(t, state->step + 1);
  }
  *skipped = status == MOUSSE_NOT_FINITE;
  if (status != MOUSSE_OK && !*skipped) return groups_fail(groups, status, error);
  state->step++;
  state->loss = result->loss;
  if (!*skipped) average_update(&t->session.average, state->step);
  state->tokens += (uint64_t)t->run->batch_size * t->session.data.train.length;
  return count_skips(t, *skipped, error);
}

static void report_step(trainer *t, uint64_t step, const gradient_result *result, bool skipped,
                        double seconds)
{
  const step_report report = {
      .step = t->session.state.step,
      .tokens = t->session.state.tokens,
      .loss = result->loss,
      .lr = schedule_factor(&t->schedule, step) * t->session.groups.lr[GPT_MATRIX],
      .grad_norm = result->norm,
      .bits_per_byte = result->bits_per_byte,
      .seconds = seconds,
      .memory = t->comm->rank == 0 ? metrics_memory() : 0,
      .skipped = skipped,
  };
  metrics_step(&t->metrics, &report);
  if (t->display->step != NULL) t->display->step(t->display->user, &report);
  alarms_step(&t->alarms, &report, &t->notices);
}

/* batch -> forward and backward -> sum over ranks -> norm and clip -> step, with what else the
 * optimizer asks for on the way */
static mousse_status one_step(trainer *t, mo_error *error)
{
  const double started = mo_seconds();
  const uint64_t step = t->session.state.step;
  train_gradient *gradient = &t->session.gradient;
  bool skipped = false, finite = true;
  MO_TRY(previous_gradient(t, step, &finite, error));
  const mousse_status own = own_gradient(t, step, error);
  MO_TRY(gradient_sum(gradient, own, error));
  MO_TRY(step_inputs_share(&t->session.inputs, error));
  gradient_result result = gradient_measure(gradient);
  result.finite = result.finite && finite;
  step_inputs_scale(&t->session.inputs, gradient_clip(gradient, &result));
  const mousse_status status = update(t, &result, &skipped, error);
  report_step(t, step, &result, skipped, mo_seconds() - started);
  return status;
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
  if (t->session.state.step == 0) MO_TRY(milestone_validate(t, error));
  while (!session_is_over(&t->session) && t->stop == 0) {
    MO_TRY(one_step(t, error));
    milestone_look_at_save(t);
    MO_TRY(milestone_validate(t, error));
    MO_TRY(milestone_sample(t, error));
    MO_TRY(take_requests(t, error));
    MO_TRY(milestone_save(t, error));
  }
  return MOUSSE_OK;
}

/* Written when a step is about to be taken, and not before. */
static mousse_status write_record(const trainer *t, mo_error *error)
{
  char path[4096];
  const train_session *s = &t->session;
  const history_entry entry = {.step = s->state.step,
                               .resolved = t->run,
                               .train_checksum = s->data.train_checksum,
                               .val_checksum = s->data.val_checksum,
                               .tokenizer_checksum = s->data.tokenizer_checksum,
                               .val = &s->data.val,
                               .ranks = t->comm->size,
                               .threads = options_threads(t->run)};
  MO_TRY(mo_path_join(path, sizeof path, s->directory, "config.yaml", error));
  MO_TRY(history_write(s->directory, &entry, &t->notices, error));
  return options_write(t->run, path, error);
}

/* Every notice from before is a line with its time. */
static void note_early(trainer *t)
{
  char *rest = t->early;
  for (char *line = strtok_r(t->early, "\n", &rest); line != NULL;
       line = strtok_r(NULL, "\n", &rest))
    metrics_note(&t->metrics, line);
}

/* speed: of matrix products; 0: not known. */
static void record_start(trainer *t, const train_start *s, double speed)
{
  const double flops = gpt_flops_per_token(&s->config, s->config.sequence_len);
  metrics_event(&t->metrics, s->step, "started",
                json_pack("{s:I, s:i, s:i, s:f, s:o}", "parameters", (json_int_t)s->parameters,
                          "ranks", s->ranks, "threads", s->threads, "flops_per_token", flops,
                          "flops_per_second", json_finite(speed > 0 ? speed : NAN)));
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
  note_early(t);
  const double speed =
      t->display->started != NULL ? t->display->started(t->display->user, &start) : 0;
  record_start(t, &start, speed);
  if (!s->data.has_tokenizer)
    run_notify(&t->notices, "%s has no tokenizer: no samples, and 'generate' will need one",
               t->run->data_dir);
  if (s->data.is_of_another)
    run_notify(&t->notices,
               "%s: its shards were made with another tokenizer than the tokenizer.json in it, "
               "or by a version of mousse that did not look for its added tokens in text; to "
               "have those, tokenize the text again",
               t->run->data_dir);
  const uint64_t share = (uint64_t)t->run->batch_size / options_slices(t->run);
  if (s->given->device_batch_size == 0 && options_micro_batch(t->run) == 1 && share > 1)
    run_notify(&t->notices,
               "a batch of %lld sequences is computed one at a time, which is slow: a multiple "
               "of 8 is better",
               (long long)t->run->batch_size);
  if (s->data.val.windows == 0)
    run_notify(&t->notices, "%s has no validation shards: no validation", t->run->data_dir);
  return MOUSSE_OK;
}

static mousse_status execute(trainer *t, train_outcome *outcome, mo_error *error)
{
  t->saved = t->session.state.step;
  t->alarms = alarms_start(t->session.params->config.vocab_size, t->schedule.warmup);
  if (t->comm->rank > 0)
    metrics_none(&t->metrics);
  else
    metrics_open(&t->metrics, t->session.directory, t->saved, t->run->tensorboard,
                 &t->display->notices);
  mousse_status status = MO_FIRST_RANK(t->comm, write_record(t, error), error);
  if (status == MOUSSE_OK) status = announce(t, error);
  if (status == MOUSSE_OK) {
    signals_watch();
    status = loop(t, error);
    milestone_end_save(t);
    signals_ignore();
  }
  outcome->signal = t->stop;
  if (status != MOUSSE_OK) metrics_note(&t->metrics, error->text);
  const char *end = status != MOUSSE_OK            ? error->text
                    : session_is_over(&t->session) ? METRICS_COMPLETE
                                                   : METRICS_ASKED;
  metrics_tell(&t->metrics, t->session.state.step, "ended", end, strlen(end));
  metrics_close(&t->metrics);
  return status;
}

/* On the rank that looks at the run's directory. One that was better may not have been kept. */
static uint64_t best_of(const train_session *s)
{
  uint64_t step = 0;
  bool found = false;
  if (s->comm->rank > 0 || s->state.best.step == 0) return 0;
  checkpoint_best(s->checkpoints, &(run_notices){NULL, NULL}, &step, &found, NULL);
  return found ? step : 0;
}

static mousse_status open_and_execute(trainer *t, train_outcome *outcome, mo_error *error)
{
  const train_session *s = &t->session;
  MO_TRY(session_open(&t->session, t->run, t->comm, &t->notices, error));
  t->run = s->run;
  memcpy(outcome->directory, s->directory, sizeof outcome->directory);
  outcome->idle = session_is_over(s);
  const mousse_status status = outcome->idle ? MOUSSE_OK : execute(t, outcome, error);
  outcome->state = s->state;
  outcome->complete = s->state.step >= (uint64_t)t->run->num_iterations;
  outcome->early = !outcome->complete && session_is_over(s);
  if (outcome->early) outcome->best = best_of(s);
  session_close(&t->session);
  return status;
}

mousse_status train_execute(const train_options *run, const mousse_comm *comm,
                            const train_display *display, train_outcome *outcome,
                            mo_error *error)
{
  train_options chosen = *run;
  trainer t = {.run = &chosen, .comm = comm, .display = display};
  t.notices = (run_notices){tell, &t};
  *outcome = (train_outcome){.signal = 0};
  MO_TRY(MO_FIRST_RANK(comm, run_out_choose(&chosen, &t.notices, error), error));
  MO_TRY(ranks_choose_slices(&chosen, comm, &t.notices, error));
  t.schedule = options_schedule(&chosen);
  return open_and_execute(&t, outcome, error);
}
