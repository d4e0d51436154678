/* run_record.c - one run directory, read. */
#include "study/run_record.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_METRICS = 1 << 30, LARGEST_RESULT = 1 << 20 };

/* One line of metrics.jsonl, being taken. */
typedef struct line_reader {
  run_record *record;
  record_parts parts;
  const json_t *line;
  const char *path;
  size_t number;
} line_reader;

static mousse_status refuse(const line_reader *r, const char *what, mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: %s", r->path, r->number, what);
}

/* null stands for a value that was not finite. */
static bool number_of(const json_t *object, const char *key, double *value)
{
  const json_t *member = json_object_get(object, key);
  *value = json_is_number(member) ? json_number_value(member) : NAN;
  return json_is_number(member) || json_is_null(member);
}

static bool count_of(const json_t *object, const char *key, uint64_t *value)
{
  const json_t *member = json_object_get(object, key);
  *value = (uint64_t)json_integer_value(member);
  return json_is_integer(member) && json_integer_value(member) >= 0;
}

static mousse_status no_memory(const char *path, mo_error *error)
{
  return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for what it tells", path);
}

static mousse_status take_step(const line_reader *r, mo_error *error)
{
  run_record *record = r->record;
  record_step s = {0};
  if (!count_of(r->line, "step", &s.step) || !count_of(r->line, "tokens", &s.tokens) ||
      !number_of(r->line, "loss", &s.loss) || !number_of(r->line, "lr", &s.lr) ||
      !number_of(r->line, "grad_norm", &s.grad_norm) ||
      !number_of(r->line, "seconds", &s.seconds))
    return refuse(r, "a step needs step, tokens, loss, lr, grad_norm and seconds", error);
  if (record->step_count > 0 && record->steps[record->step_count - 1].step >= s.step)
    return refuse(r, "its step is not later than the one before", error);
  if (!mo_grow(NULL, &record->steps, &record->step_capacity, record->step_count + 1, sizeof s))
    return no_memory(r->path, error);
  record->steps[record->step_count++] = s;
  return MOUSSE_OK;
}

static mousse_status take_validation(const line_reader *r, mo_error *error)
{
  run_record *record = r->record;
  const size_t count = record->validation_count;
  record_validation v = {0};
  if (!count_of(r->line, "step", &v.step) || !count_of(r->line, "tokens", &v.tokens) ||
      !number_of(r->line, "val_loss", &v.loss))
    return refuse(r, "a validation needs step, tokens and val_loss", error);
  if (count > 0 && record->validations[count - 1].step >= v.step)
    return refuse(r, "its validation is not later than the one before", error);
  if (!mo_grow(NULL, &record->validations, &record->validation_capacity, count + 1, sizeof v))
    return no_memory(r->path, error);
  record->validations[record->validation_count++] = v;
  return MOUSSE_OK;
}

static mousse_status take_quantity(const line_reader *r, const char *matrix,
                                   const char *quantity, double value, mo_error *error)
{
  run_record *record = r->record;
  const size_t count = record->telemetry_count;
  record_telemetry t = {.value = value};
  if (!count_of(r->line, "step", &t.step)) return refuse(r, "it has no step", error);
  if (strlen(matrix) >= sizeof t.matrix || strlen(quantity) >= sizeof t.quantity)
    return refuse(r, "the name of a matrix or quantity is too long", error);
  memcpy(t.matrix, matrix, strlen(matrix) + 1);
  memcpy(t.quantity, quantity, strlen(quantity) + 1);
  if (!mo_grow(NULL, &record->telemetry, &record->telemetry_capacity, count + 1, sizeof t))
    return no_memory(r->path, error);
  record->telemetry[record->telemetry_count++] = t;
  return MOUSSE_OK;
}

static mousse_status take_telemetry(const line_reader *r, mo_error *error)
{
  const char *matrix = json_string_value(json_object_get(r->line, "matrix")), *key = NULL;
  json_t *member = NULL, *line = (json_t *)r->line; /* the macro wants it so; only read */
  if (matrix == NULL) return refuse(r, "the name of a matrix is not text", error);
  if (r->parts != RECORD_CURVES_AND_TELEMETRY) return MOUSSE_OK;
  json_object_foreach(line, key, member)
  {
    double value = NAN;
    if (strcmp(key, "step") == 0 || strcmp(key, "matrix") == 0) continue;
    if (!number_of(line, key, &value)) return refuse(r, "a quantity is not a number", error);
    MO_TRY(take_quantity(r, matrix, key, value, error));
  }
  return MOUSSE_OK;
}

static mousse_status take_object(const line_reader *r, mo_error *error)
{
  if (json_object_get(r->line, "val_loss") != NULL) return take_validation(r, error);
  if (json_object_get(r->line, "matrix") != NULL) return take_telemetry(r, error);
  return take_step(r, error);
}

/* `last`: nothing follows, so damage is that of a killed process. */
static mousse_status take_line(line_reader *r, const char *text, size_t size, bool last,
                               mo_error *error)
{
  json_error_t reason;
  json_t *line = json_loadb(text, size, JSON_REJECT_DUPLICATES, &reason);
  if (line == NULL && last) return MOUSSE_OK;
  if (line == NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: not JSON: %s", r->path, r->number,
                   reason.text);
  r->line = line;
  const mousse_status status =
      json_is_object(line) ? take_object(r, error) : refuse(r, "not an object", error);
  json_decref(line);
  return status;
}

static mousse_status take_lines(line_reader *r, const char *text, size_t size, mo_error *error)
{
  for (const char *line = text, *end = text + size; line < end;) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    const char *next = newline != NULL ? newline + 1 : end;
    r->number++;
    MO_TRY(take_line(r, line, (size_t)(next - line), next == end, error));
    line = next;
  }
  return MOUSSE_OK;
}

/* A run that was stopped before its first step has no metrics.jsonl. */
static mousse_status read_metrics(run_record *record, record_parts parts, mo_error *error)
{
  char path[MO_SETTING_PATH], *text = NULL;
  size_t size = 0;
  MO_TRY(mo_path_join(path, sizeof path, record->directory, "metrics.jsonl", error));
  if (access(path, F_OK) != 0 && errno == ENOENT) return MOUSSE_OK;
  MO_TRY(mo_file_read(NULL, path, LARGEST_METRICS, &text, &size, error));
  line_reader reader = {.record = record, .parts = parts, .path = path};
  const mousse_status status = take_lines(&reader, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}

static mousse_status take_result(run_record *record, const json_t *object, const char *path,
                                 mo_error *error)
{
  static const char *const names[] = {"", "complete", "diverged", "failed"};
  const char *status = json_string_value(json_object_get(object, "status"));
  for (int i = RECORD_COMPLETE; i <= RECORD_FAILED && status != NULL; i++)
    if (strcmp(status, names[i]) == 0) record->status = (record_status)i;
  if (record->status == RECORD_UNKNOWN)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: status is '%s', expected complete, diverged or failed", path,
                   status != NULL ? status : "");
  number_of(object, "peak_bytes", &record->peak_bytes);
  number_of(object, "wall_seconds", &record->wall_seconds);
  number_of(object, "cpu_seconds", &record->cpu_seconds);
  return MOUSSE_OK;
}

static mousse_status read_result(run_record *record, mo_error *error)
{
  char path[MO_SETTING_PATH], *text = NULL;
  size_t size = 0;
  json_error_t reason;
  MO_TRY(mo_path_join(path, sizeof path, record->directory, "result.json", error));
  if (access(path, F_OK) != 0 && errno == ENOENT) return MOUSSE_OK;
  MO_TRY(mo_file_read(NULL, path, LARGEST_RESULT, &text, &size, error));
  json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &reason);
  mo_release(NULL, text, size + 1);
  if (object == NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %d: not JSON: %s", path, reason.line,
                   reason.text);
  const mousse_status status = take_result(record, object, path, error);
  json_decref(object);
  return status;
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
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static mousse_status find_step_seconds(run_record *record, mo_error *error)
{
  size_t count = 0;
  const size_t bytes = record->step_count * sizeof(double);
  if (bytes == 0) return MOUSSE_OK;
  double *seconds = mo_allocate(NULL, bytes);
  if (seconds == NULL) return no_memory(record->directory, error);
  for (size_t i = 0; i < record->step_count; i++)
    if (isfinite(record->steps[i].seconds)) seconds[count++] = record->steps[i].seconds;
  qsort(seconds, count, sizeof *seconds, compare_numbers);
  if (count > 0) record->step_seconds = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
  mo_release(NULL, seconds, bytes);
  return MOUSSE_OK;
}

static mousse_status read_all(run_record *record, const char *directory, record_parts parts,
                              mo_error *error)
{
  MO_TRY(find_name(record, directory, error));
  MO_TRY(read_config(record, error));
  MO_TRY(read_metrics(record, parts, error));
  MO_TRY(read_result(record, error));
  MO_TRY(find_step_seconds(record, error));
  if (record->validation_count > 0)
    record->final_loss = record->validations[record->validation_count - 1].loss;
  record->complete =
      record->step_count > 0 && record->status <= RECORD_COMPLETE &&
      record->steps[record->step_count - 1].step >= (uint64_t)record->options.num_iterations;
  return MOUSSE_OK;
}

mousse_status run_record_read(run_record *record, const char *directory, record_parts parts,
                              mo_error *error)
{
  *record = (run_record){.final_loss = NAN,
                         .step_seconds = NAN,
                         .peak_bytes = NAN,
                         .wall_seconds = NAN,
                         .cpu_seconds = NAN};
  const mousse_status status = read_all(record, directory, parts, error);
  if (status != MOUSSE_OK) run_record_release(record);
  return status;
}

void run_record_release(run_record *record)
{
  mo_release(NULL, record->steps, record->step_capacity * sizeof *record->steps);
  mo_release(NULL, record->validations,
             record->validation_capacity * sizeof *record->validations);
  mo_release(NULL, record->telemetry, record->telemetry_capacity * sizeof *record->telemetry);
  *record = (run_record){0};
}

double run_record_lr(const run_record *record)
{
  const train_options *run = &record->options;
  const mousse_option *option = NULL;
  double lr = NAN;
  for (size_t i = 0; (option = mousse_algorithm_option(run->optimizer, i)) != NULL; i++)
    if (strcmp(option->name, "lr") == 0) lr = option->initial;
  if (run->lr[0] != '\0') mo_parse_double(run->lr, &lr);
  for (size_t i = 0; i < run->option_count; i++)
    if (!run->options[i].scalar && strcmp(run->options[i].name, "lr") == 0)
      mo_parse_double(run->options[i].value, &lr);
  return lr;
}

double run_record_steps_to(const run_record *record, double target)
{
  const record_validation *v = record->validations;
  for (size_t i = 0; i < record->validation_count; i++) {
    if (!(v[i].loss <= target)) continue;
    const double here = (double)v[i].step;
    if (i == 0 || !isfinite(v[i - 1].loss)) return here;
    const double before = (double)v[i - 1].step;
    return before + (here - before) * (v[i - 1].loss - target) / (v[i - 1].loss - v[i].loss);
  }
  return NAN;
}
