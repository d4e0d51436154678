/* history.c - the record of a run's options, program and data. */
#include "train/history.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/machine.h"
#include "base/text.h"
#include "linalg/blas.h"
#include "support/json_lines.h"
#include "train/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#ifndef MOUSSE_COMMIT
#define MOUSSE_COMMIT "" /* not built from a repository */
#endif

enum { LARGEST_HISTORY = 1 << 26, LONGEST_COMMAND = 1 << 16 };

static json_t *options_json(const train_options *run)
{
  json_t *object = json_object();
  for (size_t i = 0; i < train_settings.count; i++) {
    char text[MO_SETTING_PATH];
    if (mo_setting_text(&train_settings.rows[i], run, text, sizeof text))
      json_object_set_new(object, train_settings.rows[i].name, json_string(text));
  }
  for (size_t i = 0; i < run->option_count; i++) {
    char key[OPTION_TEXT_SIZE + 8];
    snprintf(key, sizeof key, "%s.%s", run->options[i].scalar ? "scalar" : "opt",
             run->options[i].name);
    json_object_set_new(object, key, json_string(run->options[i].value));
  }
  return object;
}

/* The words that started this process; bytes that are not UTF-8 become a mark. */
static json_t *command_json(void)
{
  json_t *words = json_array();
  char *text = mo_allocate(NULL, LONGEST_COMMAND);
  FILE *file = text != NULL ? fopen("/proc/self/cmdline", "re") : NULL;
  const size_t size = file != NULL ? fread(text, 1, LONGEST_COMMAND - 1, file) : 0;
  for (size_t start = 0; start < size; start += strlen(text + start) + 1)
    json_array_append_new(words, mo_json_text(text + start));
  if (file != NULL) fclose(file);
  mo_release(NULL, text, LONGEST_COMMAND);
  return words;
}

static json_t *machine_json(const history_entry *e)
{
  struct utsname system;
  char processor[MO_PROCESSOR_NAME];
  if (uname(&system) != 0) memset(&system, 0, sizeof system);
  mo_processor_name(processor);
  return json_pack("{s:s, s:o, s:s, s:s, s:i, s:i}", "host", system.nodename, "system",
                   json_sprintf("%s %s", system.sysname, system.release), "processor",
                   processor, "blas", mo_blas_description(), "ranks", e->ranks, "threads",
                   e->threads);
}

static json_t *checksum_json(uint64_t checksum)
{
  return checksum != 0 ? json_sprintf("%016llx", (unsigned long long)checksum) : json_null();
}

static json_t *data_json(const history_entry *e)
{
  return json_pack("{s:s, s:o, s:o, s:o}", "directory", e->resolved->data_dir, "train",
                   checksum_json(e->train_checksum), "val", checksum_json(e->val_checksum),
                   "tokenizer", checksum_json(e->tokenizer_checksum));
}

static json_t *entry_json(const history_entry *e)
{
  char when[32] = "";
  const time_t now = time(NULL);
  struct tm parts;
  if (gmtime_r(&now, &parts) != NULL) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return json_pack("{s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "step", (json_int_t)e->step,
                   "time", when, "version", mousse_version(), "commit", MOUSSE_COMMIT,
                   "command", command_json(), "machine", machine_json(e), "data", data_json(e),
                   "options", options_json(e->resolved));
}

/* Whether both tell the same, whenever and from wherever they started. */
static bool same_stretch(const json_t *a, const json_t *b)
{
  static const char *const keys[] = {"version", "commit", "command",
                                     "machine", "data",   "options"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i]))) return false;
  return true;
}

/* Walks the lines before `step`; *end is where they end, *last the last of them (owned). */
static mousse_status keep_lines(const char *path, const char *text, size_t size, uint64_t step,
                                size_t *end, json_t **last, mo_error *error)
{
  *end = 0;
  *last = NULL;
  while (*end < size) {
    json_t *entry = NULL;
    const char *line = text + *end, *stop = memchr(line, '\n', size - *end);
    const size_t length = stop != NULL ? (size_t)(stop - line) : size - *end;
    const mousse_status read = mo_json_line(&entry, line, length, MO_JSON_FEW, NULL);
    if (read == MOUSSE_NO_MEMORY) return mo_fail(error, read, "%s: no memory to read it", path);
    if (entry == NULL || !json_is_integer(json_object_get(entry, "step"))) {
      json_decref(entry);
      return mo_fail(error, MOUSSE_BAD_FORMAT,
                     "%s: damaged after %zu bytes; move it away to go on without it", path,
                     *end);
    }
    if ((uint64_t)json_integer_value(json_object_get(entry, "step")) >= step) {
      json_decref(entry);
      break;
    }
    json_decref(*last);
    *last = entry;
    *end += length + (stop != NULL);
  }
  return MOUSSE_OK;
}

/* The kept lines, then the new one unless it tells nothing new. */
static mousse_status rewrite(const char *path, const char *text, size_t kept, size_t size,
                             const json_t *last, json_t *entry, mo_error *error)
{
  mo_buffer all = {0};
  const bool new = last == NULL || !same_stretch(last, entry);
  char *line = new ? json_line(json_incref(entry)) : NULL;
  mousse_status status = MOUSSE_OK;
  if (!new &&kept == size) return MOUSSE_OK;
  if ((new &&line == NULL) || !mo_buffer_add(&all, text, kept) ||
      (new && !mo_buffer_add(&all, line, strlen(line))))
    status = mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  else
    status = mo_file_write(path, all.data, all.size, error);
  free(line);
  mo_buffer_close(&all);
  return status;
}

/* Whether a validation scored as much of this data. */
static bool scored_as_much(const json_t *last, const history_entry *e)
{
  const json_t *options = json_object_get(last, "options");
  const char *before = json_string_value(json_object_get(options, "val_tokens"));
  int64_t tokens = 0;
  return before != NULL && mo_parse_integer(before, &tokens) &&
         evaluation_windows(e->val, (uint64_t)tokens) ==
             evaluation_windows(e->val, (uint64_t)e->resolved->val_tokens);
}

/* Steps of one run may have been validated on different text: the lowest loss knows nothing of it. */
static void compare_validations(const json_t *last, const json_t *entry, const history_entry *e,
                                const run_notices *notices)
{
  const json_t *before = json_object_get(json_object_get(last, "data"), "val"),
               *now = json_object_get(json_object_get(entry, "data"), "val");
  if (!json_is_string(before) || !json_is_string(now) ||
      (json_equal(before, now) && scored_as_much(last, e)))
    return;
  run_notify(
      notices,
      "validations score other text than before; --patience, --save-best and RUN@best still "
      "compare with the lowest loss so far, on the text of before; --init begins a run "
      "without it");
}

mousse_status history_write(const char *directory, const history_entry *e,
                            const run_notices *notices, mo_error *error)
{
  char path[4096];
  char *text = NULL;
  size_t size = 0, kept = 0;
  json_t *last = NULL;
  MO_TRY(mo_path_join(path, sizeof path, directory, HISTORY_NAME, error));
  if (access(path, F_OK) == 0)
    MO_TRY(mo_file_read(NULL, path, LARGEST_HISTORY, &text, &size, error));
  json_t *entry = entry_json(e);
  mousse_status status =
      entry != NULL ? keep_lines(path, text, size, e->step, &kept, &last, error)
                    : mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                              "%s: an option or path is not UTF-8 and cannot be saved", path);
  if (status == MOUSSE_OK) compare_validations(last, entry, e, notices);
  if (status == MOUSSE_OK) status = rewrite(path, text, kept, size, last, entry, error);
  json_decref(entry);
  json_decref(last);
  if (text != NULL) mo_release(NULL, text, size + 1);
  return status;
}

mousse_status history_measure(const char *path, const char *text, size_t size, uint64_t step,
                              size_t *kept, mo_error *error)
{
  json_t *last = NULL;
  const mousse_status status = keep_lines(path, text, size, step, kept, &last, error);
  json_decref(last);
  return status;
}

/* Where files are and what is shown stays as it is set. */
static bool is_result(const char *key)
{
  const mo_setting *row = mo_settings_find(&train_settings, key);
  if (row == NULL) return strchr(key, '.') != NULL;
  const option_effect effect = option_row_effect((size_t)(row - train_settings.rows));
  return effect == OPTION_FIXED || effect == OPTION_RESULT;
}

static mousse_status take_options(const json_t *entry, train_options *run, mo_error *error)
{
  const char *key = NULL;
  json_t *value = NULL;
  json_object_foreach(json_object_get(entry, "options"), key, value)
  {
    if (json_is_string(value) && is_result(key))
      MO_TRY(options_set(run, key, json_string_value(value), NULL, error));
  }
  return MOUSSE_OK;
}

mousse_status history_copy(const char *from, const char *to, uint64_t step,
                           train_options *options, mo_error *error)
{
  char source[4096], target[4096];
  char *text = NULL;
  size_t size = 0, kept = 0;
  json_t *last = NULL;
  MO_TRY(mo_path_join(source, sizeof source, from, HISTORY_NAME, error));
  MO_TRY(mo_path_join(target, sizeof target, to, HISTORY_NAME, error));
  if (access(source, F_OK) != 0) return MOUSSE_OK;
  MO_TRY(mo_file_read(NULL, source, LARGEST_HISTORY, &text, &size, error));
  mousse_status status = keep_lines(source, text, size, step, &kept, &last, error);
  if (status == MOUSSE_OK) status = take_options(last, options, error);
  if (status == MOUSSE_OK) status = mo_file_write(target, text, kept, error);
  json_decref(last);
  mo_release(NULL, text, size + 1);
  return status;
}
