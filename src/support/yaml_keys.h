/* yaml_keys.h - a YAML file as keys with values; yaml_keys.c is the only file that knows
 * libyaml.
 *
 * The file is one mapping. A mapping as a value gives keys with a dot: `opt: {graft: off}` is
 * opt.graft. Deeper mappings, anchors, a second document, NUL bytes and files above 64 KiB are
 * refused.
 */
#ifndef MOUSSE_SUPPORT_YAML_KEYS_H
#define MOUSSE_SUPPORT_YAML_KEYS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { YAML_LONGEST_KEY = 64, YAML_MOST_KEYS = 256, YAML_MOST_VALUES = 256 };

typedef struct yaml_entry {
  const char *key;
  const char *const *values; /* as written, without quotes */
  size_t count;              /* 1 unless it is a list */
  bool is_list;
  bool is_null; /* empty, ~ or null without quotes: the default is meant */
} yaml_entry;

/* The name that all keys for one thing share, of which a file may have one; may be the key itself. */
typedef const char *(*yaml_name)(const char *key);
/* What becomes of an entry. A failure's sentence gets the file and the line in front. */
typedef mousse_status (*yaml_take)(void *user, const yaml_entry *entry, mo_error *error);

/* path is what messages call the text. An empty file has no entries. */
mousse_status yaml_keys_parse(const char *path, const char *text, size_t size, yaml_name name,
                              yaml_take take, void *user, mo_error *error);
mousse_status yaml_keys_read(const char *path, yaml_name name, yaml_take take, void *user,
                             mo_error *error);

#endif
