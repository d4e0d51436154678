/* run.h - what a training run is told: options from a configuration file and from flags.
 *
 * One table (run.def) gives defaults, checks, help and the saved config.yaml. Keys are those of
 * the paper's configuration files; '-' and '_' are the same. Besides the table:
 *
 *     opt.NAME, scalar.NAME   options of the two optimizers, by the library's names
 *     wandb_project, ...      keys that concern only GPUs or Weights & Biases: a notice
 */
#ifndef MOUSSE_TRAIN_OPTIONS_H
#define MOUSSE_TRAIN_OPTIONS_H

#include "base/settings.h"
#include "gpt/gpt.h"
#include "train/schedule.h"

enum { RUN_OPTION_TEXT = 32, RUN_MOST_OPTIONS = 32 };

/* One opt.NAME or scalar.NAME. */
typedef struct run_option {
  bool scalar;
  char name[RUN_OPTION_TEXT], value[RUN_OPTION_TEXT];
} run_option;

typedef struct train_run {
#define RUN_TEXT(member, size, initial, effect, help)         char member[size];
#define RUN_INTEGER(member, initial, low, high, effect, help) int64_t member;
#define RUN_NUMBER(member, initial, low, high, effect, help)  double member;
#define RUN_SWITCH(member, initial, effect, help)             bool member;
#define RUN_CHOICE(member, initial, choices, effect, help)    int member;
#define RUN_OPTIMIZER(member, option, only, help)             char member[RUN_OPTION_TEXT];
#include "train/options.def"
  run_option options[RUN_MOST_OPTIONS];
  size_t option_count;
} train_run;

/* The values of train_run.recipe. */
typedef enum run_recipe { RUN_RECOMMENDED, RUN_PAPER } run_recipe;

/* Where sentences for the user go that are not errors. */
typedef struct run_notices {
  void (*say)(void *user, const char *text); /* NULL: nowhere */
  void *user;
} run_notices;

void run_notify(const run_notices *notices, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

extern const mo_settings run_settings;

/* What a change means for a run that is continued; see run.def. */
typedef enum run_effect { RUN_FIXED, RUN_RESULT, RUN_FREE } run_effect;
run_effect run_row_effect(size_t row); /* of run_settings.rows[row] */

/* For RUN_OPTIMIZER rows: the library's name of the option, and the only algorithm that it
 * concerns ("" for any). NULL for other rows. */
const char *run_row_option(size_t row, const char **only);

mousse_status run_defaults(train_run *run, mo_error *error);

/* Sets one key, of the table or one of the others. */
mousse_status run_set(train_run *run, const char *key, const char *text,
                      const run_notices *notices, mo_error *error);

/* run_yaml.c: reads a file over what is set already; writes all that is set, atomically. */
mousse_status run_read(train_run *run, const char *path, const run_notices *notices,
                       mo_error *error);
/* The same from text in memory; path is what messages call it. */
mousse_status run_parse(train_run *run, const char *path, const char *text, size_t size,
                        const run_notices *notices, mo_error *error);
mousse_status run_write(const train_run *run, const char *path, mo_error *error);

/* Names, ratios and batches must fit together. */
mousse_status run_check(const train_run *run, mo_error *error);

/* The model: base (NULL: the preset) with what is set over it. data_vocabulary: 0 when not
 * known. */
mousse_status run_model(const train_run *run, const gpt_config *base, size_t data_vocabulary,
                        gpt_config *config, mo_error *error);

train_schedule run_schedule(const train_run *run);
size_t run_micro_batch(const train_run *run); /* device_batch_size, chosen where it is 0 */
size_t run_shards(const train_run *run);      /* 1 where it is not set */
int run_threads(const train_run *run);
mousse_status run_directory(const train_run *run, char *path, size_t capacity, mo_error *error);

#endif
