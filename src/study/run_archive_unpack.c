/* run_archive_unpack.c - finished runs from a file, made run directories again. */
#include "base/file.h"
#include "base/lines.h"
#include "study/archived_run.h"
#include "support/run_directory.h"
#include "support/run_lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_ARCHIVE = 1 << 30 };

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

/* result.json last: until it is there, the run has not ended. */
static mousse_status fill(archived_run *run, const char *directory, mo_error *error)
{
  MO_TRY(options_set(&run->options, "out", directory, NULL, error));
  MO_TRY(options_set(&run->config, "out", directory, NULL, error));
  MO_TRY(write_text(directory, "metrics.jsonl", run->metrics, error));
  MO_TRY(write_options(&run->config, directory, "config.yaml", error));
  MO_TRY(write_options(&run->options, directory, "run.yaml", error));
  return run_result_write(&run->result, directory, error);
}

/* One that was begun here and has not ended, or was being unpacked when a kill came, is as the
 * archive has it: otherwise it would be made again, and be missing in the archive until then. */
static mousse_status make_run(archived_run *run, const archived_study *study, mo_error *error)
{
  char directory[MO_SETTING_PATH], result[MO_SETTING_PATH];
  run_lock lock;
  MO_TRY(mo_path_join(directory, sizeof directory, study->runs, run->name, error));
  MO_TRY(mo_path_join(result, sizeof result, directory, "result.json", error));
  if (access(result, F_OK) == 0) return MOUSSE_OK;
  MO_TRY(run_directory_take(directory, error));
  MO_TRY(run_lock_take(&lock, directory, error));
  const mousse_status status = fill(run, directory, error);
  run_lock_release(&lock);
  return status;
}

typedef struct archive_reader {
  const archived_study *study;
  archived_run *run; /* too large for a stack */
} archive_reader;

static mousse_status unpack_line(void *context, const char *text, size_t size, mo_error *error)
{
  const archive_reader *reader = context;
  MO_TRY(archived_run_read(reader->run, reader->study, text, size, error));
  const mousse_status status = make_run(reader->run, reader->study, error);
  archived_run_release(reader->run);
  return status;
}

static mousse_status unpack(const archived_study *study, const char *path, const char *text,
                            size_t size, mo_error *error)
{
  archive_reader reader = {study, mo_allocate(NULL, sizeof *reader.run)};
  if (reader.run == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to read it", path);
  const mousse_status status = mo_lines_take(path, text, size, unpack_line, &reader, error);
  mo_release(NULL, reader.run, sizeof *reader.run);
  return status;
}

mousse_status run_archive_unpack(const archived_study *study, const char *path, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  if (access(path, F_OK) != 0 && errno == ENOENT) return MOUSSE_OK;
  MO_TRY(mo_file_read(NULL, path, LARGEST_ARCHIVE, &text, &size, error));
  const mousse_status status = unpack(study, path, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}
