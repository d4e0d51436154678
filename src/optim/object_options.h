/* object_options.h - options that are no algorithm's: of the optimizer as a whole, and of one
 * parameter. Tables like those of algorithms. */
#ifndef MOUSSE_OPTIM_OBJECT_OPTIONS_H
#define MOUSSE_OPTIM_OBJECT_OPTIONS_H

#include "optim/algorithm.h"

typedef struct mo_object_options {
  double lr_factor, clip_norm;
  double average, average_from, average_horizon, average_weight; /* see wrappers.h */
  double wrapper, lookahead, lookahead_decay, schedule_free_beta, schedule_free_power;
  double overlap;
} mo_object_options;

typedef struct mo_param_options {
  double lr_factor, weight_decay_factor;
  double steps; /* not used: the count itself is mo_param.steps */
} mo_param_options;

/* A table with the struct that its rows describe. */
typedef struct mo_option_table {
  const mo_option *rows;
  size_t count;
} mo_option_table;

enum { MO_OBJECT_OPTIONS = 12 };
extern const mo_option_table mo_object_table, mo_param_table;
/* Of the object, those that are part of its state: not how fast it is. */
extern const mo_option_table mo_object_state_table;

/* NULL: no such name. */
const mo_option *mo_option_find(mo_option_table table, const char *name);

/* Every member gets its initial value. */
void mo_options_start(mo_option_table table, void *config);

double mo_option_get(const mo_option *option, const void *config);
void mo_option_put(const mo_option *option, void *config, double value);

/* The value as mousse_set_text reads it. */
void mo_option_text(const mousse_option *info, double value, char *text, size_t capacity);
/* The value of such a text; false when it is neither a number nor a choice. */
bool mo_option_value(const mousse_option *info, const char *text, double *value);

#endif
