/* plan.c - plan and prepare: what this rank updates, in which order, and all memory for it. */
#include "base/fence.h"
#include "base/parallel.h"
#include "comm/ranks.h"
#include "linalg/blas.h"
#include "optim/exchange.h"
#include "optim/same_ranks.h"
#include "optim/sending.h"
#include "optim/shares.h"
#include "optim/update.h"
#include "optim/wrappers.h"

#include <math.h>
#include <stdlib.h>

typedef struct ranked {
  double cost;
  size_t param;
} ranked;

static int costliest_first(const void *left, const void *right)
{
  const ranked *a = left, *b = right;
  if (a->cost != b->cost) return a->cost > b->cost ? -1 : 1;
  return (a->param > b->param) - (a->param < b->param);
}

/* order[] = all parameters, costliest first; equal ones as they were registered. */
static void sort_by_cost(mousse_optimizer *opt, double *cost, ranked *list)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    const mo_group *group = mo_param_group(opt, &opt->params[i]);
    cost[i] = group->algorithm->flops(group->config, opt->params[i].shape);
    list[i] = (ranked){cost[i], i};
  }
  qsort(list, opt->param_count, sizeof *list, costliest_first);
  for (size_t i = 0; i < opt->param_count; i++) opt->order[i] = list[i].param;
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
    const mo_share *share = mo_share_of(param, rank);
    if (share != NULL) most = mo_larger(most, mo_update_floats(opt, param, share));
  }
  return most;
}

/* An array of state; what lies between its end and the next one is nobody's (base/fence.h). */
static float *take_array(mo_arena *arena, size_t count)
{
  float *array = mo_arena_floats(arena, count);
  if (array != NULL)
    mo_fence(array + count,
             (size_t)(arena->start + arena->used - (unsigned char *)(array + count)));
  return array;
}

static void plan_state(mousse_optimizer *opt, mo_arena *arena, int rank)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    const mo_share *share = mo_share_of(param, rank);
    for (size_t part = 0; part < param->array_count; part++)
      param->state[part] =
          share != NULL ? take_array(arena, mo_share_floats(param, share, part)) : NULL;
  }
}

void mo_plan_state(mousse_optimizer *opt, mo_arena *arena)
{
  plan_state(opt, arena, opt->comm.rank);
}

/* Needed only while planning: zeros to count in. */
typedef struct counters {
  double *cost, *ordinal_in_group, *done;
  ranked *ranked;
  mo_loads loads;
  mo_share *shares; /* these are kept */
} counters;

static void plan_lists(mousse_optimizer *opt, mo_arena *arena, counters *c)
{
  const bool alone = opt->comm.size == 1;
  opt->order = mo_arena_take(arena, opt->param_count, sizeof *opt->order);
  opt->work = mo_arena_take(arena, (size_t)opt->threads, sizeof *opt->work);
  opt->exchange = mo_arena_floats(arena, alone ? 0 : MO_EXCHANGE_FLOATS);
  opt->verdicts = mo_arena_floats(arena, alone ? 0 : mo_verdict_count(opt));
  opt->sent = mo_arena_take(arena, mo_most_shares(opt), sizeof *opt->sent);
  opt->piece_count = 0;
  for (size_t i = 0; i < opt->param_count; i++)
    opt->piece_count += mo_piece_count(mo_elements(opt->params[i].shape));
  opt->pieces = mo_arena_take(arena, opt->piece_count, sizeof *opt->pieces);
  opt->items = mo_arena_take(arena, opt->piece_count, sizeof *opt->items);
  opt->largest = mo_arena_floats(arena, opt->piece_count);
  opt->squares = mo_arena_take(arena, opt->piece_count, sizeof *opt->squares);
  c->cost = mo_arena_take(arena, opt->param_count, sizeof *c->cost);
  c->ranked = mo_arena_take(arena, opt->param_count, sizeof *c->ranked);
  c->loads.flops = mo_arena_take(arena, (size_t)opt->comm.size, sizeof *c->loads.flops);
  c->loads.bytes = mo_arena_take(arena, (size_t)opt->comm.size, sizeof *c->loads.bytes);
  c->shares = mo_arena_take(arena, mo_most_shares(opt), sizeof *c->shares);
  c->done = mo_arena_take(arena, (size_t)opt->comm.size, sizeof *c->done);
  c->ordinal_in_group = mo_arena_take(arena, opt->group_count, sizeof *c->ordinal_in_group);
  for (size_t i = 0; i < opt->param_count; i++)
    opt->params[i].telemetry = mo_arena_take(arena, 1, sizeof(mo_telemetry));
  for (size_t i = 0; i < opt->param_count; i++)
    opt->params[i].arrays = mo_arena_take(arena, MO_MAX_ARRAYS, sizeof(mo_state_array));
}

/* The pieces of every parameter, in the order of registration. */
static void list_pieces(mousse_optimizer *opt)
{
  mo_piece *piece = opt->pieces;
  for (size_t i = 0; i < opt->param_count; i++) {
    const size_t count = mo_piece_count(mo_elements(opt->params[i].shape));
    for (size_t k = 0; k < count; k++) *piece++ = (mo_piece){(uint32_t)i, (uint32_t)k};
  }
}

static void plan_work(mousse_optimizer *opt, mo_arena *arena, int rank)
{
  const size_t most = most_work(opt, rank);
  for (int thread = 0; thread < opt->threads; thread++)
    opt->work[thread] = mo_arena_floats(arena, most);
}

/* The algorithm's arrays, then ours. */
static void lay_out_arrays(mousse_optimizer *opt)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    const mo_group *group = mo_param_group(opt, param);
    param->array_count = group->algorithm->layout(group->config, param->shape, param->arrays);
    param->algorithm_arrays = param->array_count;
    if (param->storage.value_type != MOUSSE_FLOAT32)
      param->arrays[param->array_count++] =
          (mo_state_array){"master", mo_elements(param->shape), 0, {0}};
    mo_wrapper_arrays(opt, param);
  }
}

/* Owners, phases and the lists that they are found with, instead of those of an earlier plan.
 */
static bool assign(mousse_optimizer *opt)
{
  counters c;
  mo_arena_release(&opt->lists);
  plan_lists(opt, &opt->lists, &c);
  if (!mo_arena_commit(&opt->lists)) return false;
  plan_lists(opt, &opt->lists, &c);
  if (opt->lists.overflow) return false;
  lay_out_arrays(opt);
  list_pieces(opt);
  sort_by_cost(opt, c.cost, c.ranked);
  mo_assign_shares(opt, c.cost, c.loads, c.shares);
  mo_sending_plan(opt, c.cost, c.done);
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
  return !opt->state.overflow && !opt->workspace.overflow;
}

static void give_back(mousse_optimizer *opt)
{
  mo_arena_release(&opt->lists);
  mo_arena_release(&opt->state);
  mo_arena_release(&opt->workspace);
  opt->order = NULL;
  opt->work = NULL;
  opt->largest = NULL;
  opt->squares = NULL;
  opt->pieces = opt->items = NULL;
  opt->sent = NULL;
  opt->sent_count = 0;
  opt->exchange = opt->verdicts = NULL;
  for (size_t i = 0; i < opt->param_count; i++) {
    opt->params[i].owner = -1;
    opt->params[i].array_count = opt->params[i].algorithm_arrays = 0;
    opt->params[i].share_count = 0;
    opt->params[i].arrays = NULL;
    opt->params[i].telemetry = NULL;
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

static mousse_status check_params(mousse_optimizer *opt)
{
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
  MO_TRY(check_params(opt));
  if (!assign(opt)) return no_memory(opt, "plan");
  return measure(opt, rank, bytes) ? MOUSSE_OK : no_memory(opt, "state and workspace");
}

static mousse_status check_values(mousse_optimizer *opt)
{
  for (size_t i = 0; i < opt->param_count; i++)
    if (opt->params[i].storage.value == NULL)
      return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                     "parameter '%.200s' has no memory yet: its value is NULL; mousse_rebind "
                     "gives it some",
                     opt->params[i].name);
  return MOUSSE_OK;
}

/* This rank's part, without the others. */
static mousse_status prepare_here(mousse_optimizer *opt)
{
  MO_TRY(check_params(opt));
  MO_TRY(check_values(opt));
  if (!take_memory(opt)) return no_memory(opt, "state and workspace");
  if (mo_blas_fits_memory(opt->threads)) return MOUSSE_OK;
  give_back(opt);
  return mo_fail(&opt->error, MOUSSE_NO_MEMORY,
                 "no memory for the BLAS library's own buffers on %d threads", opt->threads);
}

/* One outcome for all ranks, and then one list of parameters. */
static mousse_status prepare_together(mousse_optimizer *opt)
{
  MO_TRY(mo_ranks_agree(&opt->comm, prepare_here(opt), &opt->error));
  return mo_same_on_all_ranks(opt);
}

mousse_status mousse_prepare(mousse_optimizer *opt)
{
  MO_TRY(mo_require(opt, MO_BUILDING, "mousse_prepare"));
  const mousse_status status = prepare_together(opt);
  if (status != MOUSSE_OK) give_back(opt);
  if (status == MOUSSE_COMM) opt->phase = MO_BROKEN;
  if (status != MOUSSE_OK) return status;
  mo_blas_enter();
  mo_parallel(opt->threads, 4 * (size_t)opt->threads, warm_up, NULL);
  mo_blas_leave();
  opt->phase = MO_READY;
  opt->prepared = true;
  return MOUSSE_OK;
}
