/* options.c - options by name, checked against the algorithm's table. */
#include "base/text.h"
#include "optim/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static mousse_status find_group(mousse_optimizer *opt, int group, const mo_group **found)
{
  if (group < 0 || (size_t)group >= opt->group_count)
    return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME,
                   "there is no group %d; mousse_add_group has made %zu", group,
                   opt->group_count);
  *found = &opt->groups[group];
  return MOUSSE_OK;
}

static mousse_status find_option(mousse_optimizer *opt, int group, const char *name,
                                 const mo_option **found)
{
  const mo_algorithm *algorithm = opt->groups[group].algorithm;
  if (name == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT, "an option's name must not be NULL");
  mo_suggestion s = mo_suggest(name);
  for (size_t i = 0; i < algorithm->option_count; i++) {
    const mo_option *option = &algorithm->options[i];
    if (strcmp(option->info.name, name) == 0) {
      *found = option;
      return MOUSSE_OK;
    }
    mo_suggest_from(&s, option->info.name);
  }
  if (s.best != NULL)
    return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME,
                   "group %d (%s) has no option '%s'; did you mean '%s'?", group,
                   algorithm->name, name, s.best);
  return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME,
                 "group %d (%s) has no option '%s'; mousse_algorithm_option lists those it has",
                 group, algorithm->name, name);
}

static mousse_status check_value(mousse_optimizer *opt, const mousse_option *info, double value)
{
  if (!(value >= info->min && value <= info->max)) /* also NaN */
    return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE, "%s = %g is out of range: %g to %g",
                   info->name, value, info->min, info->max);
  if (info->integer && value != floor(value))
    return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE, "%s = %g must be a whole number",
                   info->name, value);
  return MOUSSE_OK;
}

static mousse_status locate(mousse_optimizer *opt, int group, const char *name,
                            const mo_option **option, double **slot)
{
  const mo_group *found = NULL;
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  MO_TRY(find_group(opt, group, &found));
  MO_TRY(find_option(opt, group, name, option));
  *slot = (double *)(void *)((char *)found->config + (*option)->offset);
  return MOUSSE_OK;
}

mousse_status mousse_set(mousse_optimizer *opt, int group, const char *name, double value)
{
  const mo_option *option = NULL;
  double *slot = NULL;
  MO_TRY(locate(opt, group, name, &option, &slot));
  MO_TRY(check_value(opt, &option->info, value));
  if (option->info.fixed && opt->phase != MO_BUILDING)
    return mo_fail(&opt->error, MOUSSE_WRONG_PHASE,
                   "%s shapes the optimizer's memory and cannot be set after mousse_prepare",
                   name);
  *slot = value;
  return MOUSSE_OK;
}

/* A value that is neither a number nor one of the choices. */
static mousse_status bad_text(mousse_optimizer *opt, const mousse_option *info,
                              const char *text)
{
  if (info->choices == NULL)
    return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE, "%s = '%s' is not a number", info->name,
                   text);
  char list[256] = "";
  mo_suggestion s = mo_suggest(text);
  for (size_t i = 0; info->choices[i] != NULL; i++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", info->choices[i]);
    mo_suggest_from(&s, info->choices[i]);
  }
  if (s.best != NULL)
    return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE,
                   "%s = '%s' is not one of %s; did you mean '%s'?", info->name, text, list,
                   s.best);
  return mo_fail(&opt->error, MOUSSE_OUT_OF_RANGE, "%s = '%s' is not one of %s", info->name,
                 text, list);
}

/* Choices that are known by a second name. */
static const char *usual_name(const char *text)
{
  return strcmp(text, "polar_express") == 0 ? "polar5" : text;
}

mousse_status mousse_set_text(mousse_optimizer *opt, int group, const char *name,
                              const char *text)
{
  const mo_option *option = NULL;
  double *slot = NULL, value = 0.0;
  MO_TRY(locate(opt, group, name, &option, &slot));
  if (text == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT, "%s: the value must not be NULL",
                   name);
  for (size_t i = 0; option->info.choices != NULL && option->info.choices[i] != NULL; i++)
    if (strcmp(option->info.choices[i], usual_name(text)) == 0)
      return mousse_set(opt, group, name, (double)i);
  if (!mo_parse_double(text, &value)) return bad_text(opt, &option->info, text);
  return mousse_set(opt, group, name, value);
}

mousse_status mousse_get(const mousse_optimizer *opt, int group, const char *name,
                         double *value)
{
  if (opt == NULL || value == NULL || group < 0 || (size_t)group >= opt->group_count)
    return opt != NULL && value != NULL ? MOUSSE_UNKNOWN_NAME : MOUSSE_INVALID_ARGUMENT;
  const mo_group *found = &opt->groups[group];
  for (size_t i = 0; name != NULL && i < found->algorithm->option_count; i++) {
    const mo_option *option = &found->algorithm->options[i];
    if (strcmp(option->info.name, name) != 0) continue;
    memcpy(value, (const char *)found->config + option->offset, sizeof *value);
    return MOUSSE_OK;
  }
  return name == NULL ? MOUSSE_INVALID_ARGUMENT : MOUSSE_UNKNOWN_NAME;
}
