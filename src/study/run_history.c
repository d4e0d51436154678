/* run_history.c - where in a run options changed, and its data. */
#include "study/run_history.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/lines.h"
#include "base/memory.h"
#include "train/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_HISTORY = 64 << 20 };

/* Options that change nothing in the result: where it is written, how fast. */
static bool matters(const char *key)
{
  const mo_setting *row = mo_settings_find(&train_settings, key);
  return row == NULL || option_row_effect((size_t)(row - train_settings.rows)) != OPTION_FREE;
}

/* What does not fit is left out, and an ellipsis says so. */
static void add_text(option_change *change, const char *key, const char *before,
                     const char *after)
{
  const size_t used = strlen(change->text), room = sizeof change->text - used;
  const int length = snprintf(change->text + used, room, "%s%s %s to %s", used > 0 ? ", " : "",
                              key, before[0] != '\0' ? before : "(default)",
                              after[0] != '\0' ? after : "(default)");
  if (length >= 0 && (size_t)length < room) return;
  change->text[used] = '\0';
  if (room > 4 && (used < 4 || strcmp(change->text + used - 3, "...") != 0))
    memcpy(change->text + used, "...", 4);
}

static const char *value_of(const json_t *options, const char *key)
{
  const char *text = json_string_value(json_object_get(options, key));
  return text != NULL ? text : "";
}

static void compare(option_change *change, json_t *before, json_t *after)
{
  const char *key = NULL;
  json_t *value = NULL;
  json_object_foreach(after, key, value)
  {
    if (matters(key) && strcmp(value_of(before, key), value_of(after, key)) != 0)
      add_text(change, key, value_of(before, key), value_of(after, key));
  }
  json_object_foreach(before, key, value)
  {
    if (matters(key) && json_object_get(after, key) == NULL && value_of(before, key)[0] != '\0')
      add_text(change, key, value_of(before, key), "");
  }
}

static mousse_status add_line(run_history *history, json_t *before, json_t *after,
                              mo_error *error)
{
  json_t *old = json_object_get(before, "options"), *new = json_object_get(after, "options");
  option_change change = {.step = (uint64_t)json_integer_value(json_object_get(after, "step"))};
  if (!json_is_object(old) || !json_is_object(new)) return MOUSSE_OK;
  compare(&change, old, new);
  if (change.text[0] == '\0') return MOUSSE_OK;
  if (!mo_grow(NULL, &history->changes, &history->capacity, history->count + 1, sizeof change))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the history of a run");
  history->changes[history->count++] = change;
  return MOUSSE_OK;
}

static void take_checksum(char text[CHECKSUM_TEXT], const json_t *data, const char *split)
{
  const char *checksum = value_of(data, split);
  text[0] = '\0';
  if (strlen(checksum) < CHECKSUM_TEXT) memcpy(text, checksum, strlen(checksum) + 1);
}

typedef struct history_reader {
  run_history *history;
  json_t *before; /* the line before; NULL: none */
} history_reader;

static mousse_status take_line(void *context, const char *line, size_t size, mo_error *error)
{
  history_reader *reader = context;
  json_t *entry = NULL;
  const mousse_status read = mo_json_line(&entry, line, size, MO_JSON_FEW, error);
  if (read == MOUSSE_BAD_FORMAT && line[size - 1] != '\n')
    return MOUSSE_OK; /* a killed process' last line */
  MO_TRY(read);
  const json_t *data = json_object_get(entry, "data");
  take_checksum(reader->history->train, data, "train");
  take_checksum(reader->history->val, data, "val");
  const mousse_status status = add_line(reader->history, reader->before, entry, error);
  json_decref(reader->before);
  reader->before = entry;
  return status;
}

mousse_status run_history_parse(run_history *history, const char *path, const char *text,
                                size_t size, mo_error *error)
{
  history_reader reader = {history, NULL};
  *history = (run_history){0};
  const mousse_status status = mo_lines_take(path, text, size, take_line, &reader, error);
  json_decref(reader.before);
  if (status != MOUSSE_OK) run_history_release(history);
  return status;
}

mousse_status run_history_read(run_history *history, const char *directory, mo_error *error)
{
  char path[MO_SETTING_PATH], *text = NULL;
  size_t size = 0;
  *history = (run_history){0};
  MO_TRY(mo_path_join(path, sizeof path, directory, "history.jsonl", error));
  if (access(path, F_OK) != 0 && errno == ENOENT) return MOUSSE_OK;
  MO_TRY(mo_file_read(NULL, path, LARGEST_HISTORY, &text, &size, error));
  const mousse_status status = run_history_parse(history, path, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}

void run_history_release(run_history *history)
{
  mo_release(NULL, history->changes, history->capacity * sizeof *history->changes);
  *history = (run_history){0};
}
