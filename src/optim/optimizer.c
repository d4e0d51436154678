/* optimizer.c - building the object: groups and parameters. */
#include "optim/optimizer.h"

#include "base/parallel.h"
#include "base/text.h"
#include "comm/comm.h"

#include <assert.h>
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

/* Of the last mousse_create that failed in this thread: there is no object to keep it in. */
static _Thread_local mo_error create_error;

mo_error *mo_error_of(const mousse_optimizer *opt)
{
  /* Not written to through `opt` as the caller sees it: every optimizer was made by
   * mousse_create in memory that may change. */
  return opt != NULL ? &((mousse_optimizer *)opt)->error : &create_error;
}

static mousse_status bad_env(const char *what)
{
  return mo_fail(&create_error, MOUSSE_INVALID_ARGUMENT, "mousse_create: %s", what);
}

mousse_status mo_check_struct(mo_error *error, const char *type, const void *data, size_t size,
                              size_t known)
{
  if (size < known || size > 4096)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "struct_size of a %s is %zu; it must be sizeof(%s) = %zu", type, size, type,
                   known);
  for (size_t i = known; i < size; i++)
    if (((const unsigned char *)data)[i] != 0)
      return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "a %s uses members that version %s of the library does not have", type,
                     MOUSSE_VERSION_TEXT);
  return MOUSSE_OK;
}

/* Each may be inside the BLAS at the same time, which has buffers for hundreds and fails without a
 * word when thousands ask. */
enum { MOST_THREADS = 1024 };

static int threads_of(int wanted)
{
  const int usual = mo_threads_available();
  return wanted > 0 ? wanted : usual < MOST_THREADS ? usual : MOST_THREADS;
}

static mousse_status check_env(const mousse_env *env)
{
  const mousse_comm *comm = env->comm;
  if ((env->allocate == NULL) != (env->release == NULL))
    return bad_env("env.allocate and env.release are set together or not at all");
  if (env->threads < 0) return bad_env("env.threads is negative; 0 means as many as there are");
  if (env->threads > MOST_THREADS)
    return mo_fail(&create_error, MOUSSE_INVALID_ARGUMENT,
                   "mousse_create: env.threads is %d; there may be %d", env->threads,
                   (int)MOST_THREADS);
  if (comm == NULL) return MOUSSE_OK;
  if (comm->sum == NULL || comm->broadcast == NULL)
    return bad_env("env.comm has no sum or no broadcast");
  if (comm->size < 1 || comm->size > MO_EXCHANGE_FLOATS || comm->rank < 0 ||
      comm->rank >= comm->size)
    return mo_fail(&create_error, MOUSSE_INVALID_ARGUMENT,
                   "mousse_create: env.comm is rank %d of %d; ranks are numbered from 0, and "
                   "there may be %d",
                   comm->rank, comm->size, (int)MO_EXCHANGE_FLOATS);
  return MOUSSE_OK;
}

mousse_status mousse_create(const mousse_env *env, mousse_optimizer **out)
{
  mousse_env copy = MOUSSE_ENV_INIT;
  if (out == NULL) return bad_env("out must not be NULL");
  *out = NULL;
  if (env != NULL) {
    MO_TRY(mo_check_struct(&create_error, "mousse_env", env, env->struct_size, sizeof *env));
    memcpy(&copy, env, sizeof copy);
    copy.struct_size = sizeof copy;
    MO_TRY(check_env(&copy));
  }
  mo_allocator host = mo_default_allocator;
  if (copy.allocate != NULL)
    host = (mo_allocator){copy.allocate, copy.release, copy.user, false};

  mousse_optimizer *opt = mo_allocate(&host, sizeof *opt);
  if (opt == NULL)
    return mo_fail(&create_error, MOUSSE_NO_MEMORY, "no memory for an optimizer");
  opt->env = copy;
  opt->host = host;
  opt->allocator = (mo_allocator){counting_allocate, counting_release, opt, host.zeroes};
  opt->held = sizeof *opt;
  opt->comm = copy.comm != NULL ? *copy.comm : mo_comm_self;
  opt->threads = threads_of(copy.threads);
  opt->lists = opt->state = opt->workspace = mo_arena_start(&opt->allocator);
  mo_options_start(mo_object_table, &opt->options);
  *out = opt;
  return MOUSSE_OK;
}

static void release_group(mousse_optimizer *opt, mo_group *group)
{
  mo_release(&opt->allocator, group->config, group->algorithm->config_bytes);
  mo_release(&opt->allocator, group->scheduled, group->algorithm->option_count);
}

static void release_name(mousse_optimizer *opt, char *name)
{
  if (name != NULL) mo_release(&opt->allocator, name, strlen(name) + 1);
}

void mousse_destroy(mousse_optimizer *opt)
{
  if (opt == NULL) return;
  const mo_allocator host = opt->host;
  mo_arena_release(&opt->lists);
  mo_arena_release(&opt->state);
  mo_arena_release(&opt->workspace);
  for (size_t i = 0; i < opt->group_count; i++) release_group(opt, &opt->groups[i]);
  for (size_t i = 0; i < opt->param_count; i++) release_name(opt, opt->params[i].name);
  for (size_t i = 0; i < opt->tensor_count; i++) release_name(opt, opt->tensors[i].name);
  mo_names_release(&opt->names, &opt->allocator);
  mo_ranges_release(&opt->values, &opt->allocator);
  mo_ranges_release(&opt->gradients, &opt->allocator);
  mo_release(&opt->allocator, opt->groups, opt->group_capacity * sizeof *opt->groups);
  mo_release(&opt->allocator, opt->params, opt->param_capacity * sizeof *opt->params);
  mo_release(&opt->allocator, opt->tensors, opt->tensor_capacity * sizeof *opt->tensors);
  mo_release(&host, opt, sizeof *opt);
}

mousse_status(mo_require)(mousse_optimizer *opt, mo_phase phase, const char *call)
{
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (opt->phase == phase) return MOUSSE_OK;
  const char *reason = opt->phase == MO_BUILDING ? "needs mousse_prepare first"
                       : opt->phase == MO_READY  ? "is not allowed after mousse_prepare"
                       : opt->prepared ? "is no longer possible: communication with another "
                                         "rank failed; only mousse_load and mousse_destroy are"
                                       : "is no longer possible: communication with another "
                                         "rank failed; only mousse_destroy is";
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
  char list[300] = "";
  for (size_t i = 0; i < mo_algorithm_count(); i++)
    mo_list_add(list, sizeof list, mo_algorithm_at(i)->name);
  return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME, "there is no algorithm '%s'; there are %s",
                 name, list);
}

static mousse_status no_group(mousse_optimizer *opt)
{
  return mo_fail(&opt->error, MOUSSE_NO_MEMORY, "no memory for another group");
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
    return no_group(opt);
  mo_group made = {.algorithm = found};
  made.config = mo_allocate(&opt->allocator, found->config_bytes);
  if (made.config == NULL) return no_group(opt);
  made.scheduled = mo_allocate(&opt->allocator, found->option_count);
  if (made.scheduled == NULL) {
    release_group(opt, &made);
    return no_group(opt);
  }
  const mo_option_table table = {found->options, found->option_count};
  assert(found->config_bytes <= MO_MAX_CONFIG);
  mo_options_start(table, made.config);
  made.lr = mo_option_find(table, "lr");
  made.lr_peak = mo_option_find(table, "lr_peak");
  made.weight_decay = mo_option_find(table, "weight_decay");
  opt->groups[opt->group_count] = made;
  *group = (int)opt->group_count++;
  return MOUSSE_OK;
}

const mo_group *mo_param_group(const mousse_optimizer *opt, const mo_param *param)
{
  return &opt->groups[param->group];
}
