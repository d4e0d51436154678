/* run_end.c - how a run ended, by its events. */
#include "study/run_end.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/lines.h"
#include "base/settings.h"
#include "train/metrics.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

run_end run_end_after(run_end before, const json_t *event)
{
  const char *kind = json_string_value(json_object_get(event, "event"));
  const char *how = json_string_value(json_object_get(event, "text"));
  if (kind == NULL) return before;
  if (strcmp(kind, "started") == 0) return RUN_END_OPEN;
  if (strcmp(kind, "ended") != 0 || how == NULL) return before;
  if (strcmp(how, METRICS_COMPLETE) == 0) return RUN_END_COMPLETE;
  return strcmp(how, METRICS_ASKED) == 0 ? RUN_END_ASKED : RUN_END_FAILED;
}

static mousse_status take_line(void *context, const char *line, size_t size, mo_error *error)
{
  run_end *end = context;
  json_t *event = NULL;
  if (mo_json_line(&event, line, size, MO_JSON_FEW, error) == MOUSSE_NO_MEMORY)
    return MOUSSE_NO_MEMORY;
  *end = run_end_after(*end, event);
  json_decref(event);
  return MOUSSE_OK;
}

mousse_status run_end_read(run_end *end, const char *directory, mo_error *error)
{
  char path[MO_SETTING_PATH];
  *end = RUN_END_UNKNOWN;
  MO_TRY(mo_path_join(path, sizeof path, directory, "events.jsonl", error));
  if (access(path, F_OK) != 0 && errno == ENOENT) return MOUSSE_OK;
  return mo_lines_read(path, take_line, end, error);
}
