/* session.c - opens a run. */
#include "train/session.h"

#include "base/file.h"
#include "base/wording.h"
#include "comm/ranks.h"
#include "linalg/blas.h"
#include "support/run_directory.h"
#include "train/estimate.h"
#include "train/model_files.h"
#include "train/resolve.h"
#include "train/row_blocks.h"
#include "train/run_model.h"
#include "train/tokenizers.h"

#include <string.h>
#include <unistd.h>

checkpoint_content session_content(train_session *s)
{
  return (checkpoint_content){
      .params = s->params,
      .optimizer = s->groups.optimizer,
      .tokenizer = s->data.has_tokenizer ? &s->data.tokenizer : NULL,
      .average = &s->average,
      .previous = &s->inputs.previous,
      .options = s->run,
      .comm = s->comm,
      .data_checksum = s->data.train_checksum,
      .state = &s->state,
  };
}

bool session_is_over(const train_session *s)
{
  const uint64_t patience = (uint64_t)s->given->patience;
  return s->state.step >= (uint64_t)s->given->num_iterations ||
         (patience > 0 && s->state.without_best >= patience);
}

static mousse_status initialise(train_session *s, const run_notices *notices, mo_error *error)
{
  model_files files;
  if (s->run->init[0] == '\0') {
    gpt_params_initialise(s->params, (uint64_t)s->run->seed, options_threads(s->run));
    return MOUSSE_OK;
  }
  MO_TRY(model_files_find(&files, s->run->init, NULL, error)); /* told with the model */
  MO_TRY(model_files_weights(&files, s->params, error));
  gpt_initialise_adapters(s->params, (uint64_t)s->run->seed, options_threads(s->run));
  run_notify(notices, "weights from %s", files.weights);
  return MOUSSE_OK;
}

/* The place on disk: made, locked, cleared of what was left half done. */
static mousse_status open_directory(train_session *s, const run_notices *notices,
                                    uint64_t *step, bool *found, mo_error *error)
{
  MO_TRY(run_directory_take(s->directory, error));
  MO_TRY(run_lock_take(&s->lock, s->directory, error));
  MO_TRY(mo_make_directories(s->checkpoints, error));
  MO_TRY(mo_sync_parent(s->checkpoints, error));
  checkpoint_clean(s->checkpoints, notices);
  MO_TRY(checkpoint_newest(s->checkpoints, notices, step, found, error));
  if (*found && !s->given->resume)
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "%s: has checkpoints already, and resume is off; --resume continues it; for a "
        "new run, choose another --out",
        s->directory);
  return MOUSSE_OK;
}

/* What memory has room for: kept activations, and a copy to write checkpoints from. The first
 * every rank decides for itself, since the result is the same; the second is rank 0's choice. */
static mousse_status look_at_memory(train_session *s, const gpt_config *config,
                                    const run_notices *notices, bool *recompute,
                                    mo_error *error)
{
  train_estimate e;
  MO_TRY(estimate_open(&e, s->run, config, s->comm->size, NULL, error));
  *recompute = e.recompute;
  s->writer.on = e.copied;
  if (e.recompute && s->run->recompute == RECOMPUTE_AUTO)
    run_notify(notices,
               "memory is short: activations are recomputed, which saves %.1f MB and takes "
               "about a quarter more time (--recompute)",
               (double)e.less_bytes / 1e6);
  if (!e.copied && s->run->save_in_background)
    run_notify(notices,
               "memory is short: training waits for its checkpoints, as there is no room for a "
               "copy of %.1f MB to write them from (--save-in-background)",
               (double)e.copy_bytes / 1e6);
  estimate_close(&e);
  return MOUSSE_OK;
}

/* [collective] */
static mousse_status open_writer(train_session *s, const run_notices *notices, mo_error *error)
{
  const checkpoint_content content = session_content(s);
  uint32_t on = s->writer.on;
  if (on && s->comm->rank == 0) {
    background_save_open(&s->writer, &content, s->state_bytes, options_threads(s->run));
    on = s->writer.on;
    if (!on)
      run_notify(notices, "no memory for a copy of %.1f MB: training waits for its checkpoints",
                 (double)s->checkpoint_bytes / 1e6);
  }
  MO_TRY(mo_ranks_spread(s->comm, &on, sizeof on, error));
  s->writer.on = on != 0;
  return MOUSSE_OK;
}

/* This rank's part up to where the optimizer needs all of them. */
static mousse_status open_params(train_session *s, const gpt_config *config,
                                 const run_notices *notices, mo_error *error)
{
  bool recompute = false;
  MO_TRY(look_at_memory(s, config, notices, &recompute, error));
  const gpt_shape shape = {options_micro_batch(s->run), config->sequence_len,
                           options_threads(s->run), true, recompute};
  MO_TRY(gpt_params_create_frozen(&s->params, config, s->run->freeze, NULL, error));
  MO_TRY(gpt_pass_create(&s->pass, s->params, &shape, NULL, error));
  return groups_plan(&s->groups, s->run, s->params, s->comm, notices, error);
}

/* This rank's part after that. */
static mousse_status open_step(train_session *s, mo_error *error)
{
  const size_t micro = options_micro_batch(s->run);
  const int threads = options_threads(s->run);
  s->gradient = (train_gradient){.loader = &s->data.train,
                                 .params = s->params,
                                 .pass = s->pass,
                                 .comm = s->comm,
                                 .micro_batch = micro,
                                 .micro_count = (size_t)s->run->batch_size / micro,
                                 .slices = options_slices(s->run),
                                 .clip = s->run->clip,
                                 .threads = threads,
                                 .overlap = s->run->overlap,
                                 .byte_lengths = s->data.byte_lengths};
  MO_TRY(average_open(&s->average, s->params, options_average(s->run) ? s->run->ema : -1,
                      threads, error));
  if (options_wrapped(s->run)) s->average.source = s->groups.optimizer;
  MO_TRY(step_inputs_open(&s->inputs, s->run, &s->groups, s->params, s->comm, error));
  return gradient_open(&s->gradient, error);
}

/* [collective] Ranks agree on what each did alone before all of them prepare the optimizer: one
 * that failed earlier would otherwise answer another question than the others ask. */
static mousse_status open_model(train_session *s, const gpt_config *config,
                                const run_notices *notices, mo_error *error)
{
  MO_TRY(mo_ranks_agree(s->comm, open_params(s, config, notices, error), error));
  MO_TRY(groups_prepare(&s->groups, error));
  return mo_ranks_agree(s->comm, open_step(s, error), error);
}

/* Where a run begins or goes on, as rank 0 finds it. */
typedef struct run_position {
  uint64_t step, found; /* the checkpoint to continue from, if one was found */
  uint64_t is_new;      /* its directory is yet to be made */
  gpt_config config;
  char weights_folder[4096]; /* of the checkpoint or of --init, whose tokenizer counts; or "" */
  char scalar_opt[OPTION_TEXT_SIZE]; /* of the checkpoint */
} run_position;

/* A new directory is not made before everything else is known to be good: a mistake must not leave
 * one behind. */
static mousse_status find_checkpoint(train_session *s, const run_notices *notices,
                                     run_position *at, mo_error *error)
{
  char path[4096];
  bool found = false;
  MO_TRY(options_directory(s->given, s->directory, sizeof s->directory, error));
  MO_TRY(mo_path_join(s->checkpoints, sizeof s->checkpoints, s->directory, CHECKPOINT_FOLDER,
                      error));
  at->is_new = run_directory_is_free(s->directory);
  if (!at->is_new) MO_TRY(open_directory(s, notices, &at->step, &found, error));
  at->found = found;
  if (found || s->given->data_dir[0] != '\0') return MOUSSE_OK;
  MO_TRY(mo_path_join(path, sizeof path, s->directory, "config.yaml", error));
  if (access(path, F_OK) == 0)
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "%s: has no checkpoint to continue from; 'mousse train --config %s --out %s' "
        "starts it again",
        s->directory, path, s->directory);
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: there is no run here to continue; check the name, or give --data-dir "
                 "DIRECTORY to start one",
                 s->directory);
}

/* Of a run that can take its first step. */
static mousse_status make_directory(train_session *s, const run_notices *notices,
                                    mo_error *error)
{
  uint64_t step = 0;
  bool found = false;
  MO_TRY(open_directory(s, notices, &step, &found, error));
  if (!found) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO,
                 "%s: another process has just trained here; the same command continues its "
                 "run",
                 s->directory);
}

static mousse_status find_position(train_session *s, const run_notices *notices,
                                   run_position *at, mo_error *error)
{
  model_files files;
  char path[4096], *folder = at->weights_folder;
  MO_TRY(find_checkpoint(s, notices, at, error));
  if (at->found) {
    MO_TRY(checkpoint_path(folder, sizeof at->weights_folder, s->checkpoints, at->step,
                           CHECKPOINT_FINAL, error));
    MO_TRY(mo_path_join(path, sizeof path, folder, "trainer.json", error));
    MO_TRY(trainer_state_same_optimizer(path, s->given, at->scalar_opt, error));
  } else if (s->given->init[0] != '\0') {
    MO_TRY(model_files_find(&files, s->given->init, NULL, error));
    memcpy(folder, files.folder, sizeof files.folder);
  }
  return run_model_find(s->given, at->found ? folder : NULL, notices, &at->config, error);
}

static mousse_status compare_data(const train_session *s, mo_error *error)
{
  MO_TRY(mo_ranks_same(s->comm, s->data.train_checksum,
                       "all ranks must have the same training data: their checksum is", error));
  MO_TRY(mo_ranks_same(s->comm, s->data.val_checksum,
                       "all ranks must have the same validation data: their checksum is",
                       error));
  return mo_ranks_same(s->comm, s->data.tokenizer_checksum,
                       "all ranks must have the same tokenizer: its checksum (0: none) is",
                       error);
}

/* A run that has ended stays what it is. */
static mousse_status refuse_changes(const train_session *s, const option_changes *changes,
                                    mo_error *error)
{
  const bool complete = s->state.step >= (uint64_t)s->given->num_iterations;
  if (changes->count == 0 || !session_is_over(s)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: %s at step %llu and was not changed: %s; to continue with that, give %s "
                 "than %llu; for a new run, another --out",
                 s->directory, complete ? "is complete" : "stopped early",
                 (unsigned long long)s->state.step, changes->first,
                 complete ? "more --num-iterations" : "a larger --patience",
                 (unsigned long long)(complete ? s->state.step : s->state.without_best));
}

static mousse_status compare_with_checkpoint(train_session *s, const run_position *at,
                                             const run_notices *notices, mo_error *error)
{
  option_changes changes;
  train_options given = *s->given; /* what it leaves open is not another wish than the run's */
  memcpy(given.scalar_opt, at->scalar_opt, sizeof given.scalar_opt);
  if (given.embed_lr_factor == 0) given.embed_lr_factor = s->run->embed_lr_factor;
  const trainer_demand demand = {&given, s->run, s->data.train_checksum,
                                 run_data_fingerprint(&s->data.train_set)};
  MO_TRY(checkpoint_compare(s->checkpoints, at->step, &demand, &at->config, &s->state, &changes,
                            notices, error));
  return refuse_changes(s, &changes, error);
}

/* Rank 0's business: the tokenizer of the weights, and what the checkpoint asks for. */
static mousse_status compare_with_weights(train_session *s, const run_position *at,
                                          const run_notices *notices, mo_error *error)
{
  if (s->data.has_tokenizer && at->weights_folder[0] != '\0')
    MO_TRY(tokenizer_check(&s->data.tokenizer, s->run->data_dir, at->weights_folder,
                           s->run->allow_other_tokenizer, notices, error));
  return at->found ? compare_with_checkpoint(s, at, notices, error) : MOUSSE_OK;
}

/* Before hours of work: is there room for a checkpoint? */
static mousse_status check_room(train_session *s, bool has_checkpoint,
                                const run_notices *notices, mo_error *error)
{
  const gpt_params *p = s->params;
  const unsigned long long room = run_directory_room(s->directory);
  const size_t copies =
      (s->average.values != NULL ? 1u : 0u) + (s->inputs.previous.values != NULL ? 1u : 0u);
  for (size_t i = 0; i < p->tensor_count; i++)
    s->state_bytes += row_blocks_state_bytes(s->groups.optimizer, &p->tensors[i]);
  s->checkpoint_bytes = p->value_count * sizeof(float) * (1 + copies) + s->state_bytes;
  const double need = (double)s->checkpoint_bytes / 1e6, have = (double)room / 1e6;
  const double most = need * (double)(s->run->keep_last + 1 + s->run->keep_best);
  if (have < need && !has_checkpoint)
    return mo_fail(
        error, MOUSSE_IO,
        "%s: a checkpoint takes %.1f MB, but only %.1f MB are free there; make room, "
        "or choose another --out",
        s->directory, need, have);
  if (have < (has_checkpoint ? need : most))
    run_notify(notices,
               "%s: %.1f MB are free; a checkpoint takes %.1f MB, and up to %.1f MB are needed "
               "with --keep-last %lld",
               s->directory, have, need, most, (long long)s->run->keep_last);
  return MOUSSE_OK;
}

/* Options that changed have been told by their own names; the library need not tell them by
 * its groups once more. */
static mousse_status load_checkpoint(train_session *s, uint64_t step, mo_error *error)
{
  const run_notices heard = s->groups.notices;
  const checkpoint_content content = session_content(s);
  s->groups.notices = (run_notices){NULL, NULL};
  const mousse_status status =
      checkpoint_load(s->checkpoints, step, &content, s->params, error);
  s->groups.notices = heard;
  return status;
}

static mousse_status load_weights(train_session *s, const run_position *at,
                                  const run_notices *notices, mo_error *error)
{
  gpt_params *params = s->params;
  if (at->found) return load_checkpoint(s, at->step, error);
  MO_TRY(MO_FIRST_RANK(s->comm, initialise(s, notices, error), error));
  MO_TRY(mo_ranks_spread(s->comm, params->values, params->value_count * sizeof(float), error));
  average_restart(&s->average);
  average_restart(&s->inputs.previous);
  return MOUSSE_OK;
}

/* OpenBLAS waits forever for memory that it cannot get (linalg/blas.h). What was left when the
 * model and the optimizer asked may have been taken since. */
static mousse_status check_products(const train_session *s, mo_error *error)
{
  const int threads = options_threads(s->run);
  if (mo_blas_fits_memory(threads)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY,
                 "no memory for the BLAS library's own buffers on %s; try fewer --threads, or "
                 "a smaller --device-batch-size",
                 MO_COUNT(threads, "thread"));
}

static mousse_status open_at(train_session *s, const run_position *at,
                             const run_notices *notices, mo_error *error)
{
  const mousse_comm *comm = s->comm;
  if (at->found) memcpy(s->options.scalar_opt, at->scalar_opt, sizeof at->scalar_opt);
  MO_TRY(mo_ranks_agree(comm, options_resolve(&s->options, &at->config, error), error));
  MO_TRY(mo_ranks_agree(comm, run_data_open(&s->data, s->run, &at->config, error), error));
  MO_TRY(compare_data(s, error));
  MO_TRY(MO_FIRST_RANK(comm, compare_with_weights(s, at, notices, error), error));
  MO_TRY(mo_ranks_spread(comm, &s->state, sizeof s->state, error));
  if (session_is_over(s)) return MOUSSE_OK;
  MO_TRY(open_model(s, &at->config, notices, error));
  MO_TRY(MO_FIRST_RANK(comm, check_room(s, at->found, notices, error), error));
  MO_TRY(open_writer(s, notices, error));
  MO_TRY(load_weights(s, at, notices, error));
  MO_TRY(mo_ranks_agree(comm, check_products(s, error), error));
  if (!at->is_new) return MOUSSE_OK;
  return MO_FIRST_RANK(comm, make_directory(s, notices, error), error);
}

static mousse_status open_all(train_session *s, const run_notices *notices, mo_error *error)
{
  run_position at = {0};
  MO_TRY(options_check(s->given, error));
  MO_TRY(MO_FIRST_RANK(s->comm, find_position(s, notices, &at, error), error));
  MO_TRY(mo_ranks_spread(s->comm, &at, sizeof at, error));
  return open_at(s, &at, notices, error);
}

mousse_status session_open(train_session *s, const train_options *run, const mousse_comm *comm,
                           const run_notices *notices, mo_error *error)
{
  *s = (train_session){.given = run,
                       .options = *run,
                       .run = &s->options,
                       .comm = comm,
                       .lock.descriptor = -1,
                       .state = trainer_state_start()};
  const mousse_status status = open_all(s, notices, error);
  if (status != MOUSSE_OK) session_close(s);
  return status;
}

void session_close(train_session *s)
{
  background_save_close(&s->writer);
  gradient_close(&s->gradient);
  step_inputs_close(&s->inputs);
  average_close(&s->average);
  groups_close(&s->groups);
  gpt_pass_destroy(s->pass);
  gpt_params_destroy(s->params);
  run_data_close(&s->data);
  run_lock_release(&s->lock);
  *s = (train_session){.lock.descriptor = -1};
}
