/* milestones.c - what happens between steps: validations, samples, checkpoints. */
#include "comm/ranks.h"
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
  const uint64_t windows = evaluation_windows(loader, (uint64_t)t->run->val_tokens);
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

/* The last step changed nothing: the weights may have been of no use since some steps ago. */
static bool is_skipping(const trainer *t)
{
  return t->session.state.skipped_in_row > 0;
}

/* Saves during steps that are skipped take no other one's place, but on a disk without room. */
static save_request request_of(const trainer *t)
{
  const uint64_t last = (uint64_t)t->run->keep_last;
  return (save_request){.root = t->session.checkpoints,
                        .rule = {last, (uint64_t)t->run->keep_every, t->run->keep_best, 0},
                        .bytes = t->session.checkpoint_bytes,
                        .intact = t->saved,
                        .keep_all = is_skipping(t),
                        .metrics = -1};
}

static void note_saved(trainer *t, uint64_t step)
{
  t->saved = step;
  metrics_event(&t->metrics, step, "checkpoint", NULL);
}

/* The answer to a signal that asked for it. */
static void tell_saved(trainer *t, uint64_t step)
{
  run_notify(&t->notices, "saved at step %llu", (unsigned long long)step);
}

static mousse_status save_in_place(trainer *t, const checkpoint_content *content,
                                   mo_error *error)
{
  const save_request r = request_of(t);
  const uint64_t step = content->state->step;
  const bool first = t->comm->rank == 0;
  if (first) checkpoint_make_room(r.root, r.bytes, step, r.intact, &r.rule, &t->notices);
  metrics_sync(&t->metrics); /* with room also for lines that a full disk refused */
  MO_TRY(checkpoint_save(r.root, content, error));
  note_saved(t, step);
  if (first && !r.keep_all) checkpoint_prune(r.root, step, &r.rule, &t->notices);
  if (t->save_wanted) tell_saved(t, step);
  return MOUSSE_OK;
}

/* On rank 0: waits for the checkpoint that is being written. */
static mousse_status finish_save(trainer *t, mo_error *error)
{
  background_save *writer = &t->session.writer;
  const mousse_status status = background_save_wait(writer, &t->notices, error);
  if (writer->sync_error != 0) metrics_not_synced(&t->metrics, writer->sync_error);
  if (status == MOUSSE_OK) note_saved(t, t->saving);
  if (status == MOUSSE_OK && t->saving_asked) tell_saved(t, t->saving);
  return status;
}

static void report_save(trainer *t, const char *then)
{
  mo_error reason = {{0}};
  if (t->session.writer.running && finish_save(t, &reason) != MOUSSE_OK)
    run_notify(&t->notices, "no checkpoint at step %llu%s: %s", (unsigned long long)t->saving,
               then, reason.text);
}

static const char goes_on[] = ", training goes on";

void milestone_look_at_save(trainer *t)
{
  if (background_save_is_finished(&t->session.writer)) report_save(t, goes_on);
}

void milestone_end_save(trainer *t)
{
  report_save(t, "");
}

/* What became of the save before this one, on all ranks. */
static mousse_status conclude_save(trainer *t, mo_error *error)
{
  mo_error reason = {{0}};
  if (t->saving == 0) return MOUSSE_OK;
  report_save(t, goes_on);
  const mousse_status status = mo_ranks_agree(t->comm, t->session.writer.status, &reason);
  if (status == MOUSSE_COMM) return mo_fail(error, status, "%s", reason.text);
  if (status == MOUSSE_OK) t->saved = t->saving;
  t->saving = 0;
  return MOUSSE_OK;
}

/* The copy is taken here, and written while the run goes on. How much room it needs is an
 * estimate: where it is too small, nothing is lost but the time of waiting. */
static mousse_status save_in_background(trainer *t, const checkpoint_content *content,
                                        mo_error *error)
{
  background_save *writer = &t->session.writer;
  save_request request = request_of(t);
  const mousse_status status = background_save_take(writer, content, error);
  if (status == MOUSSE_IO) {
    background_save_close(writer); /* on all ranks */
    run_notify(&t->notices, "the optimizer's state is larger than planned: training waits for "
                            "its checkpoints");
    return save_in_place(t, content, error);
  }
  if (status != MOUSSE_OK) return status;
  t->saving = content->state->step;
  t->saving_asked = t->save_wanted;
  if (t->comm->rank > 0) return MOUSSE_OK;
  request.metrics = metrics_descriptor(&t->metrics);
  background_save_start(writer, &request);
  return MOUSSE_OK;
}

/* A run whose directory was moved goes on in it; nothing is being written meanwhile. */
static mousse_status follow_directory(trainer *t, mo_error *error)
{
  train_session *s = &t->session;
  char before[sizeof s->directory];
  memcpy(before, s->directory, sizeof before);
  MO_TRY(mo_lock_follow(&s->lock, s->directory, sizeof s->directory, error));
  if (strcmp(before, s->directory) == 0) return MOUSSE_OK;
  run_notify(&t->notices, "%s was moved to %s; the run goes on there", before, s->directory);
  return mo_path_join(s->checkpoints, sizeof s->checkpoints, s->directory, CHECKPOINT_FOLDER,
                      error);
}

static mousse_status save(trainer *t, mo_error *error)
{
  const checkpoint_content content = session_content(&t->session);
  MO_TRY(conclude_save(t, error));
  if (content.state->step == t->saved) return MOUSSE_OK;
  MO_TRY(MO_FIRST_RANK(t->comm, follow_directory(t, error), error));
  MO_TRY(ranks_compare_weights(t->session.params, t->comm, error));
  MO_TRY(average_refresh(&t->session.average, error));
  if (t->session.writer.on) return save_in_background(t, &content, error);
  return save_in_place(t, &content, error);
}

static mousse_status save_and_wait(trainer *t, mo_error *error)
{
  MO_TRY(save(t, error));
  if (t->saving == 0) return MOUSSE_OK;
  const mousse_status status = MO_FIRST_RANK(t->comm, finish_save(t, error), error);
  t->saving = 0;
  return status;
}

/* A save that fails on the way is tried again at the next occasion; the last one must work. While
 * steps are skipped, only what was asked for is saved; what was due comes after them. */
mousse_status milestone_save(trainer *t, mo_error *error)
{
  const uint64_t step = t->session.state.step;
  mo_error reason = {{0}};
  const bool wanted = t->save_wanted || t->best_wanted;
  t->best_wanted = false;
  if (session_is_over(&t->session) || t->stop != 0) return save_and_wait(t, error);
  t->due = t->due || trainer_due(step, t->run->checkpoint_freq);
  if (!wanted && (is_skipping(t) || !t->due)) return MOUSSE_OK;
  t->due = false;
  const mousse_status status = save(t, &reason);
  if (status == MOUSSE_COMM) return mo_fail(error, status, "%s", reason.text);
  if (status != MOUSSE_OK)
    run_notify(&t->notices, "no checkpoint at step %llu%s: %s", (unsigned long long)step,
               goes_on, reason.text);
  return MOUSSE_OK;
}
