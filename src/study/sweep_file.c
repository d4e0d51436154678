/* sweep_file.c - a sweep from a YAML file: a run's configuration in which a value may be a
 * list. */
#include "study/sweep.h"
#include "support/yaml_keys.h"

#include <stdio.h>
#include <string.h>

static mousse_status take(void *user, const yaml_entry *entry, mo_error *error)
{
  char values[SWEEP_TEXT] = "";
  size_t used = 0;
  for (size_t i = 0; i < entry->count; i++) {
    used += (size_t)snprintf(values + used, sizeof values - used, "%s%s", i > 0 ? "," : "",
                             entry->values[i]);
    if (used >= sizeof values)
      return mo_fail(error, MOUSSE_OUT_OF_RANGE, "the values of '%s' are too long", entry->key);
  }
  return entry->is_null ? MOUSSE_OK : sweep_set(user, entry->key, values, error);
}

mousse_status sweep_read(sweep_axes *axes, const char *path, mo_error *error)
{
  return yaml_keys_read(path, take, axes, error);
}

mousse_status sweep_parse(sweep_axes *axes, const char *path, const char *text, size_t size,
                          mo_error *error)
{
  return yaml_keys_parse(path, text, size, take, axes, error);
}
