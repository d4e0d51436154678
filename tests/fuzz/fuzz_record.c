/* fuzz_record.c - a run directory from any bytes: config.yaml, metrics.jsonl, result.json and
 * history.jsonl, one after the other with form feeds between. A record that can be read can be reported. */
#include "fuzz.h"
#include "study/report_runs.h"

#include <string.h>

/* Cuts off what is before the next form feed. */
static const char *take_part(const char **text, size_t *left, size_t *size)
{
  const char *part = *text, *end = memchr(part, '\f', *left);
  *size = end != NULL ? (size_t)(end - part) : *left;
  *left -= *size + (end != NULL);
  *text = part + *size + (end != NULL);
  return part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const char *at = size > 0 ? (const char *)data : "";
  size_t left = size;
  run_record record;
  record_text text = {.name = "input"};
  mo_error error;
  json_t *results = NULL;
  text.config = take_part(&at, &left, &text.config_size);
  text.metrics = take_part(&at, &left, &text.metrics_size);
  text.result = take_part(&at, &left, &text.result_size);
  text.history = take_part(&at, &left, &text.history_size);
  if (text.result_size == 0) text.result = NULL;
  if (run_record_parse(&record, &text, RECORD_CURVES_AND_TELEMETRY, &error) != MOUSSE_OK)
    return 0;
  const run_records records = {.list = &record, .count = 1, .capacity = 1};
  FUZZ_CHECK(report_runs(&records, "fuzz", 2, &results, &error) == MOUSSE_OK);
  json_decref(results);
  run_record_release(&record);
  return 0;
}
