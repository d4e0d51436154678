/* run_record.c - one run directory, read. */
#include "study/run_record.h"

#include "base/file.h"
#include "base/lines.h"
#include "base/text.h"
#include "study/metrics_line.h"
#include "study/run_mean.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static mousse_status no_memory(const char *path, mo_error *error)
{
  return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for its contents", path);
}

static mousse_status bad(const char *what, mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s", what);
}

static mousse_status take_step(run_record *record, const metrics_line *l, mo_error *error)
{
  const size_t count = record->step_count;
  if (count > 0 && record->steps[count - 1].step >= l->step)
    return bad("its step is not later than the one before", error);
  if (!mo_grow(NULL, &record->steps, &record->step_capacity, count + 1, sizeof *record->steps))
    return no_memory(record->directory, error);
  record->steps[record->step_count++] =
      (record_step){l->step, l->tokens, l->loss, l->lr, l->grad_norm, l->seconds};
  return MOUSSE_OK;
}

static mousse_status take_validation(run_record *record, const metrics_line *l, mo_error *error)
{
  const size_t count = record->validation_count;
  if (count > 0 && record->validations[count - 1].step >= l->step)
    return bad("its validation is not later than the one before", error);
  if (!mo_grow(NULL, &record->validations, &record->validation_capacity, count + 1,
               sizeof *record->validations))
    return no_memory(record->directory, error);
  record->validations[record->validation_count++] =
      (record_validation){l->step, l->tokens, l->loss, l->bits_per_byte};
  return MOUSSE_OK;
}

static mousse_status take_quantity(run_record *record, const metrics_line *l,
                                   const char *quantity, double value, mo_error *error)
{
  const size_t count = record->telemetry_count;
  record_telemetry t = {.step = l->step, .value = value};
  if (strlen(l->matrix) >= sizeof t.matrix || strlen(quantity) >= sizeof t.quantity)
    return bad("the name of a matrix or quantity is too long", error);
  memcpy(t.matrix, l->matrix, strlen(l->matrix) + 1);
  memcpy(t.quantity, quantity, strlen(quantity) + 1);
  if (!mo_grow(NULL, &record->telemetry, &record->telemetry_capacity, count + 1, sizeof t))
    return no_memory(record->directory, error);
  record->telemetry[record->telemetry_count++] = t;
  return MOUSSE_OK;
}

static mousse_status take_telemetry(run_record *record, const metrics_line *l, mo_error *error)
{
  const char *key = NULL;
  json_t *member = NULL;
  json_object_foreach(l->object, key, member)
  {
    double value = NAN;
    if (strcmp(key, "step") == 0 || strcmp(key, "matrix") == 0) continue;
    if (!metrics_number(l->object, key, &value))
      return bad("a quantity is not a number", error);
    MO_TRY(take_quantity(record, l, key, value, error));
  }
  return MOUSSE_OK;
}

static mousse_status take(run_record *record, record_parts parts, const metrics_line *line,
                          mo_error *error)
{
  if (line->kind == METRICS_STEP) return take_step(record, line, error);
  if (line->kind == METRICS_VALIDATION) return take_validation(record, line, error);
  return parts == RECORD_CURVES ? MOUSSE_OK : take_telemetry(record, line, error);
}

typedef struct record_reader {
  run_record *record;
  record_parts parts;
} record_reader;

static mousse_status take_line(void *context, const char *text, size_t size, mo_error *error)
{
  const record_reader *reader = context;
  metrics_line line;
  if (reader->parts == RECORD_CURVES && metrics_is_telemetry(text, size)) return MOUSSE_OK;
  mousse_status status = metrics_line_read(&line, text, size, error);
  if (status == MOUSSE_BAD_FORMAT && text[size - 1] != '\n') return MOUSSE_OK;
  MO_TRY(status);
  status = take(reader->record, reader->parts, &line, error);
  metrics_line_release(&line);
  return status;
}

/* A run that was stopped before its first step has no metrics.jsonl. */
static mousse_status read_metrics(run_record *record, record_parts parts, mo_error *error)
{
  char path[MO_SETTING_PATH];
  record_reader reader = {record, parts};
  MO_TRY(mo_path_join(path, sizeof path, record->directory, "metrics.jsonl", error));
  if (access(path, F_OK) != 0 && errno == ENOENT) return MOUSSE_OK;
  return mo_lines_read(path, take_line, &reader, error);
}

static mousse_status read_config(run_record *record, mo_error *error)
{
  char path[MO_SETTING_PATH];
  MO_TRY(mo_path_join(path, sizeof path, record->directory, "config.yaml", error));
  if (access(path, F_OK) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: not a run directory: it has no config.yaml",
                   record->directory);
  MO_TRY(options_defaults(&record->options, error));
  return options_read(&record->options, path, NULL, error);
}

static mousse_status find_name(run_record *record, const char *directory, mo_error *error)
{
  char path[PATH_MAX]; /* realpath wants this much */
  if (realpath(directory, path) == NULL)
    return mo_fail(error, MOUSSE_IO, "%s: %s", directory, strerror(errno));
  const char *last = strrchr(path, '/') + 1;
  if (strlen(path) >= sizeof record->directory || strlen(last) >= sizeof record->name)
    return mo_fail(error, MOUSSE_IO, "%s: path is too long", directory);
  memcpy(record->directory, path, strlen(path) + 1);
  memcpy(record->name, last, strlen(last) + 1);
  return MOUSSE_OK;
}

static int compare_numbers(const void *a, const void *b)
{
  return number_order(*(const double *)a, *(const double *)b);
}

/* With the nine digits of files: a run that comes back from an archive is the same to the last. */
static double as_written(double value)
{
  char text[32];
  snprintf(text, sizeof text, "%.9g", value);
  return strtod(text, NULL);
}

static mousse_status find_step_seconds(run_record *record, mo_error *error)
{
  size_t count = 0;
  const size_t bytes = record->step_count * sizeof(double);
  if (record->result.step_seconds > 0) record->step_seconds = record->result.step_seconds;
  if (bytes == 0 || record->result.step_seconds > 0) return MOUSSE_OK;
  double *seconds = mo_allocate(NULL, bytes);
  if (seconds == NULL) return no_memory(record->directory, error);
  for (size_t i = 0; i < record->step_count; i++)
    if (isfinite(record->steps[i].seconds)) seconds[count++] = record->steps[i].seconds;
  qsort(seconds, count, sizeof *seconds, compare_numbers);
  if (count > 0)
    record->step_seconds = as_written((seconds[(count - 1) / 2] + seconds[count / 2]) / 2);
  mo_release(NULL, seconds, bytes);
  return MOUSSE_OK;
}

/* Whether as many validations as the run's patience brought no lower loss: then it has ended. */
static bool lost_patience(const run_record *record)
{
  const uint64_t patience = (uint64_t)record->options.patience;
  uint64_t without = 0;
  double best = INFINITY;
  for (size_t i = 0; i < record->validation_count; i++) {
    const bool better = record->validations[i].loss < best;
    without = better ? 0 : without + 1;
    if (better) best = record->validations[i].loss;
  }
  return patience > 0 && without >= patience;
}

/* A run with validations makes one after its last step, whatever val_loss_every is: one that
 * was killed in between has no final loss. */
static bool took_all_steps(const run_record *record)
{
  const size_t steps = record->step_count, validations = record->validation_count;
  if (steps == 0) return false;
  const uint64_t last = record->steps[steps - 1].step;
  return last >= (uint64_t)record->options.num_iterations &&
         (validations == 0 || record->validations[validations - 1].step >= last);
}

/* Whether the last validation is of the weights that the run ended with. It is not where a run went on
 * without validation data, or a full disk cost it its last lines. */
static bool ends_with_validation(const run_record *record)
{
  const size_t steps = record->step_count, count = record->validation_count;
  if (count == 0) return false;
  const uint64_t last = record->validations[count - 1].step;
  return (steps == 0 || last >= record->steps[steps - 1].step) &&
         (last >= (uint64_t)record->options.num_iterations || lost_patience(record));
}

bool run_record_is_complete(const run_record *record, bool over)
{
  return record->result.status == RECORD_COMPLETE ||
         (record->result.status == RECORD_UNKNOWN && record->end != RUN_END_FAILED &&
          (over || record->end == RUN_END_COMPLETE));
}

/* What follows from what was read. */
static mousse_status conclude(run_record *record, mo_error *error)
{
  MO_TRY(find_step_seconds(record, error));
  if (record->validation_count > 0) {
    record->final_loss = record->validations[record->validation_count - 1].loss;
    record->final_bits = record->validations[record->validation_count - 1].bits_per_byte;
  }
  const bool over = took_all_steps(record) || lost_patience(record);
  record->complete = run_record_is_complete(record, over);
  if (record->complete && !ends_with_validation(record))
    record->final_loss = record->final_bits = NAN;
  return MOUSSE_OK;
}

static mousse_status read_all(run_record *record, const char *directory, record_parts parts,
                              mo_error *error)
{
  MO_TRY(find_name(record, directory, error));
  MO_TRY(read_config(record, error));
  MO_TRY(read_metrics(record, parts, error));
  MO_TRY(run_result_read(&record->result, record->directory, error));
  MO_TRY(run_history_read(&record->history, record->directory, error));
  MO_TRY(run_end_read(&record->end, record->directory, error));
  return conclude(record, error);
}

static mousse_status parse_all(run_record *record, const record_text *text, record_parts parts,
                               mo_error *error)
{
  record_reader reader = {record, parts};
  snprintf(record->directory, sizeof record->directory, "%s", text->name);
  snprintf(record->name, sizeof record->name, "%.255s", text->name);
  MO_TRY(options_defaults(&record->options, error));
  MO_TRY(options_parse(&record->options, text->name, text->config, text->config_size, NULL,
                       error));
  MO_TRY(
      mo_lines_take(text->name, text->metrics, text->metrics_size, take_line, &reader, error));
  if (text->result != NULL)
    MO_TRY(
        run_result_parse(&record->result, text->name, text->result, text->result_size, error));
  if (text->history != NULL)
    MO_TRY(run_history_parse(&record->history, text->name, text->history, text->history_size,
                             error));
  return conclude(record, error);
}

static run_record unknown(void)
{
  const run_result result = {.peak_bytes = NAN, .wall_seconds = NAN, .cpu_seconds = NAN};
  return (run_record){
      .final_loss = NAN, .final_bits = NAN, .step_seconds = NAN, .result = result};
}

mousse_status run_record_parse(run_record *record, const record_text *text, record_parts parts,
                               mo_error *error)
{
  *record = unknown();
  const mousse_status status = parse_all(record, text, parts, error);
  if (status != MOUSSE_OK) run_record_release(record);
  return status;
}

mousse_status run_record_read(run_record *record, const char *directory, record_parts parts,
                              mo_error *error)
{
  *record = unknown();
  const mousse_status status = read_all(record, directory, parts, error);
  if (status != MOUSSE_OK) run_record_release(record);
  return status;
}

void run_record_release(run_record *record)
{
  mo_release(NULL, record->steps, record->step_capacity * sizeof *record->steps);
  mo_release(NULL, record->validations,
             record->validation_capacity * sizeof *record->validations);
  run_history_release(&record->history);
  mo_release(NULL, record->telemetry, record->telemetry_capacity * sizeof *record->telemetry);
  *record = (run_record){0};
}

double run_record_lr(const run_record *record)
{
  const train_options *run = &record->options;
  const mousse_option *option = options_of_algorithm(run->optimizer, "lr");
  double lr = option != NULL ? option->initial : NAN;
  if (run->lr[0] != '\0') mo_parse_double(run->lr, &lr);
  for (size_t i = 0; i < run->option_count; i++)
    if (!run->options[i].scalar && strcmp(run->options[i].name, "lr") == 0)
      mo_parse_double(run->options[i].value, &lr);
  return lr;
}

static bool rose(double first, double last)
{
  return !(last <= first + 1);
}

bool run_record_blew_up(const run_record *record)
{
  const size_t steps = record->step_count, validations = record->validation_count;
  if (record->result.status == RECORD_DIVERGED) return true;
  if (validations > 0 &&
      rose(record->validations[0].loss, record->validations[validations - 1].loss))
    return true;
  return steps > 0 && rose(record->steps[0].loss, record->steps[steps - 1].loss);
}

const char *run_record_state(const run_record *record)
{
  if (record->result.status == RECORD_DIVERGED) return "diverged";
  if (record->result.status == RECORD_HOPELESS) return "hopeless";
  if (record->result.status == RECORD_FAILED) return "failed";
  if (record->result.status == RECORD_UNKNOWN && record->end == RUN_END_FAILED) return "failed";
  return record->complete ? "complete" : "not finished";
}
