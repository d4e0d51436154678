/* explain.c - names, help, error texts: what a program can ask without knowing an algorithm. */
#include "optim/shares.h"

const char *mousse_error(const mousse_optimizer *opt)
{
  if (opt == NULL) return "there is no optimizer (NULL)";
  return opt->error.text;
}

const char *mousse_status_text(mousse_status status)
{
  switch (status) {
#define MOUSSE_X(name, code, text)                                                             \
  case MOUSSE_##name:                                                                          \
    return text;
    MOUSSE_STATUS_MAP(MOUSSE_X)
#undef MOUSSE_X
  }
  return "unknown status";
}

const char *mousse_algorithm_name(size_t index)
{
  const mo_algorithm *algorithm = mo_algorithm_at(index);
  return algorithm != NULL ? algorithm->name : NULL;
}

const char *mousse_algorithm_help(const char *name)
{
  const mo_algorithm *algorithm = mo_algorithm_find(name);
  return algorithm != NULL ? algorithm->help : NULL;
}

const mousse_option *mousse_algorithm_option(const char *name, size_t index)
{
  const mo_algorithm *algorithm = mo_algorithm_find(name);
  return algorithm != NULL && index < algorithm->option_count ? &algorithm->options[index].info
                                                              : NULL;
}

const mousse_input *mousse_algorithm_input(const char *name, size_t index)
{
  const mo_algorithm *algorithm = mo_algorithm_find(name);
  return algorithm != NULL && index < algorithm->input_count ? &algorithm->inputs[index] : NULL;
}

const char *mousse_version(void)
{
  return MOUSSE_VERSION_TEXT;
}

uint64_t mousse_steps_done(const mousse_optimizer *opt)
{
  return opt != NULL ? opt->steps : 0;
}

size_t mousse_bytes_held(const mousse_optimizer *opt)
{
  return opt != NULL ? opt->held : 0;
}

const char *mousse_param_name(const mousse_optimizer *opt, size_t index)
{
  return opt != NULL && index < opt->param_count ? opt->params[index].name : NULL;
}

size_t mousse_param_state_bytes(const mousse_optimizer *opt, const char *name)
{
  const mo_param *param = opt != NULL ? mo_param_find(opt, name) : NULL;
  size_t floats = 0;
  for (size_t i = 0; param != NULL && i < param->array_count; i++)
    floats += param->arrays[i].count;
  return floats * sizeof(float);
}

double mousse_param_flops(const mousse_optimizer *opt, const char *name)
{
  const mo_param *param = opt != NULL ? mo_param_find(opt, name) : NULL;
  if (param == NULL) return 0;
  const mo_group *group = mo_param_group(opt, param);
  return group->algorithm->flops(group->config, param->shape);
}

mousse_status mousse_rank_load(const mousse_optimizer *opt, int rank, size_t *state_bytes,
                               double *flops)
{
  if (opt == NULL || state_bytes == NULL || flops == NULL) return MOUSSE_INVALID_ARGUMENT;
  *state_bytes = 0;
  *flops = 0;
  for (size_t i = 0; i < opt->param_count; i++) {
    const mo_param *param = &opt->params[i];
    const mo_group *group = mo_param_group(opt, param);
    const mo_share *share = mo_share_of(param, rank);
    if (share == NULL) continue;
    *flops += group->algorithm->flops(group->config, mo_share_shape(param, share));
    for (size_t part = 0; part < param->array_count; part++)
      *state_bytes += mo_share_floats(param, share, part) * sizeof(float);
  }
  return MOUSSE_OK;
}

int mousse_param_owner(const mousse_optimizer *opt, const char *name)
{
  const mo_param *param = opt != NULL ? mo_param_find(opt, name) : NULL;
  return param != NULL ? param->owner : -1;
}
