/* milestones.c - what happens between steps: validations, samples, checkpoints. */
#include "support/run_directory.h"
#include "train/evaluate.h"
#include "train/rank_checks.h"
#include "train/text_sample.h"
#include "train/trainer.h"

#include <string.h>

/* With the average of the weights in their place, where one is kept. */
static mousse_status score(trainer *t, evaluation *result, mo_error *error)
{
  train_session *s = &t->session;
  const mo_loader *loader = &s->data.val;
  const uint64_t windows = ((uint64_t)t->run->val_tokens + loader->length - 1) / loader->length;
  MO_TRY(average_refresh(&s->average, error));
  average_swap(&s->average);
  const mousse_status status =
      evaluate(loader, s->pass, t->comm, options_micro_batch(t->run), windows,
               s->data.byte_lengths, NULL, NULL, result, error);
  average_swap(&s->average);
  return status;
}

static mousse_status validate(trainer *t, mo_error *error)
{
  trainer_state *state = &t->session.state;
  evaluation result = {0};
  MO_TRY(score(t, &result, error));
  trainer_state_validated(state, result.loss);
  t->best_wanted = state->best.step == state->step && state->step > 0 &&
                   (t->run->save_best || t->run->patience > 0);
  const validation_report report = {.step = state->step,
                                    .tokens = state->tokens,
                                    .loss = result.loss,
                                    .bits_per_byte = result.bits_per_byte};
  metrics_validation(&t->metrics, &report);
  if (t->display->validated != NULL) t->display->validated(t->display->user, &report);
  if (session_is_over(&t->session) && state->step < (uint64_t)t->run->num_iterations)
    run_notify(&t->notices,
               "step %llu: no lower validation loss since step %llu: stopped early",
               (unsigned long long)state->step, (unsigned long long)state->best.step);
  return MOUSSE_OK;
}

mousse_status milestone_validate(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  const bool last = step == (uint64_t)t->run->num_iterations;
  if (t->session.data.val.windows == 0) return MOUSSE_OK;
  return last || trainer_due(step, t->run->val_loss_every) ? validate(t, error) : MOUSSE_OK;
}

static bool collect_text(void *user, const char *bytes, size_t count)
{
  return mo_buffer_add(user, bytes, count);
}

static void show_sample(trainer *t, const mo_buffer *text)
{
  const uint64_t step = t->session.state.step;
  const char *data = text->size > 0 ? text->data : "";
  metrics_tell(&t->metrics, step, "sample", data, text->size);
  if (t->display->sampled != NULL)
    t->display->sampled(t->display->user, step, data, text->size);
}

/* What goes wrong with it is said and does not matter. As validations are, it is made with the
 * average of the weights where one is kept. */
static void make_sample(trainer *t)
{
  const trainer_state *state = &t->session.state;
  mo_error reason = {{0}};
  mo_buffer text = {0};
  mo_buffer_add(&text, t->run->sample_prompt, strlen(t->run->sample_prompt));
  const text_request request = {
      .tokens = (size_t)t->run->sample_tokens,
      .sampling = {.temperature = 0.8, .top_p = 1, .seed = state->step, .stop_token = -1},
      .put = collect_text,
      .user = &text};
  average_swap(&t->session.average);
  const mousse_status status =
      text_sample(t->session.params, &t->session.data.tokenizer, t->run->sample_prompt,
                  options_threads(t->run), &request, &reason);
  average_swap(&t->session.average);
  if (status != MOUSSE_OK)
    run_notify(&t->notices, "no sample: %s", reason.text);
  else
    show_sample(t, &text);
  mo_buffer_close(&text);
}

/* A sample is for people, and rank 0's; the weights may be with all ranks. */
mousse_status milestone_sample(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  if (!trainer_due(step, t->run->sample_every) || !t->session.data.has_tokenizer)
    return MOUSSE_OK;
  MO_TRY(average_refresh(&t->session.average, error));
  if (t->comm->rank == 0) make_sample(t);
  return MOUSSE_OK;
}

/* When the disk is nearly full, what would go after the save goes before it: one that is in
 * order stays. */
static void make_room(trainer *t, const checkpoint_rule *rule)
{
  const checkpoint_rule fewer = {rule->last - 1, rule->every, rule->best};
  if (run_directory_room(t->session.directory) < t->session.checkpoint_bytes && rule->last > 1)
    checkpoint_prune(t->session.checkpoints, t->session.state.step, &fewer, &t->notices);
}

static mousse_status save(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  const checkpoint_content content = session_content(&t->session);
  const checkpoint_rule rule = {(uint64_t)t->run->keep_last, (uint64_t)t->run->keep_every,
                                t->run->keep_best};
  if (step == t->saved) return MOUSSE_OK;
  MO_TRY(ranks_compare_weights(t->session.params, t->comm, error));
  MO_TRY(average_refresh(&t->session.average, error));
  metrics_sync(&t->metrics);
  if (t->comm->rank == 0) make_room(t, &rule);
  MO_TRY(checkpoint_save(t->session.checkpoints, &content, error));
  t->saved = step;
  metrics_event(&t->metrics, step, "checkpoint", NULL);
  if (t->comm->rank == 0) checkpoint_prune(t->session.checkpoints, step, &rule, &t->notices);
  return MOUSSE_OK;
}

/* A save that fails on the way is tried again at the next occasion; the last one must work. */
mousse_status milestone_save(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  mo_error reason = {{0}};
  const bool wanted = t->save_wanted || t->best_wanted;
  t->best_wanted = false;
  if (session_is_over(&t->session) || t->stop != 0) return save(t, error);
  if (!wanted && !trainer_due(step, t->run->checkpoint_freq)) return MOUSSE_OK;
  const mousse_status status = save(t, &reason);
  if (status == MOUSSE_COMM) return mo_fail(error, status, "%s", reason.text);
  if (status != MOUSSE_OK)
    run_notify(&t->notices, "no checkpoint at step %llu, training goes on: %s",
               (unsigned long long)step, reason.text);
  else if (t->save_wanted)
    run_notify(&t->notices, "saved at step %llu", (unsigned long long)step);
  return MOUSSE_OK;
}
