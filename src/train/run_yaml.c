/* run_yaml.c - a run's options from and to a YAML file.
 *
 * The file is one mapping of keys to single values. A mapping as a value gives keys with a dot:
 * `opt: {graft: off}` is opt.graft. Lists, anchors and a key given twice are refused.
 */
#include "base/file.h"
#include "train/run.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { LARGEST_CONFIG = 1 << 20, LONGEST_KEY = 64, MOST_KEYS = 256, DEEPEST = 2 };

typedef struct reader {
  train_run *run;
  const char *path;
  const run_notices *notices;
  char seen[MOST_KEYS][LONGEST_KEY];
  size_t seen_count;
} reader;

static mousse_status refuse(const reader *r, const yaml_node_t *node, const char *what,
                            mo_error *error)
{
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: %s", r->path,
                 node->start_mark.line + 1, what);
}

static mousse_status note_key(reader *r, const yaml_node_t *node, const char *key,
                              mo_error *error)
{
  for (size_t i = 0; i < r->seen_count; i++)
    if (strcmp(r->seen[i], key) == 0)
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: '%s' is given twice", r->path,
                     node->start_mark.line + 1, key);
  if (r->seen_count == MOST_KEYS) return refuse(r, node, "too many keys", error);
  memcpy(r->seen[r->seen_count++], key, strlen(key) + 1);
  return MOUSSE_OK;
}

/* An empty value and null leave the default. */
static bool is_null(const yaml_node_t *node, const char *text)
{
  return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         (strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static mousse_status take_scalar(reader *r, const yaml_node_t *node, const char *key,
                                 mo_error *error)
{
  const char *text = (const char *)node->data.scalar.value;
  mo_error reason = {{0}};
  if (strlen(text) != node->data.scalar.length)
    return refuse(r, node, "a value contains a NUL byte", error);
  if (is_null(node, text)) return MOUSSE_OK;
  const mousse_status status = run_set(r->run, key, text, r->notices, &reason);
  if (status == MOUSSE_OK) return note_key(r, node, key, error);
  return mo_fail(error, status, "%s: line %zu: %s", r->path, node->start_mark.line + 1,
                 reason.text);
}

static mousse_status take_mapping(reader *r, yaml_document_t *document, yaml_node_t *mapping,
                                  const char *prefix, int depth, mo_error *error)
{
  for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
       pair < mapping->data.mapping.pairs.top; pair++) {
    char key[LONGEST_KEY];
    const yaml_node_t *name = yaml_document_get_node(document, pair->key);
    yaml_node_t *value = yaml_document_get_node(document, pair->value);
    if (name->type != YAML_SCALAR_NODE) return refuse(r, name, "a key is not a word", error);
    const int length =
        snprintf(key, sizeof key, "%s%s", prefix, (const char *)name->data.scalar.value);
    if (length < 0 || (size_t)length >= sizeof key - 1)
      return refuse(r, name, "a key is too long", error);
    if (value->type == YAML_SCALAR_NODE) {
      MO_TRY(take_scalar(r, value, key, error));
    } else if (value->type == YAML_MAPPING_NODE && depth < DEEPEST) {
      strcat(key, ".");
      MO_TRY(take_mapping(r, document, value, key, depth + 1, error));
    } else {
      return refuse(r, value, "expected one value, found a list or mapping", error);
    }
  }
  return MOUSSE_OK;
}

static mousse_status take_document(reader *r, yaml_document_t *document, mo_error *error)
{
  yaml_node_t *root = yaml_document_get_root_node(document);
  if (root == NULL) return MOUSSE_OK; /* an empty file sets nothing */
  if (root->type != YAML_MAPPING_NODE)
    return refuse(r, root, "expected lines of 'key: value'", error);
  return take_mapping(r, document, root, "", 1, error);
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
    status = take_document(r, &document, error);
    yaml_document_delete(&document);
  } else {
    status = mo_fail(error, MOUSSE_BAD_FORMAT, "%s: line %zu: not YAML: %s", r->path,
                     parser.problem_mark.line + 1,
                     parser.problem != NULL ? parser.problem : "cannot be read");
  }
  yaml_parser_delete(&parser);
  return status;
}

mousse_status run_parse(train_run *run, const char *path, const char *text, size_t size,
                        const run_notices *notices, mo_error *error)
{
  reader *r = mo_allocate(NULL, sizeof *r);
  if (r == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to read it", path);
  r->run = run;
  r->path = path;
  r->notices = notices;
  const mousse_status status = parse(r, text, size, error);
  mo_release(NULL, r, sizeof *r);
  return status;
}

mousse_status run_read(train_run *run, const char *path, const run_notices *notices,
                       mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  MO_TRY(mo_file_read(NULL, path, LARGEST_CONFIG, &text, &size, error));
  const mousse_status status = run_parse(run, path, text, size, notices, error);
  mo_release(NULL, text, size + 1);
  return status;
}

/* Text in double quotes; other values as they are. */
static mousse_status write_line(mo_writer *file, const char *key, const char *text, bool quoted,
                                mo_error *error)
{
  char line[4 * MO_SETTING_PATH + LONGEST_KEY + 8];
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

static mousse_status write_all(const train_run *run, mo_writer *file, mo_error *error)
{
  for (size_t i = 0; i < run_settings.count; i++) {
    char text[MO_SETTING_PATH];
    const mo_setting *row = &run_settings.rows[i];
    if (!mo_setting_text(row, run, text, sizeof text))
      return mo_fail(error, MOUSSE_OUT_OF_RANGE, "option '%s' is too long to save", row->name);
    MO_TRY(write_line(file, row->name, text, row->type == MO_TYPE_TEXT, error));
  }
  for (size_t i = 0; i < run->option_count; i++) {
    char key[LONGEST_KEY];
    const run_option *option = &run->options[i];
    snprintf(key, sizeof key, "%s.%s", option->scalar ? "scalar" : "opt", option->name);
    MO_TRY(write_line(file, key, option->value, true, error));
  }
  return MOUSSE_OK;
}

mousse_status run_write(const train_run *run, const char *path, mo_error *error)
{
  mo_writer file;
  MO_TRY(mo_writer_open(&file, path, error));
  const mousse_status status = write_all(run, &file, error);
  if (status == MOUSSE_OK) return mo_writer_commit(&file, error);
  mo_writer_abandon(&file);
  return status;
}
