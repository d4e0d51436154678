/* optimizer.h - the optimizer object, seen by the files that implement the public API.
 *
 *     optimizer.c  create, add_group, add_param, rebind, destroy
 *     inputs.c     bind_input
 *     options.c    set, set_text, get
 *     plan.c       plan, prepare: all memory
 *     shares.c     which rank owns what
 *     step.c       step, observe
 *     state.c      save, load
 *     explain.c    names, help, error texts
 */
#ifndef MOUSSE_OPTIM_OPTIMIZER_H
#define MOUSSE_OPTIM_OPTIMIZER_H

#include "base/error.h"
#include "base/memory.h"
#include "optim/algorithm.h"
#include "optim/telemetry.h"

typedef struct mo_group {
  const mo_algorithm *algorithm;
  void *config; /* owned: algorithm->config_bytes */
} mo_group;

/* A run of a parameter's elements that one rank owns; see shares.h. */
typedef struct mo_share {
  size_t first, count;
  int owner;
} mo_share;

/* What prepare decided about a parameter, and what is kept about it between steps. */
typedef struct mo_param {
  char *name; /* owned */
  int group;
  mo_shape shape;
  float *value;                       /* borrowed */
  const float *grad;                  /* borrowed */
  const float *inputs[MO_MAX_INPUTS]; /* borrowed; NULL: not bound */

  int owner;              /* the rank that updates it, or its first share; -1: not decided */
  const mo_share *shares; /* in the lists, together the whole parameter */
  size_t share_count;
  const mo_share *own; /* the one of this rank; NULL: none */
  size_t array_count;
  mo_state_array arrays[MO_MAX_STATE_ARRAYS];
  float *state[MO_MAX_STATE_ARRAYS]; /* of the own share, in the state arena; NULL: none */
  int scale_exponent;                /* see grad_scale.h */
  double stagger_offset;             /* see mo_due */
  mo_counts counts;
  uint64_t fallbacks_told; /* counts.fallbacks when the log was last written to */

  float largest; /* of the gradient in the current step; negative: not finite */
  mo_telemetry *telemetry;
} mo_param;

typedef enum mo_phase {
  MO_BUILDING, /* before prepare */
  MO_READY,
  MO_BROKEN /* a communication failure left this rank apart from the others */
} mo_phase;

struct mousse_optimizer {
  mousse_env env;         /* struct_size and defaults resolved */
  mo_allocator host;      /* the caller's allocator or malloc */
  mo_allocator allocator; /* counts what it takes from host */
  size_t held;
  mousse_comm comm;
  int threads;

  mo_group *groups;
  size_t group_count, group_capacity;
  mo_param *params;
  size_t param_count, param_capacity;

  mo_phase phase;
  uint64_t steps;
  mo_arena lists;     /* order, shares, work, exchange, telemetry */
  mo_arena state;     /* every part of every owned parameter */
  mo_arena workspace; /* what work points into */
  size_t *order;      /* parameters with an own share, costliest first */
  size_t owned_count;
  float **work;   /* one workspace per thread */
  float *largest; /* of each piece of every gradient, in the current step */
  size_t piece_count;
  float *exchange; /* MO_EXCHANGE_FLOATS, for talking to other ranks */

  bool watched; /* on some rank, in the current step */
  mousse_observe_fn observe;
  void *observe_user;
  mo_error error;
};

enum { MO_EXCHANGE_FLOATS = 1 << 16 };

/* Elements that one thread takes at a time of what is cut: tens of microseconds of work, and a
 * multiple of every vector register. */
enum { MO_PIECE = 1 << 16 };

static inline size_t mo_piece_count(mo_shape shape)
{
  return (mo_elements(shape) + MO_PIECE - 1) / MO_PIECE;
}

/* Longest parameter name, without its NUL. */
enum { MO_NAME_LIMIT = 1023 };

mo_param *mo_param_find(const mousse_optimizer *opt, const char *name); /* NULL: none */
const mo_group *mo_param_group(const mousse_optimizer *opt, const mo_param *param);

/* Checks what every call checks: the object exists and is in the right phase. */
mousse_status mo_require(mousse_optimizer *opt, mo_phase phase, const char *call);

/* Lays the arrays of every own share out in the arena and points `state` into it. */
void mo_plan_state(mousse_optimizer *opt, mo_arena *arena);

#endif
