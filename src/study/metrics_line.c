/* metrics_line.c - one line of metrics.jsonl, read. */
#include "study/metrics_line.h"

#include "base/json_text.h"

#include <math.h>
#include <string.h>

static mousse_status refuse(const char *what, mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s", what);
}

bool metrics_number(const json_t *object, const char *key, double *value)
{
  const json_t *member = json_object_get(object, key);
  *value = json_is_number(member) ? json_number_value(member) : NAN;
  return json_is_number(member) || json_is_null(member);
}

static bool take_count(const json_t *object, const char *key, uint64_t *value)
{
  const json_t *member = json_object_get(object, key);
  *value = (uint64_t)json_integer_value(member);
  return json_is_integer(member) && json_integer_value(member) >= 0;
}

static mousse_status take_step(metrics_line *line, mo_error *error)
{
  const json_t *o = line->object;
  line->kind = METRICS_STEP;
  line->skipped = json_is_true(json_object_get(o, "skipped"));
  metrics_number(o, "memory", &line->memory);
  if (take_count(o, "step", &line->step) && take_count(o, "tokens", &line->tokens) &&
      metrics_number(o, "loss", &line->loss) && metrics_number(o, "lr", &line->lr) &&
      metrics_number(o, "grad_norm", &line->grad_norm) &&
      metrics_number(o, "seconds", &line->seconds))
    return MOUSSE_OK;
  return refuse("a step needs step, tokens, loss, lr, grad_norm and seconds", error);
}

static mousse_status take_validation(metrics_line *line, mo_error *error)
{
  const json_t *o = line->object;
  line->kind = METRICS_VALIDATION;
  metrics_number(o, "val_bits_per_byte", &line->bits_per_byte);
  if (take_count(o, "step", &line->step) && take_count(o, "tokens", &line->tokens) &&
      metrics_number(o, "val_loss", &line->loss))
    return MOUSSE_OK;
  return refuse("a validation needs step, tokens and val_loss", error);
}

static mousse_status take_telemetry(metrics_line *line, mo_error *error)
{
  line->kind = METRICS_TELEMETRY;
  line->matrix = json_string_value(json_object_get(line->object, "matrix"));
  if (line->matrix == NULL) return refuse("the name of a matrix is not text", error);
  if (!take_count(line->object, "step", &line->step)) return refuse("it has no step", error);
  return MOUSSE_OK;
}

static mousse_status take_object(metrics_line *line, mo_error *error)
{
  if (!json_is_object(line->object)) return refuse("not an object", error);
  if (json_object_get(line->object, "val_loss") != NULL) return take_validation(line, error);
  if (json_object_get(line->object, "matrix") != NULL) return take_telemetry(line, error);
  return take_step(line, error);
}

mousse_status metrics_line_read(metrics_line *line, const char *text, size_t size,
                                mo_error *error)
{
  if (metrics_scan(line, text, size)) return MOUSSE_OK;
  *line = (metrics_line){.bits_per_byte = NAN, .memory = NAN};
  MO_TRY(mo_json_line(&line->object, text, size, MO_JSON_FEW, error));
  const mousse_status status = take_object(line, error);
  if (status != MOUSSE_OK) metrics_line_release(line);
  return status;
}

/* A line that is cut off is damaged, not telemetry. */
bool metrics_is_telemetry(const char *text, size_t size)
{
  static const char start[] = "{\"step\": ", key[] = ", \"matrix\": \"";
  size_t at = strlen(start);
  if (size <= at || memcmp(text, start, at) != 0) return false;
  while (at < size && text[at] >= '0' && text[at] <= '9') at++;
  return size - at > strlen(key) && memcmp(text + at, key, strlen(key)) == 0 &&
         memcmp(text + size - 2, "}\n", 2) == 0;
}

void metrics_line_release(metrics_line *line)
{
  json_decref(line->object);
  *line = (metrics_line){.bits_per_byte = NAN};
}
