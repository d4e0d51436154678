/* cmd_checkpoint.c - mousse checkpoint: list, verify, export and branch. */
#include "base/file.h"
#include "base/staging.h"
#include "base/wording.h"
#include "cli/next_step.h"
#include "cli/run_options.h"
#include "cli/table.h"
#include "formats/gguf.h"
#include "formats/llmc.h"
#include "support/run_directory.h"
#include "train/branch.h"
#include "train/checkpoint.h"
#include "train/model_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct checkpoint_values {
  char out[MO_SETTING_PATH];
  int format, type;
} checkpoint_values;

typedef enum export_format { EXPORT_MOUSSE, EXPORT_HF, EXPORT_GGUF, EXPORT_LLMC } export_format;
static const char *const format_names[] = {"mousse", "hf", "gguf", "llmc", NULL};

static const mo_setting rows[] = {
    MO_SETTING_TEXT(checkpoint_values, out, "",
                    "export, branch: directory to write, or file for gguf and llmc (required)"),
    MO_SETTING_CHOICE(checkpoint_values, format, "mousse", format_names,
                      "export: for mousse, Hugging Face's libraries, llama.cpp or llm.c"),
    MO_SETTING_CHOICE(
        checkpoint_values, type, "f32", number_type_names,
        "export: number format of the weights; q8_0 only with gguf, and only f32 with mousse"),
};

static mousse_status no_run(const char *run, mo_error *error)
{
  if (strrchr(run, '@') != NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s: list and verify look at all checkpoints of a run; leave out the @ and "
                   "what follows it",
                   run);
  return mo_fail(error, MOUSSE_IO,
                 "%s: there is no such directory; name the --out of 'mousse train'", run);
}

static mousse_status open_list(const char *run, char *root, size_t capacity,
                               checkpoint_list *list, mo_error *error)
{
  if (access(run, F_OK) != 0) return no_run(run, error);
  MO_TRY(mo_path_join(root, capacity, run, CHECKPOINT_FOLDER, error));
  MO_TRY(checkpoint_list_open(list, root, error));
  if (list->count > 0) return MOUSSE_OK;
  checkpoint_list_close(list);
  return checkpoint_missing(run, "has no checkpoints; name the --out of 'mousse train'", error);
}

static void add_loss(cli_table *table, double loss)
{
  if (isfinite(loss))
    table_cell(table, "%.4f", loss);
  else
    table_cell(table, "-");
}

static void add_row(cli_table *table, const checkpoint_info *info, bool best)
{
  char when[32] = "";
  struct tm parts;
  if (localtime_r(&info->time, &parts) != NULL)
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &parts);
  table_cell(table, "%llu", (unsigned long long)info->step);
  add_loss(table, info->state.loss);
  add_loss(table, checkpoint_loss(info));
  table_cell(table, "%s", best ? "best" : "");
  table_cell(table, "%s", MO_BYTES(info->bytes));
  table_cell(table, "%s", when);
}

/* The best one, or else the newest, is what one would go on with. */
static void suggest(const cli_invocation *call, const char *run, const checkpoint_list *list,
                    bool has_best)
{
  char from[MO_SETTING_PATH + 32];
  if (has_best)
    snprintf(from, sizeof from, "%s@best", run);
  else
    snprintf(from, sizeof from, "%s@%llu", run,
             (unsigned long long)list->steps[list->count - 1]);
  if (model_files_can_write(run)) next_step(call, "generate --init %s", from);
  next_step(call, "checkpoint export %s --out model", from);
}

/* One that cannot be read is named all the same. */
static mousse_status print_list(const cli_invocation *call, const char *run, mo_error *error)
{
  static const table_column columns[] = {
      {.title = "step"},     {.title = "loss"},
      {.title = "val loss"}, {.title = "", .is_text = true},
      {.title = "size"},     {.title = "made", .is_text = true, .spare = 1}};
  cli_table table = {.columns = columns, .column_count = 6};
  char root[4096];
  checkpoint_list list;
  size_t best = 0;
  mo_error reason = {{0}};
  MO_TRY(open_list(run, root, sizeof root, &list, error));
  const bool has_best = checkpoint_lowest(root, &list, &best);
  printf("in %s\n", root);
  for (size_t i = 0; i < list.count; i++) {
    checkpoint_info info;
    if (checkpoint_look_up(root, list.steps[i], &info, &reason) == MOUSSE_OK)
      add_row(&table, &info, has_best && i == best);
    else
      printf("step %llu: %s\n", (unsigned long long)list.steps[i], reason.text);
  }
  const mousse_status status = table_print(&table, error);
  if (status == MOUSSE_OK) suggest(call, run, &list, has_best);
  checkpoint_list_close(&list);
  return status;
}

/* All are looked at; the first damage is the result. */
static mousse_status verify(const char *run, mo_error *error)
{
  char root[4096];
  checkpoint_list list;
  mousse_status result = MOUSSE_OK;
  MO_TRY(open_list(run, root, sizeof root, &list, error));
  for (size_t i = 0; i < list.count; i++) {
    mo_error reason = {{0}};
    const mousse_status status = checkpoint_verify(root, list.steps[i], &reason);
    printf("step %llu: %s\n", (unsigned long long)list.steps[i],
           status == MOUSSE_OK ? "ok" : reason.text);
    if (status != MOUSSE_OK && result == MOUSSE_OK)
      result = mo_fail(error, status, "%s", reason.text);
  }
  checkpoint_list_close(&list);
  return result;
}

static mousse_status write_own(const model_export *model, const char *folder, mo_error *error)
{
  char path[4096];
  if (model->type != NUMBER_F32)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "--type %s needs another --format; mousse's own weights are f32",
                   number_type_names[model->type]);
  MO_TRY(mo_path_join(path, sizeof path, folder, "model.safetensors", error));
  MO_TRY(gpt_save_weights(model->params, path, error));
  MO_TRY(mo_path_join(path, sizeof path, folder, "config.json", error));
  MO_TRY(gpt_save_config(&model->params->config, path, error));
  if (model->tokenizer == NULL) return MOUSSE_OK;
  MO_TRY(mo_path_join(path, sizeof path, folder, "tokenizer.json", error));
  return tokenizer_save(model->tokenizer, path, error);
}

/* The directory appears when all of it is written. The names of our own files are among Hugging
 * Face's. */
static mousse_status write_folder(const model_export *model, export_format format,
                                  const char *out, mo_error *error)
{
  mo_staging place;
  MO_TRY(mo_staging_open(&place, out, hf_is_file, error));
  const mousse_status status = format == EXPORT_HF ? hf_write(model, place.partial, error)
                                                   : write_own(model, place.partial, error);
  if (status == MOUSSE_OK) return mo_staging_commit(&place, error);
  mo_staging_abandon(&place);
  return status;
}

static mousse_status write_model(const model_export *model, export_format format,
                                 const char *out, mo_error *error)
{
  if (format == EXPORT_GGUF) return gguf_write(model, out, error);
  if (format == EXPORT_LLMC) return llmc_write(model, out, error);
  return write_folder(model, format, out, error);
}

static const char *last_part(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* What is there stays as it is: a model gets a place of its own. */
static mousse_status check_free(const checkpoint_values *v, mo_error *error)
{
  const bool file = v->format == EXPORT_GGUF || v->format == EXPORT_LLMC;
  if (file ? access(v->out, F_OK) != 0 : run_directory_is_free(v->out)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: exists already and was not changed; choose another --out", v->out);
}

static mousse_status need_out(const char *action, const char *out, mo_error *error)
{
  if (out[0] != '\0') return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "checkpoint %s needs --out", action);
}

/* A damaged tokenizer is an error: a model without it would be of no use. */
static mousse_status open_tokenizer(mo_tokenizer *tokenizer, const char *folder,
                                    gpt_params *params, mo_error *error)
{
  const mousse_status status = tokenizer_open(tokenizer, folder, error);
  if (status != MOUSSE_OK) gpt_params_destroy(params);
  return status;
}

/* What reads the files that were written. */
static void suggest_model(const cli_invocation *call, const char *folder)
{
  const checkpoint_values *v = call->values;
  if (v->format == EXPORT_GGUF)
    next_step_words(call, "llama-cli -m %s", v->out);
  else if (tokenizer_exists(folder)) /* llm.c's one file does not take it along */
    next_step_model(call, "generate", v->out, v->format == EXPORT_LLMC ? folder : "");
}

static mousse_status export_model(const cli_invocation *call, const run_notices *notices,
                                  mo_error *error)
{
  const checkpoint_values *v = call->values;
  model_files files;
  gpt_params *params = NULL;
  mo_tokenizer tokenizer = {0};
  MO_TRY(need_out("export", v->out, error));
  MO_TRY(check_free(v, error));
  MO_TRY(model_files_find(&files, call->arguments[1], notices, error));
  MO_TRY(model_files_load(&files, &params, error));
  const bool found = tokenizer_exists(files.folder);
  if (found) MO_TRY(open_tokenizer(&tokenizer, files.folder, params, error));
  const model_export model = {params, found ? &tokenizer : NULL, (number_type)v->type,
                              last_part(v->out)};
  const mousse_status status = write_model(&model, (export_format)v->format, v->out, error);
  if (found) tokenizer_close(&tokenizer);
  gpt_params_destroy(params);
  if (status != MOUSSE_OK) return status;
  printf("%s: weights of %s\n", v->out, files.weights);
  suggest_model(call, files.folder);
  return MOUSSE_OK;
}

static mousse_status branch(const char *init, const char *out, const run_notices *notices,
                            mo_error *error)
{
  uint64_t step = 0;
  MO_TRY(need_out("branch", out, error));
  MO_TRY(branch_run(init, out, &step, notices, error));
  printf("%s: begins at step %s of %s\n", out, MO_NUMBER(step), init);
  return MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const checkpoint_values *v = call->values;
  const char *action = call->arguments[0], *path = call->arguments[1];
  const run_notices *notices = call->quiet ? &run_notices_none : &run_notices_print;
  if (strcmp(action, "list") == 0) return print_list(call, path, error);
  if (strcmp(action, "verify") == 0) {
    MO_TRY(verify(path, error));
    next_step(call, "train --out %s", path);
    return MOUSSE_OK;
  }
  if (strcmp(action, "export") == 0) return export_model(call, notices, error);
  if (strcmp(action, "branch") == 0) {
    MO_TRY(branch(path, v->out, notices, error));
    next_step(call, "train --out %s", v->out);
    return MOUSSE_OK;
  }
  return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                 "checkpoint has no action '%s'; choose list, verify, export or branch",
                 action);
}

const cli_command command_checkpoint = {
    .name = "checkpoint",
    .summary = "List, verify, export or branch from the checkpoints of a run",
    .arguments = "list|verify|export|branch RUN",
    .details =
        "list shows step, losses, size and time, oldest first; verify reads every byte of "
        "every checkpoint; export writes model, configuration and tokenizer without the "
        "optimizer's state; branch makes a new run that starts from a checkpoint. For both, "
        "RUN@STEP and RUN@best choose a checkpoint other than the newest. Instead of a run, "
        "export "
        "also takes a model folder (ours or Hugging Face's) or an llm.c checkpoint.\n\n"
        "  mousse checkpoint list runs/book\n"
        "  mousse checkpoint branch runs/book@1000 --out runs/book-low-lr\n"
        "  mousse checkpoint export runs/book@best --out book-model\n"
        "  mousse checkpoint export runs/book --format hf --out book-hf\n"
        "  mousse checkpoint export runs/book --format gguf --type q8_0 --out book.gguf\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(checkpoint_values),
    .least_arguments = 2,
    .most_arguments = 2,
    .run = run,
};
