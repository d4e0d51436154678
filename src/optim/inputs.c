/* inputs.c - arrays that some algorithms take beside the gradient, bound by name. */
#include "optim/inputs.h"

#include "base/text.h"
#include "linalg/vector.h"

#include <string.h>

mo_shape mo_input_shape(mo_shape param, const mousse_input *input)
{
  return (mo_shape){input->rows == MOUSSE_ROWS ? param.rows : param.cols,
                    input->cols == MOUSSE_ROWS ? param.rows : param.cols};
}

static mousse_status unknown_input(mousse_optimizer *opt, const mo_algorithm *algorithm,
                                   const char *name)
{
  mo_suggestion s = mo_suggest(name);
  for (size_t i = 0; i < algorithm->input_count; i++)
    mo_suggest_from(&s, algorithm->inputs[i].name);
  if (s.best != NULL)
    return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME,
                   "%s takes no input '%s'; did you mean '%s'?", algorithm->name, name, s.best);
  return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME, "%s takes no input '%s'", algorithm->name,
                 name);
}

mousse_status mousse_bind_input(mousse_optimizer *opt, const char *param_name,
                                const char *input, const float *data)
{
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (param_name == NULL || input == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "mousse_bind_input: the names of parameter and input must not be NULL");
  mo_param *param = mo_param_find(opt, param_name);
  if (param == NULL) return mo_param_unknown(opt, param_name);
  if ((uintptr_t)data % sizeof *data != 0)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "input '%s' of '%s': the address %p is not that of a float", input,
                   param_name, (const void *)data);
  const mo_algorithm *algorithm = mo_param_group(opt, param)->algorithm;
  for (size_t i = 0; i < algorithm->input_count; i++)
    if (strcmp(algorithm->inputs[i].name, input) == 0) {
      param->inputs[i] = data;
      return MOUSSE_OK;
    }
  return unknown_input(opt, algorithm, input);
}

static mousse_status check_one(mousse_optimizer *opt, const mo_param *param, size_t which)
{
  const mo_group *group = mo_param_group(opt, param);
  const mo_algorithm *algorithm = group->algorithm;
  const mousse_input *input = &algorithm->inputs[which];
  const mo_shape shape = mo_input_shape(param->shape, input);
  const float *data = param->inputs[which];
  if (data == NULL && algorithm->needs_input != NULL &&
      !algorithm->needs_input(group->config, which))
    return MOUSSE_OK;
  if (data == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "%s needs the input '%s' (%zu x %zu) of '%s'; mousse_bind_input gives it. "
                   "Nothing was changed",
                   algorithm->name, input->name, shape.rows, shape.cols, param->name);
  if (mo_largest(data, mo_elements(shape)) < 0.0f)
    return mo_fail(&opt->error, MOUSSE_NOT_FINITE,
                   "the input '%s' of '%s' has an element that is infinite or NaN; nothing was "
                   "changed",
                   input->name, param->name);
  return MOUSSE_OK;
}

mousse_status mo_check_inputs(mousse_optimizer *opt)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    const mo_param *param = &opt->params[i];
    if (param->skipped) continue;
    const size_t count = mo_param_group(opt, param)->algorithm->input_count;
    for (size_t which = 0; which < count; which++) MO_TRY(check_one(opt, param, which));
  }
  return MOUSSE_OK;
}
