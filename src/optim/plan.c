/* plan.c - plan and prepare: what this rank updates, in which order, and all memory for it. */
#include "base/parallel.h"
#include "linalg/blas.h"
#include "optim/shares.h"

#include <math.h>

/* order[] = all parameters, costliest first; equal ones as they were registered. */
static void sort_by_cost(const mousse_optimizer *opt, double *cost, size_t *order)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    const mo_group *group = mo_param_group(opt, &opt->params[i]);
    cost[i] = group->algorithm->flops(group->config, opt->params[i].shape);
    size_t place = i;
    while (place > 0 && cost[order[place - 1]] < cost[i]) {
      order[place] = order[place - 1];
      place--;
    }
    order[place] = i;
  }
}

/* The k-th costliest parameter of a group gets phase k * golden ratio (mod 1): any number of
 * successive phases lies evenly in [0, 1), so what is due at a phase is spread over the steps,
 * the costly ones among themselves too. A group's only parameter has phase 0. */
static void assign_stagger_offsets(mousse_optimizer *opt, double *ordinal_in_group)
{
  const double golden = 0.6180339887498949;
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[opt->order[i]];
    const double turned = golden * ordinal_in_group[param->group]++;
    param->stagger_offset = turned - floor(turned);
  }
}

static void keep_owned(mousse_optimizer *opt)
{
  opt->owned_count = 0;
  for (size_t i = 0; i < opt->param_count; i++)
    if (opt->params[opt->order[i]].own != NULL) opt->order[opt->owned_count++] = opt->order[i];
}

static size_t most_work(const mousse_optimizer *opt, int rank)
{
  size_t most = 0;
  for (size_t i = 0; i < opt->param_count; i++) {
    const mo_param *param = &opt->params[i];
    const mo_group *group = mo_param_group(opt, param);
    const mo_share *share = mo_share_of(param, rank);
    if (share == NULL || group->algorithm->work_floats == NULL) continue;
    const size_t floats =
        group->algorithm->work_floats(group->config, mo_share_shape(param, share));
    if (floats > most) most = floats;
  }
  return most;
}

static void plan_state(mousse_optimizer *opt, mo_arena *arena, int rank)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    const mo_share *share = mo_share_of(param, rank);
    for (size_t part = 0; part < param->array_count; part++)
      param->state[part] =
          share != NULL ? mo_arena_floats(arena, mo_share_floats(param, share, part)) : NULL;
  }
}

void mo_plan_state(mousse_optimizer *opt, mo_arena *arena)
{
  plan_state(opt, arena, opt->comm.rank);
}

/* Needed only while planning: zeros to count in. */
typedef struct counters {
  double *cost, *ordinal_in_group;
  mo_loads loads;
  mo_share *shares; /* these are kept */
} counters;

static void plan_lists(mousse_optimizer *opt, mo_arena *arena, counters *c)
{
  opt->order = mo_arena_take(arena, opt->param_count, sizeof *opt->order);
  opt->work = mo_arena_take(arena, (size_t)opt->threads, sizeof *opt->work);
  opt->exchange = mo_arena_floats(arena, opt->comm.size > 1 ? MO_EXCHANGE_FLOATS : 0);
  opt->piece_count = 0;
  for (size_t i = 0; i < opt->param_count; i++)
    opt->piece_count += mo_piece_count(opt->params[i].shape);
  opt->largest = mo_arena_floats(arena, opt->piece_count);
  c->cost = mo_arena_take(arena, opt->param_count, sizeof *c->cost);
  c->loads.flops = mo_arena_take(arena, (size_t)opt->comm.size, sizeof *c->loads.flops);
  c->loads.bytes = mo_arena_take(arena, (size_t)opt->comm.size, sizeof *c->loads.bytes);
  c->shares = mo_arena_take(arena, mo_most_shares(opt), sizeof *c->shares);
  c->ordinal_in_group = mo_arena_take(arena, opt->group_count, sizeof *c->ordinal_in_group);
  for (size_t i = 0; i < opt->param_count; i++)
    opt->params[i].telemetry = mo_arena_take(arena, 1, sizeof(mo_telemetry));
}

static void plan_work(mousse_optimizer *opt, mo_arena *arena, int rank)
{
  const size_t most = most_work(opt, rank);
  for (int thread = 0; thread < opt->threads; thread++)
    opt->work[thread] = mo_arena_floats(arena, most);
}

static void lay_out_arrays(mousse_optimizer *opt)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    const mo_group *group = mo_param_group(opt, param);
    param->array_count = group->algorithm->layout(group->config, param->shape, param->arrays);
  }
}

/* Owners, phases and the lists that they are found with, instead of those of an earlier plan.
 */
static bool assign(mousse_optimizer *opt)
{
  counters c;
  mo_arena_release(&opt->lists);
  lay_out_arrays(opt);
  plan_lists(opt, &opt->lists, &c);
  if (!mo_arena_commit(&opt->lists)) return false;
  plan_lists(opt, &opt->lists, &c);
  sort_by_cost(opt, c.cost, opt->order);
  mo_assign_shares(opt, c.cost, c.loads, c.shares);
  assign_stagger_offsets(opt, c.ordinal_in_group);
  return true;
}

/* The three arenas in turn: each is laid out to be measured, allocated, laid out again. */
static bool take_memory(mousse_optimizer *opt)
{
  if (!assign(opt)) return false;
  keep_owned(opt);

  mo_plan_state(opt, &opt->state);
  if (!mo_arena_commit(&opt->state)) return false;
  mo_plan_state(opt, &opt->state);

  plan_work(opt, &opt->workspace, opt->comm.rank);
  if (!mo_arena_commit(&opt->workspace)) return false;
  plan_work(opt, &opt->workspace, opt->comm.rank);
  return true;
}

static void give_back(mousse_optimizer *opt)
{
  mo_arena_release(&opt->lists);
  mo_arena_release(&opt->state);
  mo_arena_release(&opt->workspace);
  opt->order = NULL;
  opt->work = NULL;
  opt->largest = NULL;
  for (size_t i = 0; i < opt->param_count; i++) {
    opt->params[i].owner = -1;
    opt->params[i].array_count = opt->params[i].share_count = 0;
    opt->params[i].own = NULL;
  }
}

/* A product on every thread: the thread pool and the BLAS take their own memory now, not in
 * the first step. */
static void warm_up(void *context, size_t item, int thread)
{
  (void)context, (void)item, (void)thread;
  const float a[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  float b[4];
  mo_gemm(MO_PLAIN, MO_PLAIN, 2, 2, 2, 1.0f, a, 2, a, 2, 0.0f, b, 2);
}

static mousse_status begin(mousse_optimizer *opt, const char *call)
{
  MO_TRY(mo_require(opt, MO_BUILDING, call));
  if (opt->param_count == 0)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "there are no parameters to optimize; mousse_add_param comes first");
  return MOUSSE_OK;
}

static mousse_status no_memory(mousse_optimizer *opt, const char *what)
{
  give_back(opt);
  return mo_fail(&opt->error, MOUSSE_NO_MEMORY, "no memory for the optimizer's %s", what);
}

/* Arenas that are measured and never made. */
static bool measure(mousse_optimizer *opt, int rank, size_t *bytes)
{
  mo_arena state = mo_arena_start(NULL), workspace = mo_arena_start(NULL);
  plan_state(opt, &state, rank);
  plan_work(opt, &workspace, rank);
  return !state.overflow && !workspace.overflow && mo_add(state.used, workspace.used, bytes) &&
         mo_add(*bytes, opt->held + 2 * MO_ALIGNMENT, bytes);
}

mousse_status mousse_plan(mousse_optimizer *opt, int rank, size_t *bytes)
{
  MO_TRY(mo_require(opt, MO_BUILDING, "mousse_plan"));
  if (rank < 0 || rank >= opt->comm.size || bytes == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "mousse_plan: rank is %d of %d, and bytes must not be NULL", rank,
                   opt->comm.size);
  MO_TRY(begin(opt, "mousse_plan"));
  if (!assign(opt)) return no_memory(opt, "plan");
  return measure(opt, rank, bytes) ? MOUSSE_OK : no_memory(opt, "state and workspace");
}

mousse_status mousse_prepare(mousse_optimizer *opt)
{
  MO_TRY(begin(opt, "mousse_prepare"));
  if (!mo_blas_fits_memory(opt->threads))
    return mo_fail(&opt->error, MOUSSE_NO_MEMORY,
                   "no memory for the BLAS library's own buffers on %d threads", opt->threads);
  if (!take_memory(opt)) return no_memory(opt, "state and workspace");
  mo_blas_enter();
  mo_parallel(opt->threads, 4 * (size_t)opt->threads, warm_up, NULL);
  mo_blas_leave();
  opt->phase = MO_READY;
  return MOUSSE_OK;
}
