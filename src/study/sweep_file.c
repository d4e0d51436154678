/* sweep_file.c - a sweep from a YAML file: a run's configuration in which a value may be a
 * list. */
#include "study/sweep.h"
#include "support/yaml_keys.h"

#include <string.h>

/* Whether commas may be part of a value: text, but not a name or a number. */
static bool is_free_text(const char *key)
{
  static const char *const names[] = {"preset", "optimizer", "scalar_opt"};
  const mo_setting *row = mo_settings_find(&train_settings, key);
  const char *only = NULL;
  if (row == NULL || row->type != MO_TYPE_TEXT) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(row->name, names[i]) == 0) return false;
  return option_row_name((size_t)(row - train_settings.rows), &only) == NULL;
}

static mousse_status take(void *user, const yaml_entry *entry, mo_error *error)
{
  if (entry->is_null) return MOUSSE_OK;
  if (entry->is_list || is_free_text(entry->key))
    return sweep_set_each(user, entry->key, entry->values, entry->count, error);
  return sweep_set(user, entry->key, entry->values[0], error);
}

mousse_status sweep_read(sweep_axes *axes, const char *path, mo_error *error)
{
  return yaml_keys_read(path, options_key_name, take, axes, error);
}

mousse_status sweep_parse(sweep_axes *axes, const char *path, const char *text, size_t size,
                          mo_error *error)
{
  return yaml_keys_parse(path, text, size, options_key_name, take, axes, error);
}
