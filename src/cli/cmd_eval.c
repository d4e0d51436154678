/* cmd_eval.c - mousse eval: the loss of a model on validation shards.
 *
 * Every full window in order: window i has the tokens i T .. i T + T - 1 and, as targets, those
 * one later.
 */
#include "base/file.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "comm/comm.h"
#include "train/evaluate.h"
#include "train/model_files.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

typedef struct values {
  char init[MO_SETTING_PATH], data_dir[MO_SETTING_PATH], split[16];
  int64_t sequence_length, device_batch_size, val_tokens, threads;
  bool json;
} values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(values, init, "", "a run, a checkpoint or a safetensors file (required)"),
    MO_SETTING_TEXT(values, data_dir, "", "directory of token shards; by default the run's"),
    MO_SETTING_TEXT(values, split, "val", "which shards: val or train"),
    MO_SETTING_INTEGER(values, sequence_length, "0", 0, 1048576,
                       "tokens in a window; 0: the model's context"),
    MO_SETTING_INTEGER(values, device_batch_size, "8", 1, 1e6, "windows computed at a time"),
    MO_SETTING_INTEGER(values, val_tokens, "0", 0, 1e15, "stop after this many tokens; 0: all"),
    MO_SETTING_INTEGER(values, threads, "0", 0, 1024, "threads; 0: one per core"),
    MO_SETTING_SWITCH(values, json, "false",
                      "print {\"loss\": nats, \"perplexity\": ..., \"tokens\": ...}"),
};

/* The data directory: as given, or from the run's own configuration. */
static mousse_status find_data(const values *v, const model_files *files, train_options *run,
                               mo_error *error)
{
  char path[4096];
  MO_TRY(options_defaults(run, error));
  if (v->data_dir[0] != '\0') return options_set(run, "data_dir", v->data_dir, NULL, error);
  if (files->run[0] != '\0') {
    MO_TRY(mo_path_join(path, sizeof path, files->run, "config.yaml", error));
    if (access(path, F_OK) == 0) MO_TRY(options_read(run, path, NULL, error));
  }
  if (run->data_dir[0] != '\0') return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "eval needs --data-dir DIRECTORY");
}

static void tick(void *user, uint64_t done, uint64_t all)
{
  cli_progress *bar = user;
  bar->total = (double)all;
  progress_update(bar, (double)done);
}

static mousse_status score(const values *v, gpt_params *params, const shard_set *set,
                           bool quiet, evaluation *result, mo_error *error)
{
  const size_t length =
      v->sequence_length > 0 ? (size_t)v->sequence_length : params->config.sequence_len;
  const gpt_shape shape = {(size_t)v->device_batch_size, length, (int)v->threads, false};
  const uint64_t windows = ((uint64_t)v->val_tokens + length - 1) / length;
  mo_loader loader = {0};
  gpt_pass *pass = NULL;
  MO_TRY(loader_open(&loader, set, length, 1, LOADER_SEQUENTIAL, 0, error));
  mousse_status status = gpt_pass_create(&pass, params, &shape, NULL, error);
  cli_progress bar = progress_start("windows", "scored", 1, 0, quiet);
  if (status == MOUSSE_OK)
    status =
        evaluate(&loader, pass, &mo_comm_self, shape.batch, windows, tick, &bar, result, error);
  gpt_pass_destroy(pass);
  loader_close(&loader);
  return status;
}

static void print_result(const evaluation *r, bool json)
{
  printf(json ? "{\"loss\": %.9g, \"perplexity\": %.9g, \"tokens\": %llu}\n"
              : "loss %.6f nats, perplexity %.4f, over %llu tokens\n",
         r->loss, exp(r->loss), (unsigned long long)r->tokens);
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const values *v = call->values;
  const run_notices *notices = call->quiet ? &run_notices_none : &run_notices_print;
  model_files files;
  train_options of_model;
  gpt_params *params = NULL;
  shard_set set = {0};
  evaluation result = {0};
  MO_TRY(model_files_find(&files, v->init, notices, error));
  MO_TRY(find_data(v, &files, &of_model, error));
  MO_TRY(model_files_load(&files, &params, error));
  mousse_status status = shard_set_open(&set, of_model.data_dir, v->split,
                                        (uint32_t)params->config.vocab_size, error);
  if (status == MOUSSE_OK)
    status = score(v, params, &set, call->quiet || v->json, &result, error);
  shard_set_close(&set);
  gpt_params_destroy(params);
  if (status == MOUSSE_OK) print_result(&result, v->json);
  return status;
}

const cli_command command_eval = {
    .name = "eval",
    .summary = "Score a model on validation shards",
    .arguments = "",
    .details = "  mousse eval --init runs/book\n"
               "  mousse eval --init model.safetensors --data-dir data/book --json\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(values),
    .run = run,
};
