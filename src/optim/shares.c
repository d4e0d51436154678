/* shares.c - see shares.h.
 *
 * Matrices go by operations: costliest first, each to the rank with the least to do so far.
 * Element-wise updates cost memory traffic and hardly an operation, so they go by bytes of
 * state, and fill up what the matrices left uneven, as water does:
 *
 *     level = the height at which sum over ranks of max(0, level - bytes[rank]) is all that is
 *             left to give away
 *
 * Rank after rank takes the next run of elements until it is at the level; so a parameter has
 * few shares, and a rank at most one of each.
 */
#include "optim/shares.h"

static bool elementwise(const mousse_optimizer *opt, const mo_param *param)
{
  return mo_param_group(opt, param)->algorithm->element_wise;
}

static double state_bytes(const mo_param *param)
{
  double floats = 0;
  for (size_t i = 0; i < param->array_count; i++) floats += (double)param->arrays[i].count;
  return floats * (double)sizeof(float);
}

size_t mo_most_shares(const mousse_optimizer *opt)
{
  return opt->param_count + (size_t)opt->comm.size;
}

static void assign_whole(mousse_optimizer *opt, const double *cost, mo_loads loads)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[opt->order[i]];
    int idlest = 0;
    if (elementwise(opt, param)) continue;
    for (int rank = 1; rank < opt->comm.size; rank++)
      if (loads.flops[rank] < loads.flops[idlest]) idlest = rank;
    param->owner = idlest;
    loads.flops[idlest] += cost[opt->order[i]];
    loads.bytes[idlest] += state_bytes(param);
  }
}

/* What lies between the loads and a level above them. */
static double room_below(const mousse_optimizer *opt, const double *bytes, double level)
{
  double room = 0;
  for (int rank = 0; rank < opt->comm.size; rank++)
    if (bytes[rank] < level) room += level - bytes[rank];
  return room;
}

/* By bisection: the level lies above the average, and not above the highest load by more than
 * everything. */
static double find_level(const mousse_optimizer *opt, const double *bytes, double given)
{
  double low = 0, high = given;
  for (int rank = 0; rank < opt->comm.size; rank++)
    if (bytes[rank] + given > high) high = bytes[rank] + given;
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    if (room_below(opt, bytes, middle) < given)
      low = middle;
    else
      high = middle;
  }
  return high;
}

/* Walks over all that is given away. */
typedef struct pouring {
  const mousse_optimizer *opt;
  const double *bytes;
  double level, poured, until; /* until: where the share of `rank` ends */
  int rank;
} pouring;

static pouring start_pouring(const mousse_optimizer *opt, const double *bytes)
{
  double given = 0;
  for (size_t i = 0; i < opt->param_count; i++)
    if (elementwise(opt, &opt->params[i])) given += state_bytes(&opt->params[i]);
  const double level = find_level(opt, bytes, given);
  return (pouring){opt, bytes, level, 0, level > bytes[0] ? level - bytes[0] : 0, 0};
}

/* The rank that gets the next so many bytes: where their middle falls. */
static int pour(pouring *p, double amount)
{
  const double middle = p->poured + amount / 2;
  while (middle > p->until && p->rank + 1 < p->opt->comm.size) {
    const double load = p->bytes[++p->rank];
    if (load < p->level) p->until += p->level - load;
  }
  p->poured += amount;
  return p->rank;
}

/* Grain by grain; neighbours with the same owner are one share. */
static size_t cut(mo_param *param, pouring *p, mo_share *shares)
{
  const size_t all = mo_elements(param->shape);
  const double element_bytes = state_bytes(param) / (double)all;
  size_t count = 0;
  for (size_t first = 0; first < all; first += MO_GRAIN) {
    const size_t grain = all - first < MO_GRAIN ? all - first : MO_GRAIN;
    const int owner = pour(p, element_bytes * (double)grain);
    if (count == 0 || shares[count - 1].owner != owner)
      shares[count++] = (mo_share){first, 0, owner};
    shares[count - 1].count += grain;
  }
  return count;
}

void mo_assign_shares(mousse_optimizer *opt, const double *cost, mo_loads loads,
                      mo_share *shares)
{
  assign_whole(opt, cost, loads);
  pouring p = start_pouring(opt, loads.bytes);
  for (size_t i = 0; i < opt->param_count; i++) {
    mo_param *param = &opt->params[i];
    param->shares = shares;
    param->share_count = 1;
    if (elementwise(opt, param))
      param->share_count = cut(param, &p, shares);
    else
      shares[0] = (mo_share){0, mo_elements(param->shape), param->owner};
    param->owner = shares[0].owner;
    param->own = mo_share_of(param, opt->comm.rank);
    shares += param->share_count;
  }
}

const mo_share *mo_share_of(const mo_param *param, int rank)
{
  for (size_t i = 0; i < param->share_count; i++)
    if (param->shares[i].owner == rank) return &param->shares[i];
  return NULL;
}

static bool is_whole(const mo_param *param)
{
  return param->share_count == 1;
}

mo_shape mo_share_shape(const mo_param *param, const mo_share *share)
{
  return is_whole(param) ? param->shape : (mo_shape){1, share->count};
}

size_t mo_share_floats(const mo_param *param, const mo_share *share, size_t part)
{
  return is_whole(param) ? param->arrays[part].count : share->count;
}

size_t mo_share_arrays(const mo_param *param, mo_state_array arrays[MO_MAX_ARRAYS])
{
  const size_t count = param->own != NULL ? param->algorithm_arrays : 0;
  for (size_t i = 0; i < count; i++) {
    arrays[i] = param->arrays[i];
    arrays[i].count = mo_share_floats(param, param->own, i);
  }
  return count;
}
