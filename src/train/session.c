/* session.c - opens a run. */
#include "train/session.h"

#include "base/file.h"
#include "train/model_files.h"

#include <stdio.h>
#include <string.h>

mousse_status session_model(const train_run *run, const char *checkpoint,
                            const run_notices *notices, gpt_config *config, mo_error *error)
{
  model_files files;
  gpt_config base = {0};
  size_t vocabulary = 0;
  MO_TRY(run_data_vocabulary(run->data_dir, &vocabulary, error));
  if (run->init[0] == '\0') return run_model(run, NULL, vocabulary, config, error);
  MO_TRY(model_files_find(&files, checkpoint != NULL ? checkpoint : run->init, notices, error));
  MO_TRY(model_files_config(&files, &base, error));
  return run_model(run, &base, vocabulary, config, error);
}

checkpoint_content session_content(const train_session *s)
{
  return (checkpoint_content){
      .params = s->params,
      .optimizer = s->groups.optimizer,
      .tokenizer = s->data.has_tokenizer ? &s->data.tokenizer : NULL,
      .run = s->run,
      .data_fingerprint = run_data_fingerprint(&s->data.train_set),
      .state = &s->state,
  };
}

static mousse_status initialise(train_session *s, const run_notices *notices, mo_error *error)
{
  model_files files;
  if (s->run->init[0] == '\0') {
    gpt_params_initialise(s->params, (uint64_t)s->run->seed, run_threads(s->run));
    return MOUSSE_OK;
  }
  MO_TRY(model_files_find(&files, s->run->init, notices, error));
  MO_TRY(gpt_load_weights(s->params, files.weights, error));
  run_notify(notices, "weights from %s", files.weights);
  return MOUSSE_OK;
}

/* The place on disk: made, locked, cleared of what was left half done. */
static mousse_status open_directory(train_session *s, const run_notices *notices,
                                    uint64_t *step, bool *found, mo_error *error)
{
  MO_TRY(run_directory(s->run, s->directory, sizeof s->directory, error));
  MO_TRY(mo_path_join(s->checkpoints, sizeof s->checkpoints, s->directory, CHECKPOINT_FOLDER,
                      error));
  MO_TRY(mo_make_directories(s->checkpoints, error));
  MO_TRY(run_lock_take(&s->lock, s->directory, error));
  checkpoint_clean(s->checkpoints, notices);
  MO_TRY(checkpoint_newest(s->checkpoints, notices, step, found, error));
  if (*found && !s->run->resume)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s: has checkpoints already, and resume is off; choose another --out or "
                   "remove it",
                   s->directory);
  return MOUSSE_OK;
}

static mousse_status open_model(train_session *s, const gpt_config *config,
                                const run_notices *notices, mo_error *error)
{
  const size_t micro = run_micro_batch(s->run);
  const int threads = run_threads(s->run);
  const gpt_shape shape = {micro, config->sequence_len, threads, true};
  MO_TRY(gpt_params_create(&s->params, config, true, NULL, error));
  MO_TRY(gpt_pass_create(&s->pass, s->params, &shape, NULL, error));
  MO_TRY(groups_open(&s->groups, s->run, s->params, notices, error));
  s->gradient = (train_gradient){.loader = &s->data.train,
                                 .params = s->params,
                                 .pass = s->pass,
                                 .micro_batch = micro,
                                 .micro_count = (size_t)s->run->batch_size / micro,
                                 .clip = s->run->clip,
                                 .threads = threads};
  return gradient_open(&s->gradient, error);
}

static mousse_status open_all(train_session *s, const run_notices *notices, mo_error *error)
{
  gpt_config config = {0};
  char checkpoint[4096];
  uint64_t step = 0;
  bool found = false;
  MO_TRY(run_check(s->run, error));
  MO_TRY(open_directory(s, notices, &step, &found, error));
  MO_TRY(checkpoint_path(checkpoint, sizeof checkpoint, s->checkpoints, step, CHECKPOINT_FINAL,
                         error));
  MO_TRY(session_model(s->run, found ? checkpoint : NULL, notices, &config, error));
  MO_TRY(run_data_open(&s->data, s->run, &config, error));
  if (found)
    MO_TRY(checkpoint_admit(s->checkpoints, step, s->run, &config,
                            run_data_fingerprint(&s->data.train_set), &s->state, notices,
                            error));
  MO_TRY(open_model(s, &config, notices, error));
  if (!found) return initialise(s, notices, error);
  return checkpoint_load(s->checkpoints, step, s->params, s->groups.optimizer, error);
}

mousse_status session_open(train_session *s, const train_run *run, const run_notices *notices,
                           mo_error *error)
{
  *s = (train_session){.run = run, .lock.descriptor = -1};
  const mousse_status status = open_all(s, notices, error);
  if (status != MOUSSE_OK) session_close(s);
  return status;
}

void session_close(train_session *s)
{
  gradient_close(&s->gradient);
  groups_close(&s->groups);
  gpt_pass_destroy(s->pass);
  gpt_params_destroy(s->params);
  run_data_close(&s->data);
  run_lock_release(&s->lock);
  *s = (train_session){.lock.descriptor = -1};
}
