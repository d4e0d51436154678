/* milestones.c - what happens between steps: validations, samples, checkpoints. */
#include "train/evaluate.h"
#include "train/rank_checks.h"
#include "train/text_sample.h"
#include "train/trainer.h"

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

mousse_status milestone_validate(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  const bool last = step == (uint64_t)t->run->num_iterations;
  if (t->session.data.val.windows == 0) return MOUSSE_OK;
  return last || trainer_due(step, t->run->val_loss_every) ? validate(t, error) : MOUSSE_OK;
}

static void collect_text(void *user, const char *bytes, size_t count)
{
  mo_buffer_add(user, bytes, count);
}

/* A sample is for people: what goes wrong with it is said and does not matter. */
void milestone_sample(trainer *t)
{
  const trainer_state *state = &t->session.state;
  mo_error reason = {{0}};
  mo_buffer text = {0};
  if (!trainer_due(state->step, t->run->sample_every) || !t->session.data.has_tokenizer) return;
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
mousse_status milestone_save(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  mo_error reason = {{0}};
  if (step == (uint64_t)t->run->num_iterations || t->stop != 0) return save(t, error);
  if (!t->save_wanted && !trainer_due(step, t->run->checkpoint_freq)) return MOUSSE_OK;
  const mousse_status status = save(t, &reason);
  if (status == MOUSSE_COMM) return mo_fail(error, status, "%s", reason.text);
  if (status != MOUSSE_OK)
    run_notify(&t->notices, "no checkpoint at step %llu, training goes on: %s",
               (unsigned long long)step, reason.text);
  else if (t->save_wanted)
    run_notify(&t->notices, "saved at step %llu", (unsigned long long)step);
  return MOUSSE_OK;
}
