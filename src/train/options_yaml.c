/* options_yaml.c - a run's options from and to a YAML file.
 *
 * One value per key (yaml_keys.h); lists are refused.
 */
#include "base/file.h"
#include "support/yaml_keys.h"
#include "train/options.h"

#include <stdio.h>
#include <string.h>

typedef struct options_reader {
  train_options *run;
  const run_notices *notices;
} options_reader;

static mousse_status take(void *user, const yaml_entry *entry, mo_error *error)
{
  const options_reader *r = user;
  if (entry->is_list)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "expected one value, found a list or mapping");
  if (entry->is_null) return MOUSSE_OK;
  return options_set(r->run, entry->key, entry->values[0], r->notices, error);
}

mousse_status options_parse(train_options *run, const char *path, const char *text, size_t size,
                            const run_notices *notices, mo_error *error)
{
  options_reader r = {run, notices};
  return yaml_keys_parse(path, text, size, take, &r, error);
}

mousse_status options_read(train_options *run, const char *path, const run_notices *notices,
                           mo_error *error)
{
  options_reader r = {run, notices};
  return yaml_keys_read(path, take, &r, error);
}

/* Text in double quotes; other values as they are. */
static mousse_status write_line(mo_writer *file, const char *key, const char *text, bool quoted,
                                mo_error *error)
{
  char line[4 * MO_SETTING_PATH + YAML_LONGEST_KEY + 8];
  size_t used = (size_t)snprintf(line, sizeof line, "%s: %s", key, quoted ? "\"" : "");
  for (const char *c = text; *c != '\0'; c++) {
    if (!quoted || ((unsigned char)*c >= ' ' && *c != '"' && *c != '\\' && *c != 127))
      line[used++] = *c;
    else
      used += (size_t)sprintf(line + used, "\\x%02x", (unsigned char)*c);
  }
  used += (size_t)sprintf(line + used, "%s\n", quoted ? "\"" : "");
  return mo_writer_write(file, line, used, error);
}

static mousse_status write_all(const train_options *run, mo_writer *file, mo_error *error)
{
  for (size_t i = 0; i < train_settings.count; i++) {
    char text[MO_SETTING_PATH];
    const mo_setting *row = &train_settings.rows[i];
    if (!mo_setting_text(row, run, text, sizeof text))
      return mo_fail(error, MOUSSE_OUT_OF_RANGE, "option '%s' is too long to save", row->name);
    MO_TRY(write_line(file, row->name, text, row->type == MO_TYPE_TEXT, error));
  }
  for (size_t i = 0; i < run->option_count; i++) {
    char key[YAML_LONGEST_KEY];
    const train_option *option = &run->options[i];
    snprintf(key, sizeof key, "%s.%s", option->scalar ? "scalar" : "opt", option->name);
    MO_TRY(write_line(file, key, option->value, true, error));
  }
  return MOUSSE_OK;
}

mousse_status options_write(const train_options *run, const char *path, mo_error *error)
{
  mo_writer file;
  MO_TRY(mo_writer_open(&file, path, error));
  const mousse_status status = write_all(run, &file, error);
  if (status == MOUSSE_OK) return mo_writer_commit(&file, error);
  mo_writer_abandon(&file);
  return status;
}
