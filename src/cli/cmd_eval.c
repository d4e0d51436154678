/* cmd_eval.c - mousse eval: the loss of a model on validation shards.
 *
 * Every full window in order: window i has the tokens i T .. i T + T - 1 and, as targets, those
 * one later.
 */
#include "base/file.h"
#include "base/wording.h"
#include "cli/next_step.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "comm/comm.h"
#include "support/json_lines.h"
#include "train/evaluate.h"
#include "train/model_files.h"
#include "train/run_data.h"
#include "train/run_paths.h"
#include "train/tokenizers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct eval_values {
  char init[MO_SETTING_PATH], data_dir[MO_SETTING_PATH];
  int split;
  int64_t sequence_length, device_batch_size, val_tokens, threads;
  bool separate_documents, allow_other_tokenizer, json;
} eval_values;

static const char *const split_names[] = {"val", "train", NULL};

static const mo_setting rows[] = {
    MO_SETTING_TEXT(
        eval_values, init, "",
        "a run, a checkpoint, a model folder (ours or Hugging Face's) or a file of weights "
        "(required)"),
    MO_SETTING_TEXT(eval_values, data_dir, "",
                    "directory of token shards; by default the run's"),
    MO_SETTING_CHOICE(eval_values, split, "val", split_names, "which shards"),
    MO_SETTING_INTEGER(eval_values, sequence_length, "0", 0, 1048576,
                       "tokens in a window; 0: the model's context"),
    MO_SETTING_INTEGER(eval_values, device_batch_size, "8", 1, 1e6,
                       "windows computed at a time"),
    MO_SETTING_INTEGER(eval_values, val_tokens, "0", 0, 1e15,
                       "stop after this many tokens; 0: all"),
    MO_SETTING_INTEGER(eval_values, threads, "0", 0, 1024, "threads; 0: one per core"),
    MO_SETTING_SWITCH(
        eval_values, separate_documents, "false",
        "keep attention within one document; a run's own data is scored as in the run"),
    MO_SETTING_SWITCH(eval_values, allow_other_tokenizer, "false",
                      "score even if the data's tokenizer is not the model's"),
    MO_SETTING_SWITCH(eval_values, json, "false",
                      "print {\"loss\": nats, \"perplexity\": ..., \"tokens\": ...}"),
};

/* The data directory: as given, or from the run's own configuration. */
static mousse_status find_data(const eval_values *v, const model_files *files,
                               train_options *run, mo_error *error)
{
  char path[4096];
  MO_TRY(options_defaults(run, error));
  if (v->data_dir[0] != '\0') return options_set(run, "data_dir", v->data_dir, NULL, error);
  if (files->run[0] != '\0') {
    MO_TRY(mo_path_join(path, sizeof path, files->run, "config.yaml", error));
    if (access(path, F_OK) == 0) MO_TRY(options_read(run, path, NULL, error));
    run_paths_from_here(run, files->run);
  }
  if (run->data_dir[0] != '\0') return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "no data: give --data-dir DIRECTORY; only a run's are known, as --init RUN or "
                 "RUN@STEP names it");
}

static void tick(void *user, uint64_t done, uint64_t all)
{
  cli_progress *bar = user;
  bar->total = (double)all;
  progress_update(bar, (double)done);
}

static mousse_status score(const eval_values *v, gpt_params *params, const shard_set *set,
                           const uint32_t *byte_lengths, uint32_t document_token, bool quiet,
                           evaluation *result, mo_error *error)
{
  const size_t length =
      v->sequence_length > 0 ? (size_t)v->sequence_length : params->config.sequence_len;
  const gpt_shape shape = {(size_t)v->device_batch_size, length, (int)v->threads, false, false};
  mo_loader loader = {0};
  gpt_pass *pass = NULL;
  MO_TRY(loader_open(&loader, set, length, 1, LOADER_SEQUENTIAL, 0, error));
  loader.document_token = document_token;
  mousse_status status = gpt_pass_create(&pass, params, &shape, NULL, error);
  cli_progress bar = progress_start("eval", "window", 1, 0, quiet);
  if (status == MOUSSE_OK)
    status = evaluate(&loader, pass, &mo_comm_self, shape.batch,
                      evaluation_windows(&loader, (uint64_t)v->val_tokens), byte_lengths, tick,
                      &bar, result, error);
  progress_line_clear(&bar.line);
  gpt_pass_destroy(pass);
  loader_close(&loader);
  return status;
}

static void print_json(const evaluation *r)
{
  char *line =
      json_line(json_pack("{s:o, s:o, s:o, s:I}", "loss", json_finite(r->loss), "perplexity",
                          json_finite(exp(r->loss)), "bits_per_byte",
                          json_finite(r->bits_per_byte), "tokens", (json_int_t)r->tokens));
  if (line != NULL) fputs(line, stdout);
  free(line);
}

static void print_text(const evaluation *r)
{
  char text[256], bits[64] = "";
  if (isfinite(r->bits_per_byte))
    snprintf(bits, sizeof bits, ", %.6f bits per byte", r->bits_per_byte);
  snprintf(text, sizeof text, "loss %.6f nats per token, perplexity %.4f%s, over %s", r->loss,
           exp(r->loss), bits, MO_COUNT(r->tokens, "token"));
  if (terminal_is(stdout))
    terminal_wrap(stdout, text, 0, terminal_columns(stdout) - 1);
  else
    printf("%s\n", text);
}

/* A loss that is not a number is no result. */
static mousse_status report(const evaluation *r, bool json, const char *weights,
                            mo_error *error)
{
  if (json)
    print_json(r);
  else if (isfinite(r->loss))
    print_text(r);
  if (isfinite(r->loss)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NOT_FINITE, "%s: the loss is not finite: its weights are broken",
                 weights);
}

/* The data with their tokenizer, which must be the model's. */
static mousse_status score_data(const eval_values *v, const model_files *files,
                                const train_options *run, gpt_params *params, bool quiet,
                                evaluation *result, mo_error *error)
{
  const char *data_dir = run->data_dir;
  uint32_t document_token = LOADER_NONE;
  const run_notices *notices = quiet ? &run_notices_none : &run_notices_print;
  const size_t vocabulary = params->config.vocab_size;
  char first[4096];
  mo_tokenizer tokenizer = {0};
  shard_set set = {0};
  uint32_t *lengths = NULL;
  mousse_status status =
      shard_set_open(&set, data_dir, split_names[v->split], (uint32_t)vocabulary, error);
  if (status == MOUSSE_OK) status = run_data_first(data_dir, first, sizeof first, error);
  if (status == MOUSSE_OK && tokenizer_exists(first)) {
    status = tokenizer_open(&tokenizer, first, error);
    if (status == MOUSSE_OK)
      status = tokenizer_check(&tokenizer, data_dir, files->folder, v->allow_other_tokenizer,
                               notices, error);
    if (status == MOUSSE_OK) lengths = tokenizer_byte_lengths(&tokenizer, vocabulary);
  }
  if (status == MOUSSE_OK && (v->separate_documents || run->separate_documents))
    status = run_data_document_token(data_dir, tokenizer.tokens.count > 0 ? &tokenizer : NULL,
                                     &document_token, error);
  if (status == MOUSSE_OK)
    status = score(v, params, &set, lengths, document_token, quiet || v->json, result, error);
  mo_release(NULL, lengths, vocabulary * sizeof *lengths);
  tokenizer_close(&tokenizer);
  shard_set_close(&set);
  return status;
}

/* A model without a tokenizer of its own writes with that of the data. */
static void suggest(const cli_invocation *call, const model_files *files, const char *data_dir)
{
  const eval_values *v = call->values;
  char first[4096] = "";
  const bool own = tokenizer_exists(files->folder);
  if (!own && (run_data_first(data_dir, first, sizeof first, NULL) != MOUSSE_OK ||
               !tokenizer_exists(first)))
    return;
  next_step_model(call, "generate", v->init, own ? "" : first);
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const eval_values *v = call->values;
  const run_notices *notices = call->quiet ? &run_notices_none : &run_notices_print;
  model_files files;
  train_options of_model;
  gpt_params *params = NULL;
  evaluation result = {0};
  MO_TRY(model_files_find(&files, v->init, notices, error));
  MO_TRY(find_data(v, &files, &of_model, error));
  MO_TRY(model_files_load(&files, &params, error));
  const mousse_status status =
      score_data(v, &files, &of_model, params, call->quiet, &result, error);
  gpt_params_destroy(params);
  if (status != MOUSSE_OK) return status;
  MO_TRY(report(&result, v->json, files.weights, error));
  if (!v->json) suggest(call, &files, of_model.data_dir);
  return MOUSSE_OK;
}

const cli_command command_eval = {
    .name = "eval",
    .summary = "Score a model on validation shards",
    .arguments = "",
    .details = "  mousse eval --init runs/book\n"
               "  mousse eval --init model.safetensors --data-dir data/book --json\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(eval_values),
    .run = run,
};
