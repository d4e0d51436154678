/* cmd_checkpoint.c - mousse checkpoint: list, verify and export the checkpoints of a run. */
#include "base/file.h"
#include "base/staging.h"
#include "cli/run_options.h"
#include "train/checkpoint.h"
#include "train/model_files.h"

#include <stdio.h>
#include <string.h>

typedef struct values {
  char out[MO_SETTING_PATH];
} values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(values, out, "", "export: directory to write (required)"),
};

static mousse_status open_list(const char *run, char *root, size_t capacity,
                               checkpoint_list *list, mo_error *error)
{
  MO_TRY(mo_path_join(root, capacity, run, CHECKPOINT_FOLDER, error));
  MO_TRY(checkpoint_list_open(list, root, error));
  if (list->count > 0) return MOUSSE_OK;
  checkpoint_list_close(list);
  return mo_fail(error, MOUSSE_IO, "%s: there are no checkpoints", root);
}

static mousse_status print_list(const char *run, mo_error *error)
{
  char root[4096], path[4096];
  checkpoint_list list;
  MO_TRY(open_list(run, root, sizeof root, &list, error));
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; i < list.count && status == MOUSSE_OK; i++) {
    status = checkpoint_path(path, sizeof path, root, list.steps[i], CHECKPOINT_FINAL, error);
    if (status == MOUSSE_OK) printf("%s\n", path);
  }
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

static mousse_status write_model(const gpt_params *params, const model_files *files,
                                 const char *out, mo_error *error)
{
  char path[4096];
  mo_tokenizer tokenizer = {0};
  MO_TRY(mo_path_join(path, sizeof path, out, "model.safetensors", error));
  MO_TRY(gpt_save_weights(params, path, error));
  MO_TRY(mo_path_join(path, sizeof path, out, "config.json", error));
  MO_TRY(gpt_save_config(&params->config, path, error));
  if (tokenizer_open(&tokenizer, files->folder, NULL) != MOUSSE_OK) return MOUSSE_OK;
  mousse_status status = mo_path_join(path, sizeof path, out, "tokenizer.json", error);
  if (status == MOUSSE_OK) status = tokenizer_save(&tokenizer, path, error);
  tokenizer_close(&tokenizer);
  return status;
}

static bool is_model_file(const char *name)
{
  return mo_is_file_of(name, "model.safetensors") || mo_is_file_of(name, "config.json") ||
         mo_is_file_of(name, "tokenizer.json");
}

/* The directory appears when all of it is written. */
static mousse_status export_model(const char *init, const char *out, const run_notices *notices,
                                  mo_error *error)
{
  model_files files;
  mo_staging place;
  gpt_params *params = NULL;
  if (out[0] == '\0')
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "checkpoint export needs --out DIRECTORY");
  MO_TRY(model_files_find(&files, init, notices, error));
  MO_TRY(model_files_load(&files, &params, error));
  mousse_status status = mo_staging_open(&place, out, is_model_file, error);
  if (status == MOUSSE_OK) {
    status = write_model(params, &files, place.partial, error);
    if (status == MOUSSE_OK)
      status = mo_staging_commit(&place, error);
    else
      mo_staging_abandon(&place);
  }
  gpt_params_destroy(params);
  if (status == MOUSSE_OK) printf("%s: weights of %s\n", out, files.weights);
  return status;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const values *v = call->values;
  const char *action = call->arguments[0], *path = call->arguments[1];
  const run_notices *notices = call->quiet ? &run_notices_none : &run_notices_print;
  if (strcmp(action, "list") == 0) return print_list(path, error);
  if (strcmp(action, "verify") == 0) return verify(path, error);
  if (strcmp(action, "export") == 0) return export_model(path, v->out, notices, error);
  return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                 "checkpoint cannot '%s'; it can list, verify and export", action);
}

const cli_command command_checkpoint = {
    .name = "checkpoint",
    .summary = "List, verify or export the checkpoints of a run",
    .arguments = "list|verify|export RUN",
    .details = "list prints their paths, oldest first; verify reads every byte of every one;\n"
               "export writes model, configuration and tokenizer of the newest, without the\n"
               "optimizer's state.\n\n"
               "  mousse checkpoint verify runs/book\n"
               "  mousse checkpoint export runs/book --out book-model\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(values),
    .least_arguments = 2,
    .most_arguments = 2,
    .run = run,
};
