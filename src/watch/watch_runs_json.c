/* watch_runs_json.c - the table of runs. */
#include "base/json_text.h"
#include "study/run_groups.h"
#include "support/json_lines.h"
#include "watch/watch_json.h"

#include <math.h>
#include <string.h>

enum { SPARK_POINTS = 32, MOST_DIFFERENT = 12 };

/* The training loss in a few points, for a curve as large as a word. */
static json_t *spark_json(const watch_series *steps)
{
  json_t *points = json_array();
  const size_t count = steps->count < SPARK_POINTS ? steps->count : SPARK_POINTS;
  for (size_t p = 0; p < count; p++) {
    const size_t first = p * steps->count / count, end = (p + 1) * steps->count / count;
    double sum = 0, values = 0;
    for (size_t i = first; i < end; i++) {
      const double mean = series_mean(series_at(steps, i, STEP_LOSS));
      sum += isfinite(mean) ? mean : 0;
      values += isfinite(mean);
    }
    json_array_append_new(points, json_finite(values > 0 ? sum / values : NAN));
  }
  return points;
}

static void set_number(json_t *row, const char *key, double value)
{
  json_object_set_new(row, key, json_finite(value));
}

static void set_count(json_t *row, const char *key, uint64_t value)
{
  json_object_set_new(row, key, json_integer((json_int_t)value));
}

watched_run *watch_run_named(const watch_model *model, const char *id)
{
  watched_run *run = watch_model_find(model, id);
  for (size_t i = 0; i < model->count && run == NULL; i++) {
    json_t *text = mo_json_text(model->runs[i]->path);
    if (text != NULL && strcmp(json_string_value(text), id) == 0) run = model->runs[i];
    json_decref(text);
  }
  return run;
}

static void add_options(json_t *row, const run_record *record)
{
  const train_options *o = &record->options;
  json_object_set_new(row, "optimizer", mo_json_text(o->optimizer));
  set_number(row, "lr", run_record_lr(record));
  set_count(row, "seed", (uint64_t)o->seed);
  set_count(row, "steps", (uint64_t)o->num_iterations);
}

json_t *watch_row_json(const watch_model *model, const watched_run *run)
{
  const run_course *c = &run->course;
  json_t *row = json_object();
  json_object_set_new(row, "run", mo_json_text(run->path));
  json_object_set_new(row, "name", mo_json_text(watch_model_name(model, run)));
  json_object_set_new(row, "state", json_string(watched_run_state(run)));
  set_count(row, "version", run->version);
  if (run->has_options) add_options(row, &run->record);
  if (run->problem[0] != '\0') json_object_set_new(row, "problem", mo_json_text(run->problem));
  set_count(row, "step", c->step);
  set_count(row, "tokens", c->tokens);
  set_count(row, "skipped", c->skipped);
  set_number(row, "seconds", c->seconds);
  set_number(row, "loss", c->loss);
  set_number(row, "last", run->record.final_loss);
  set_number(row, "best", c->best);
  set_count(row, "best_step", c->best_step);
  set_number(row, "rate", watched_run_rate(run));
  set_number(row, "left", watched_run_left(run));
  json_object_set_new(row, "spark", spark_json(&run->steps));
  return row;
}

static bool is_shown(const char *name)
{
  const mo_setting *row = mo_settings_find(&train_settings, name);
  return row == NULL || option_row_effect((size_t)(row - train_settings.rows)) != OPTION_FREE;
}

static const char *option_text(const watched_run *run, const char *name)
{
  const char *text = json_string_value(json_object_get(run->options, name));
  return text != NULL ? text : "";
}

static bool differs(const watch_model *m, const char *name)
{
  for (size_t i = 1; i < m->count; i++)
    if (strcmp(option_text(m->runs[i], name), option_text(m->runs[0], name)) != 0) return true;
  return false;
}

/* The names of options that are not the same in all runs. Each name is looked at once, not once
 * for every run that has it. */
static json_t *different_options(const watch_model *m)
{
  json_t *names = json_array(), *seen = json_object();
  for (size_t i = 0; i < m->count; i++) {
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(m->runs[i]->options, name, value)
    {
      if (json_object_get(seen, name) != NULL) continue;
      json_object_set_new(seen, name, json_true());
      if (json_array_size(names) < MOST_DIFFERENT && is_shown(name) && differs(m, name))
        json_array_append_new(names, json_string(name));
    }
  }
  json_decref(seen);
  return names;
}

static void add_differences(json_t *row, const watched_run *run, const json_t *names)
{
  json_t *own = json_object();
  for (size_t i = 0; i < json_array_size(names); i++) {
    const char *name = json_string_value(json_array_get(names, i));
    json_object_set_new(own, name, json_string(option_text(run, name)));
  }
  json_object_set_new(row, "options", own);
}

/* The row whose record is `record`; records leave out runs without options. */
static json_t *row_of(json_t *rows, const watch_model *m, const run_record *list,
                      const run_record *record)
{
  size_t number = (size_t)(record - list);
  for (size_t i = 0; i < m->count; i++)
    if (m->runs[i]->has_options && number-- == 0) return json_array_get(rows, i);
  return NULL;
}

/* "group": runs that are alike but for their seed share it. */
static void add_groups(json_t *rows, const watch_model *m)
{
  run_records records;
  run_groups groups = {0};
  if (watch_records(m, m->runs, m->count, &records, NULL) != MOUSSE_OK) return;
  if (run_groups_make(&groups, &records, NULL) == MOUSSE_OK) {
    for (size_t g = 0; g < groups.count; g++)
      for (size_t r = 0; r < groups.list[g].count; r++) {
        json_t *row = row_of(rows, m, records.list, groups.list[g].runs[r]);
        json_object_set_new(row, "group", mo_json_text(groups.list[g].label));
      }
    run_groups_release(&groups);
  }
  watch_records_release(&records);
}

json_t *watch_runs_json(const watch_model *m)
{
  json_t *rows = json_array(), *names = different_options(m);
  for (size_t i = 0; i < m->count; i++) {
    json_t *row = watch_row_json(m, m->runs[i]);
    add_differences(row, m->runs[i], names);
    json_array_append_new(rows, row);
  }
  add_groups(rows, m);
  json_t *all = json_object();
  json_object_set_new(all, "directory", mo_json_text(m->directory));
  json_object_set_new(all, "program", json_sprintf("mousse %s", mousse_version()));
  set_count(all, "version", m->version);
  json_object_set_new(all, "differ", names);
  json_object_set_new(all, "runs", rows);
  return all;
}
