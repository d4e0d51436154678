/* run_archive_unpack.c - finished runs from a file, made run directories again. */
#include "base/file.h"
#include "study/archive_reader.h"
#include "support/json_lines.h"
#include "support/run_directory.h"
#include "support/run_lock.h"
#include "train/history.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static mousse_status write_text(const char *directory, const char *name, const char *text,
                                mo_error *error)
{
  char path[MO_SETTING_PATH];
  MO_TRY(mo_path_join(path, sizeof path, directory, name, error));
  return mo_file_write(path, text, strlen(text), error);
}

static mousse_status write_options(const train_options *options, const char *directory,
                                   const char *name, mo_error *error)
{
  char path[MO_SETTING_PATH];
  MO_TRY(mo_path_join(path, sizeof path, directory, name, error));
  return options_write(options, path, error);
}

/* What the run's history told of its data, so that it can be packed again. One of a run that was
 * begun here tells nothing about this one. */
static mousse_status write_data(const archived_run *run, const char *directory, mo_error *error)
{
  char path[MO_SETTING_PATH];
  MO_TRY(mo_path_join(path, sizeof path, directory, HISTORY_NAME, error));
  if (run->train == NULL) {
    unlink(path);
    return MOUSSE_OK;
  }
  char *line =
      json_line(json_pack("{s:i, s:{s:s, s:s, s:s?}}", "step", 0, "data", "directory",
                          run->options.data_dir, "train", run->train, "val", run->val));
  if (line == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%.300s: no memory for it", path);
  const mousse_status status = mo_file_write(path, line, strlen(line), error);
  free(line);
  return status;
}

/* result.json last: until it is there, the run has not ended. */
static mousse_status fill(archived_run *run, const char *directory, mo_error *error)
{
  MO_TRY(options_set(&run->options, "out", directory, NULL, error));
  MO_TRY(options_set(&run->config, "out", directory, NULL, error));
  MO_TRY(write_text(directory, "metrics.jsonl", run->metrics, error));
  MO_TRY(write_data(run, directory, error));
  MO_TRY(write_options(&run->config, directory, "config.yaml", error));
  MO_TRY(write_options(&run->options, directory, "run.yaml", error));
  return run_result_write(&run->result, directory, error);
}

/* One that was begun here and has not ended, or was being unpacked when a kill came, is as the
 * archive has it: otherwise it would be made again, and be missing in the archive until then. */
static mousse_status make_run(void *user, archived_run *run, mo_error *error)
{
  const archived_study *study = user;
  char directory[MO_SETTING_PATH];
  run_lock lock;
  MO_TRY(mo_path_join(directory, sizeof directory, study->runs, run->name, error));
  MO_TRY(run_directory_take(directory, error));
  MO_TRY(run_lock_take(&lock, directory, error));
  const mousse_status status = fill(run, directory, error);
  run_lock_release(&lock);
  return status;
}

mousse_status run_archive_unpack(const archived_study *study, const char *path,
                                 const run_notices *notices, mo_error *error)
{
  archived_study where = *study;
  return archive_read(study, path, notices, make_run, &where, error);
}
