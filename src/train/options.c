/* options.c - the options of a training run, over the table in options.def. */
#include "train/options.h"

#include "base/parallel.h"
#include "base/text.h"
#include "train/scalar_opt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const recipe_names[] = {"recommended", "paper", NULL}; /* as train_recipe */
static const char *const wrapper_names[] = {"none", "lookahead", "schedule_free", NULL};
static const char *const recompute_names[] = {"auto", "on", "off",
                                              NULL}; /* as recompute_mode */
static const char *const schedule_names[] = {"cosine", "wsd", "constant", NULL};

#define OPTION_TEXT(member, size, initial, effect, help)                                       \
  MO_SETTING_TEXT(train_options, member, initial, help),
#define OPTION_INTEGER(member, initial, low, high, effect, help)                               \
  MO_SETTING_INTEGER(train_options, member, initial, low, high, help),
#define OPTION_NUMBER(member, initial, low, high, effect, help)                                \
  MO_SETTING_NUMBER(train_options, member, initial, low, high, help),
#define OPTION_SWITCH(member, initial, effect, help)                                           \
  MO_SETTING_SWITCH(train_options, member, initial, help),
#define OPTION_CHOICE(member, initial, choices, effect, help)                                  \
  MO_SETTING_CHOICE(train_options, member, initial, choices, help),
#define OPTION_OPTIMIZER(member, option, only, help)                                           \
  MO_SETTING_TEXT(train_options, member, "", help),
static const mo_setting rows[] = {
#include "train/options.def"
};
#define OPTION_ALIAS(theirs, ours)    {#theirs, #ours, NULL},
#define OPTION_ADVICE(theirs, advice) {#theirs, NULL, advice},
static const mo_alias aliases[] = {
#include "train/option_aliases.def"
    {NULL, NULL, NULL},
};
static const mo_section sections[] = {
    {"Model", "preset"},
    {"Data", "data_dir"},
    {"Schedule", "num_iterations"},
    {"Optimizer", "optimizer"},
    {"Output", "out"},
    {"Machine", "threads"},
    {NULL, NULL},
};
const mo_settings train_settings = {rows, sizeof rows / sizeof *rows, aliases, sections};

/* The columns of options.def that settings do not know. */
static const struct {
  option_effect effect;
  const char *option, *only;
} more[] = {
#define OPTION_TEXT(member, size, initial, effect, help)         {OPTION_##effect, NULL, NULL},
#define OPTION_INTEGER(member, initial, low, high, effect, help) {OPTION_##effect, NULL, NULL},
#define OPTION_NUMBER(member, initial, low, high, effect, help)  {OPTION_##effect, NULL, NULL},
#define OPTION_SWITCH(member, initial, effect, help)             {OPTION_##effect, NULL, NULL},
#define OPTION_CHOICE(member, initial, choices, effect, help)    {OPTION_##effect, NULL, NULL},
#define OPTION_OPTIMIZER(member, option, only, help)             {OPTION_RESULT, option, only},
#include "train/options.def"
};

/* Keys of published configurations that have no meaning here; a last '*' stands for any end. */
static const char *const foreign_keys[] = {
    "wandb_*", "no_*",       "dp_size",    "fs_size",         "tp_size",
    "debug",   "world_size", "save_every", "optimizer_debug",
};

option_effect option_row_effect(size_t row)
{
  return more[row].effect;
}

const char *option_row_name(size_t row, const char **only)
{
  *only = more[row].only;
  return more[row].option;
}

void run_notify(const run_notices *notices, const char *format, ...)
{
  char text[640];
  if (notices == NULL || notices->say == NULL) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  notices->say(notices->user, text);
}

mousse_status options_defaults(train_options *run, mo_error *error)
{
  *run = (train_options){0};
  return mo_settings_defaults(&train_settings, run, error);
}

static bool is_foreign(const char *key)
{
  for (size_t i = 0; i < sizeof foreign_keys / sizeof *foreign_keys; i++) {
    const size_t length = strlen(foreign_keys[i]);
    if (foreign_keys[i][length - 1] == '*' ? strncmp(key, foreign_keys[i], length - 1) == 0
                                           : strcmp(key, foreign_keys[i]) == 0)
      return true;
  }
  return false;
}

/* opt.NAME or scalar.NAME: the name of the option, or NULL when key is neither. */
static const char *optimizer_key(const char *key, bool *scalar)
{
  *scalar = strncmp(key, "scalar.", 7) == 0;
  if (*scalar) return key + 7;
  return strncmp(key, "opt.", 4) == 0 ? key + 4 : NULL;
}

static mousse_status set_option(train_options *run, bool scalar, const char *name,
                                const char *text, mo_error *error)
{
  train_option *slot = run->options;
  const train_option *end = slot + run->option_count;
  while (slot < end && (slot->scalar != scalar || strcmp(slot->name, name) != 0)) slot++;
  if (slot == run->options + OPTION_MOST || strlen(name) >= OPTION_TEXT_SIZE ||
      strlen(text) >= OPTION_TEXT_SIZE)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "option '%.40s' = '%.40s': at most %d such options of %d bytes", name, text,
                   OPTION_MOST, OPTION_TEXT_SIZE - 1);
  if (slot == end) run->option_count++;
  *slot = (train_option){.scalar = scalar}; /* nothing of a longer value stays behind */
  memcpy(slot->name, name, strlen(name) + 1);
  memcpy(slot->value, text, strlen(text) + 1);
  return MOUSSE_OK;
}

/* A row whose text is a value of the optimizer's. */
static bool is_optimizer_row(const mo_setting *row)
{
  return row != NULL && more[row - rows].option != NULL;
}

/* Python's spelling; switches understand it themselves, and other texts may be names. */
static const char *our_spelling(const char *text)
{
  if (strcmp(text, "True") == 0) return "true";
  return strcmp(text, "False") == 0 ? "false" : text;
}

/* A word where every optimizer that has the option expects a number: refused here, where the
 * line of a file is known. Everything else is for the chosen optimizer to judge. */
static mousse_status check_number(const char *key, const char *option, const char *text,
                                  mo_error *error)
{
  double number = 0;
  bool known = false;
  const char *algorithm = NULL;
  if (text[0] == '\0' || strcmp(text, "auto") == 0 || mo_parse_double(text, &number))
    return MOUSSE_OK;
  for (size_t i = 0; (algorithm = mousse_algorithm_name(i)) != NULL; i++) {
    const mousse_option *found = options_of_algorithm(algorithm, option);
    if (found != NULL && found->choices != NULL) return MOUSSE_OK;
    known = known || found != NULL;
  }
  if (!known) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "option '%s': '%.60s' is not a number", key,
                 text);
}

const char *options_key_name(const char *key)
{
  const mo_setting *row = mo_settings_find(&train_settings, key);
  return row != NULL ? row->name : key;
}

/* NAME of opt.NAME or of a row that stands for it; "": the key is neither. */
static const char *matrix_option(const char *key)
{
  bool scalar = false;
  const char *name = optimizer_key(key, &scalar);
  const mo_setting *row = mo_settings_find(&train_settings, key);
  if (name != NULL) return scalar ? "" : name;
  return is_optimizer_row(row) && more[row - rows].only[0] == '\0' ? more[row - rows].option
                                                                   : "";
}

bool options_same_option(const char *key, const char *other)
{
  const char *name = matrix_option(key);
  return strcmp(options_key_name(key), options_key_name(other)) == 0 ||
         (name[0] != '\0' && strcmp(name, matrix_option(other)) == 0);
}

mousse_status options_set(train_options *run, const char *key, const char *text,
                          const run_notices *notices, mo_error *error)
{
  bool scalar = false;
  const char *name = optimizer_key(key, &scalar);
  const mo_setting *row = mo_settings_find(&train_settings, key);
  const bool is_row = is_optimizer_row(row);
  if (name != NULL || is_row) {
    text = our_spelling(text);
    MO_TRY(check_number(key, is_row ? more[row - rows].option : name, text, error));
  }
  if (name != NULL) return set_option(run, scalar, name, text, error);
  if (row == NULL && is_foreign(key)) {
    run_notify(notices, "'%s' has no meaning here and is ignored", key);
    return MOUSSE_OK;
  }
  if (row == NULL) return mo_settings_unknown(&train_settings, key, error);
  if (mo_settings_alias(&train_settings, key) != NULL)
    run_notify(notices, "'%s' is called '%s' here", key, row->name);
  return mo_setting_set(row, run, text, error);
}

void options_drop(train_options *run, const char *name)
{
  size_t kept = 0;
  for (size_t i = 0; i < run->option_count; i++)
    if (run->options[i].scalar || strcmp(run->options[i].name, name) != 0)
      run->options[kept++] = run->options[i];
  memset(run->options + kept, 0, (run->option_count - kept) * sizeof *run->options);
  run->option_count = kept;
}

void options_drop_given(train_options *run, const train_options *flags)
{
  for (size_t i = 0; i < train_settings.count; i++) {
    char value[OPTION_TEXT_SIZE];
    const char *only = NULL, *name = option_row_name(i, &only);
    if (name == NULL || (only[0] != '\0' && strcmp(only, run->optimizer) != 0)) continue;
    if (mo_setting_text(&rows[i], flags, value, sizeof value) && value[0] != '\0')
      options_drop(run, name);
  }
  if (flags->checkpoint_dir[0] != '\0') run->out[0] = '\0';
}

mousse_status options_set_number(train_options *run, const char *key, double value,
                                 mo_error *error)
{
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return options_set(run, key, text, NULL, error);
}

const mousse_option *options_of_algorithm(const char *algorithm, const char *name)
{
  const mousse_option *option = NULL;
  for (size_t i = 0; (option = mousse_algorithm_option(algorithm, i)) != NULL; i++)
    if (strcmp(option->name, name) == 0) break;
  return option;
}

static mousse_status check_algorithm(const char *key, const char *name, mo_error *error)
{
  char names[512] = "";
  const char *known = NULL;
  mo_suggestion meant = mo_suggest(name);
  for (size_t i = 0; (known = mousse_algorithm_name(i)) != NULL; i++) {
    if (strcmp(known, name) == 0) return MOUSSE_OK;
    mo_list_add(names, sizeof names, known);
    mo_suggest_from(&meant, known);
  }
  if (meant.best != NULL)
    return mo_fail(
        error, MOUSSE_UNKNOWN_NAME,
        "%s: there is no optimizer '%s'; did you mean '%s'? 'mousse help optimizers' "
        "lists them all",
        key, name, meant.best);
  return mo_fail(error, MOUSSE_UNKNOWN_NAME, "%s: there is no optimizer '%s'; choose from %s",
                 key, name, names);
}

mousse_status options_check(const train_options *run, mo_error *error)
{
  const train_schedule s = options_schedule(run);
  MO_TRY(check_algorithm("optimizer", run->optimizer, error));
  MO_TRY(check_algorithm("scalar_opt", options_scalar(run), error));
  const int64_t slices = (int64_t)options_slices(run);
  if (run->device_batch_size > 0 && run->batch_size % run->device_batch_size != 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "batch_size is %lld, which device_batch_size %lld does not divide; "
                   "--device-batch-size 0 chooses one",
                   (long long)run->batch_size, (long long)run->device_batch_size);
  if (!options_slices_fit(run, slices))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "batch_size is %lld, which cannot be cut into %lld slices of whole "
                   "micro-batches of %zu; --slices 0 chooses some that fit",
                   (long long)run->batch_size, (long long)slices, options_micro_batch(run));
  if (s.course == TRAIN_WSD && s.warmup + s.decay > s.steps)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "warmup_ratio %g and warmdown_ratio %g together are more than 1",
                   run->warmup_ratio, run->warmdown_ratio);
  return MOUSSE_OK;
}

static bool has_option(const train_options *run, const train_option *wanted)
{
  for (size_t i = 0; i < run->option_count; i++)
    if (run->options[i].scalar == wanted->scalar &&
        strcmp(run->options[i].name, wanted->name) == 0)
      return strcmp(run->options[i].value, wanted->value) == 0;
  return false;
}

bool options_same_list(const train_options *a, const train_options *b)
{
  bool same = a->option_count == b->option_count;
  for (size_t i = 0; i < a->option_count && same; i++) same = has_option(b, &a->options[i]);
  return same;
}

bool options_average(const train_options *run)
{
  return run->ema > 0 || run->wrapper != WRAPPER_NONE;
}

bool options_wrapped(const train_options *run)
{
  return run->wrapper != WRAPPER_NONE ||
         (run->ema > 0 && (run->ema_from > 0 || run->ema_weight < 1));
}

train_schedule options_schedule(const train_options *run)
{
  return schedule_make((schedule_kind)run->scheduler_type, (uint64_t)run->num_iterations,
                       run->warmup_ratio, run->warmdown_ratio);
}

enum { MOST_AT_A_TIME = 8, DEFAULT_SLICES = 8 };

size_t options_slices(const train_options *run)
{
  if (run->slices > 0) return (size_t)run->slices;
  const size_t micro = run->device_batch_size > 0 ? (size_t)run->device_batch_size : 1;
  const size_t count = (size_t)run->batch_size / micro;
  size_t slices = DEFAULT_SLICES;
  while (slices > 1 && (count < slices || count % slices != 0)) slices /= 2;
  return slices;
}

bool options_slices_fit(const train_options *run, int64_t slices)
{
  const int64_t micro = run->device_batch_size > 0 ? run->device_batch_size : 1;
  return slices > 0 && run->batch_size % slices == 0 && run->batch_size / slices % micro == 0;
}

size_t options_micro_batch(const train_options *run)
{
  if (run->device_batch_size > 0) return (size_t)run->device_batch_size;
  const size_t share = (size_t)run->batch_size / options_slices(run);
  size_t micro = share < MOST_AT_A_TIME ? share : MOST_AT_A_TIME;
  while (micro > 1 && share % micro != 0) micro--;
  return micro > 0 ? micro : 1;
}

int options_threads(const train_options *run)
{
  return run->threads > 0 ? (int)run->threads : mo_threads_available();
}

/* Files of a checkpoint have longer paths: what cannot be saved must not be trained. */
enum { LONGEST_BELOW = 128 };

mousse_status options_directory(const train_options *run, char *path, size_t capacity,
                                mo_error *error)
{
  const char *given = run->out[0] != '\0' ? run->out : run->checkpoint_dir;
  const int length = given[0] != '\0'
                         ? snprintf(path, capacity, "%s", given)
                         : snprintf(path, capacity, "runs/%s-%s", run->optimizer, run->preset);
  if (length < 0 || (size_t)length + LONGEST_BELOW >= capacity)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "out: a path of %d characters is too long for the files of a run; at most "
                   "%zu are possible: %.100s...",
                   length, capacity - LONGEST_BELOW - 1, given);
  return MOUSSE_OK;
}
