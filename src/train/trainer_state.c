/* trainer_state.c - trainer.json. */
#include "train/trainer_state.h"

#include "base/file.h"
#include "base/json_text.h"
#include "support/json_lines.h"
#include "train/groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_STATE = 1 << 20, NEWEST_VERSION = 2 };

static const struct {
  const char *name;
  size_t offset;
  int since; /* the version that brought it */
} counts[] = {
    {"step", offsetof(trainer_state, step), 1},
    {"tokens", offsetof(trainer_state, tokens), 1},
    {"skipped", offsetof(trainer_state, skipped), 1},
    {"skipped_in_row", offsetof(trainer_state, skipped_in_row), 1},
    {"without_best", offsetof(trainer_state, without_best), 2},
};
enum { COUNT_COUNT = sizeof counts / sizeof *counts };

trainer_state trainer_state_start(void)
{
  return (trainer_state){.loss = NAN, .validation.loss = NAN, .best.loss = NAN};
}

void trainer_state_validated(trainer_state *state, double loss)
{
  state->validation = (validation_result){state->step, loss};
  if (isfinite(loss) && !(state->best.loss <= loss)) {
    state->best = state->validation;
    state->without_best = 0;
  } else {
    state->without_best++;
  }
}

/* The options that determine the result, as text. NULL: no memory. */
static json_t *collect_options(const train_options *run)
{
  json_t *object = json_object();
  bool complete = object != NULL;
  for (size_t i = 0; i < train_settings.count; i++) {
    char text[MO_SETTING_PATH];
    const option_effect effect = option_row_effect(i);
    if (effect != OPTION_FIXED && effect != OPTION_RESULT) continue;
    if (mo_setting_text(&train_settings.rows[i], run, text, sizeof text))
      complete = complete && json_object_set_new(object, train_settings.rows[i].name,
                                                 json_string(text)) == 0;
  }
  for (size_t i = 0; i < run->option_count; i++) {
    char key[OPTION_TEXT_SIZE + 8];
    snprintf(key, sizeof key, "%s.%s", run->options[i].scalar ? "scalar" : "opt",
             run->options[i].name);
    complete =
        complete && json_object_set_new(object, key, json_string(run->options[i].value)) == 0;
  }
  if (complete) return object;
  json_decref(object);
  return NULL;
}

static void checksum_text(uint64_t checksum, char text[17])
{
  snprintf(text, 17, "%016llx", (unsigned long long)checksum);
}

static json_t *validation_json(const validation_result *v)
{
  if (isnan(v->loss) && v->step == 0) return json_null();
  return json_pack("{s:I, s:o}", "step", (json_int_t)v->step, "loss", json_finite(v->loss));
}

/* NULL: no memory. */
static json_t *state_json(const trainer_state *state, const train_options *resolved,
                          const char *data)
{
  json_t *object =
      json_pack("{s:s, s:i}", "format", "mousse-trainer", "version", NEWEST_VERSION);
  bool complete = object != NULL;
  for (size_t i = 0; i < COUNT_COUNT && complete; i++) {
    uint64_t value = 0;
    memcpy(&value, (const char *)state + counts[i].offset, sizeof value);
    complete =
        json_object_set_new(object, counts[i].name, json_integer((json_int_t)value)) == 0;
  }
  complete =
      complete && json_object_set_new(object, "loss", json_finite(state->loss)) == 0 &&
      json_object_set_new(object, "validation", validation_json(&state->validation)) == 0 &&
      json_object_set_new(object, "best", validation_json(&state->best)) == 0 &&
      json_object_set_new(object, "data", json_string(data)) == 0 &&
      json_object_set_new(object, "options", collect_options(resolved)) == 0;
  if (complete) return object;
  json_decref(object);
  return NULL;
}

mousse_status trainer_state_write(const trainer_state *state, const train_options *resolved,
                                  uint64_t data_checksum, const char *path, mo_error *error)
{
  char data[17];
  checksum_text(data_checksum, data);
  json_t *object = state_json(state, resolved, data);
  char *text = object != NULL ? json_dumps(object, JSON_INDENT(1)) : NULL;
  json_decref(object);
  if (text == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  const mousse_status status = mo_file_write(path, text, strlen(text), error);
  free(text);
  return status;
}

static const char *text_of(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

static int version_of(const json_t *object)
{
  return (int)json_integer_value(json_object_get(object, "version"));
}

static bool is_count(const json_t *number)
{
  return json_is_integer(number) && json_integer_value(number) >= 0;
}

static mousse_status read_counts(trainer_state *state, const json_t *object, const char *path,
                                 mo_error *error)
{
  const int version = version_of(object);
  if (strcmp(text_of(object, "format"), "mousse-trainer") != 0 || version < 1 ||
      version > NEWEST_VERSION)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: not a mousse-trainer file of version 1 to %d",
                   path, NEWEST_VERSION);
  for (size_t i = 0; i < COUNT_COUNT; i++) {
    const json_t *number = json_object_get(object, counts[i].name);
    const uint64_t value = (uint64_t)json_integer_value(number);
    if (version < counts[i].since) continue;
    if (!is_count(number))
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: '%s' is not a whole number >= 0", path,
                     counts[i].name);
    memcpy((char *)state + counts[i].offset, &value, sizeof value);
  }
  return MOUSSE_OK;
}

static double number_of(const json_t *member)
{
  return json_is_number(member) ? json_number_value(member) : NAN;
}

static mousse_status read_validation(validation_result *v, const json_t *object,
                                     const char *key, const char *path, mo_error *error)
{
  const json_t *member = json_object_get(object, key);
  *v = (validation_result){.loss = NAN};
  if (member == NULL || json_is_null(member)) return MOUSSE_OK;
  const json_t *step = json_object_get(member, "step"), *loss = json_object_get(member, "loss");
  if (!is_count(step) || !(json_is_number(loss) || json_is_null(loss)))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: '%s' needs a step and a loss", path, key);
  *v = (validation_result){(uint64_t)json_integer_value(step), number_of(loss)};
  return MOUSSE_OK;
}

static mousse_status parse(json_t **object, const char *path, const char *text, size_t size,
                           mo_error *error)
{
  return mo_json_parse(object, path, text, size, MO_JSON_FEW, JSON_REJECT_DUPLICATES, error);
}

static mousse_status load(json_t **object, const char *path, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  MO_TRY(mo_file_read(NULL, path, LARGEST_STATE, &text, &size, error));
  const mousse_status status = parse(object, path, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}

static mousse_status read_object(trainer_state *state, const json_t *object, const char *path,
                                 mo_error *error)
{
  trainer_state read = trainer_state_start();
  MO_TRY(read_counts(&read, object, path, error));
  MO_TRY(read_validation(&read.validation, object, "validation", path, error));
  MO_TRY(read_validation(&read.best, object, "best", path, error));
  read.loss = number_of(json_object_get(object, "loss"));
  *state = read;
  return MOUSSE_OK;
}

mousse_status trainer_state_parse(trainer_state *state, const char *path, const char *text,
                                  size_t size, mo_error *error)
{
  json_t *object = NULL;
  MO_TRY(parse(&object, path, text, size, error));
  const mousse_status status = read_object(state, object, path, error);
  json_decref(object);
  return status;
}

mousse_status trainer_state_read(trainer_state *state, uint64_t step, const char *path,
                                 mo_error *error)
{
  json_t *object = NULL;
  trainer_state read;
  MO_TRY(load(&object, path, error));
  const mousse_status status = read_object(&read, object, path, error);
  json_decref(object);
  if (status != MOUSSE_OK) return status;
  if (read.step != step)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: is of step %llu, expected %llu", path,
                   (unsigned long long)read.step, (unsigned long long)step);
  *state = read;
  return MOUSSE_OK;
}

/* A comparison under way. */
typedef struct option_comparison {
  const json_t *before, *now;
  option_changes *changes;
  const run_notices *notices;
} option_comparison;

static bool is_fixed(const char *key)
{
  for (size_t i = 0; i < train_settings.count; i++)
    if (strcmp(train_settings.rows[i].name, key) == 0)
      return option_row_effect(i) == OPTION_FIXED;
  return false;
}

/* Whether the value of opt.NAME or scalar.NAME is what the optimizer begins with. */
static bool is_initial(const option_comparison *c, const char *key)
{
  const bool scalar = strncmp(key, "scalar.", 7) == 0;
  const char *text = text_of(c->now, key),
             *optimizer = text_of(c->now, scalar ? "scalar_opt" : "optimizer");
  if (!scalar && strncmp(key, "opt.", 4) != 0) return false;
  const mousse_option *option = options_of_algorithm(optimizer, strchr(key, '.') + 1);
  if (option == NULL) return false;
  return option->choices != NULL ? strcmp(option->choices[(int)option->initial], text) == 0
                                 : strtod(text, NULL) == option->initial;
}

/* An option that there was not yet, at its default. */
static bool is_new(const option_comparison *c, const char *key)
{
  const mo_setting *row = mo_settings_find(&train_settings, key);
  if (json_object_get(c->before, key) != NULL) return false;
  if (row == NULL) return is_initial(c, key);
  return is_fixed(key) || strcmp(row->initial, text_of(c->now, key)) == 0;
}

static void note_change(const option_comparison *c, const char *text)
{
  run_notify(c->notices, "changed on resume: %s", text);
  if (c->changes->count++ == 0)
    snprintf(c->changes->first, sizeof c->changes->first, "%s", text);
}

static mousse_status refuse_option(const char *key, const char *before, const char *now,
                                   mo_error *error)
{
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "the run was started with %s '%s', which cannot change to '%s' later; start a "
                 "new one with another --out",
                 key, before, now);
}

static mousse_status compare_option(const option_comparison *c, const char *key,
                                    mo_error *error)
{
  char text[sizeof c->changes->first];
  const char *before = text_of(c->before, key), *now = text_of(c->now, key);
  if (strcmp(before, now) == 0 || is_new(c, key)) return MOUSSE_OK;
  if (is_fixed(key)) return refuse_option(key, before, now, error);
  snprintf(text, sizeof text, "%s was '%.100s' and is now '%.100s'", key, before, now);
  note_change(c, text);
  return MOUSSE_OK;
}

static mousse_status compare_options(const option_comparison *c, mo_error *error)
{
  const char *key = NULL;
  json_t *value = NULL;
  json_object_foreach((json_t *)c->before, key, value) /* the macro wants it so; only read */
  {
    MO_TRY(compare_option(c, key, error));
  }
  json_object_foreach((json_t *)c->now, key, value)
  {
    if (json_object_get(c->before, key) == NULL) MO_TRY(compare_option(c, key, error));
  }
  return MOUSSE_OK;
}

/* Whether the optimizer kept the average of the weights, by what its run was started with. */
static mousse_status kept_average(const json_t *before, bool *kept, mo_error *error)
{
  static const char *const keys[] = {"wrapper", "ema", "ema_from", "ema_weight"};
  train_options run;
  MO_TRY(options_defaults(&run, error));
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (text_of(before, keys[i])[0] != '\0')
      MO_TRY(options_set(&run, keys[i], text_of(before, keys[i]), NULL, error));
  *kept = run.ema > 0 && options_wrapped(&run);
  return MOUSSE_OK;
}

/* An average that the optimizer keeps begins with the run; one of the trainer's own at any time. */
static mousse_status compare_average(const json_t *before, const train_options *now,
                                     mo_error *error)
{
  bool kept = false;
  if (now->ema <= 0 || !options_wrapped(now)) return MOUSSE_OK;
  MO_TRY(kept_average(before, &kept, error));
  if (kept) return MOUSSE_OK;
  return mo_fail(
      error, MOUSSE_INVALID_ARGUMENT,
      "the run was started without the average that ema with ema_from, ema_weight or a wrapper "
      "needs, and it cannot be added later; start a new one with another --out");
}

/* The options under their names of today; NULL: no memory, or no options. */
static json_t *rename_options(json_t *options)
{
  const char *key = NULL;
  json_t *value = NULL, *renamed = json_object();
  json_object_foreach(options, key, value)
  {
    const mo_setting *row = mo_settings_find(&train_settings, key);
    if (json_object_set(renamed, row != NULL ? row->name : key, value) == 0) continue;
    json_decref(renamed);
    return NULL;
  }
  return renamed;
}

static mousse_status compare_object(const json_t *object, const trainer_demand *demand,
                                    option_changes *changes, const run_notices *notices,
                                    mo_error *error)
{
  char data[17];
  const bool first_edition = version_of(object) == 1;
  json_t *now = collect_options(first_edition ? demand->given : demand->resolved);
  json_t *before = rename_options(json_object_get(object, "options"));
  const option_comparison c = {before, now, changes, notices};
  mousse_status status = now != NULL && before != NULL
                             ? compare_options(&c, error)
                             : mo_fail(error, MOUSSE_NO_MEMORY, "no memory to compare options");
  if (status == MOUSSE_OK) status = compare_average(before, demand->resolved, error);
  json_decref(now);
  json_decref(before);
  if (status != MOUSSE_OK) return status;
  checksum_text(first_edition ? demand->data_fingerprint : demand->data_checksum, data);
  if (strcmp(text_of(object, "data"), data) != 0) note_change(&c, "the training data");
  return MOUSSE_OK;
}

mousse_status trainer_state_compare(const char *path, const trainer_demand *demand,
                                    option_changes *changes, const run_notices *notices,
                                    mo_error *error)
{
  json_t *object = NULL;
  *changes = (option_changes){0};
  MO_TRY(load(&object, path, error));
  const mousse_status status = compare_object(object, demand, changes, notices, error);
  json_decref(object);
  return status;
}

mousse_status trainer_state_same_optimizer(const char *path, const train_options *given,
                                           char scalar_opt[OPTION_TEXT_SIZE], mo_error *error)
{
  json_t *object = NULL;
  MO_TRY(load(&object, path, error));
  const json_t *options = json_object_get(object, "options");
  const char *before = text_of(options, "optimizer"), *scalar = text_of(options, "scalar_opt");
  const bool asked = !groups_are_alike(given) && strcmp(given->scalar_opt, "auto") != 0;
  mousse_status status = MOUSSE_OK;
  if (before[0] != '\0' && strcmp(before, given->optimizer) != 0)
    status = refuse_option("optimizer", before, given->optimizer, error);
  else if (scalar[0] != '\0' && asked && strcmp(scalar, given->scalar_opt) != 0)
    status = refuse_option("scalar_opt", scalar, given->scalar_opt, error);
  snprintf(scalar_opt, OPTION_TEXT_SIZE, "%s", scalar[0] != '\0' ? scalar : given->scalar_opt);
  json_decref(object);
  return status;
}
