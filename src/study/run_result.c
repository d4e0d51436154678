/* run_result.c - result.json, read and written. */
#include "study/run_result.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "study/metrics_line.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_RESULT = 1 << 20, LONGEST_PATH = 4096 };

static const char *const status_names[] = {"", "complete", "diverged", "hopeless", "failed"};

static record_status status_of(const char *name)
{
  for (int i = RECORD_COMPLETE; i <= RECORD_FAILED; i++)
    if (strcmp(name, status_names[i]) == 0) return (record_status)i;
  return RECORD_UNKNOWN;
}

static run_result unknown(void)
{
  return (run_result){.peak_bytes = NAN, .wall_seconds = NAN, .cpu_seconds = NAN};
}

mousse_status run_result_take(run_result *result, const json_t *object, const char *path,
                              mo_error *error)
{
  *result = unknown();
  const char *name = json_string_value(json_object_get(object, "status"));
  result->status = status_of(name != NULL ? name : "");
  if (result->status == RECORD_UNKNOWN)
    return mo_fail(
        error, MOUSSE_BAD_FORMAT,
        "%.300s: status is '%.40s', expected complete, diverged, hopeless or failed; remove "
        "the file to repeat the run",
        path, name != NULL ? name : "");
  result->steps = (uint64_t)json_integer_value(json_object_get(object, "steps"));
  metrics_number(object, "peak_bytes", &result->peak_bytes);
  metrics_number(object, "wall_seconds", &result->wall_seconds);
  metrics_number(object, "cpu_seconds", &result->cpu_seconds);
  metrics_number(object, "step_seconds", &result->step_seconds);
  if (!(result->step_seconds > 0)) result->step_seconds = 0;
  return MOUSSE_OK;
}

mousse_status run_result_parse(run_result *result, const char *path, const char *text,
                               size_t size, mo_error *error)
{
  json_t *object = NULL;
  *result = unknown();
  MO_TRY(mo_json_parse(&object, path, text, size, MO_JSON_FEW, JSON_REJECT_DUPLICATES, error));
  const mousse_status status = run_result_take(result, object, path, error);
  json_decref(object);
  return status;
}

mousse_status run_result_read(run_result *result, const char *directory, mo_error *error)
{
  char path[LONGEST_PATH], *text = NULL;
  size_t size = 0;
  *result = unknown();
  MO_TRY(mo_path_join(path, sizeof path, directory, "result.json", error));
  if (access(path, F_OK) != 0 && errno == ENOENT) return MOUSSE_OK;
  MO_TRY(mo_file_read(NULL, path, LARGEST_RESULT, &text, &size, error));
  const mousse_status status = run_result_parse(result, path, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}

static json_t *whole(double value)
{
  return isfinite(value) ? json_integer((json_int_t)value) : json_null();
}

static json_t *number(double value)
{
  return isfinite(value) ? json_real(value) : json_null();
}

json_t *run_result_json(const run_result *result)
{
  json_t *steps = result->step_seconds > 0 ? number(result->step_seconds) : NULL;
  return json_pack("{s:s, s:I, s:o, s:o, s:o, s:o*}", "status", status_names[result->status],
                   "steps", (json_int_t)result->steps, "peak_bytes", whole(result->peak_bytes),
                   "wall_seconds", number(result->wall_seconds), "cpu_seconds",
                   number(result->cpu_seconds), "step_seconds", steps);
}

mousse_status run_result_write(const run_result *result, const char *directory, mo_error *error)
{
  char path[LONGEST_PATH];
  MO_TRY(mo_path_join(path, sizeof path, directory, "result.json", error));
  json_t *object = run_result_json(result);
  char *text = json_dumps(object, JSON_REAL_PRECISION(RESULT_DIGITS));
  json_decref(object);
  if (text == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%.300s: no memory for it", path);
  const mousse_status status = mo_file_write(path, text, strlen(text), error);
  free(text);
  return status;
}
