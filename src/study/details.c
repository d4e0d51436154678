/* details.c - see details.h. */
#include "study/details.h"

#include "train/groups.h"
#include "train/scalar_opt.h"

#include <math.h>
#include <mousse/mousse.h>
#include <stdio.h>
#include <string.h>

enum { EMBED, HEAD, DECAY, MEMORY, SCALAR };

const char *const study_detail_names[STUDY_DETAILS] = {"embed", "head", "decay", "memory",
                                                       "scalar"};

static double factor_of(int which, int at)
{
  return pow(which == DECAY ? 4 : 2, 0.5 * at);
}

/* The memory of what trains embedding and head: Lion's, or a momentum. */
static const char *scalar_memory(const train_options *run)
{
  return options_of_algorithm(options_scalar(run), "mu") != NULL ? "scalar.mu" : "scalar.beta2";
}

/* The library's default of "opt.beta" or "scalar.beta2". */
static double default_of(const train_options *run, const char *key)
{
  const char *algorithm =
      strncmp(key, "scalar.", 7) == 0 ? options_scalar(run) : run->optimizer;
  const mousse_option *option = options_of_algorithm(algorithm, strchr(key, '.') + 1);
  return option != NULL ? option->initial : NAN;
}

/* Where steps of a factor start: an optimizer that comes without decay takes those of the others. */
static double usual_decay(const train_options *run)
{
  const double own = default_of(run, "opt.weight_decay");
  return own == 0 ? 0.01 : own;
}

static double value_of(const train_options *run, size_t width, int which, double factor,
                       const char *memory)
{
  switch (which) {
  case EMBED:
    return factor * groups_lr_factor(run, GPT_EMBED, width);
  case HEAD:
    return factor * groups_lr_factor(run, GPT_HEAD, width);
  case DECAY:
    return factor * usual_decay(run);
  default:
    return 1 - factor * (1 - default_of(run, which == SCALAR ? scalar_memory(run) : memory));
  }
}

mousse_status details_set(train_options *run, size_t width, const int at[STUDY_DETAILS],
                          const char *memory, mo_error *error)
{
  const char *const keys[STUDY_DETAILS] = {"embed_lr_factor", "head_lr_factor",
                                           "opt.weight_decay", memory, scalar_memory(run)};
  for (int i = 0; i < STUDY_DETAILS; i++)
    if (at[i] != 0)
      MO_TRY(options_set_number(run, keys[i],
                                value_of(run, width, i, factor_of(i, at[i]), memory), error));
  return MOUSSE_OK;
}

void details_text(const int at[STUDY_DETAILS], char *text, size_t capacity)
{
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < STUDY_DETAILS && used < capacity; i++)
    if (at[i] != 0)
      used += (size_t)snprintf(text + used, capacity - used, ",%s=%.3g", study_detail_names[i],
                               factor_of(i, at[i]));
}
