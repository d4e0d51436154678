/* explain.c - names, help, error texts: what a program can ask without knowing an algorithm. */
#include "optim/shares.h"

const char *mousse_error(const mousse_optimizer *opt)
{
  const char *text = mo_error_of(opt)->text;
  return opt == NULL && text[0] == '\0' ? "there is no optimizer (NULL)" : text;
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

static const mousse_option *row(mo_option_table table, size_t index)
{
  return index < table.count ? &table.rows[index].info : NULL;
}

const mousse_option *mousse_object_option(size_t index)
{
  return row(mo_object_table, index);
}

const mousse_option *mousse_param_option(size_t index)
{
  return row(mo_param_table, index);
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

const char *mousse_group_algorithm(const mousse_optimizer *opt, int group)
{
  if (opt == NULL || group < 0 || (size_t)group >= opt->group_count) return NULL;
  return opt->groups[group].algorithm->name;
}

int mousse_param_group(const mousse_optimizer *opt, const char *name)
{
  const mo_param *param = opt != NULL ? mo_param_find(opt, name) : NULL;
  return param != NULL ? param->group : -1;
}

mousse_status mousse_param_shape(const mousse_optimizer *opt, const char *name, size_t *rows,
                                 size_t *cols)
{
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (rows == NULL || cols == NULL)
    return mo_fail(mo_error_of(opt), MOUSSE_INVALID_ARGUMENT,
                   "mousse_param_shape: rows and cols must not be NULL");
  const mo_param *param = mo_param_find(opt, name);
  if (param == NULL) return mo_param_unknown(opt, name);
  *rows = param->shape.rows;
  *cols = param->shape.cols;
  return MOUSSE_OK;
}

uint64_t mousse_param_steps(const mousse_optimizer *opt, const char *name)
{
  const mo_param *param = opt != NULL ? mo_param_find(opt, name) : NULL;
  return param != NULL ? param->steps : 0;
}

double mousse_grad_norm(const mousse_optimizer *opt)
{
  return opt != NULL ? opt->grad_norm : 0;
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
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (state_bytes == NULL || flops == NULL)
    return mo_fail(mo_error_of(opt), MOUSSE_INVALID_ARGUMENT,
                   "mousse_rank_load: state_bytes and flops must not be NULL");
  if (rank < 0 || rank >= opt->comm.size)
    return mo_fail(mo_error_of(opt), MOUSSE_INVALID_ARGUMENT,
                   "mousse_rank_load: there is no rank %d; there are %d", rank, opt->comm.size);
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
