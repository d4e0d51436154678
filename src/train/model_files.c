/* model_files.c - from what a user names to files. */
#include "train/model_files.h"

#include "base/file.h"
#include "train/checkpoint.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static mousse_status find_in_run(model_files *files, const char *path, const char *root,
                                 const run_notices *notices, mo_error *error)
{
  uint64_t step = 0;
  bool found = false;
  MO_TRY(checkpoint_newest(root, notices, &step, &found, error));
  if (!found)
    return mo_fail(error, MOUSSE_IO,
                   "%s: neither model.safetensors nor a checkpoint is in it; expected a run, a "
                   "checkpoint or a safetensors file",
                   path);
  snprintf(files->run, sizeof files->run, "%s", path);
  return checkpoint_path(files->folder, sizeof files->folder, root, step, CHECKPOINT_FINAL,
                         error);
}

mousse_status model_files_find(model_files *files, const char *path, const run_notices *notices,
                               mo_error *error)
{
  char root[4096];
  *files = (model_files){.run = ""};
  if (path[0] == '\0')
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "init is not set: give a run, a checkpoint or a safetensors file");
  if (!is_directory(path)) {
    snprintf(files->weights, sizeof files->weights, "%s", path);
    return mo_path_parent(files->folder, sizeof files->folder, path, error);
  }
  MO_TRY(mo_path_join(files->weights, sizeof files->weights, path, "model.safetensors", error));
  MO_TRY(mo_path_join(root, sizeof root, path, CHECKPOINT_FOLDER, error));
  if (access(files->weights, F_OK) == 0)
    snprintf(files->folder, sizeof files->folder, "%s", path);
  else
    MO_TRY(find_in_run(files, path, root, notices, error));
  return mo_path_join(files->weights, sizeof files->weights, files->folder, "model.safetensors",
                      error);
}

mousse_status model_files_config(const model_files *files, gpt_config *config, mo_error *error)
{
  char path[4096];
  MO_TRY(mo_path_join(path, sizeof path, files->folder, "config.json", error));
  return gpt_load_config(config, path, error);
}

mousse_status model_files_load(const model_files *files, gpt_params **params, mo_error *error)
{
  gpt_config config = {0};
  MO_TRY(model_files_config(files, &config, error));
  MO_TRY(gpt_params_create(params, &config, false, NULL, error));
  const mousse_status status = gpt_load_weights(*params, files->weights, error);
  if (status == MOUSSE_OK) return MOUSSE_OK;
  gpt_params_destroy(*params);
  *params = NULL;
  return status;
}
