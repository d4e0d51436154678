/* watch_run_json.c - one run in full. */
#include "base/json_text.h"
#include "support/json_lines.h"
#include "watch/watch_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A column of a series; its extremes only where buckets hold more than one row. */
static json_t *column_json(const watch_series *s, size_t column, size_t from)
{
  json_t *mean = json_array(), *low = json_array(), *high = json_array();
  bool any = false;
  for (size_t i = from; i < s->count; i++) {
    const series_cell *cell = series_at(s, i, column);
    any = any || cell->count > 0;
    json_array_append_new(mean, json_finite(series_mean(cell)));
    json_array_append_new(low, json_finite(cell->count > 0 ? cell->low : NAN));
    json_array_append_new(high, json_finite(cell->count > 0 ? cell->high : NAN));
  }
  if (s->width > 1 && any)
    return json_pack("{s:o, s:o, s:o}", "mean", mean, "low", low, "high", high);
  json_decref(low);
  json_decref(high);
  if (any) return json_pack("{s:o}", "mean", mean);
  json_decref(mean);
  return json_object();
}

static void add_places(json_t *all, const watch_series *s, size_t from)
{
  json_t *step = json_array(), *tokens = json_array(), *seconds = json_array();
  for (size_t i = from; i < s->count; i++) {
    json_array_append_new(step, json_integer((json_int_t)s->places[i].last));
    json_array_append_new(tokens, json_finite(s->places[i].tokens));
    json_array_append_new(seconds, json_finite(s->places[i].seconds));
  }
  json_object_set_new(all, "step", step);
  json_object_set_new(all, "tokens", tokens);
  json_object_set_new(all, "seconds", seconds);
}

static json_t *series_json(const watch_series *s, const char *const *names,
                           series_request wanted)
{
  const size_t from =
      wanted.layout == s->layout && wanted.from <= s->count ? (size_t)wanted.from : 0;
  json_t *all = json_object(), *columns = json_object();
  json_object_set_new(all, "layout", json_integer((json_int_t)s->layout));
  json_object_set_new(all, "from", json_integer((json_int_t)from));
  json_object_set_new(all, "width", json_integer((json_int_t)s->width));
  add_places(all, s, from);
  for (size_t c = 0; c < s->columns; c++)
    json_object_set_new(columns, names[c], column_json(s, c, from));
  json_object_set_new(all, "columns", columns);
  return all;
}

/* The newest, as of events. */
static json_t *changes_json(const run_history *history)
{
  enum { MOST_CHANGES = 200 };
  json_t *list = json_array();
  const size_t first = history->count > MOST_CHANGES ? history->count - MOST_CHANGES : 0;
  for (size_t i = first; i < history->count; i++) {
    json_array_append_new(list,
                          json_pack("{s:I, s:o}", "step", (json_int_t)history->changes[i].step,
                                    "text", mo_json_text(history->changes[i].text)));
  }
  return list;
}

/* Whether a word is the option's name, or one of other trainers for it. */
static bool is_name_of(const char *word, const char *name)
{
  const mo_setting *row = mo_settings_find(&train_settings, word);
  return mo_same_name(row != NULL ? row->name : word, name);
}

/* Whether a word is the library's name of an option that has a row of its own, as opt.mu. */
static bool is_library_name_of(const char *word, const char *name, const char *optimizer)
{
  const mo_setting *row = mo_settings_find(&train_settings, name);
  if (row == NULL || strncmp(word, "opt.", 4) != 0) return false;
  const char *only = NULL;
  const char *option = option_row_name((size_t)(row - train_settings.rows), &only);
  return option != NULL && strcmp(option, word + 4) == 0 &&
         (only[0] == '\0' || strcmp(only, optimizer) == 0);
}

/* Whether a word of the command sets the option: --name, --no-name or --name=value. */
static bool is_set_by(const char *word, const char *name, const char *optimizer)
{
  char own[128];
  if (strcmp(word, "-o") == 0) return strcmp(name, "out") == 0;
  if (strncmp(word, "--", 2) != 0) return false;
  const size_t length = strcspn(word + 2, "=");
  if (length >= sizeof own) return false;
  memcpy(own, word + 2, length);
  own[length] = '\0';
  const bool negative = strncmp(own, "no-", 3) == 0 || strncmp(own, "no_", 3) == 0;
  return is_name_of(own, name) || (negative && is_name_of(own + 3, name)) ||
         is_library_name_of(own, name, optimizer);
}

/* Where the value of an option comes from. */
static const char *origin_of(const watched_run *run, const char *name, const char *value)
{
  const json_t *command = json_object_get(run->stretch, "command");
  const mo_setting *row = mo_settings_find(&train_settings, name);
  const char *resolved =
      json_string_value(json_object_get(json_object_get(run->stretch, "options"), name));
  for (size_t i = 0; i < json_array_size(command); i++)
    if (json_is_string(json_array_get(command, i)) &&
        is_set_by(json_string_value(json_array_get(command, i)), name,
                  run->record.options.optimizer))
      return "command line";
  if (resolved != NULL && strcmp(resolved, value) != 0) return "chosen by the program";
  if (row != NULL && strcmp(row->initial, value) == 0) return "default";
  return "configuration";
}

static json_t *options_json(const watched_run *run)
{
  const json_t *resolved = json_object_get(run->stretch, "options");
  json_t *list = json_array(), *text = NULL;
  const char *name = NULL;
  json_object_foreach(run->options, name, text)
  {
    const char *value = json_string_value(text);
    json_t *shown = json_object_get(resolved, name);
    json_array_append_new(list, json_pack("{s:s, s:O, s:s}", "name", name, "value",
                                          json_is_string(shown) ? shown : text, "origin",
                                          origin_of(run, name, value)));
  }
  return list;
}

static void add_member(json_t *all, const char *key, json_t *from)
{
  json_object_set(all, key, from != NULL ? from : json_null());
}

json_t *watch_run_json(const watch_model *model, const watched_run *run, series_request steps,
                       series_request validations)
{
  static const char *const step_names[STEP_COLUMNS] = {"loss",  "lr",     "grad_norm",
                                                       "speed", "memory", "skipped"};
  static const char *const validation_names[VALIDATION_COLUMNS] = {"loss", "bits"};
  json_t *all = watch_row_json(model, run);
  json_object_set_new(all, "series", series_json(&run->steps, step_names, steps));
  json_object_set_new(all, "validations",
                      series_json(&run->validations, validation_names, validations));
  json_object_set_new(all, "changes", changes_json(&run->record.history));
  json_object_set_new(all, "all_options", options_json(run));
  json_object_set_new(all, "peak_bytes", json_finite(run->record.result.peak_bytes));
  add_member(all, "events", run->happened);
  add_member(all, "samples", run->samples);
  add_member(all, "checkpoints", run->checkpoints);
  add_member(all, "started", run->started);
  add_member(all, "machine", json_object_get(run->stretch, "machine"));
  add_member(all, "data", json_object_get(run->stretch, "data"));
  add_member(all, "command", json_object_get(run->stretch, "command"));
  return all;
}
