/* run_archive_unpack.c - finished runs from a file, made run directories again. */
#include "base/file.h"
#include "study/run_archive.h"
#include "study/run_result.h"
#include "study/runs.h"
#include "support/run_directory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_ARCHIVE = 1 << 30 };

/* One line of the file, read. */
typedef struct archived_run {
  const char *name, *metrics; /* borrowed from the line */
  train_options options;
  run_result result;
} archived_run;

static mousse_status bad(const char *what, mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s", what);
}

static mousse_status take_options(archived_run *run, const archived_study *study,
                                  const json_t *object, mo_error *error)
{
  const char *key = NULL;
  json_t *value = NULL;
  char data_dir[MO_SETTING_PATH];
  train_options *options = &run->options;
  MO_TRY(options_defaults(options, error));
  json_object_foreach((json_t *)(uintptr_t)object, key, value)
  {
    if (!json_is_string(value)) return bad("the value of an option is not a text", error);
    MO_TRY(options_set(options, key, json_string_value(value), NULL, error));
  }
  if (options->data_dir[0] != '@') return MOUSSE_OK;
  MO_TRY(mo_path_join(data_dir, sizeof data_dir, study->directory,
                      options->data_dir + strspn(options->data_dir, "@/"), error));
  return options_set(options, "data_dir", data_dir, NULL, error);
}

static bool is_name(const char *name)
{
  return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL &&
         strlen(name) < STUDY_NAME;
}

static mousse_status take_line(archived_run *run, const archived_study *study,
                               const json_t *line, mo_error *error)
{
  const json_t *options = json_object_get(line, "options");
  run->name = json_string_value(json_object_get(line, "name"));
  run->metrics = json_string_value(json_object_get(line, "metrics"));
  if (run->name == NULL || !is_name(run->name)) return bad("it has no name of a run", error);
  if (run->metrics == NULL || !json_is_object(options))
    return bad("it lacks options or metrics", error);
  MO_TRY(run_result_take(&run->result, json_object_get(line, "result"), "result", error));
  return take_options(run, study, options, error);
}

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
static mousse_status make_run(archived_run *run, const archived_study *study, mo_error *error)
{
  char directory[MO_SETTING_PATH];
  MO_TRY(mo_path_join(directory, sizeof directory, study->runs, run->name, error));
  if (!run_directory_is_free(directory)) return MOUSSE_OK;
  MO_TRY(options_set(&run->options, "out", directory, NULL, error));
  MO_TRY(run_directory_take(directory, error));
  MO_TRY(write_text(directory, "metrics.jsonl", run->metrics, error));
  MO_TRY(write_options(&run->options, directory, "config.yaml", error));
  MO_TRY(write_options(&run->options, directory, "run.yaml", error));
  return run_result_write(&run->result, directory, error);
}

static mousse_status unpack_line(const archived_study *study, const char *text, size_t size,
                                 archived_run *run, mo_error *error)
{
  json_error_t reason;
  json_t *line = json_loadb(text, size, JSON_REJECT_DUPLICATES, &reason);
  if (line == NULL) return mo_fail(error, MOUSSE_BAD_FORMAT, "not JSON: %s", reason.text);
  mousse_status status = take_line(run, study, line, error);
  if (status == MOUSSE_OK) status = make_run(run, study, error);
  json_decref(line);
  return status;
}

static mousse_status unpack(const archived_study *study, const char *path, const char *text,
                            size_t size, mo_error *error)
{
  mousse_status status = MOUSSE_OK;
  size_t number = 0;
  archived_run *run = mo_allocate(NULL, sizeof *run);
  if (run == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to read it", path);
  for (const char *line = text, *end = text + size; line < end && status == MOUSSE_OK;) {
    mo_error reason = {{0}};
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *next = newline != NULL ? newline + 1 : end;
    status = unpack_line(study, line, (size_t)(next - line), run, &reason);
    number++;
    if (status != MOUSSE_OK)
      mo_fail(error, status, "%.300s: line %zu: %.160s", path, number, reason.text);
    line = next;
  }
  mo_release(NULL, run, sizeof *run);
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
