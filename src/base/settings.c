/* settings.c - checked options from text and back, driven by a table. */
#include "base/settings.h"

#include "base/text.h"
#include "base/wording.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool mo_same_name(const char *a, const char *b)
{
  for (; *a != '\0' && *b != '\0'; a++, b++) {
    const char x = *a == '-' ? '_' : *a, y = *b == '-' ? '_' : *b;
    if (x != y) return false;
  }
  return *a == *b;
}

static const mo_setting *find_row(const mo_settings *table, const char *name)
{
  for (size_t i = 0; i < table->count; i++)
    if (mo_same_name(table->rows[i].name, name)) return &table->rows[i];
  return NULL;
}

static const mo_alias *find_alias(const mo_settings *table, const char *name)
{
  for (const mo_alias *a = table->aliases; a != NULL && a->other != NULL; a++)
    if (mo_same_name(a->other, name)) return a;
  return NULL;
}

const char *mo_settings_alias(const mo_settings *table, const char *name)
{
  const mo_alias *alias = find_row(table, name) == NULL ? find_alias(table, name) : NULL;
  return alias != NULL ? alias->name : NULL;
}

const mo_setting *mo_settings_find(const mo_settings *table, const char *name)
{
  const char *own = mo_settings_alias(table, name);
  return find_row(table, own != NULL ? own : name);
}

mousse_status mo_settings_unknown(const mo_settings *table, const char *name, mo_error *error)
{
  const mo_alias *alias = find_alias(table, name);
  mo_suggestion suggestion = mo_suggest(name);
  for (size_t i = 0; i < table->count; i++) mo_suggest_from(&suggestion, table->rows[i].name);
  if (alias != NULL && alias->advice != NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no option '%s'; %s", name,
                   alias->advice);
  if (suggestion.best == NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no option '%s'", name);
  return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no option '%s'; did you mean '%s'?",
                 name, suggestion.best);
}

mousse_status mo_settings_defaults(const mo_settings *table, void *values, mo_error *error)
{
  for (size_t i = 0; i < table->count; i++)
    MO_TRY(mo_setting_set(&table->rows[i], values, table->rows[i].initial, error));
  return MOUSSE_OK;
}

static void join_choices(const char *const *choices, char *text, size_t capacity)
{
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; choices[i] != NULL && used < capacity; i++) {
    const int n =
        snprintf(text + used, capacity - used, "%s%s", i > 0 ? ", " : "one of ", choices[i]);
    used += n > 0 ? (size_t)n : 0;
  }
}

const char *mo_limit_text(double limit, char *text, size_t capacity)
{
  if (limit == floor(limit) && limit >= 10000 && limit < 1e18)
    snprintf(text, capacity, "%s", MO_NUMBER(limit));
  else
    mo_number_text(limit, text, capacity);
  return text;
}

static void range_text(const mo_setting *row, char *text, size_t capacity)
{
  char low[WORDING_SIZE], high[WORDING_SIZE];
  snprintf(text, capacity, "a %s from %s to %s",
           row->type == MO_TYPE_INTEGER ? "whole number" : "number",
           mo_limit_text(row->min, low, sizeof low),
           mo_limit_text(row->max, high, sizeof high));
}

void mo_setting_allowed(const mo_setting *row, char *text, size_t capacity)
{
  switch (row->type) {
  case MO_TYPE_TEXT:
    snprintf(text, capacity, "text of at most %zu bytes", row->size - 1);
    break;
  case MO_TYPE_INTEGER:
  case MO_TYPE_NUMBER:
    range_text(row, text, capacity);
    break;
  case MO_TYPE_SWITCH:
    snprintf(text, capacity, "true or false");
    break;
  case MO_TYPE_CHOICE:
    join_choices(row->choices, text, capacity);
    break;
  }
}

static mousse_status refuse(const mo_setting *row, const char *text, mousse_status status,
                            mo_error *error)
{
  char allowed[256];
  mo_setting_allowed(row, allowed, sizeof allowed);
  return mo_fail(error, status, "option '%s': '%.100s' is not allowed; expected %s", row->name,
                 text, allowed);
}

static bool read_switch(const char *text, bool *value)
{
  static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcasecmp(text, words[i]) != 0) continue;
    *value = i % 2 == 1;
    return true;
  }
  return false;
}

static bool read_choice(const char *const *choices, const char *text, int *value)
{
  for (int i = 0; choices[i] != NULL; i++) {
    if (!mo_same_name(choices[i], text)) continue;
    *value = i;
    return true;
  }
  return false;
}

/* Ranges are tested so that NaN fails them. */
static bool in_range(const mo_setting *row, double value)
{
  return value >= row->min && value <= row->max;
}

mousse_status mo_setting_set(const mo_setting *row, void *values, const char *text,
                             mo_error *error)
{
  char *member = (char *)values + row->offset;
  int64_t integer = 0;
  double number = 0;
  bool yes = false;
  int choice = 0;
  switch (row->type) {
  case MO_TYPE_TEXT:
    if (strlen(text) >= row->size) return refuse(row, text, MOUSSE_OUT_OF_RANGE, error);
    memcpy(member, text, strlen(text) + 1);
    break;
  case MO_TYPE_INTEGER:
    if (!mo_parse_integer(text, &integer))
      return refuse(row, text, MOUSSE_INVALID_ARGUMENT, error);
    if (!in_range(row, (double)integer)) return refuse(row, text, MOUSSE_OUT_OF_RANGE, error);
    memcpy(member, &integer, sizeof integer);
    break;
  case MO_TYPE_NUMBER:
    if (!mo_parse_double(text, &number))
      return refuse(row, text, MOUSSE_INVALID_ARGUMENT, error);
    if (!in_range(row, number)) return refuse(row, text, MOUSSE_OUT_OF_RANGE, error);
    memcpy(member, &number, sizeof number);
    break;
  case MO_TYPE_SWITCH:
    if (!read_switch(text, &yes)) return refuse(row, text, MOUSSE_INVALID_ARGUMENT, error);
    memcpy(member, &yes, sizeof yes);
    break;
  case MO_TYPE_CHOICE:
    if (!read_choice(row->choices, text, &choice))
      return refuse(row, text, MOUSSE_INVALID_ARGUMENT, error);
    memcpy(member, &choice, sizeof choice);
    break;
  }
  return MOUSSE_OK;
}

mousse_status mo_settings_set(const mo_settings *table, void *values, const char *name,
                              const char *text, mo_error *error)
{
  const mo_setting *row = mo_settings_find(table, name);
  if (row == NULL) return mo_settings_unknown(table, name, error);
  return mo_setting_set(row, values, text, error);
}

bool mo_setting_text(const mo_setting *row, const void *values, char *text, size_t capacity)
{
  const char *member = (const char *)values + row->offset;
  char digits[32];
  int64_t integer = 0;
  double number = 0;
  bool yes = false;
  int choice = 0, length = -1;
  switch (row->type) {
  case MO_TYPE_TEXT:
    length = snprintf(text, capacity, "%s", member);
    break;
  case MO_TYPE_INTEGER:
    memcpy(&integer, member, sizeof integer);
    length = snprintf(text, capacity, "%lld", (long long)integer);
    break;
  case MO_TYPE_NUMBER:
    memcpy(&number, member, sizeof number);
    mo_number_text(number, digits, sizeof digits);
    length = snprintf(text, capacity, "%s", digits);
    break;
  case MO_TYPE_SWITCH:
    memcpy(&yes, member, sizeof yes);
    length = snprintf(text, capacity, "%s", yes ? "true" : "false");
    break;
  case MO_TYPE_CHOICE:
    memcpy(&choice, member, sizeof choice);
    length = snprintf(text, capacity, "%s", row->choices[choice]);
    break;
  }
  return length >= 0 && (size_t)length < capacity;
}
