/* options_yaml.c - a run's options from and to a YAML file.
 *
 * One value per key (yaml_keys.h); lists are refused.
 */
#include "base/file.h"
#include "base/utf8.h"
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
  return yaml_keys_parse(path, text, size, options_key_name, take, &r, error);
}

mousse_status options_read(train_options *run, const char *path, const run_notices *notices,
                           mo_error *error)
{
  options_reader r = {run, notices};
  return yaml_keys_read(path, options_key_name, take, &r, error);
}

/* What readers of YAML refuse, take for a line's end or have a meaning for. */
static bool is_plain(uint32_t c)
{
  return c >= ' ' && c != '"' && c != '\\' && !(c >= 0x7F && c < 0xA0) && c != 0x2028 &&
         c != 0x2029 && c != 0xFEFF && c != 0xFFFE && c != 0xFFFF;
}

/* Puts text in double quotes behind `used` bytes of a line; 0: it is not UTF-8. */
static size_t quote(char *line, size_t used, const char *text)
{
  line[used++] = '"';
  for (size_t left = strlen(text), bytes = 0; left > 0; text += bytes, left -= bytes) {
    bytes = mo_utf8_sequence(text, left);
    if (bytes == 0) return 0;
    const uint32_t c = mo_utf8_character(text);
    if (is_plain(c)) memcpy(line + used, text, bytes);
    used += is_plain(c) ? bytes
                        : (size_t)sprintf(line + used, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
  }
  line[used++] = '"';
  return used;
}

/* Text in double quotes; other values as they are. */
static mousse_status write_line(mo_writer *file, const char *key, const char *text, bool quoted,
                                mo_error *error)
{
  char line[4 * MO_SETTING_PATH + YAML_LONGEST_KEY + 8];
  size_t used = (size_t)snprintf(line, sizeof line, "%s: ", key);
  if (quoted)
    used = quote(line, used, text);
  else
    used += (size_t)snprintf(line + used, sizeof line - used - 1, "%s", text);
  if (used == 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "option '%s' is not UTF-8 and cannot be saved in %s", key, file->path);
  line[used++] = '\n';
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
