/* optimizer.h - the optimizer object, seen by the files that implement the public API.
 *
 *     optimizer.c    create, destroy, add_group
 *     tensors.c      add_param, add_tensor; tensor_memory.c: rebind
 *     inputs.c       bind_input
 *     options.c      set, get; object_options.c: those of the object and of a parameter
 *     plan.c         plan, prepare: all memory
 *     same_ranks.c   whether all ranks registered the same
 *     shares.c       which rank owns what
 *     step.c         step, observe; update.c: of one parameter; sending.c: to the other ranks
 *     state_save.c   save; state_load.c: load; state_access.c: one array
 *     explain.c      names, help, error texts
 */
#ifndef MOUSSE_OPTIM_OPTIMIZER_H
#define MOUSSE_OPTIM_OPTIMIZER_H

#include "base/error.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "optim/algorithm.h"
#include "optim/names.h"
#include "optim/object_options.h"
#include "optim/storage.h"
#include "optim/telemetry.h"

typedef struct mo_group {
  const mo_algorithm *algorithm;
  void *config;    /* owned: algorithm->config_bytes */
  bool *scheduled; /* owned, for each option: it was set after prepare */
  const mo_option *lr, *lr_peak, *weight_decay; /* NULL: it has none */
} mo_group;

/* Most bytes of an algorithm's config: copies of it are made on the stack. */
enum { MO_MAX_CONFIG = 1024 };

/* What one call registered: parameters first .. first + count * row_blocks. Each of its `count`
 * matrices is one range of addresses, numbered from `first_range` on. */
typedef struct mo_tensor {
  char *name; /* owned; NULL: that of its only parameter */
  size_t first_param, count, row_blocks, first_range;
  size_t rows, cols, stride; /* of a matrix with all its blocks, in elements */
  bool transposed;
  bool moving; /* named in the current mousse_rebind_all */
} mo_tensor;

/* A run of a parameter's elements that one rank owns; see shares.h. */
typedef struct mo_share {
  size_t first, count;
  int owner;
} mo_share;

/* The algorithm's arrays, and those that the library keeps itself about a parameter. */
enum { MO_MAX_ARRAYS = MO_MAX_STATE_ARRAYS + 4 };

/* What prepare decided about a parameter, and what is kept about it between steps. */
typedef struct mo_param {
  char *name; /* owned */
  int group;
  size_t tensor;
  mo_shape shape;
  bool column_order; /* element-wise, stored by columns: elements are counted as they lie */
  mo_storage storage;
  const float *inputs[MO_MAX_INPUTS]; /* borrowed; NULL: not bound */
  mo_param_options options;

  int owner;              /* the rank that updates it, or its first share; -1: not decided */
  const mo_share *shares; /* in the lists, together the whole parameter */
  size_t share_count;
  const mo_share *own;                  /* the one of this rank; NULL: none */
  size_t array_count, algorithm_arrays; /* the algorithm's come first */
  mo_state_array *arrays;      /* in the lists, room for MO_MAX_ARRAYS; NULL: not planned */
  float *state[MO_MAX_ARRAYS]; /* of the own share, in the state arena; NULL: none */
  uint64_t steps;              /* in which it had a gradient, or as many as the caller says */
  uint64_t blank;              /* of those, the ones whose gradient was 0, or never here */
  bool begun;                  /* what a first step makes is there: made, loaded or written */
  bool wrapped;                /* so are the arrays of wrappers.h */
  bool changed;       /* not stepped since a load that was saved under another fixed option */
  double weight_sum;  /* of those steps, see mo_wrapper_weight */
  int scale_exponent; /* see grad_scale.h */
  double stagger_offset; /* see mo_due */
  mo_counts counts;
  uint64_t fallbacks_told; /* counts.fallbacks when the log was last written to */

  /* In the current step. */
  bool skipped;      /* it has no gradient */
  size_t items_left; /* of the own share's update; see sending.h */
  float largest;     /* of the gradient; negative: not finite */
  mo_telemetry *telemetry;
} mo_param;

/* A share in the order in which all are sent; see sending.h. */
typedef struct mo_sent {
  double ready; /* flops of its owner until then */
  uint32_t param, share;
} mo_sent;

typedef enum mo_phase {
  MO_BUILDING, /* before prepare */
  MO_READY,
  MO_BROKEN /* a communication failure left this rank apart from the others */
} mo_phase;

/* A run of elements of one parameter, for one thread: a long one must not hold up the rest. Cut
 * by length alone, at whole vector registers, so that the bits are those of the whole. */
typedef struct mo_piece {
  uint32_t param, which; /* which: it starts at which * MO_PIECE */
} mo_piece;

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
  mo_tensor *tensors;
  size_t tensor_count, tensor_capacity;
  mo_names names;              /* see mo_param_find */
  mo_ranges values, gradients; /* memory in use, by matrices of tensors */
  size_t range_count;
  mo_object_options options;
  bool options_scheduled[MO_OBJECT_OPTIONS];

  mo_phase phase;
  bool prepared; /* there is state to load into */
  uint64_t steps;
  mo_arena lists;     /* order, shares, work, exchange, telemetry */
  mo_arena state;     /* every part of every owned parameter */
  mo_arena workspace; /* what work points into */
  size_t *order;      /* parameters with an own share, costliest first */
  size_t owned_count;
  float **work;     /* one workspace per thread */
  mo_piece *pieces; /* of every gradient */
  float *largest;   /* of each piece, in the current step */
  double *squares;  /* the sum of its squares, likewise */
  size_t piece_count;
  mo_piece *items; /* of the updates in the current step */
  mo_sent *sent;
  size_t sent_count;
  float *exchange; /* MO_EXCHANGE_FLOATS, for talking to other ranks */
  float *verdicts; /* see exchange.h; NULL in a single process */

  bool watched; /* on some rank, in the current step */
  double grad_norm;
  float clip; /* what gradients are multiplied with in the current step */
  mousse_observe_fn observe;
  void *observe_user;
  mo_error error;
};

enum { MO_EXCHANGE_FLOATS = 1 << 16 };

/* Elements that one thread takes at a time of what is cut: tens of microseconds of work, and a
 * multiple of every vector register. */
enum { MO_PIECE = 1 << 16 };

static inline size_t mo_piece_count(size_t elements)
{
  return (elements + MO_PIECE - 1) / MO_PIECE;
}

/* Longest parameter name, without its NUL. */
enum { MO_NAME_LIMIT = 1023 };

/* By name. A tensor of one parameter has that parameter's name. NULL: none. */
mo_param *mo_param_find(const mousse_optimizer *opt, const char *name);
mo_tensor *mo_tensor_find(const mousse_optimizer *opt, const char *name);
/* Notes the failure to find one, with the nearest name that there is. */
mousse_status mo_param_unknown(const mousse_optimizer *opt, const char *name);

const mo_group *mo_param_group(const mousse_optimizer *opt, const mo_param *param);

/* Checks what every call checks: the object exists and is in the right phase. */
mousse_status mo_require(mousse_optimizer *opt, mo_phase phase, const char *call);
#ifdef __clang_analyzer__ /* sees one file at a time; after it, opt is not NULL */
#define mo_require(opt, phase, call)                                                           \
  ((opt) == NULL ? MOUSSE_INVALID_ARGUMENT : mo_require((opt), (phase), (call)))
#endif

/* Whether a struct of the caller's has its size set. It may be that of a later version, if it
 * uses nothing that is new there. */
mousse_status mo_check_struct(mo_error *error, const char *type, const void *data, size_t size,
                              size_t known);

/* Where a failure on an object that the call does not change is put into words. */
mo_error *mo_error_of(const mousse_optimizer *opt);

/* Lays the arrays of every own share out in the arena and points `state` into it. */
void mo_plan_state(mousse_optimizer *opt, mo_arena *arena);

#endif
