/* object_options.c - see object_options.h. */
#include "optim/object_options.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char *const wrappers[] = {"none", "lookahead", "schedule_free", NULL};

static const mo_option object_rows[] = {
    MO_NUMBER(mo_object_options, lr_factor, 1, 0, 1e3,
              "multiplies the learning rate of every group: a schedule in one call"),
    MO_NUMBER(mo_object_options, clip_norm, 0, 0, 1e30,
              "largest norm of all gradients together; larger ones are scaled down; 0: off. "
              "Switch it on or off before mousse_prepare"),
    MO_SWITCH(mo_object_options, average, 0, 1,
              "keep a moving average of the weights for evaluation"),
    MO_WHOLE(mo_object_options, average_from, 0, 0, 9e15, 0,
             "up to this step the average is the weights themselves"),
    MO_NUMBER(mo_object_options, average_horizon, 150, 1, 1e9,
              "each later step moves the average by 1/average_horizon of its distance to the "
              "weights"),
    MO_NUMBER(mo_object_options, average_weight, 1, 0, 1,
              "share of the average in the evaluated weights; the rest comes from the current "
              "weights"),
    MO_CHOICE(
        mo_object_options, wrapper, wrappers, 0, 1,
        "method wrapped around every algorithm: lookahead (EMA-Nesterov) or schedule_free"),
    MO_NUMBER(mo_object_options, lookahead, 0.3, 0, 10,
              "how far ahead along the average direction gradients are taken, times lr_factor"),
    MO_NUMBER(mo_object_options, lookahead_decay, 0.99, 0, MO_BETA_MAX,
              "decay of the average direction"),
    MO_NUMBER(mo_object_options, schedule_free_beta, 0.9, 0, 1,
              "where gradients are taken: 0 at the newest weights, 1 at their average"),
    MO_NUMBER(mo_object_options, schedule_free_power, 2, 0, 8,
              "a step is weighted in that average by its learning rate to this power; 0: all "
              "equally"),
    /* the last: see mo_object_state_table */
    MO_SWITCH(
        mo_object_options, overlap, 0, 1,
        "send new values to other ranks while the rest is computed, from a thread that calls "
        "the communicator meanwhile; results are the same"),
};
_Static_assert(sizeof object_rows / sizeof *object_rows == MO_OBJECT_OPTIONS, "one flag each");

static const mo_option param_rows[] = {
    MO_NUMBER(mo_param_options, lr_factor, 1, 0, 1e3, "multiplies the learning rate"),
    MO_NUMBER(mo_param_options, weight_decay_factor, 1, 0, 1e3, "multiplies the weight decay"),
    MO_WHOLE(mo_param_options, steps, 0, 0, 9e15, 0,
             "steps done so far, as bias corrections and refreshes count them"),
};

const mo_option_table mo_object_table = {object_rows, sizeof object_rows / sizeof *object_rows};
const mo_option_table mo_object_state_table = {object_rows,
                                               sizeof object_rows / sizeof *object_rows - 1};
const mo_option_table mo_param_table = {param_rows, sizeof param_rows / sizeof *param_rows};

const mo_option *mo_option_find(mo_option_table table, const char *name)
{
  for (size_t i = 0; name != NULL && i < table.count; i++)
    /* cppcheck-suppress returnDanglingLifetime - rows is a pointer, what it points to is static */
    if (strcmp(table.rows[i].info.name, name) == 0) return &table.rows[i];
  return NULL;
}

void mo_options_start(mo_option_table table, void *config)
{
  for (size_t i = 0; i < table.count; i++)
    mo_option_put(&table.rows[i], config, table.rows[i].info.initial);
}

double mo_option_get(const mo_option *option, const void *config)
{
  double value;
  memcpy(&value, (const char *)config + option->offset, sizeof value);
  return value;
}

void mo_option_put(const mo_option *option, void *config, double value)
{
  memcpy((char *)config + option->offset, &value, sizeof value);
}

void mo_option_text(const mousse_option *info, double value, char *text, size_t capacity)
{
  if (info->choices != NULL)
    snprintf(text, capacity, "%s", info->choices[(size_t)value]);
  else
    mo_number_text(value, text, capacity);
}

/* Choices that are known by a second name. */
static const char *usual_name(const char *text)
{
  return strcmp(text, "polar_express") == 0 ? "polar5" : text;
}

bool mo_option_value(const mousse_option *info, const char *text, double *value)
{
  for (size_t i = 0; info->choices != NULL && info->choices[i] != NULL; i++)
    if (strcmp(info->choices[i], usual_name(text)) == 0) {
      *value = (double)i;
      return true;
    }
  return mo_parse_double(text, value);
}
