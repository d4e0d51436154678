/* session.c - opens a run. */
#include "train/session.h"

#include "base/file.h"
#include "comm/ranks.h"
#include "train/model_files.h"
#include "train/run_model.h"

checkpoint_content session_content(const train_session *s)
{
  return (checkpoint_content){
      .params = s->params,
      .optimizer = s->groups.optimizer,
      .tokenizer = s->data.has_tokenizer ? &s->data.tokenizer : NULL,
      .run = s->run,
      .comm = s->comm,
      .data_fingerprint = run_data_fingerprint(&s->data.train_set),
      .state = &s->state,
  };
}

static mousse_status initialise(train_session *s, const run_notices *notices, mo_error *error)
{
  model_files files;
  if (s->run->init[0] == '\0') {
    gpt_params_initialise(s->params, (uint64_t)s->run->seed, options_threads(s->run));
    return MOUSSE_OK;
  }
  MO_TRY(model_files_find(&files, s->run->init, notices, error));
  MO_TRY(model_files_weights(&files, s->params, error));
  run_notify(notices, "weights from %s", files.weights);
  return MOUSSE_OK;
}

/* The place on disk: made, locked, cleared of what was left half done. */
static mousse_status open_directory(train_session *s, const run_notices *notices,
                                    uint64_t *step, bool *found, mo_error *error)
{
  MO_TRY(options_directory(s->run, s->directory, sizeof s->directory, error));
  MO_TRY(mo_path_join(s->checkpoints, sizeof s->checkpoints, s->directory, CHECKPOINT_FOLDER,
                      error));
  MO_TRY(mo_make_directories(s->checkpoints, error));
  MO_TRY(mo_sync_parent(s->checkpoints, error));
  MO_TRY(mo_sync_parent(s->directory, error));
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
  const size_t micro = options_micro_batch(s->run);
  const int threads = options_threads(s->run);
  const gpt_shape shape = {micro, config->sequence_len, threads, true};
  MO_TRY(gpt_params_create(&s->params, config, true, NULL, error));
  MO_TRY(gpt_pass_create(&s->pass, s->params, &shape, NULL, error));
  MO_TRY(groups_open(&s->groups, s->run, s->params, s->comm, notices, error));
  s->gradient = (train_gradient){.loader = &s->data.train,
                                 .params = s->params,
                                 .pass = s->pass,
                                 .comm = s->comm,
                                 .micro_batch = micro,
                                 .micro_count = (size_t)s->run->batch_size / micro,
                                 .slices = options_slices(s->run),
                                 .clip = s->run->clip,
                                 .threads = threads,
                                 .overlap = s->run->overlap};
  return gradient_open(&s->gradient, error);
}

/* Where a run begins or goes on, as rank 0 finds it. */
typedef struct run_position {
  uint64_t step, found; /* the checkpoint to continue from, if one was found */
  gpt_config config;
} run_position;

static mousse_status find_position(train_session *s, const run_notices *notices,
                                   run_position *at, mo_error *error)
{
  char checkpoint[4096];
  bool found = false;
  MO_TRY(open_directory(s, notices, &at->step, &found, error));
  at->found = found;
  MO_TRY(checkpoint_path(checkpoint, sizeof checkpoint, s->checkpoints, at->step,
                         CHECKPOINT_FINAL, error));
  return run_model_find(s->run, found ? checkpoint : NULL, notices, &at->config, error);
}

static mousse_status compare_data(const train_session *s, mo_error *error)
{
  MO_TRY(mo_ranks_same(s->comm, run_data_fingerprint(&s->data.train_set),
                       "all ranks must have the same training data: their checksum is", error));
  return mo_ranks_same(s->comm, run_data_fingerprint(&s->data.val_set),
                       "all ranks must have the same validation data: their checksum is",
                       error);
}

/* What the checkpoint asks for is rank 0's business. */
static mousse_status read_state(train_session *s, const run_position *at,
                                const run_notices *notices, mo_error *error)
{
  const uint64_t data = run_data_fingerprint(&s->data.train_set);
  MO_TRY(MO_FIRST_RANK(s->comm,
                       checkpoint_compare(s->checkpoints, at->step, s->run, &at->config, data,
                                          &s->state, notices, error),
                       error));
  return mo_ranks_spread(s->comm, &s->state, sizeof s->state, error);
}

static mousse_status open_all(train_session *s, const run_notices *notices, mo_error *error)
{
  const mousse_comm *comm = s->comm;
  run_position at = {0};
  MO_TRY(options_check(s->run, error));
  MO_TRY(MO_FIRST_RANK(comm, find_position(s, notices, &at, error), error));
  MO_TRY(mo_ranks_spread(comm, &at, sizeof at, error));
  MO_TRY(mo_ranks_agree(comm, run_data_open(&s->data, s->run, &at.config, error), error));
  MO_TRY(compare_data(s, error));
  if (at.found) MO_TRY(read_state(s, &at, notices, error));
  MO_TRY(mo_ranks_agree(comm, open_model(s, &at.config, notices, error), error));
  gpt_params *params = s->params;
  if (at.found)
    return checkpoint_load(s->checkpoints, at.step, params, s->groups.optimizer, comm, error);
  MO_TRY(MO_FIRST_RANK(comm, initialise(s, notices, error), error));
  return mo_ranks_spread(comm, params->values, params->value_count * sizeof(float), error);
}

mousse_status session_open(train_session *s, const train_options *run, const mousse_comm *comm,
                           const run_notices *notices, mo_error *error)
{
  *s = (train_session){.run = run, .comm = comm, .lock.descriptor = -1};
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
