/* model_files.c - from what a user names to files. */
#include "train/model_files.h"

#include "base/file.h"
#include "base/text.h"
#include "data/tokenizer/tokenizer.h"
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

static mousse_status no_model(const char *path, mo_error *error)
{
  return checkpoint_missing(path,
                            "has neither model.safetensors nor a checkpoint in it; expected a "
                            "run, a checkpoint, a model folder or a file of weights",
                            error);
}

/* Only some steps are kept: which? */
static mousse_status check_step(const char *path, const char *root, uint64_t step,
                                mo_error *error)
{
  char kept[256] = "", number[32];
  checkpoint_list list;
  bool found = false;
  MO_TRY(checkpoint_list_open(&list, root, error));
  for (size_t i = 0; i < list.count; i++) {
    found = found || list.steps[i] == step;
    snprintf(number, sizeof number, "%llu", (unsigned long long)list.steps[i]);
    mo_list_add(kept, sizeof kept, number);
  }
  checkpoint_list_close(&list);
  if (found) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO, "%s: has no checkpoint of step %llu; it has %s", path,
                 (unsigned long long)step, kept[0] != '\0' ? kept : "none");
}

/* The checkpoint of a run that is meant; which: "", a step or "best". */
static mousse_status choose_checkpoint(const char *path, const char *root, const char *which,
                                       const run_notices *notices, uint64_t *step,
                                       mo_error *error)
{
  bool found = false;
  int64_t number = 0;
  if (which[0] == '\0' || strcmp(which, "last") == 0) {
    MO_TRY(checkpoint_newest(root, notices, step, &found, error));
    return found ? MOUSSE_OK : no_model(path, error);
  }
  if (strcmp(which, "best") == 0) {
    MO_TRY(checkpoint_best(root, notices, step, &found, error));
    if (found) return MOUSSE_OK;
    return mo_fail(error, MOUSSE_IO, "%s: no intact checkpoint in it has a validation loss",
                   path);
  }
  if (mo_parse_integer(which, &number) && number >= 0) {
    *step = (uint64_t)number;
  } else {
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s@%s: expected a step, 'best' or 'last' after the @", path, which);
  }
  MO_TRY(check_step(path, root, *step, error));
  return checkpoint_verify(root, *step, error);
}

static mousse_status find_in_run(model_files *files, const char *path, const char *which,
                                 const run_notices *notices, mo_error *error)
{
  char root[4096];
  uint64_t step = 0;
  MO_TRY(mo_path_join(root, sizeof root, path, CHECKPOINT_FOLDER, error));
  MO_TRY(choose_checkpoint(path, root, which, notices, &step, error));
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

/* In a checkpoint: the average when there is one, since it is what was validated. */
static mousse_status choose_weights(model_files *files, const run_notices *notices,
                                    mo_error *error)
{
  char *weights = files->weights;
  MO_TRY(mo_path_join(weights, sizeof files->weights, files->folder, "ema.safetensors", error));
  if (access(weights, F_OK) == 0) {
    run_notify(notices, "%s: the average of the weights is used", files->folder);
    return MOUSSE_OK;
  }
  return mo_path_join(weights, sizeof files->weights, files->folder, "model.safetensors",
                      error);
}

static mousse_status find_in_directory(model_files *files, const char *path, const char *which,
                                       const run_notices *notices, mo_error *error)
{
  char average[4096], run[4096];
  bool found = false;
  if (which[0] == '\0') MO_TRY(find_in_folder(files, path, &found, error));
  MO_TRY(mo_path_join(average, sizeof average, path, "ema.safetensors", error));
  if (found && access(average, F_OK) != 0) return MOUSSE_OK;
  if (found) return choose_weights(files, notices, error);
  MO_TRY(mo_path_parent(run, sizeof run, path, error));
  const bool inside = strcmp(mo_path_name(path), CHECKPOINT_FOLDER) == 0;
  MO_TRY(find_in_run(files, inside ? run : path, which, notices, error));
  return choose_weights(files, notices, error);
}

mousse_status model_files_find(model_files *files, const char *path, const run_notices *notices,
                               mo_error *error)
{
  char name[4096];
  const char *at = strrchr(path, '@'), *which = "";
  *files = (model_files){.run = ""};
  if (path[0] == '\0')
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "no model: give --init and a run, a checkpoint, a model folder or a file of weights");
  snprintf(name, sizeof name, "%s", path);
  while (strlen(name) > 1 && name[strlen(name) - 1] == '/') name[strlen(name) - 1] = '\0';
  if (access(path, F_OK) != 0 && at != NULL && at > path) {
    name[at - path] = '\0';
    which = at + 1;
  }
  if (is_directory(name)) return find_in_directory(files, name, which, notices, error);
  if (access(path, F_OK) != 0)
    return mo_fail(error, MOUSSE_IO,
                   "%s: there is no such file or directory; expected a run, a checkpoint, a "
                   "model folder or a file of weights",
                   path);
  snprintf(files->weights, sizeof files->weights, "%s", path);
  return mo_path_parent(files->folder, sizeof files->folder, path, error);
}

bool model_files_can_write(const char *run)
{
  char root[4096], folder[4096];
  checkpoint_list list;
  if (mo_path_join(root, sizeof root, run, CHECKPOINT_FOLDER, NULL) != MOUSSE_OK ||
      checkpoint_list_open(&list, root, NULL) != MOUSSE_OK)
    return false;
  const bool found =
      list.count > 0 && checkpoint_path(folder, sizeof folder, root, list.steps[list.count - 1],
                                        CHECKPOINT_FINAL, NULL) == MOUSSE_OK;
  checkpoint_list_close(&list);
  return found && tokenizer_exists(folder);
}

static model_place place_of(const model_files *files)
{
  return (model_place){files->folder, files->weights};
}

/* A model larger than its weights' files is not made: every value takes two bytes at least. */
static mousse_status check_size(const model_files *files, const gpt_config *config,
                                mo_error *error)
{
  const model_place place = place_of(files);
  const size_t count = gpt_parameter_count(config);
  uint64_t bytes = 0;
  MO_TRY(format_weights_bytes(&place, &bytes, error));
  if (bytes / 2 >= count) return MOUSSE_OK;
  return mo_fail(
      error, MOUSSE_BAD_FORMAT,
      "%s: %llu bytes are too few for the %zu parameters that the config.json beside "
      "it asks for",
      files->weights, (unsigned long long)bytes, count);
}

mousse_status model_files_config(const model_files *files, gpt_config *config, mo_error *error)
{
  const model_place place = place_of(files);
  MO_TRY(format_read_config(&place, config, error));
  return check_size(files, config, error);
}

/* A model that was trained with adapters, as the one that it stands for. */
static mousse_status load_merged(const model_files *files, const gpt_config *config,
                                 gpt_params **params, mo_error *error)
{
  MO_TRY(gpt_params_create(params, config, false, NULL, error));
  const mousse_status status = gpt_load_weights(*params, files->weights, error);
  if (status == MOUSSE_OK) {
    gpt_merge_adapters(*params, 0);
    return MOUSSE_OK;
  }
  gpt_params_destroy(*params);
  *params = NULL;
  return status;
}

static mousse_status take_merged(const model_files *files, const gpt_config *config,
                                 gpt_params *params, mo_error *error)
{
  gpt_params *merged = NULL;
  MO_TRY(load_merged(files, config, &merged, error));
  const gpt_config wanted = gpt_config_base(&params->config);
  const bool fits = gpt_config_equal(&merged->config, &wanted);
  if (fits) memcpy(params->values, merged->values, merged->value_count * sizeof(float));
  gpt_params_destroy(merged);
  if (fits) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: is not a model of these sizes; 'mousse checkpoint export' writes it "
                 "without its adapters",
                 files->weights);
}

mousse_status model_files_weights(const model_files *files, gpt_params *params, mo_error *error)
{
  const model_place place = place_of(files);
  gpt_config config = {0};
  MO_TRY(model_files_config(files, &config, error));
  if (config.lora_rank > 0) return take_merged(files, &config, params, error);
  return format_read_weights(&place, params, error);
}

mousse_status model_files_load(const model_files *files, gpt_params **params, mo_error *error)
{
  gpt_config config = {0};
  MO_TRY(model_files_config(files, &config, error));
  if (config.lora_rank > 0) return load_merged(files, &config, params, error);
  MO_TRY(gpt_params_create(params, &config, false, NULL, error));
  const mousse_status status = model_files_weights(files, *params, error);
  if (status == MOUSSE_OK) return MOUSSE_OK;
  gpt_params_destroy(*params);
  *params = NULL;
  return status;
}
