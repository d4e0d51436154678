/* archive_reader.c - an archive of runs, run by run. */
#include "study/archive_reader.h"

#include "base/file.h"
#include "base/lines.h"
#include "study/run_history.h"
#include "study/study_data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct archive_reader {
  const archived_study *study;
  archive_taker take;
  void *user;
  archived_run run;
  study_data data;
  data_checksums own; /* of the study's data_dir, when they are known */
  bool own_is_known;
  size_t untold; /* runs taken that do not say which data they were made with */
} archive_reader;

static bool is_checksum(const char *text, uint64_t checksum)
{
  char expected[CHECKSUM_TEXT] = "";
  if (checksum != 0)
    snprintf(expected, sizeof expected, "%016llx", (unsigned long long)checksum);
  return strcmp(text != NULL ? text : "", expected) == 0;
}

/* Where the study was, its shards may have had another name. */
static mousse_status take_own_data(archive_reader *reader, mo_error *error)
{
  archived_run *run = &reader->run;
  const char *own = reader->study->data_dir;
  if (own == NULL || run->train == NULL || strcmp(own, run->options.data_dir) == 0)
    return MOUSSE_OK;
  if (!reader->own_is_known) MO_TRY(run_data_checksums(own, &reader->own, error));
  reader->own_is_known = true;
  if (!is_checksum(run->train, reader->own.train) || !is_checksum(run->val, reader->own.val))
    return MOUSSE_OK;
  MO_TRY(options_set(&run->options, "data_dir", own, NULL, error));
  return options_set(&run->config, "data_dir", own, NULL, error);
}

static mousse_status check_data(archive_reader *reader, mo_error *error)
{
  const archived_run *run = &reader->run;
  const made_with made = {run->name, run->options.data_dir, run->train, run->val};
  return study_data_compare(
      &reader->data, &made,
      "give the text that the archive was made with, or another --archive", error);
}

static mousse_status take_run(archive_reader *reader, mo_error *error)
{
  char directory[MO_SETTING_PATH], result[MO_SETTING_PATH];
  MO_TRY(take_own_data(reader, error));
  MO_TRY(check_data(reader, error));
  MO_TRY(
      mo_path_join(directory, sizeof directory, reader->study->runs, reader->run.name, error));
  MO_TRY(mo_path_join(result, sizeof result, directory, "result.json", error));
  if (access(result, F_OK) == 0) return MOUSSE_OK;
  reader->untold += reader->run.train == NULL;
  return reader->take(reader->user, &reader->run, error);
}

static mousse_status take_line(void *context, const char *text, size_t size, mo_error *error)
{
  archive_reader *reader = context;
  MO_TRY(archived_run_read(&reader->run, reader->study, text, size, error));
  const mousse_status status = take_run(reader, error);
  archived_run_release(&reader->run);
  return status;
}

static mousse_status read_file(archive_reader *reader, const char *path, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  if (access(path, F_OK) != 0 && errno == ENOENT) return MOUSSE_OK;
  MO_TRY(mo_file_read(NULL, path, LARGEST_ARCHIVE, &text, &size, error));
  const mousse_status status = mo_lines_take(path, text, size, take_line, reader, error);
  mo_release(NULL, text, size + 1);
  return status;
}

mousse_status archive_read(const archived_study *study, const char *path,
                           const run_notices *notices, archive_taker take, void *user,
                           mo_error *error)
{
  archive_reader *reader = mo_allocate(NULL, sizeof *reader); /* too large for a stack */
  if (reader == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to read it", path);
  reader->study = study;
  reader->take = take;
  reader->user = user;
  const mousse_status status = read_file(reader, path, error);
  if (status == MOUSSE_OK && reader->untold > 0)
    run_notify(notices,
               "%s does not say which text %zu of its runs were made with; they are taken as "
               "runs on this one",
               path, reader->untold);
  mo_release(NULL, reader, sizeof *reader);
  return status;
}
