/* trainer_state.c - trainer.json. */
#include "train/trainer_state.h"

#include "base/file.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_STATE = 1 << 20 };

static const struct {
  const char *name;
  size_t offset;
} counts[] = {
    {"step", offsetof(trainer_state, step)},
    {"tokens", offsetof(trainer_state, tokens)},
    {"skipped", offsetof(trainer_state, skipped)},
    {"skipped_in_row", offsetof(trainer_state, skipped_in_row)},
};
enum { COUNT_COUNT = sizeof counts / sizeof *counts };

/* The options that determine the result, as text. NULL: no memory. */
static json_t *collect_options(const train_options *run)
{
  json_t *object = json_object();
  for (size_t i = 0; i < train_settings.count; i++) {
    char text[MO_SETTING_PATH];
    if (option_row_effect(i) == OPTION_FREE) continue;
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

static void fingerprint_text(uint64_t fingerprint, char text[17])
{
  snprintf(text, 17, "%016llx", (unsigned long long)fingerprint);
}

mousse_status trainer_state_write(const trainer_state *state, const train_options *run,
                                  uint64_t data_fingerprint, const char *path, mo_error *error)
{
  char data[17];
  fingerprint_text(data_fingerprint, data);
  json_t *object = json_pack("{s:s, s:i}", "format", "mousse-trainer", "version", 1);
  for (size_t i = 0; i < COUNT_COUNT; i++) {
    uint64_t value = 0;
    memcpy(&value, (const char *)state + counts[i].offset, sizeof value);
    json_object_set_new(object, counts[i].name, json_integer((json_int_t)value));
  }
  json_object_set_new(object, "data", json_string(data));
  json_object_set_new(object, "options", collect_options(run));
  char *text = json_dumps(object, JSON_INDENT(1));
  json_decref(object);
  if (text == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  const mousse_status status = mo_file_write(path, text, strlen(text), error);
  free(text);
  return status;
}

static bool is_fixed(const char *key)
{
  for (size_t i = 0; i < train_settings.count; i++)
    if (strcmp(train_settings.rows[i].name, key) == 0)
      return option_row_effect(i) == OPTION_FIXED;
  return false;
}

static mousse_status compare_option(const char *key, const char *before, const char *now,
                                    const run_notices *notices, mo_error *error)
{
  if (strcmp(before, now) == 0) return MOUSSE_OK;
  if (is_fixed(key))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "the run was started with %s '%s', which cannot become '%s' on the way; "
                   "start a new one with another --out",
                   key, before, now);
  run_notify(notices, "changed on resume: %s was '%s' and is now '%s'", key, before, now);
  return MOUSSE_OK;
}

static const char *text_of(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

static mousse_status compare_options(json_t *before, json_t *now, const run_notices *notices,
                                     mo_error *error)
{
  const char *key = NULL;
  json_t *value = NULL;
  mousse_status status = MOUSSE_OK;
  json_object_foreach(before, key, value)
  {
    if (status == MOUSSE_OK)
      status = compare_option(key, text_of(before, key), text_of(now, key), notices, error);
  }
  json_object_foreach(now, key, value)
  {
    if (status == MOUSSE_OK && json_object_get(before, key) == NULL)
      status = compare_option(key, "", text_of(now, key), notices, error);
  }
  return status;
}

static mousse_status read_counts(trainer_state *state, const json_t *object, const char *path,
                                 mo_error *error)
{
  if (strcmp(text_of(object, "format"), "mousse-trainer") != 0 ||
      json_integer_value(json_object_get(object, "version")) != 1)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: not a mousse-trainer file of version 1",
                   path);
  for (size_t i = 0; i < COUNT_COUNT; i++) {
    const json_t *number = json_object_get(object, counts[i].name);
    const uint64_t value = (uint64_t)json_integer_value(number);
    if (!json_is_integer(number) || json_integer_value(number) < 0)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: '%s' is not a whole number from 0 on", path,
                     counts[i].name);
    memcpy((char *)state + counts[i].offset, &value, sizeof value);
  }
  return MOUSSE_OK;
}

static mousse_status read_object(trainer_state *state, const train_options *run,
                                 uint64_t data_fingerprint, const json_t *object,
                                 const char *path, const run_notices *notices, mo_error *error)
{
  char data[17];
  trainer_state read = {0};
  fingerprint_text(data_fingerprint, data);
  MO_TRY(read_counts(&read, object, path, error));
  json_t *now = collect_options(run);
  const mousse_status status =
      compare_options(json_object_get(object, "options"), now, notices, error);
  json_decref(now);
  if (status != MOUSSE_OK) return status;
  if (strcmp(text_of(object, "data"), data) != 0)
    run_notify(notices, "changed on resume: the training data");
  *state = read;
  return MOUSSE_OK;
}

mousse_status trainer_state_read(trainer_state *state, const train_options *run,
                                 uint64_t data_fingerprint, const char *path,
                                 const run_notices *notices, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  json_error_t reason;
  MO_TRY(mo_file_read(NULL, path, LARGEST_STATE, &text, &size, error));
  json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &reason);
  mo_release(NULL, text, size + 1);
  if (object == NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %d: %s", path, reason.line, reason.text);
  const mousse_status status =
      read_object(state, run, data_fingerprint, object, path, notices, error);
  json_decref(object);
  return status;
}
