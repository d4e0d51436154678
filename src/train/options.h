/* options.h - what a training run is told: options from a configuration file and from flags.
 *
 * One table (options.def) gives defaults, checks, help and the saved config.yaml. Keys are those of
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

enum { OPTION_TEXT_SIZE = 32, OPTION_MOST = 128 };

/* One opt.NAME or scalar.NAME. */
typedef struct train_option {
  bool scalar;
  char name[OPTION_TEXT_SIZE], value[OPTION_TEXT_SIZE];
} train_option;

typedef struct train_options {
#define OPTION_TEXT(member, size, initial, effect, help)         char member[size];
#define OPTION_INTEGER(member, initial, low, high, effect, help) int64_t member;
#define OPTION_NUMBER(member, initial, low, high, effect, help)  double member;
#define OPTION_SWITCH(member, initial, effect, help)             bool member;
#define OPTION_CHOICE(member, initial, choices, effect, help)    int member;
#define OPTION_OPTIMIZER(member, option, only, help)             char member[OPTION_TEXT_SIZE];
#include "train/options.def"
  train_option options[OPTION_MOST];
  size_t option_count;
} train_options;

/* The values of train_options.recipe. */
typedef enum train_recipe { RECIPE_RECOMMENDED, RECIPE_PAPER } train_recipe;

/* The values of train_options.wrapper, as the library's. */
typedef enum train_wrapper {
  WRAPPER_NONE,
  WRAPPER_LOOKAHEAD,
  WRAPPER_SCHEDULE_FREE
} train_wrapper;

/* The values of train_options.recompute. */
typedef enum recompute_mode { RECOMPUTE_AUTO, RECOMPUTE_ON, RECOMPUTE_OFF } recompute_mode;

/* Where sentences for the user go that are not errors. */
typedef struct run_notices {
  void (*say)(void *user, const char *text); /* NULL: nowhere */
  void *user;
} run_notices;

void run_notify(const run_notices *notices, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

extern const mo_settings train_settings;

/* What a change means for a run that is continued; see options.def. */
typedef enum option_effect {
  OPTION_FIXED,
  OPTION_RESULT,
  OPTION_SOURCE,
  OPTION_FREE
} option_effect;
option_effect option_row_effect(size_t row); /* of train_settings.rows[row] */

/* For OPTION_OPTIMIZER rows: the library's name of the option, and the only algorithm that it
 * concerns ("" for any). NULL for other rows. */
const char *option_row_name(size_t row, const char **only);

mousse_status options_defaults(train_options *run, mo_error *error);

/* The name of the row that a key means: '-' is '_', and other trainers' names count. Any other key is its own. */
const char *options_key_name(const char *key);
/* Whether both mean one row, or one is opt.NAME of what the other sets for any optimizer. */
bool options_same_option(const char *key, const char *other);

/* Sets one key, of the table or one of the others. */
mousse_status options_set(train_options *run, const char *key, const char *text,
                          const run_notices *notices, mo_error *error);
mousse_status options_set_number(train_options *run, const char *key, double value,
                                 mo_error *error);
/* Takes opt.NAME back. */
void options_drop(train_options *run, const char *name);
/* Takes back what would stand over that which `flags` give under another name: opt.lr over lr, out over
 * checkpoint_dir. */
void options_drop_given(train_options *run, const train_options *flags);

/* The library's option of that name; NULL: the algorithm has none. */
const mousse_option *options_of_algorithm(const char *algorithm, const char *name);

/* options_yaml.c: reads a file over what is set already; writes all that is set, atomically. */
mousse_status options_read(train_options *run, const char *path, const run_notices *notices,
                           mo_error *error);
/* The same from text in memory; path is what messages call it. */
mousse_status options_parse(train_options *run, const char *path, const char *text, size_t size,
                            const run_notices *notices, mo_error *error);
mousse_status options_write(const train_options *run, const char *path, mo_error *error);

/* Names, ratios and batches must fit together. */
mousse_status options_check(const train_options *run, mo_error *error);

/* Whether both have the same opt. and scalar. options, in whatever order they were given. */
bool options_same_list(const train_options *a, const train_options *b);

/* Whether other weights than those that are trained are evaluated, and whether the optimizer keeps
 * them rather than the trainer. */
bool options_average(const train_options *run);
bool options_wrapped(const train_options *run);

train_schedule options_schedule(const train_options *run);
/* Where they are 0, chosen from the batch alone, so that the result does not depend on the ranks:
 * the largest power of two up to 8 that divides it; up to 8 sequences of a slice at a time. */
size_t options_slices(const train_options *run);
size_t options_micro_batch(const train_options *run);
/* Whether the batch can be cut into so many slices of whole micro-batches. */
bool options_slices_fit(const train_options *run, int64_t slices);
int options_threads(const train_options *run);
mousse_status options_directory(const train_options *run, char *path, size_t capacity,
                                mo_error *error);

#endif
