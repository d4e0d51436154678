/* optimizer.c - building the object: groups and parameters. */
#include "optim/optimizer.h"

#include "base/parallel.h"
#include "base/text.h"
#include "comm/comm.h"

#include <string.h>

static void *counting_allocate(void *user, size_t bytes)
{
  mousse_optimizer *opt = user;
  void *block = opt->host.allocate(opt->host.user, bytes);
  if (block != NULL) opt->held += bytes;
  return block;
}

static void counting_release(void *user, void *block, size_t bytes)
{
  mousse_optimizer *opt = user;
  opt->held -= bytes;
  opt->host.release(opt->host.user, block, bytes);
}

/* The members that this caller's header knows of; the rest stays 0. */
static mousse_status copy_env(const mousse_env *env, mousse_env *copy)
{
  *copy = (mousse_env){.struct_size = sizeof *copy};
  if (env == NULL) return MOUSSE_OK;
  if (env->struct_size < offsetof(mousse_env, allocate) || env->struct_size > 4096)
    return MOUSSE_INVALID_ARGUMENT;
  memcpy(copy, env, env->struct_size < sizeof *copy ? env->struct_size : sizeof *copy);
  copy->struct_size = sizeof *copy;
  const bool half_allocator = (copy->allocate == NULL) != (copy->release == NULL);
  const mousse_comm *comm = copy->comm;
  const bool bad_comm =
      comm != NULL && (comm->size < 1 || comm->rank < 0 || comm->rank >= comm->size ||
                       comm->sum == NULL || comm->broadcast == NULL);
  return half_allocator || bad_comm || copy->threads < 0 ? MOUSSE_INVALID_ARGUMENT : MOUSSE_OK;
}

mousse_status mousse_create(const mousse_env *env, mousse_optimizer **out)
{
  mousse_env copy;
  if (out == NULL) return MOUSSE_INVALID_ARGUMENT;
  *out = NULL;
  MO_TRY(copy_env(env, &copy));
  mo_allocator host = mo_default_allocator;
  if (copy.allocate != NULL) host = (mo_allocator){copy.allocate, copy.release, copy.user};

  mousse_optimizer *opt = mo_allocate(&host, sizeof *opt);
  if (opt == NULL) return MOUSSE_NO_MEMORY;
  opt->env = copy;
  opt->host = host;
  opt->allocator = (mo_allocator){counting_allocate, counting_release, opt};
  opt->held = sizeof *opt;
  opt->comm = copy.comm != NULL ? *copy.comm : mo_comm_self;
  opt->threads = copy.threads > 0 ? copy.threads : mo_threads_available();
  opt->lists = opt->state = opt->workspace = mo_arena_start(&opt->allocator);
  *out = opt;
  return MOUSSE_OK;
}

void mousse_destroy(mousse_optimizer *opt)
{
  if (opt == NULL) return;
  const mo_allocator host = opt->host;
  mo_arena_release(&opt->lists);
  mo_arena_release(&opt->state);
  mo_arena_release(&opt->workspace);
  for (size_t i = 0; i < opt->group_count; i++)
    mo_release(&opt->allocator, opt->groups[i].config, opt->groups[i].algorithm->config_bytes);
  for (size_t i = 0; i < opt->param_count; i++)
    mo_release(&opt->allocator, opt->params[i].name, strlen(opt->params[i].name) + 1);
  mo_release(&opt->allocator, opt->groups, opt->group_capacity * sizeof *opt->groups);
  mo_release(&opt->allocator, opt->params, opt->param_capacity * sizeof *opt->params);
  mo_release(&host, opt, sizeof *opt);
}

mousse_status mo_require(mousse_optimizer *opt, mo_phase phase, const char *call)
{
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (opt->phase == phase) return MOUSSE_OK;
  const char *reason =
      opt->phase == MO_BUILDING ? "needs mousse_prepare first"
      : opt->phase == MO_READY
          ? "is not allowed after mousse_prepare"
          : "is not possible any more: communication with another rank failed; "
            "only mousse_load and mousse_destroy are";
  return mo_fail(&opt->error, MOUSSE_WRONG_PHASE, "%s %s", call, reason);
}

static mousse_status unknown_algorithm(mousse_optimizer *opt, const char *name)
{
  mo_suggestion s = mo_suggest(name);
  for (size_t i = 0; i < mo_algorithm_count(); i++)
    mo_suggest_from(&s, mo_algorithm_at(i)->name);
  if (s.best != NULL)
    return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME,
                   "there is no algorithm '%s'; did you mean '%s'?", name, s.best);
  return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME,
                 "there is no algorithm '%s'; mousse_algorithm_name lists those that are",
                 name);
}

mousse_status mousse_add_group(mousse_optimizer *opt, const char *algorithm, int *group)
{
  MO_TRY(mo_require(opt, MO_BUILDING, "mousse_add_group"));
  if (algorithm == NULL || group == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "mousse_add_group: algorithm and group must not be NULL");
  const mo_algorithm *found = mo_algorithm_find(algorithm);
  if (found == NULL) return unknown_algorithm(opt, algorithm);

  if (!mo_grow(&opt->allocator, &opt->groups, &opt->group_capacity, opt->group_count + 1,
               sizeof *opt->groups))
    return mo_fail(&opt->error, MOUSSE_NO_MEMORY, "no memory for another group");
  char *config = mo_allocate(&opt->allocator, found->config_bytes);
  if (config == NULL)
    return mo_fail(&opt->error, MOUSSE_NO_MEMORY, "no memory for another group");
  for (size_t i = 0; i < found->option_count; i++)
    memcpy(config + found->options[i].offset, &found->options[i].info.initial, sizeof(double));
  opt->groups[opt->group_count] = (mo_group){found, config};
  *group = (int)opt->group_count++;
  return MOUSSE_OK;
}

mo_param *mo_param_find(const mousse_optimizer *opt, const char *name)
{
  for (size_t i = 0; name != NULL && i < opt->param_count; i++)
    if (strcmp(opt->params[i].name, name) == 0) return &opt->params[i];
  return NULL;
}

const mo_group *mo_param_group(const mousse_optimizer *opt, const mo_param *param)
{
  return &opt->groups[param->group];
}

/* The registered parameter, other than `except`, whose values share memory with these. One
 * tensor updated twice would be decayed twice and stepped twice. */
static const mo_param *overlapping(const mousse_optimizer *opt, const mo_param *except,
                                   const float *value, mo_shape shape)
{
  const uintptr_t start = (uintptr_t)value, end = start + mo_elements(shape) * sizeof(float);
  for (size_t i = 0; i < opt->param_count; i++) {
    const mo_param *p = &opt->params[i];
    const uintptr_t other = (uintptr_t)p->value;
    if (p != except && start < other + mo_elements(p->shape) * sizeof(float) && other < end)
      return p;
  }
  return NULL;
}

static mousse_status check_storage(mousse_optimizer *opt, const mo_param *except,
                                   const char *name, mo_shape shape, const float *value,
                                   const float *grad)
{
  if (value == NULL || grad == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "parameter '%s': value and gradient must not be NULL", name);
  const mo_param *other = overlapping(opt, except, value, shape);
  if (other != NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "parameter '%s' shares memory with '%s'; register a tied tensor once", name,
                   other->name);
  return MOUSSE_OK;
}

static mousse_status check_param(mousse_optimizer *opt, int group, const char *name,
                                 mo_shape shape)
{
  size_t bytes = 0;
  if (group < 0 || (size_t)group >= opt->group_count)
    return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME,
                   "there is no group %d; mousse_add_group has made %zu", group,
                   opt->group_count);
  if (name == NULL || *name == '\0' || strlen(name) > MO_NAME_LIMIT)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "a parameter needs a name of 1 to %d characters", MO_NAME_LIMIT);
  if (mo_param_find(opt, name) != NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "there is already a parameter '%s'; names are keys in saved state", name);
  if (shape.rows == 0 || shape.cols == 0 || shape.rows > INT32_MAX || shape.cols > INT32_MAX ||
      !mo_multiply(shape.rows, shape.cols, &bytes) || !mo_multiply(bytes, 64, &bytes))
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "parameter '%s': %zu x %zu is not a usable shape", name, shape.rows,
                   shape.cols);
  const mo_algorithm *algorithm = opt->groups[group].algorithm;
  const char *refusal = algorithm->refuses != NULL ? algorithm->refuses(shape) : NULL;
  if (refusal != NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "parameter '%s' (%zu x %zu) is not for %s: %s", name, shape.rows, shape.cols,
                   algorithm->name, refusal);
  return MOUSSE_OK;
}

mousse_status mousse_add_param(mousse_optimizer *opt, int group, const char *name, size_t rows,
                               size_t cols, float *value, const float *grad)
{
  const mo_shape shape = {rows, cols};
  MO_TRY(mo_require(opt, MO_BUILDING, "mousse_add_param"));
  MO_TRY(check_param(opt, group, name, shape));
  MO_TRY(check_storage(opt, NULL, name, shape, value, grad));

  if (!mo_grow(&opt->allocator, &opt->params, &opt->param_capacity, opt->param_count + 1,
               sizeof *opt->params))
    return mo_fail(&opt->error, MOUSSE_NO_MEMORY, "no memory for parameter '%s'", name);
  char *copy = mo_allocate(&opt->allocator, strlen(name) + 1);
  if (copy == NULL)
    return mo_fail(&opt->error, MOUSSE_NO_MEMORY, "no memory for parameter '%s'", name);
  memcpy(copy, name, strlen(name) + 1);
  opt->params[opt->param_count++] = (mo_param){
      .name = copy, .group = group, .shape = shape, .value = value, .grad = grad, .owner = -1};
  return MOUSSE_OK;
}

mousse_status mousse_rebind(mousse_optimizer *opt, const char *name, float *value,
                            const float *grad)
{
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (name == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "mousse_rebind: name must not be NULL");
  mo_param *param = mo_param_find(opt, name);
  if (param == NULL)
    return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME, "there is no parameter '%s'", name);
  MO_TRY(check_storage(opt, param, name, param->shape, value, grad));
  param->value = value;
  param->grad = grad;
  return MOUSSE_OK;
}
