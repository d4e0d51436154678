/* settings.h - one table of options feeds defaults, checks, --help, documentation and saving.
 *
 * A row describes one member of a plain struct: its name, type, default, range and help. The
 * struct owns all it holds (text is an array inside it), so it can be copied and compared.
 *
 *     typedef struct values { int64_t steps; double lr; char out[MO_SETTING_PATH]; } values;
 *     static const mo_setting rows[] = {
 *         MO_SETTING_INTEGER(values, steps, "1000", 1, 1e9, "how many steps to take"),
 *         MO_SETTING_NUMBER(values, lr, "0.02", 0, 10, "step size"),
 *         MO_SETTING_TEXT(values, out, "", "where to write"),
 *     };
 *     static const mo_settings table = MO_SETTINGS(rows);
 *
 * Member types: text char[], integer int64_t, number double, switch bool, choice int (the index
 * of the chosen name). In names, - and _ are the same.
 */
#ifndef MOUSSE_BASE_SETTINGS_H
#define MOUSSE_BASE_SETTINGS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MO_SETTING_PATH = 4096 }; /* size of a text member that holds a path */

typedef enum mo_setting_type {
  MO_TYPE_TEXT,
  MO_TYPE_INTEGER,
  MO_TYPE_NUMBER,
  MO_TYPE_SWITCH,
  MO_TYPE_CHOICE
} mo_setting_type;

typedef struct mo_setting {
  const char *name;
  mo_setting_type type;
  const char *initial;        /* the default, as text */
  double min, max;            /* integers and numbers: both ends are allowed */
  const char *const *choices; /* choices: names of values 0, 1, ... ending in NULL */
  const char *help;
  size_t offset, size; /* of the member */
} mo_setting;

/* A name that other programs use, or that an earlier version had, for one of the table's; or,
 * where name is NULL, what to do instead. */
typedef struct mo_alias {
  const char *other, *name, *advice;
} mo_alias;

/* The rows from the one named `first` on belong together; in help they have a heading. */
typedef struct mo_section {
  const char *title, *first;
} mo_section;

typedef struct mo_settings {
  const mo_setting *rows;
  size_t count;
  const mo_alias *aliases;    /* NULL, or ending in {NULL, NULL, NULL} */
  const mo_section *sections; /* NULL, or ending in {NULL, NULL} */
} mo_settings;

#define MO_SETTINGS(array)                                                                     \
  {                                                                                            \
    array, sizeof(array) / sizeof *(array), NULL, NULL                                         \
  }

#define MO_SETTING_ROW(type_, struct_, member, initial_, low, high, choices_, help_)           \
  {                                                                                            \
    .name = #member, .type = type_, .initial = initial_, .min = low, .max = high,              \
    .choices = choices_, .help = help_, .offset = offsetof(struct_, member),                   \
    .size = sizeof((struct_ *)0)->member                                                       \
  }
#define MO_SETTING_TEXT(struct_, member, initial, help)                                        \
  MO_SETTING_ROW(MO_TYPE_TEXT, struct_, member, initial, 0, 0, NULL, help)
#define MO_SETTING_INTEGER(struct_, member, initial, low, high, help)                          \
  MO_SETTING_ROW(MO_TYPE_INTEGER, struct_, member, initial, low, high, NULL, help)
#define MO_SETTING_NUMBER(struct_, member, initial, low, high, help)                           \
  MO_SETTING_ROW(MO_TYPE_NUMBER, struct_, member, initial, low, high, NULL, help)
#define MO_SETTING_SWITCH(struct_, member, initial, help)                                      \
  MO_SETTING_ROW(MO_TYPE_SWITCH, struct_, member, initial, 0, 1, NULL, help)
#define MO_SETTING_CHOICE(struct_, member, initial, choices, help)                             \
  MO_SETTING_ROW(MO_TYPE_CHOICE, struct_, member, initial, 0, 0, choices, help)

/* By its name or an alias; NULL when there is no such name. */
const mo_setting *mo_settings_find(const mo_settings *table, const char *name);
/* The table's own name where `name` is an alias; NULL where it is not. */
const char *mo_settings_alias(const mo_settings *table, const char *name);
/* Names are the same when they differ in - and _ only. */
bool mo_same_name(const char *a, const char *b);

/* The sentence for a name that is not in the table, with the closest one that is. */
mousse_status mo_settings_unknown(const mo_settings *table, const char *name, mo_error *error);

/* Every member gets its default; a default that its own row refuses fails. */
mousse_status mo_settings_defaults(const mo_settings *table, void *values, mo_error *error);

/* Reads text into the member; on failure the member is unchanged and the sentence names the
 * option, the value and what is allowed. Switches: true false yes no on off 1 0. */
mousse_status mo_setting_set(const mo_setting *row, void *values, const char *text,
                             mo_error *error);

/* find, then set. */
mousse_status mo_settings_set(const mo_settings *table, void *values, const char *name,
                              const char *text, mo_error *error);

/* The member as text that mo_setting_set reads back to the same value; false when it does not
 * fit. With mo_settings.rows and .count this is how settings are saved. */
bool mo_setting_text(const mo_setting *row, const void *values, char *text, size_t capacity);

/* What the row accepts, for messages: "a whole number from 1 to 64". */
void mo_setting_allowed(const mo_setting *row, char *text, size_t capacity);
/* A limit as people write it: 0.5, 65,536, 1,000,000,000. */
const char *mo_limit_text(double limit, char *text, size_t capacity);

#endif
