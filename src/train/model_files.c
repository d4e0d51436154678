/* model_files.c - from what a user names to files. */
#include "train/model_files.h"

#include "base/file.h"
#include "formats/formats.h"
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

/* One file, or the index of several. */
static mousse_status find_in_folder(model_files *files, const char *path, bool *found,
                                    mo_error *error)
{
  static const char *const names[] = {"model.safetensors", "model.safetensors.index.json"};
  for (size_t i = 0; i < 2 && !*found; i++) {
    MO_TRY(mo_path_join(files->weights, sizeof files->weights, path, names[i], error));
    *found = access(files->weights, F_OK) == 0;
  }
  if (*found) snprintf(files->folder, sizeof files->folder, "%s", path);
  return MOUSSE_OK;
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
  MO_TRY(mo_path_join(root, sizeof root, path, CHECKPOINT_FOLDER, error));
  bool found = false;
  MO_TRY(find_in_folder(files, path, &found, error));
  if (found) return MOUSSE_OK;
  MO_TRY(find_in_run(files, path, root, notices, error));
  return mo_path_join(files->weights, sizeof files->weights, files->folder, "model.safetensors",
                      error);
}

static model_place place_of(const model_files *files)
{
  return (model_place){files->folder, files->weights};
}

mousse_status model_files_config(const model_files *files, gpt_config *config, mo_error *error)
{
  const model_place place = place_of(files);
  return format_read_config(&place, config, error);
}

mousse_status model_files_weights(const model_files *files, gpt_params *params, mo_error *error)
{
  const model_place place = place_of(files);
  return format_read_weights(&place, params, error);
}

mousse_status model_files_load(const model_files *files, gpt_params **params, mo_error *error)
{
  gpt_config config = {0};
  MO_TRY(model_files_config(files, &config, error));
  MO_TRY(gpt_params_create(params, &config, false, NULL, error));
  const mousse_status status = model_files_weights(files, *params, error);
  if (status == MOUSSE_OK) return MOUSSE_OK;
  gpt_params_destroy(*params);
  *params = NULL;
  return status;
}
