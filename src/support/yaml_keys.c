/* yaml_keys.c - walks a YAML document and hands out its keys. */
#include "support/yaml_keys.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { LARGEST_FILE = 1 << 20, DEEPEST = 2 };

typedef struct reader {
  const char *path;
  yaml_document_t *document;
  yaml_take take;
  void *user;
  const char *values[YAML_MOST_VALUES];
  char seen[YAML_MOST_KEYS][YAML_LONGEST_KEY];
  size_t seen_count;
} reader;

static mousse_status refuse(const reader *r, const yaml_node_t *node, mousse_status status,
                            const char *what, mo_error *error)
{
  return mo_fail(error, status, "%s: line %zu: %s", r->path, node->start_mark.line + 1, what);
}

static mousse_status bad(const reader *r, const yaml_node_t *node, const char *what,
                         mo_error *error)
{
  return refuse(r, node, MOUSSE_BAD_FORMAT, what, error);
}

static mousse_status note_key(reader *r, const yaml_node_t *node, const char *key,
                              mo_error *error)
{
  for (size_t i = 0; i < r->seen_count; i++)
    if (strcmp(r->seen[i], key) == 0)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: '%s' is given twice", r->path,
                     node->start_mark.line + 1, key);
  if (r->seen_count == YAML_MOST_KEYS) return bad(r, node, "too many keys", error);
  memcpy(r->seen[r->seen_count++], key, strlen(key) + 1);
  return MOUSSE_OK;
}

static bool is_null(const yaml_node_t *node)
{
  const char *text = (const char *)node->data.scalar.value;
  return node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         (strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static mousse_status add_value(reader *r, const yaml_node_t *node, size_t *count,
                               mo_error *error)
{
  if (node->type != YAML_SCALAR_NODE)
    return bad(r, node, "expected one value, found a list or mapping", error);
  const char *text = (const char *)node->data.scalar.value;
  if (strlen(text) != node->data.scalar.length)
    return bad(r, node, "a value contains a NUL byte", error);
  if (*count == YAML_MOST_VALUES) return bad(r, node, "too many values", error);
  r->values[(*count)++] = text;
  return MOUSSE_OK;
}

static mousse_status take_value(reader *r, const yaml_node_t *node, const char *key,
                                mo_error *error)
{
  yaml_entry entry = {.key = key, .values = r->values, .is_null = is_null(node)};
  entry.is_list = node->type == YAML_SEQUENCE_NODE;
  if (entry.is_list) {
    const yaml_node_item_t *item = node->data.sequence.items.start;
    for (; item < node->data.sequence.items.top; item++)
      MO_TRY(add_value(r, yaml_document_get_node(r->document, *item), &entry.count, error));
  } else {
    MO_TRY(add_value(r, node, &entry.count, error));
  }
  mo_error reason = {{0}};
  MO_TRY(note_key(r, node, key, error));
  const mousse_status status = r->take(r->user, &entry, &reason);
  return status == MOUSSE_OK ? MOUSSE_OK : refuse(r, node, status, reason.text, error);
}

static mousse_status take_mapping(reader *r, const yaml_node_t *mapping, const char *prefix,
                                  int depth, mo_error *error)
{
  for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
       pair < mapping->data.mapping.pairs.top; pair++) {
    char key[YAML_LONGEST_KEY];
    const yaml_node_t *name = yaml_document_get_node(r->document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(r->document, pair->value);
    if (name->type != YAML_SCALAR_NODE) return bad(r, name, "a key is not a word", error);
    const int length =
        snprintf(key, sizeof key, "%s%s", prefix, (const char *)name->data.scalar.value);
    if (length < 0 || (size_t)length >= sizeof key - 1)
      return bad(r, name, "a key is too long", error);
    if (value->type != YAML_MAPPING_NODE) {
      MO_TRY(take_value(r, value, key, error));
    } else if (depth < DEEPEST) {
      strcat(key, ".");
      MO_TRY(take_mapping(r, value, key, depth + 1, error));
    } else {
      return bad(r, value, "expected one value, found a list or mapping", error);
    }
  }
  return MOUSSE_OK;
}

static mousse_status take_document(reader *r, mo_error *error)
{
  const yaml_node_t *root = yaml_document_get_root_node(r->document);
  if (root == NULL) return MOUSSE_OK;
  if (root->type != YAML_MAPPING_NODE)
    return bad(r, root, "expected lines of 'key: value'", error);
  return take_mapping(r, root, "", 1, error);
}

static mousse_status parse(reader *r, const char *text, size_t size, mo_error *error)
{
  yaml_parser_t parser;
  yaml_document_t document;
  if (!yaml_parser_initialize(&parser))
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to read it", r->path);
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
  mousse_status status = MOUSSE_OK;
  if (yaml_parser_load(&parser, &document)) {
    r->document = &document;
    status = take_document(r, error);
    yaml_document_delete(&document);
  } else {
    status = mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: not YAML: %s", r->path,
                     parser.problem_mark.line + 1,
                     parser.problem != NULL ? parser.problem : "cannot be read");
  }
  yaml_parser_delete(&parser);
  return status;
}

mousse_status yaml_keys_parse(const char *path, const char *text, size_t size, yaml_take take,
                              void *user, mo_error *error)
{
  reader *r = mo_allocate(NULL, sizeof *r);
  if (r == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to read it", path);
  r->path = path;
  r->take = take;
  r->user = user;
  const mousse_status status = parse(r, text, size, error);
  mo_release(NULL, r, sizeof *r);
  return status;
}

mousse_status yaml_keys_read(const char *path, yaml_take take, void *user, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  MO_TRY(mo_file_read(NULL, path, LARGEST_FILE, &text, &size, error));
  const mousse_status status = yaml_keys_parse(path, text, size, take, user, error);
  mo_release(NULL, text, size + 1);
  return status;
}
