/* run.c - the options of a training run, over the table in run.def. */
#include "train/options.h"

#include "base/parallel.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const run_recipes[] = {"recommended", "paper", NULL}; /* as run_recipe */
static const char *const run_schedules[] = {"cosine", "wsd", "constant", NULL};

#define RUN_TEXT(member, size, initial, effect, help)                                          \
  MO_SETTING_TEXT(train_run, member, initial, help),
#define RUN_INTEGER(member, initial, low, high, effect, help)                                  \
  MO_SETTING_INTEGER(train_run, member, initial, low, high, help),
#define RUN_NUMBER(member, initial, low, high, effect, help)                                   \
  MO_SETTING_NUMBER(train_run, member, initial, low, high, help),
#define RUN_SWITCH(member, initial, effect, help)                                              \
  MO_SETTING_SWITCH(train_run, member, initial, help),
#define RUN_CHOICE(member, initial, choices, effect, help)                                     \
  MO_SETTING_CHOICE(train_run, member, initial, choices, help),
#define RUN_OPTIMIZER(member, option, only, help) MO_SETTING_TEXT(train_run, member, "", help),
static const mo_setting rows[] = {
#include "train/options.def"
};
const mo_settings run_settings = MO_SETTINGS(rows);

/* The columns of run.def that settings do not know. */
static const struct {
  run_effect effect;
  const char *option, *only;
} more[] = {
#define RUN_TEXT(member, size, initial, effect, help)         {RUN_##effect, NULL, NULL},
#define RUN_INTEGER(member, initial, low, high, effect, help) {RUN_##effect, NULL, NULL},
#define RUN_NUMBER(member, initial, low, high, effect, help)  {RUN_##effect, NULL, NULL},
#define RUN_SWITCH(member, initial, effect, help)             {RUN_##effect, NULL, NULL},
#define RUN_CHOICE(member, initial, choices, effect, help)    {RUN_##effect, NULL, NULL},
#define RUN_OPTIMIZER(member, option, only, help)             {RUN_RESULT, option, only},
#include "train/options.def"
};

/* Keys of published configurations that have no meaning here; a last '*' stands for any end. */
static const char *const foreign_keys[] = {
    "wandb_*", "no_*",       "dp_size",    "fs_size",         "tp_size",
    "debug",   "world_size", "save_every", "optimizer_debug",
};

run_effect run_row_effect(size_t row)
{
  return more[row].effect;
}

const char *run_row_option(size_t row, const char **only)
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

mousse_status run_defaults(train_run *run, mo_error *error)
{
  *run = (train_run){0};
  return mo_settings_defaults(&run_settings, run, error);
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

static mousse_status set_option(train_run *run, bool scalar, const char *name, const char *text,
                                mo_error *error)
{
  run_option *slot = run->options;
  const run_option *end = slot + run->option_count;
  while (slot < end && (slot->scalar != scalar || strcmp(slot->name, name) != 0)) slot++;
  if (slot == run->options + RUN_MOST_OPTIONS || strlen(name) >= RUN_OPTION_TEXT ||
      strlen(text) >= RUN_OPTION_TEXT)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "option '%.40s' = '%.40s': at most %d such options of %d bytes", name, text,
                   RUN_MOST_OPTIONS, RUN_OPTION_TEXT - 1);
  if (slot == end) run->option_count++;
  slot->scalar = scalar;
  memcpy(slot->name, name, strlen(name) + 1);
  memcpy(slot->value, text, strlen(text) + 1);
  return MOUSSE_OK;
}

mousse_status run_set(train_run *run, const char *key, const char *text,
                      const run_notices *notices, mo_error *error)
{
  bool scalar = false;
  const char *name = optimizer_key(key, &scalar);
  if (strcmp(text, "True") == 0) text = "true"; /* as Python spells them */
  if (strcmp(text, "False") == 0) text = "false";
  if (name != NULL) return set_option(run, scalar, name, text, error);
  const mo_setting *row = mo_settings_find(&run_settings, key);
  if (row == NULL && is_foreign(key)) {
    run_notify(notices, "'%s' has no meaning here and is ignored", key);
    return MOUSSE_OK;
  }
  if (row == NULL) return mo_settings_unknown(&run_settings, key, error);
  return mo_setting_set(row, run, text, error);
}

static mousse_status check_algorithm(const char *key, const char *name, mo_error *error)
{
  mo_suggestion suggestion = mo_suggest(name);
  const char *known = NULL;
  for (size_t i = 0; (known = mousse_algorithm_name(i)) != NULL; i++) {
    if (strcmp(known, name) == 0) return MOUSSE_OK;
    mo_suggest_from(&suggestion, known);
  }
  return mo_fail(error, MOUSSE_UNKNOWN_NAME, "%s: there is no optimizer '%s'%s%s%s", key, name,
                 suggestion.best != NULL ? "; did you mean '" : "",
                 suggestion.best != NULL ? suggestion.best : "",
                 suggestion.best != NULL ? "'?" : "");
}

mousse_status run_check(const train_run *run, mo_error *error)
{
  const train_schedule s = run_schedule(run);
  MO_TRY(check_algorithm("optimizer", run->optimizer, error));
  MO_TRY(check_algorithm("scalar_opt", run->scalar_opt, error));
  const int64_t shards = (int64_t)run_shards(run);
  if (run->batch_size % shards != 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "batch_size is %lld, which cannot be cut into %lld shards",
                   (long long)run->batch_size, (long long)shards);
  if (run->batch_size / shards % (int64_t)run_micro_batch(run) != 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "batch_size is %lld in %lld shards, which device_batch_size %lld does not "
                   "divide",
                   (long long)run->batch_size, (long long)shards,
                   (long long)run->device_batch_size);
  if (s.course == TRAIN_WSD && s.warmup + s.decay > s.steps)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "warmup_ratio %g and warmdown_ratio %g together are more than 1",
                   run->warmup_ratio, run->warmdown_ratio);
  return MOUSSE_OK;
}

static void override(size_t *member, int64_t value)
{
  if (value > 0) *member = (size_t)value;
}

mousse_status run_model(const train_run *run, const gpt_config *base, size_t data_vocabulary,
                        gpt_config *config, mo_error *error)
{
  MO_TRY(gpt_preset(run->preset, config, error));
  override(&config->vocab_size, (int64_t)data_vocabulary);
  if (base != NULL) *config = *base;
  override(&config->n_embd, run->model_dim);
  override(&config->n_layer, run->n_layer);
  override(&config->n_head, run->n_head);
  override(&config->sequence_len, run->sequence_length);
  override(&config->vocab_size, run->vocab_size);
  if (config->vocab_size < data_vocabulary)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "vocab_size is %zu, but the data's tokenizer has %zu tokens",
                   config->vocab_size, data_vocabulary);
  return gpt_config_check(config, error);
}

train_schedule run_schedule(const train_run *run)
{
  return schedule_make((train_course)run->scheduler_type, (uint64_t)run->num_iterations,
                       run->warmup_ratio, run->warmdown_ratio);
}

size_t run_micro_batch(const train_run *run)
{
  if (run->device_batch_size > 0) return (size_t)run->device_batch_size;
  const size_t share = (size_t)run->batch_size / run_shards(run);
  size_t micro = share < 8 ? share : 8;
  while (micro > 1 && share % micro != 0) micro--;
  return micro > 0 ? micro : 1;
}

size_t run_shards(const train_run *run)
{
  return run->shards > 0 ? (size_t)run->shards : 1;
}

int run_threads(const train_run *run)
{
  return run->threads > 0 ? (int)run->threads : mo_threads_available();
}

mousse_status run_directory(const train_run *run, char *path, size_t capacity, mo_error *error)
{
  const char *given = run->out[0] != '\0' ? run->out : run->checkpoint_dir;
  const int length = given[0] != '\0'
                         ? snprintf(path, capacity, "%s", given)
                         : snprintf(path, capacity, "runs/%s-%s", run->optimizer, run->preset);
  if (length < 0 || (size_t)length >= capacity)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: path is too long", given);
  return MOUSSE_OK;
}
