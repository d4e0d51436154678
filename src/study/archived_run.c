/* archived_run.c - one line of an archive of runs, read. */
#include "study/archived_run.h"

#include "base/file.h"
#include "base/json_text.h"
#include "study/run_history.h"
#include "study/runs.h"

#include <string.h>

static mousse_status bad(const char *what, mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s", what);
}

/* @/data -> DIR/data */
static mousse_status attach(train_options *options, const archived_study *study,
                            mo_error *error)
{
  char data_dir[MO_SETTING_PATH];
  if (options->data_dir[0] != '@') return MOUSSE_OK;
  if (strstr(options->data_dir, "..") != NULL)
    return bad("its data_dir is not in the study's directory", error);
  MO_TRY(mo_path_join(data_dir, sizeof data_dir, study->directory,
                      options->data_dir + strspn(options->data_dir, "@/"), error));
  return options_set(options, "data_dir", data_dir, NULL, error);
}

static mousse_status take_options(train_options *options, const archived_study *study,
                                  const json_t *object, mo_error *error)
{
  const char *key = NULL;
  json_t *value = NULL;
  json_object_foreach((json_t *)(uintptr_t)object, key, value)
  {
    if (!json_is_string(value)) return bad("the value of an option is not a text", error);
    MO_TRY(options_set(options, key, json_string_value(value), NULL, error));
  }
  return attach(options, study, error);
}

/* What differs from the options, which are all that an old line has. */
static mousse_status take_config(archived_run *run, const archived_study *study,
                                 const json_t *object, mo_error *error)
{
  run->config = run->options;
  if (object == NULL) return MOUSSE_OK;
  if (!json_is_object(object)) return bad("its config is not an object", error);
  memset(run->config.options, 0, sizeof run->config.options);
  run->config.option_count = 0;
  return take_options(&run->config, study, object, error);
}

static mousse_status take_data(archived_run *run, const json_t *data, mo_error *error)
{
  run->train = json_string_value(json_object_get(data, "train"));
  run->val = json_string_value(json_object_get(data, "val"));
  if (data != NULL && (run->train == NULL || strlen(run->train) >= CHECKSUM_TEXT ||
                       (run->val != NULL && strlen(run->val) >= CHECKSUM_TEXT)))
    return bad("its data are not two checksums", error);
  return MOUSSE_OK;
}

static bool is_name(const char *name)
{
  return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL &&
         strlen(name) < STUDY_NAME;
}

static mousse_status take_line(archived_run *run, const archived_study *study,
                               const json_t *line, mo_error *error)
{
  const json_t *options = json_object_get(line, "options");
  run->name = json_string_value(json_object_get(line, "name"));
  run->metrics = json_string_value(json_object_get(line, "metrics"));
  if (run->name == NULL || !is_name(run->name)) return bad("it has no name of a run", error);
  if (run->metrics == NULL || !json_is_object(options))
    return bad("it lacks options or metrics", error);
  MO_TRY(run_result_take(&run->result, json_object_get(line, "result"), "result", error));
  MO_TRY(take_data(run, json_object_get(line, "data"), error));
  MO_TRY(options_defaults(&run->options, error));
  MO_TRY(take_options(&run->options, study, options, error));
  return take_config(run, study, json_object_get(line, "config"), error);
}

mousse_status archived_run_read(archived_run *run, const archived_study *study,
                                const char *text, size_t size, mo_error *error)
{
  MO_TRY(mo_json_line(&run->line, text, size, MO_JSON_FEW, error));
  const mousse_status status = take_line(run, study, run->line, error);
  if (status != MOUSSE_OK) archived_run_release(run);
  return status;
}

void archived_run_release(archived_run *run)
{
  json_decref(run->line);
  run->line = NULL;
}
