/* mousse.h - optimizers for neural networks: mousse, muon, soap, shampoo, adamw, lion, sgd.
 *
 *     create -> add groups and params -> prepare -> (set, step)* -> destroy
 *
 * Ownership   values and gradients belong to the caller and are borrowed from
 *             mousse_add_param until mousse_destroy or mousse_rebind; the rest is ours.
 * Allocation  happens before and in mousse_prepare; mousse_step allocates nothing.
 * Failure     every fallible call returns a status; nothing prints, exits or aborts. A
 *             failed call changes nothing, except that COMM (ranks have come apart) leaves
 *             only load and destroy allowed.
 * Threads     no global state: distinct optimizers may run on distinct threads.
 * Ranks       [collective] calls are made by every rank, in the same order.
 */
#ifndef MOUSSE_MOUSSE_H
#define MOUSSE_MOUSSE_H

#include <mousse/export.h> /* MOUSSE_API, MOUSSE_VERSION_* */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOUSSE_STATUS_MAP(X)                                                                   \
  X(OK, 0, "success")                                                                          \
  X(INVALID_ARGUMENT, -1, "invalid argument")                                                  \
  X(UNKNOWN_NAME, -2, "no such algorithm, option, group or parameter")                         \
  X(OUT_OF_RANGE, -3, "option value out of range")                                             \
  X(WRONG_PHASE, -4, "not allowed before, or after, mousse_prepare")                           \
  X(NO_MEMORY, -5, "out of memory")                                                            \
  X(NOT_FINITE, -6, "gradient is infinite or NaN; parameters are unchanged")                   \
  X(IO, -7, "a read or write callback failed")                                                 \
  X(BAD_FORMAT, -8, "saved state is damaged or does not fit this optimizer")                   \
  X(COMM, -9, "communication with another rank failed")

typedef enum mousse_status {
#define MOUSSE_X(name, code, text) MOUSSE_##name = code,
  MOUSSE_STATUS_MAP(MOUSSE_X)
#undef MOUSSE_X
} mousse_status;

/* How ranks talk. mousse_mpi.h makes one from an MPI_Comm; functions return 0 or fail. */
typedef struct mousse_comm {
  int rank, size;
  int (*sum)(void *context, float *data, size_t count);
  int (*broadcast)(void *context, float *data, size_t count, int root);
  void *context;
} mousse_comm;

/* Services from the caller. A member left 0 or NULL means the default. */
typedef struct mousse_env {
  size_t struct_size; /* sizeof(mousse_env); lets later versions add members */
  void *(*allocate)(void *user, size_t bytes);
  void (*release)(void *user, void *block, size_t bytes);
  void (*log)(void *user, int level, const char *text); /* level 1: a warning */
  void *user;
  const mousse_comm *comm; /* NULL: a single process */
  int threads;             /* 0: as many as the machine has */
} mousse_env;

typedef struct mousse_optimizer mousse_optimizer;

/* Life cycle. env may be NULL; destroy accepts NULL. */
MOUSSE_API mousse_status mousse_create(const mousse_env *env, mousse_optimizer **out);
MOUSSE_API void mousse_destroy(mousse_optimizer *opt);

/* Build. A group is a set of parameters under one algorithm and one set of options.
 * name is the parameter's key in saved state; matrices are row-major; a vector has rows = 1. */
MOUSSE_API mousse_status mousse_add_group(mousse_optimizer *opt, const char *algorithm,
                                          int *group);
MOUSSE_API mousse_status mousse_add_param(mousse_optimizer *opt, int group, const char *name,
                                          size_t rows, size_t cols, float *value,
                                          const float *grad);

/* Points a parameter at other memory of the same shape, in any phase: for programs whose
 * gradients move between steps. */
MOUSSE_API mousse_status mousse_rebind(mousse_optimizer *opt, const char *name, float *value,
                                       const float *grad);

/* Some algorithms take more than the gradient: arrays that the caller computes, such as the
 * covariance of a layer's inputs. mousse_algorithm_input lists them; each is a row-major matrix
 * whose sides are the parameter's rows or columns. data is borrowed like a gradient, read in
 * every step, and may be bound in any phase; NULL takes it away. A step that lacks one is
 * refused with its name. */
typedef enum mousse_side { MOUSSE_ROWS = 0, MOUSSE_COLS = 1 } mousse_side;
typedef struct mousse_input {
  const char *name, *help;
  mousse_side rows,
      cols; /* how many rows and columns it has: as the parameter's rows or cols */
} mousse_input;
MOUSSE_API const mousse_input *mousse_algorithm_input(const char *algorithm, size_t index);
MOUSSE_API mousse_status mousse_bind_input(mousse_optimizer *opt, const char *param,
                                           const char *input, const float *data);

/* Options, by name, checked against the algorithm's table; sticky; allowed between steps
 * unless the table says fixed. Text form takes a number or a choice ("spectral"). */
MOUSSE_API mousse_status mousse_set(mousse_optimizer *opt, int group, const char *option,
                                    double value);
MOUSSE_API mousse_status mousse_set_text(mousse_optimizer *opt, int group, const char *option,
                                         const char *value);
MOUSSE_API mousse_status mousse_get(const mousse_optimizer *opt, int group, const char *option,
                                    double *value);

/* Run. prepare assigns parameters to ranks and takes all memory. step reads every gradient
 * (already averaged over ranks) and updates every value. Both [collective]. */
MOUSSE_API mousse_status mousse_prepare(mousse_optimizer *opt);
MOUSSE_API mousse_status mousse_step(mousse_optimizer *opt);

/* Save and restore. Rank 0 alone calls the callback; a state saved by N ranks loads on M.
 * Callbacks return 0 or fail. Both [collective]. Format: docs/state-format.md. */
typedef int (*mousse_write_fn)(void *user, const void *data, size_t bytes);
typedef int (*mousse_read_fn)(void *user, void *data, size_t bytes);
MOUSSE_API mousse_status mousse_save(mousse_optimizer *opt, mousse_write_fn write, void *user);
MOUSSE_API mousse_status mousse_load(mousse_optimizer *opt, mousse_read_fn read, void *user);

/* Observe. fn is called in step for every parameter, whichever rank has updated it, e.g.
 * ("h.3.mlp.w", "update_rms", 0.21). Ranks that need not be told need not observe. */
typedef void (*mousse_observe_fn)(void *user, const char *param, const char *quantity,
                                  double value);
MOUSSE_API mousse_status mousse_observe(mousse_optimizer *opt, mousse_observe_fn fn,
                                        void *user);
MOUSSE_API uint64_t mousse_steps_done(const mousse_optimizer *opt);
MOUSSE_API size_t mousse_bytes_held(const mousse_optimizer *opt); /* on this rank */

/* Before prepare: what it would do, without talking to other ranks or taking memory for more
 * than lists. *bytes is what `rank` would hold; owners, loads and bytes of state are then known
 * as after prepare. */
MOUSSE_API mousse_status mousse_plan(mousse_optimizer *opt, int rank, size_t *bytes);

/* What a rank keeps between steps and computes in one; nothing before plan or prepare. */
MOUSSE_API mousse_status mousse_rank_load(const mousse_optimizer *opt, int rank,
                                          size_t *state_bytes, double *flops);

/* What is registered, for listings: names in order of registration, NULL past the last. The
 * bytes of state are those kept for the parameter between steps, on whichever ranks own it
 * (0 before plan or prepare and for unknown names). Parameters under element-wise algorithms
 * (adamw, lion, sgd) may be divided among several ranks; the owner is that of the first
 * elements, and -1 before plan or prepare. The operations
 * are those of an update, with the refreshes' spread over the steps between them. */
MOUSSE_API const char *mousse_param_name(const mousse_optimizer *opt, size_t index);
MOUSSE_API size_t mousse_param_state_bytes(const mousse_optimizer *opt, const char *name);
MOUSSE_API double mousse_param_flops(const mousse_optimizer *opt, const char *name);
MOUSSE_API int mousse_param_owner(const mousse_optimizer *opt, const char *name);

/* Explain. mousse_error: the last failure on opt in words ("group 1 (muon) has no option
 * 'beta3'; did you mean 'beta2'?"). The rest feeds --help, bindings and docs; lookups by
 * index return NULL past the last. */
typedef struct mousse_option {
  const char *name, *help;
  const char *const *choices; /* NULL, or names of values 0, 1, ... ending in NULL */
  double initial, min, max;
  int integer, fixed; /* whole numbers only; not settable after prepare */
} mousse_option;
MOUSSE_API const char *mousse_error(const mousse_optimizer *opt);
MOUSSE_API const char *mousse_status_text(mousse_status status);
MOUSSE_API const char *mousse_algorithm_name(size_t index);
MOUSSE_API const char *mousse_algorithm_help(const char *algorithm);
MOUSSE_API const mousse_option *mousse_algorithm_option(const char *algorithm, size_t index);
MOUSSE_API const char *mousse_version(void);

#ifdef __cplusplus
}
#endif
#endif
