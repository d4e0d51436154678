/* run_archive.c - finished runs, packed into a file. */
#include "study/run_archive.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/lines.h"
#include "study/archive_others.h"
#include "study/metrics_line.h"
#include "study/run_record.h"
#include "train/run_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { KEPT_STEPS = 32 };

static mousse_status no_memory(const char *path, mo_error *error)
{
  return mo_fail(error, MOUSSE_NO_MEMORY, "%.300s: no memory to pack it", path);
}

/* DIR/data -> @/data */
static void detach(char path[MO_SETTING_PATH], const char *directory)
{
  const size_t length = strlen(directory);
  if (strncmp(path, directory, length) != 0 || path[length] != '/') return;
  memmove(path + 1, path + length, strlen(path + length) + 1);
  path[0] = '@';
}

/* Every option with its value: a default that changes later leaves old runs as they are. With
 * `other`, those of the table that it has as well are left out. */
static mousse_status options_object(const train_options *options, const train_options *other,
                                    json_t *object, mo_error *error)
{
  char key[96], text[MO_SETTING_PATH], same[MO_SETTING_PATH];
  for (size_t i = 0; i < train_settings.count; i++) {
    const mo_setting *row = &train_settings.rows[i];
    if (!mo_setting_text(row, options, text, sizeof text))
      return mo_fail(error, MOUSSE_OUT_OF_RANGE, "option '%s' is too long to save", row->name);
    if (other != NULL && mo_setting_text(row, other, same, sizeof same) &&
        strcmp(text, same) == 0)
      continue;
    if (json_object_set_new(object, row->name, json_string(text)) != 0)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "option '%s' cannot be packed", row->name);
  }
  for (size_t i = 0; i < options->option_count; i++) {
    const train_option *option = &options->options[i];
    snprintf(key, sizeof key, "%s.%s", option->scalar ? "scalar" : "opt", option->name);
    if (json_object_set_new(object, key, json_string(option->value)) != 0)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "option '%s' cannot be packed", key);
  }
  return MOUSSE_OK;
}

/* Without what holds only where the study lies. */
static void carry(train_options *options, const archived_study *study, const char *run)
{
  run_paths_from_here(options, run); /* as the study is named now */
  options->out[0] = '\0';
  detach(options->data_dir, study->directory);
}

static mousse_status read_options(const archived_study *study, const char *run,
                                  train_options *options, mo_error *error)
{
  static const run_notices nowhere = {NULL, NULL};
  char path[MO_SETTING_PATH];
  MO_TRY(mo_path_join(path, sizeof path, run, "run.yaml", error));
  MO_TRY(options_defaults(options, error));
  MO_TRY(options_read(options, path, &nowhere, error));
  carry(options, study, run);
  return MOUSSE_OK;
}

/* config.yaml, by what differs from run.yaml. A run whose two files say the same, as one from a
 * line without "config" does, has none. */
static mousse_status take_config(const archived_study *study, const char *run,
                                 const run_record *record, const train_options *given,
                                 json_t *line, mo_error *error)
{
  train_options config = record->options;
  json_t *object = json_object();
  carry(&config, study, run);
  mousse_status status = object != NULL ? options_object(&config, given, object, error)
                                        : no_memory(record->directory, error);
  const bool same =
      options_same_list(&config, given) && json_object_size(object) == config.option_count;
  if (status == MOUSSE_OK && !same && json_object_set(line, "config", object) != 0)
    status = no_memory(record->directory, error);
  json_decref(object);
  return status;
}

static mousse_status take_options(const archived_study *study, const char *run,
                                  const run_record *record, json_t *line, bool *from_another,
                                  mo_error *error)
{
  train_options *options = mo_allocate(NULL, sizeof *options);
  if (options == NULL) return no_memory(run, error);
  mousse_status status = read_options(study, run, options, error);
  *from_another = options->init[0] != '\0';
  if (status == MOUSSE_OK)
    status = options_object(options, NULL, json_object_get(line, "options"), error);
  if (status == MOUSSE_OK) status = take_config(study, run, record, options, line, error);
  mo_release(NULL, options, sizeof *options);
  return status;
}

/* Steps are passed over so that at most 32 remain, with the telemetry that belongs to them, and
 * the last. */
typedef struct thinned {
  uint64_t stride, last;
  mo_buffer kept;
} thinned;

/* Refreshes and telemetry come every so many steps, usually a product of 2, 3 and 5: a stride
 * that shares a factor with that would meet them too often or never. A file that was thinned
 * already stays as it is. */
static uint64_t find_stride(size_t steps)
{
  uint64_t stride = steps > KEPT_STEPS + 1 ? (steps + KEPT_STEPS - 1) / KEPT_STEPS : 1;
  while (stride > 1 && (stride % 2 == 0 || stride % 3 == 0 || stride % 5 == 0)) stride++;
  return stride;
}

static mousse_status keep_line(void *context, const char *text, size_t size, mo_error *error)
{
  thinned *t = context;
  metrics_line line;
  const mousse_status status = metrics_line_read(&line, text, size, error);
  if (status == MOUSSE_BAD_FORMAT && text[size - 1] != '\n') return MOUSSE_OK; /* cut off */
  MO_TRY(status);
  const bool wanted =
      line.kind == METRICS_VALIDATION || line.step % t->stride == 0 || line.step == t->last;
  metrics_line_release(&line);
  if (wanted && !mo_buffer_add(&t->kept, text, size))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for its lines");
  return MOUSSE_OK;
}

static mousse_status take_metrics(const run_record *record, json_t *line, mo_error *error)
{
  char path[MO_SETTING_PATH];
  const size_t steps = record->step_count;
  thinned t = {.stride = find_stride(steps),
               .last = steps > 0 ? record->steps[steps - 1].step : 0};
  MO_TRY(mo_path_join(path, sizeof path, record->directory, "metrics.jsonl", error));
  mousse_status status = mo_lines_read(path, keep_line, &t, error);
  if (status == MOUSSE_OK &&
      json_object_set_new(line, "metrics",
                          json_stringn(t.kept.size > 0 ? t.kept.data : "", t.kept.size)) != 0)
    status = no_memory(path, error);
  mo_buffer_close(&t.kept);
  return status;
}

/* Those of before 0.2 have no history, and others have it from a line without "data". */
static mousse_status take_data(const run_record *record, json_t *line, mo_error *error)
{
  const run_history *history = &record->history;
  if (history->train[0] == '\0') return MOUSSE_OK;
  json_t *data = json_pack("{s:s, s:s?}", "train", history->train, "val",
                           history->val[0] != '\0' ? history->val : NULL);
  return json_object_set_new(line, "data", data) == 0 ? MOUSSE_OK
                                                      : no_memory(record->directory, error);
}

static mousse_status add_line(mo_writer *writer, const json_t *line, mo_error *error)
{
  char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(RESULT_DIGITS));
  if (text == NULL) return no_memory(writer->path, error);
  mousse_status status = mo_writer_write(writer, text, strlen(text), error);
  if (status == MOUSSE_OK) status = mo_writer_write(writer, "\n", 1, error);
  free(text);
  return status;
}

static mousse_status pack(const archived_study *study, const char *run, json_t *line,
                          const run_record *record, mo_writer *writer, mo_error *error)
{
  bool from_another = false;
  run_result result = record->result;
  if (isfinite(record->step_seconds) && record->step_count >= result.steps)
    result.step_seconds = record->step_seconds; /* of all steps: otherwise it is not known */
  MO_TRY(take_options(study, run, record, line, &from_another, error));
  if (from_another) return MOUSSE_OK;
  MO_TRY(take_data(record, line, error));
  if (json_object_set_new(line, "result", run_result_json(&result)) != 0)
    return no_memory(run, error);
  MO_TRY(take_metrics(record, line, error));
  return add_line(writer, line, error);
}

static mousse_status pack_record(const archived_study *study, const char *run, const char *name,
                                 mo_writer *writer, mo_error *error)
{
  run_record record;
  MO_TRY(run_record_read(&record, run, RECORD_CURVES, error));
  json_t *line = json_pack("{s:s, s:{}}", "name", name, "options");
  const mousse_status status =
      line != NULL ? pack(study, run, line, &record, writer, error) : no_memory(run, error);
  json_decref(line);
  run_record_release(&record);
  return status;
}

static mousse_status pack_run(const archived_study *study, const char *name, mo_writer *writer,
                              mo_error *error)
{
  char run[MO_SETTING_PATH];
  run_result result;
  MO_TRY(mo_path_join(run, sizeof run, study->runs, name, error));
  MO_TRY(run_result_read(&result, run, error));
  if (result.status == RECORD_UNKNOWN) return MOUSSE_OK;
  return pack_record(study, run, name, writer, error);
}

static mousse_status pack_all(const archived_study *study, archive_others *others,
                              mo_writer *writer, mo_error *error)
{
  char path[MO_SETTING_PATH];
  struct dirent **names = NULL;
  const int count = scandir(study->runs, &names, NULL, alphasort);
  mousse_status status =
      count >= 0 ? MOUSSE_OK
                 : mo_fail(error, MOUSSE_IO, "%s: %s", study->runs, strerror(errno));
  for (int i = 0; i < count; i++) {
    /* Others than runs are the lock and the directory itself. */
    const char *name = names[i]->d_name;
    snprintf(path, sizeof path, "%s/%s/run.yaml", study->runs, name);
    const bool is_run = access(path, F_OK) == 0;
    if (status == MOUSSE_OK && is_run)
      status = archive_others_write(others, name, writer, error);
    if (status == MOUSSE_OK && is_run) status = pack_run(study, name, writer, error);
    free(names[i]);
  }
  free(names);
  return status == MOUSSE_OK ? archive_others_write(others, NULL, writer, error) : status;
}

/* Lines that another study adds between our reading and our writing would be lost. The lock is on the
 * folder, as the file itself is replaced; where folders cannot be locked, as on some network drives, it
 * is done without. Returns what to close; -1: nothing. */
static int lock_folder(const char *path)
{
  char folder[4096];
  if (mo_path_parent(folder, sizeof folder, path, NULL) != MOUSSE_OK) return -1;
  const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (descriptor >= 0 && flock(descriptor, LOCK_EX) != 0 && errno == EINTR) continue;
  return descriptor;
}

static mousse_status add_runs(const archived_study *study, const char *path, mo_error *error)
{
  mo_writer writer;
  archive_others others;
  MO_TRY(archive_others_open(&others, study, path, error));
  mousse_status status = mo_writer_open(&writer, path, error);
  if (status == MOUSSE_OK) {
    status = pack_all(study, &others, &writer, error);
    if (status == MOUSSE_OK)
      status = mo_writer_commit(&writer, error);
    else
      mo_writer_abandon(&writer);
  }
  archive_others_close(&others);
  return status;
}

mousse_status run_archive_write(const archived_study *study, const char *path, mo_error *error)
{
  const int lock = lock_folder(path);
  const mousse_status status = add_runs(study, path, error);
  if (lock >= 0) close(lock);
  return status;
}
