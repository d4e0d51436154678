/* options.c - options by name: of a group, of all groups, of the object, of a parameter; each
 * checked against a table. */
#include "base/text.h"
#include "optim/wrappers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a name is looked up in. */
typedef struct option_target {
  mo_option_table table;
  void *config;
  bool *scheduled; /* for each row; NULL: not kept */
  char title[160]; /* "group 0 (mousse)" */
} option_target;

/* Words that other libraries use, each with ours in the order in which they are tried. */
static const struct {
  const char *word, *names[4];
} other_words[] = {
    {"learning_rate", {"lr"}},
    {"alpha", {"lr"}},
    {"momentum", {"mu", "beta", "beta1"}},
    {"beta", {"mu", "beta1"}},
    {"beta1", {"mu", "beta"}},
    {"betas", {"beta1", "beta"}},
    {"wd", {"weight_decay"}},
    {"decay", {"weight_decay"}},
    {"l2", {"weight_decay"}},
    {"epsilon", {"eps"}},
    {"max_grad_norm", {"clip_norm"}},
    {"clip", {"clip_norm"}},
    {"grad_clip", {"clip_norm"}},
    {"precondition_frequency", {"refresh_every"}},
    {"ns_steps", {"ns_steps", "newton_schulz"}},
};

static const char *meant(mo_option_table table, const char *word)
{
  for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++)
    for (size_t k = 0; strcmp(other_words[i].word, word) == 0 && k < 4; k++) {
      const mo_option *found = mo_option_find(table, other_words[i].names[k]);
      if (found != NULL) return found->info.name;
    }
  mo_suggestion s = mo_suggest(word);
  for (size_t i = 0; i < table.count; i++) mo_suggest_from(&s, table.rows[i].info.name);
  return s.best;
}

static bool some_group_has(const mousse_optimizer *opt, const char *name)
{
  for (size_t i = 0; i < opt->group_count; i++) {
    const mo_algorithm *a = opt->groups[i].algorithm;
    if (mo_option_find((mo_option_table){a->options, a->option_count}, name) != NULL)
      return true;
  }
  return false;
}

/* Where an option is that was looked for in another table; NULL: nowhere. */
static const char *whose(const mousse_optimizer *opt, mo_option_table asked, const char *name)
{
  const bool group = asked.rows != mo_object_table.rows && asked.rows != mo_param_table.rows;
  if (mo_option_find(mo_object_table, name) != NULL)
    return "the optimizer has it: give MOUSSE_OBJECT instead of a group to mousse_set";
  if (mo_option_find(mo_param_table, name) != NULL)
    return "parameters have it: mousse_set_param sets it";
  if (!group && some_group_has(opt, name))
    return "groups have it: give a group, or MOUSSE_ALL_GROUPS, to mousse_set";
  return NULL;
}

static mousse_status unknown_option(const mousse_optimizer *opt, const option_target *t,
                                    const char *name)
{
  mo_error *error = mo_error_of(opt);
  const char *owner = whose(opt, t->table, name);
  if (owner != NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "%s has no option '%.60s'; %s", t->title, name,
                   owner);
  const char *best = meant(t->table, name);
  if (best != NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "%s has no option '%.60s'; did you mean '%s'?",
                   t->title, name, best);
  char list[300] = "";
  for (size_t i = 0; i < t->table.count; i++)
    mo_list_add(list, sizeof list, t->table.rows[i].info.name);
  return mo_fail(error, MOUSSE_UNKNOWN_NAME, "%s has no option '%.60s'; it has %s", t->title,
                 name, list);
}

static mousse_status find_option(const mousse_optimizer *opt, const option_target *t,
                                 const char *name, const mo_option **found)
{
  if (name == NULL)
    return mo_fail(mo_error_of(opt), MOUSSE_INVALID_ARGUMENT,
                   "an option's name must not be NULL");
  *found = mo_option_find(t->table, name);
  return *found != NULL ? MOUSSE_OK : unknown_option(opt, t, name);
}

static mousse_status find_target(const mousse_optimizer *opt, int group, option_target *t)
{
  mousse_optimizer *object = (mousse_optimizer *)opt;
  if (group == MOUSSE_OBJECT) {
    *t = (option_target){mo_object_table, &object->options, object->options_scheduled,
                         "the optimizer"};
    return MOUSSE_OK;
  }
  if (group < 0 || (size_t)group >= opt->group_count)
    return mo_fail(mo_error_of(opt), MOUSSE_UNKNOWN_NAME,
                   "there is no group %d; mousse_add_group has made %zu", group,
                   opt->group_count);
  const mo_group *found = &opt->groups[group];
  *t = (option_target){{found->algorithm->options, found->algorithm->option_count},
                       found->config,
                       found->scheduled,
                       ""};
  snprintf(t->title, sizeof t->title, "group %d (%s)", group, found->algorithm->name);
  return MOUSSE_OK;
}

/* With all digits that matter: 0.9999999 is not 1. */
static mousse_status bad_value(mousse_optimizer *opt, const mousse_option *info, double value)
{
  char given[40], least[40], most[40];
  mo_number_text(value, given, sizeof given);
  mo_number_text(info->min, least, sizeof least);
  mo_number_text(info->max, most, sizeof most);
  if (value >= info->min && value <= info->max)
    return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE, "%s = %s must be a whole number",
                   info->name, given);
  return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE, "%s = %s is out of range: %s to %s",
                 info->name, given, least, most);
}

static mousse_status check_value(mousse_optimizer *opt, const mousse_option *info, double value)
{
  const bool in_range = value >= info->min && value <= info->max; /* NaN is not */
  const bool whole = !info->integer || value == floor(value);
  return in_range && whole ? MOUSSE_OK : bad_value(opt, info, value);
}

/* Clipping needs memory, which is taken in prepare. */
static mousse_status check_change(mousse_optimizer *opt, const mo_option *option, double value)
{
  if (opt->phase == MO_BUILDING) return MOUSSE_OK;
  if (option->info.fixed)
    return mo_fail(&opt->error, MOUSSE_WRONG_PHASE,
                   "%s shapes the optimizer's memory and cannot be set after mousse_prepare",
                   option->info.name);
  const bool clip = option == mo_option_find(mo_object_table, "clip_norm");
  if (clip && (value > 0) != (opt->options.clip_norm > 0))
    return mo_fail(&opt->error, MOUSSE_WRONG_PHASE,
                   "clip_norm is switched on or off before mousse_prepare; after it, only its "
                   "size may change (1e30 clips nothing)");
  return MOUSSE_OK;
}

static mousse_status check(mousse_optimizer *opt, const mo_option *option, double value)
{
  MO_TRY(check_value(opt, &option->info, value));
  return check_change(opt, option, value);
}

static void put(mousse_optimizer *opt, const option_target *t, const mo_option *option,
                double value)
{
  mo_option_put(option, t->config, value);
  if (opt->phase != MO_BUILDING) t->scheduled[option - t->table.rows] = true;
}

/* What a text means for an option, or why it means nothing. */
static mousse_status bad_text(mousse_optimizer *opt, const mousse_option *info,
                              const char *text)
{
  if (info->choices == NULL)
    return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE, "%s = '%.60s' is not a number", info->name,
                   text);
  char list[256] = "";
  mo_suggestion s = mo_suggest(text);
  for (size_t i = 0; info->choices[i] != NULL; i++) {
    mo_list_add(list, sizeof list, info->choices[i]);
    mo_suggest_from(&s, info->choices[i]);
  }
  if (s.best != NULL)
    return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE,
                   "%s = '%.60s' is not one of %s; did you mean '%s'?", info->name, text, list,
                   s.best);
  return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE, "%s = '%.60s' is not one of %s", info->name,
                 text, list);
}

/* A value given as a number, or as text. */
typedef struct given {
  const char *text; /* NULL: the number */
  double number;
} given;

static mousse_status value_of(mousse_optimizer *opt, const mo_option *option, given value,
                              double *number)
{
  *number = value.number;
  if (value.text != NULL && !mo_option_value(&option->info, value.text, number))
    return bad_text(opt, &option->info, value.text);
  return check(opt, option, *number);
}

static mousse_status set_one(mousse_optimizer *opt, int group, const char *name, given value)
{
  option_target t;
  const mo_option *option = NULL;
  double number = 0;
  MO_TRY(find_target(opt, group, &t));
  MO_TRY(find_option(opt, &t, name, &option));
  MO_TRY(value_of(opt, option, value, &number));
  put(opt, &t, option, number);
  return MOUSSE_OK;
}

/* First every group is asked, then every group is set: all or none. */
static mousse_status set_all(mousse_optimizer *opt, const char *name, given value)
{
  size_t found = 0;
  mousse_status unknown = MOUSSE_UNKNOWN_NAME;
  if (opt->group_count == 0)
    return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME, "there are no groups to set '%s' of",
                   name);
  for (int write = 0; write < 2; write++)
    for (size_t i = 0; i < opt->group_count; i++) {
      option_target t;
      const mo_option *option = NULL;
      double number = 0;
      MO_TRY(find_target(opt, (int)i, &t));
      unknown = find_option(opt, &t, name, &option);
      if (unknown != MOUSSE_OK) continue;
      found++;
      MO_TRY(value_of(opt, option, value, &number));
      if (write == 1) put(opt, &t, option, number);
    }
  return found > 0 ? MOUSSE_OK : unknown;
}

static mousse_status set_given(mousse_optimizer *opt, int group, const char *name, given value)
{
  if (name == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT, "an option's name must not be NULL");
  return group == MOUSSE_ALL_GROUPS ? set_all(opt, name, value)
                                    : set_one(opt, group, name, value);
}

mousse_status mousse_set(mousse_optimizer *opt, int group, const char *name, double value)
{
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  return set_given(opt, group, name, (given){NULL, value});
}

mousse_status mousse_set_text(mousse_optimizer *opt, int group, const char *name,
                              const char *text)
{
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (text == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT, "%s: the value must not be NULL",
                   name != NULL ? name : "an option");
  return set_given(opt, group, name, (given){text, 0});
}

static mousse_status read_option(const mousse_optimizer *opt, int group, const char *name,
                                 const mo_option **option, double *value)
{
  option_target t;
  if (group == MOUSSE_ALL_GROUPS)
    return mo_fail(mo_error_of(opt), MOUSSE_INVALID_ARGUMENT,
                   "the groups may differ in '%.60s'; ask one of them",
                   name != NULL ? name : "(NULL)");
  MO_TRY(find_target(opt, group, &t));
  MO_TRY(find_option(opt, &t, name, option));
  *value = mo_option_get(*option, t.config);
  return MOUSSE_OK;
}

mousse_status mousse_get(const mousse_optimizer *opt, int group, const char *name,
                         double *value)
{
  const mo_option *option = NULL;
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (value == NULL)
    return mo_fail(mo_error_of(opt), MOUSSE_INVALID_ARGUMENT,
                   "mousse_get: value must not be NULL");
  return read_option(opt, group, name, &option, value);
}

mousse_status mousse_get_text(const mousse_optimizer *opt, int group, const char *name,
                              char *text, size_t capacity)
{
  const mo_option *option = NULL;
  double value = 0;
  char whole[64];
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (text == NULL)
    return mo_fail(mo_error_of(opt), MOUSSE_INVALID_ARGUMENT,
                   "mousse_get_text: text must not be NULL");
  MO_TRY(read_option(opt, group, name, &option, &value));
  mo_option_text(&option->info, value, whole, sizeof whole);
  if (strlen(whole) >= capacity)
    return mo_fail(mo_error_of(opt), MOUSSE_INVALID_ARGUMENT,
                   "mousse_get_text: %s = %s needs %zu bytes, there are %zu", name, whole,
                   strlen(whole) + 1, capacity);
  memcpy(text, whole, strlen(whole) + 1);
  return MOUSSE_OK;
}

static mousse_status find_param_option(const mousse_optimizer *opt, const char *name,
                                       const char *option, mo_param **param,
                                       const mo_option **found)
{
  option_target t = {.table = mo_param_table};
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  *param = mo_param_find(opt, name);
  if (*param == NULL) return mo_param_unknown(opt, name);
  snprintf(t.title, sizeof t.title, "parameter '%.100s'", name);
  return find_option(opt, &t, option, found);
}

static void put_param(const mousse_optimizer *opt, mo_param *param, const mo_option *option,
                      double value)
{
  mo_option_put(option, &param->options, value);
  if (strcmp(option->info.name, "steps") != 0) return;
  param->steps = (uint64_t)value;
  param->blank = 0;
  param->weight_sum = value * mo_wrapper_weight(opt, param); /* as if all had been like now */
}

mousse_status mousse_set_param(mousse_optimizer *opt, const char *name, const char *option,
                               double value)
{
  mo_param *param = NULL;
  const mo_option *found = NULL;
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  const mo_tensor *tensor = mo_tensor_find(opt, name); /* then it is for all its parameters */
  const char *first = tensor != NULL ? opt->params[tensor->first_param].name : name;
  MO_TRY(find_param_option(opt, first, option, &param, &found));
  MO_TRY(check_value(opt, &found->info, value));
  const size_t count = tensor != NULL ? tensor->count * tensor->row_blocks : 1;
  for (size_t i = 0; i < count; i++) put_param(opt, param + i, found, value);
  return MOUSSE_OK;
}

mousse_status mousse_get_param(const mousse_optimizer *opt, const char *name,
                               const char *option, double *value)
{
  mo_param *param = NULL;
  const mo_option *found = NULL;
  MO_TRY(find_param_option(opt, name, option, &param, &found));
  if (value == NULL)
    return mo_fail(mo_error_of(opt), MOUSSE_INVALID_ARGUMENT,
                   "mousse_get_param: value must not be NULL");
  *value = mo_option_get(found, &param->options);
  if (strcmp(option, "steps") == 0) *value = (double)param->steps;
  return MOUSSE_OK;
}
