/* config_file.c - config.json: one object with the members of config.def.
 *
 * Other keys are other programs' and ignored.
 */
#include "base/file.h"
#include "base/json_text.h"
#include "gpt/config.h"

#include <stdlib.h>
#include <string.h>

static const char *const norm_names[] = {"rms", "rms_gain", "layer_norm", NULL};
static const char *const position_names[] = {"rope", "rope_llama", "learned", NULL};
static const char *const qk_norm_names[] = {"rms", "none", "gain", NULL};
static const char *const mlp_names[] = {"relu2", "gelu", "gelu_tanh", "swiglu", NULL};
static const char *const scaling_names[] = {"none", "linear", "llama3", NULL};

enum { LARGEST_CONFIG = 1 << 20 };

/* Where a message is about. */
typedef struct config_place {
  const json_t *object;
  const char *path;
  mo_error *error;
} config_place;

static mousse_status wrong(const config_place *at, const char *name, const char *expected)
{
  return mo_fail(at->error, MOUSSE_BAD_FORMAT, "%s: %s is not %s", at->path, name, expected);
}

static mousse_status read_size(const config_place *at, const char *name, size_t *value)
{
  const json_t *number = json_object_get(at->object, name);
  if (number == NULL || json_is_null(number)) return MOUSSE_OK;
  if (!json_is_integer(number) || json_integer_value(number) < 1)
    return wrong(at, name, "a whole number of at least 1");
  *value = (size_t)json_integer_value(number);
  return MOUSSE_OK;
}

static mousse_status read_needed(const config_place *at, const char *name, size_t *value)
{
  const json_t *number = json_object_get(at->object, name);
  if (json_is_integer(number) && json_integer_value(number) >= 1)
    return read_size(at, name, value);
  if (number != NULL) return wrong(at, name, "a whole number of at least 1");
  return mo_fail(at->error, MOUSSE_BAD_FORMAT,
                 "%s: %s is missing, expected a whole number of at least 1", at->path, name);
}

static mousse_status read_choice(const config_place *at, const char *name,
                                 const char *const *names, int *value)
{
  char list[200] = "one of";
  const json_t *json = json_object_get(at->object, name);
  const char *text = json_string_value(json);
  if (json == NULL) return MOUSSE_OK;
  for (int i = 0; names[i] != NULL; i++) {
    if (text != NULL && strcmp(text, names[i]) == 0) {
      *value = i;
      return MOUSSE_OK;
    }
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? " " : ", ", names[i]);
  }
  return wrong(at, name, list);
}

static mousse_status read_switch(const config_place *at, const char *name, bool *value)
{
  const json_t *json = json_object_get(at->object, name);
  if (json == NULL) return MOUSSE_OK;
  if (!json_is_boolean(json)) return wrong(at, name, "true or false");
  *value = json_is_true(json);
  return MOUSSE_OK;
}

static mousse_status read_number(const config_place *at, const char *name, double *value)
{
  const json_t *json = json_object_get(at->object, name);
  if (json == NULL) return MOUSSE_OK;
  if (!json_is_number(json)) return wrong(at, name, "a number");
  *value = json_number_value(json);
  return MOUSSE_OK;
}

static mousse_status read_text(const config_place *at, const char *name, char *value,
                               size_t capacity)
{
  const json_t *json = json_object_get(at->object, name);
  if (json == NULL) return MOUSSE_OK;
  if (!json_is_string(json) || json_string_length(json) >= capacity ||
      strlen(json_string_value(json)) != json_string_length(json))
    return wrong(at, name, "text of fewer than 128 bytes");
  memcpy(value, json_string_value(json), json_string_length(json) + 1);
  return MOUSSE_OK;
}

static mousse_status read_members(const config_place *at, gpt_config *c)
{
  int choice = 0;
#define CONFIG_NEEDED(member) MO_TRY(read_needed(at, #member, &c->member));
#define CONFIG_SIZE(member)   MO_TRY(read_size(at, #member, &c->member));
#define CONFIG_CHOICE(member, names)                                                           \
  choice = (int)c->member;                                                                     \
  MO_TRY(read_choice(at, #member, names, &choice));                                            \
  memcpy(&c->member, &choice, sizeof choice);
#define CONFIG_SWITCH(member) MO_TRY(read_switch(at, #member, &c->member));
#define CONFIG_NUMBER(member) MO_TRY(read_number(at, #member, &c->member));
#define CONFIG_TEXT(member)   MO_TRY(read_text(at, #member, c->member, sizeof c->member));
#include "gpt/config.def"
  return MOUSSE_OK;
}

mousse_status gpt_config_from_json(gpt_config *config, const char *path, const void *object,
                                   mo_error *error)
{
  const config_place at = {object, path, error};
  gpt_config read = {0};
  mo_error cause = {{0}};
  if (!json_is_object((const json_t *)object))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: expected an object {...}", path);
  MO_TRY(read_members(&at, &read));
  if (gpt_config_check(&read, &cause) != MOUSSE_OK)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %s", path, cause.text);
  *config = read;
  return MOUSSE_OK;
}

mousse_status gpt_parse_config(gpt_config *config, const char *path, const char *text,
                               size_t size, mo_error *error)
{
  json_t *object = NULL;
  MO_TRY(mo_json_parse(&object, path, text, size, MO_JSON_FEW, JSON_REJECT_DUPLICATES, error));
  const mousse_status status = gpt_config_from_json(config, path, object, error);
  json_decref(object);
  return status;
}

mousse_status gpt_load_config(gpt_config *config, const char *path, mo_error *error)
{
  char *text = NULL;
  size_t size = 0;
  MO_TRY(mo_file_read(NULL, path, LARGEST_CONFIG, &text, &size, error));
  const mousse_status status = gpt_parse_config(config, path, text, size, error);
  mo_release(NULL, text, size + 1);
  return status;
}

static int add(json_t *object, const char *name, json_t *value)
{
  return json_object_set_new(object, name, value); /* refuses NULL */
}

int gpt_config_fill_json(const gpt_config *config, void *target)
{
  json_t *object = target;
  const gpt_config c = gpt_config_resolved(config);
  gpt_config bare = {.n_head = c.n_head, .n_embd = c.n_embd};
  gpt_config paper = gpt_config_resolved(&bare);
  int failed = 0;
  if (c.n_embd % c.n_head != 0) paper.head_size = 0; /* heads of any size: not to be guessed */
#define CONFIG_NEEDED(member)                                                                  \
  failed |= add(object, #member, json_integer((json_int_t)c.member));
#define CONFIG_SIZE(member)                                                                    \
  if (c.member != paper.member)                                                                \
    failed |= add(object, #member, json_integer((json_int_t)c.member));
#define CONFIG_CHOICE(member, names)                                                           \
  if (c.member != 0) failed |= add(object, #member, json_string(names[c.member]));
#define CONFIG_SWITCH(member)                                                                  \
  if (c.member) failed |= add(object, #member, json_true());
#define CONFIG_NUMBER(member)                                                                  \
  if (c.member < paper.member || c.member > paper.member)                                      \
    failed |= add(object, #member, json_real(c.member));
#define CONFIG_TEXT(member)                                                                    \
  if (c.member[0] != '\0') failed |= add(object, #member, json_string(c.member));
#include "gpt/config.def"
  return failed;
}

mousse_status gpt_save_config(const gpt_config *config, const char *path, mo_error *error)
{
  json_t *object = json_object();
  const int failed = object == NULL || gpt_config_fill_json(config, object) != 0;
  char *text = failed ? NULL : json_dumps(object, JSON_INDENT(2));
  json_decref(object);
  if (text == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  const mousse_status status = mo_file_write(path, text, strlen(text), error);
  free(text);
  return status;
}
