/* watch_records.c - watched runs as records, so that reports and groups are made by the same
 * code for a directory that is read at once and for runs that are followed. */
#include "study/report_runs.h"
#include "study/run_mean.h"
#include "watch/watch_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A bucket counts as one step with the means of its steps. */
static void fill_steps(run_record *record, const watch_series *series)
{
  for (size_t i = 0; i < series->count; i++) {
    const series_place *place = &series->places[i];
    const uint64_t before = i > 0 ? series->places[i - 1].last : 0;
    const double seconds = place->seconds - (i > 0 ? series->places[i - 1].seconds : 0);
    record->steps[i] = (record_step){
        .step = place->last,
        .tokens = (uint64_t)place->tokens,
        .loss = series_mean(series_at(series, i, STEP_LOSS)),
        .lr = series_mean(series_at(series, i, STEP_LR)),
        .grad_norm = series_mean(series_at(series, i, STEP_GRAD_NORM)),
        .seconds = place->last > before ? seconds / (double)(place->last - before) : NAN,
    };
  }
  record->step_count = series->count;
}

static void fill_validations(run_record *record, const watch_series *series)
{
  for (size_t i = 0; i < series->count; i++)
    record->validations[i] = (record_validation){
        .step = series->places[i].last,
        .tokens = (uint64_t)series->places[i].tokens,
        .loss = series_mean(series_at(series, i, VALIDATION_LOSS)),
        .bits_per_byte = series_mean(series_at(series, i, VALIDATION_BITS)),
    };
  record->validation_count = series->count;
}

/* The history stays the run's own: it is borrowed. */
static mousse_status copy_run(const watched_run *run, run_record *record, mo_error *error)
{
  *record = run->record;
  record->steps = NULL;
  record->validations = NULL;
  record->step_capacity = record->validation_capacity = 0;
  if (!mo_grow(NULL, &record->steps, &record->step_capacity, run->steps.count + 1,
               sizeof *record->steps) ||
      !mo_grow(NULL, &record->validations, &record->validation_capacity,
               run->validations.count + 1, sizeof *record->validations))
    return mo_fail(error, MOUSSE_NO_MEMORY, "%.200s: no memory for its curves", run->path);
  fill_steps(record, &run->steps);
  fill_validations(record, &run->validations);
  return MOUSSE_OK;
}

mousse_status watch_records(const watch_model *model, watched_run *const *runs, size_t count,
                            run_records *records, mo_error *error)
{
  *records = (run_records){0};
  if (!mo_grow(NULL, &records->list, &records->capacity, count + 1, sizeof *records->list))
    return mo_fail(error, MOUSSE_NO_MEMORY, "%.200s: no memory for its runs", model->directory);
  for (size_t i = 0; i < count; i++) {
    if (!runs[i]->has_options) continue;
    run_record *record = &records->list[records->count++];
    const mousse_status status = copy_run(runs[i], record, error);
    if (status != MOUSSE_OK) {
      watch_records_release(records);
      return status;
    }
  }
  return MOUSSE_OK;
}

void watch_records_release(run_records *records)
{
  for (size_t i = 0; i < records->count; i++) {
    records->list[i].history = (run_history){0}; /* borrowed */
    run_record_release(&records->list[i]);
  }
  mo_release(NULL, records->list, records->capacity * sizeof *records->list);
  *records = (run_records){0};
}

typedef struct timed_steps {
  double seconds; /* of each */
  uint64_t count;
} timed_steps;

static int by_seconds(const void *a, const void *b)
{
  return number_order(((const timed_steps *)a)->seconds, ((const timed_steps *)b)->seconds);
}

/* The seconds of the step number `place`, from 0, of a list in the order of seconds. */
static double seconds_at(const timed_steps *list, uint64_t place)
{
  while (place >= list->count) place -= list++->count;
  return list->seconds;
}

/* The median over steps, as 'mousse report' has it; those of a bucket count with their mean. */
static mousse_status find_step_seconds(run_record *record, mo_error *error)
{
  const size_t bytes = (record->step_count + 1) * sizeof(timed_steps);
  size_t count = 0;
  uint64_t all = 0, before = 0;
  record->step_seconds = record->result.step_seconds > 0 ? record->result.step_seconds : NAN;
  if (record->result.step_seconds > 0) return MOUSSE_OK;
  timed_steps *list = mo_allocate(NULL, bytes);
  if (list == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%.200s: no memory for its steps", record->name);
  for (size_t i = 0; i < record->step_count; i++) {
    const record_step *s = &record->steps[i];
    if (isfinite(s->seconds)) {
      list[count++] = (timed_steps){s->seconds, s->step - before};
      all += s->step - before;
    }
    before = s->step;
  }
  qsort(list, count, sizeof *list, by_seconds);
  if (all > 0)
    record->step_seconds = (seconds_at(list, (all - 1) / 2) + seconds_at(list, all / 2)) / 2;
  mo_release(NULL, list, bytes);
  return MOUSSE_OK;
}

static mousse_status report_on(run_records *records, const char *command, json_t **results,
                               mo_error *error)
{
  if (records->count == 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "no runs to report on: name some of them");
  for (size_t i = 0; i < records->count; i++)
    MO_TRY(find_step_seconds(&records->list[i], error));
  return report_runs(records, command, NAN, results, error);
}

mousse_status watch_report(const watch_model *model, watched_run *const *runs, size_t count,
                           json_t **results, mo_error *error)
{
  char command[MO_SETTING_PATH + 32];
  run_records records;
  MO_TRY(watch_records(model, runs, count, &records, error));
  snprintf(command, sizeof command, "mousse watch %s", model->directory);
  const mousse_status status = report_on(&records, command, results, error);
  watch_records_release(&records);
  return status;
}
