/* branch.c - copies what makes a run. */
#include "train/branch.h"

#include "base/directory.h"
#include "base/file.h"
#include "support/run_directory.h"
#include "support/run_lock.h"
#include "train/checkpoint.h"
#include "train/history.h"
#include "train/manifest.h"
#include "train/metrics.h"
#include "train/model_files.h"
#include "train/run_paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that is not there is no failure: tokenizers and averages may be missing. */
static mousse_status copy_file(const char *from, const char *to, const char *name,
                               mo_error *error)
{
  char source[4096], target[4096];
  mo_map map;
  MO_TRY(mo_path_join(source, sizeof source, from, name, error));
  MO_TRY(mo_path_join(target, sizeof target, to, name, error));
  if (access(source, F_OK) != 0) return MOUSSE_OK;
  MO_TRY(mo_map_open(&map, source, error));
  const mousse_status status = mo_file_write(target, map.data, map.size, error);
  mo_map_close(&map);
  return status;
}

/* The options are those under which `step` was made, and name the new directory: given as --config,
 * they must not lead to the old run. */
static mousse_status copy_options(const char *from, const char *out, uint64_t step,
                                  mo_error *error)
{
  char source[4096], target[4096];
  train_options run;
  MO_TRY(mo_path_join(source, sizeof source, from, "config.yaml", error));
  MO_TRY(mo_path_join(target, sizeof target, out, "config.yaml", error));
  const bool there = access(source, F_OK) == 0;
  MO_TRY(options_defaults(&run, error));
  if (there) MO_TRY(options_read(&run, source, NULL, error));
  run_paths_from_here(&run, from); /* where `out` begins */
  MO_TRY(history_copy(from, out, step, &run, error));
  if (!there) return MOUSSE_OK;
  MO_TRY(options_set(&run, "out", out, NULL, error));
  run.checkpoint_dir[0] = '\0';
  return options_write(&run, target, error);
}

static mousse_status copy_checkpoint(const char *folder, const char *root, uint64_t step,
                                     mo_error *error)
{
  char making[4096], final[4096];
  const char *name = NULL;
  MO_TRY(checkpoint_path(making, sizeof making, root, step, CHECKPOINT_MAKING, error));
  MO_TRY(checkpoint_path(final, sizeof final, root, step, CHECKPOINT_FINAL, error));
  MO_TRY(mo_make_directories(making, error));
  for (size_t i = 0; (name = checkpoint_file(i)) != NULL; i++)
    MO_TRY(copy_file(folder, making, name, error));
  MO_TRY(copy_file(folder, making, MANIFEST_NAME, error));
  if (rename(making, final) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot rename: %s", final, strerror(errno));
  MO_TRY(mo_sync_parent(final, error));
  return checkpoint_verify(root, step, error);
}

/* The step of a checkpoint by the name of its folder, and its run. */
static mousse_status find_step(model_files *files, uint64_t *step, mo_error *error)
{
  char root[4096], again[4096];
  const char *name = mo_path_name(files->folder);
  MO_TRY(mo_path_parent(root, sizeof root, files->folder, error));
  MO_TRY(mo_path_parent(files->run, sizeof files->run, root, error));
  *step = strncmp(name, "step-", 5) == 0 ? strtoull(name + 5, NULL, 10) : 0;
  MO_TRY(checkpoint_path(again, sizeof again, root, *step, CHECKPOINT_FINAL, error));
  if (strcmp(again, files->folder) == 0) return checkpoint_verify(root, *step, error);
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: is not a checkpoint of a run; name RUN, RUN@STEP or RUN@best",
                 files->folder);
}

static mousse_status copy_all(const model_files *files, const char *out, uint64_t step,
                              mo_error *error)
{
  char root[4096];
  MO_TRY(mo_path_join(root, sizeof root, out, CHECKPOINT_FOLDER, error));
  MO_TRY(mo_make_directories(root, error));
  MO_TRY(copy_options(files->run, out, step, error));
  MO_TRY(metrics_copy(files->run, out, step, error));
  return copy_checkpoint(files->folder, root, step, error);
}

static bool is_copied(const char *name)
{
  return mo_is_file_of(name, "config.yaml") || mo_is_file_of(name, "metrics.jsonl") ||
         mo_is_file_of(name, HISTORY_NAME);
}

/* Of a branch that could not be made: the same command must find its directory as it was. */
static void take_back(const char *out, uint64_t step, bool existed)
{
  char path[4096];
  if (mo_path_join(path, sizeof path, out, CHECKPOINT_FOLDER, NULL) != MOUSSE_OK) return;
  checkpoint_remove(path, step, CHECKPOINT_MAKING, NULL);
  checkpoint_remove(path, step, CHECKPOINT_FINAL, NULL);
  rmdir(path);
  mo_directory_clear(out, is_copied, NULL);
  if (mo_path_join(path, sizeof path, out, MO_LOCK_NAME, NULL) == MOUSSE_OK) unlink(path);
  if (!existed) rmdir(out);
}

mousse_status branch_run(const char *from, const char *out, uint64_t *step,
                         const run_notices *notices, mo_error *error)
{
  model_files files;
  run_lock lock;
  MO_TRY(model_files_find(&files, from, notices, error));
  MO_TRY(find_step(&files, step, error));
  if (!run_directory_is_free(out))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s: exists already; a branch needs a directory of its own", out);
  const bool existed = access(out, F_OK) == 0;
  MO_TRY(run_directory_take(out, error));
  MO_TRY(run_lock_take(&lock, out, error));
  const mousse_status status = copy_all(&files, out, *step, error);
  if (status != MOUSSE_OK) take_back(out, *step, existed);
  run_lock_release(&lock);
  return status;
}
