/* sweep_file.c - a sweep from a YAML file: a run's configuration in which a value may be a
 * list.
 *
 * A mapping as a value gives keys with a dot: `opt: {graft: [on, off]}` is opt.graft.
 */
#include "base/file.h"
#include "study/sweep.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { LARGEST_FILE = 1 << 20, DEEPEST = 2 };

typedef struct reader {
  sweep_axes *axes;
  const char *path;
  yaml_document_t *document;
} reader;

static mousse_status refuse(const reader *r, const yaml_node_t *node, const char *what,
                            mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: %s", r->path,
                 node->start_mark.line + 1, what);
}

static mousse_status append_value(const reader *r, const yaml_node_t *node,
                                  char values[SWEEP_TEXT], mo_error *error)
{
  const size_t used = strlen(values);
  if (node->type != YAML_SCALAR_NODE) return refuse(r, node, "expected a single value", error);
  const char *text = (const char *)node->data.scalar.value;
  const int length =
      snprintf(values + used, SWEEP_TEXT - used, "%s%s", used > 0 ? "," : "", text);
  if (length < 0 || (size_t)length >= SWEEP_TEXT - used)
    return refuse(r, node, "the values are too long", error);
  return MOUSSE_OK;
}

static mousse_status take_value(const reader *r, const yaml_node_t *node, const char *key,
                                mo_error *error)
{
  char values[SWEEP_TEXT] = "";
  if (node->type == YAML_SCALAR_NODE) {
    MO_TRY(append_value(r, node, values, error));
  } else {
    const yaml_node_item_t *item = node->data.sequence.items.start;
    for (; item < node->data.sequence.items.top; item++)
      MO_TRY(append_value(r, yaml_document_get_node(r->document, *item), values, error));
  }
  return sweep_set(r->axes, key, values, error);
}

static mousse_status take_mapping(const reader *r, const yaml_node_t *mapping,
                                  const char *prefix, int depth, mo_error *error)
{
  for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
       pair < mapping->data.mapping.pairs.top; pair++) {
    char key[128];
    const yaml_node_t *name = yaml_document_get_node(r->document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(r->document, pair->value);
    if (name->type != YAML_SCALAR_NODE) return refuse(r, name, "a key is not a word", error);
    snprintf(key, sizeof key - 1, "%s%s", prefix, (const char *)name->data.scalar.value);
    if (value->type != YAML_MAPPING_NODE) {
      MO_TRY(take_value(r, value, key, error));
    } else if (depth < DEEPEST) {
      strcat(key, ".");
      MO_TRY(take_mapping(r, value, key, depth + 1, error));
    } else {
      return refuse(r, value, "mappings this deep have no meaning here", error);
    }
  }
  return MOUSSE_OK;
}

static mousse_status take_document(const reader *r, mo_error *error)
{
  const yaml_node_t *root = yaml_document_get_root_node(r->document);
  if (root == NULL || root->type != YAML_MAPPING_NODE)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: expected lines of 'key: value'", r->path);
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

mousse_status sweep_read(sweep_axes *axes, const char *path, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  reader r = {.axes = axes, .path = path};
  MO_TRY(mo_file_read(NULL, path, LARGEST_FILE, &text, &size, error));
  const mousse_status status = parse(&r, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}
