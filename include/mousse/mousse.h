/* mousse.h - optimizers for neural networks: mousse, muon, soap, adamw and their relatives.
 *
 *     create -> add groups and tensors -> set options -> prepare -> load
 *            -> (set, step, save)* -> destroy
 *
 *     mousse_optimizer *opt = NULL;
 *     int group = 0;
 *     mousse_status s = mousse_create(NULL, &opt);
 *     if (!s) s = mousse_add_group(opt, "mousse", &group);
 *     if (!s) s = mousse_add_param(opt, group, "w", outputs, inputs, w, dw);
 *     if (!s) s = mousse_prepare(opt);
 *     while (!s && more()) {
 *       compute_gradient(dw);
 *       s = mousse_step(opt);
 *     }
 *     if (s) fprintf(stderr, "%s\n", mousse_error(opt));
 *     mousse_destroy(opt);
 *
 * Ownership   values, gradients and inputs belong to the caller and are borrowed until
 *             mousse_destroy or until rebound. Names and all other arguments are copied.
 * Allocation  happens before and in mousse_prepare, and in load; mousse_step allocates nothing.
 * Failure     every fallible call returns a status, and mousse_error has a sentence right after
 *             it; nothing prints, exits or aborts. A failed call changes nothing, except that
 *             after COMM (ranks have come apart) step, save, read_weights and state_read/write
 *             are refused until a load succeeds; after one in prepare, load is refused, too.
 * Phases      any time: set, get, rebind, bind_input, observe, listings. Before prepare only:
 *             add_*, plan, prepare, options marked fixed. After prepare only: step, save, load,
 *             state_*.
 * Threads     an optimizer is used by one thread at a time; distinct ones may run on distinct
 *             threads. A step uses env.threads OpenMP threads and, while it runs, holds OpenBLAS
 *             to one thread in the whole process. The communicator is called by the thread that
 *             calls the library; with the option overlap, in mousse_step, by another one
 *             meanwhile, never by two at a time (MPI_THREAD_SERIALIZED). After fork() only the
 *             parent may go on, unless env.threads is 1: the child has no OpenMP threads.
 * Callbacks   return to the library: no C++ exception and no longjmp may leave them. They may ask
 *             about the optimizer that called them; an observer, which is called when the step is
 *             done, may also set options and observe. Any other call is for later.
 * Ranks       [collective] calls are made by every rank, in the same order. All ranks register
 *             the same tensors in the same order and set the same options; prepare compares them
 *             and names the first difference on every rank.
 * Versions    before 1.0 a minor version may change this interface; CHANGELOG.md says how.
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

/* Services from the caller. A member left 0 or NULL means the default:
 *
 *     mousse_env env = MOUSSE_ENV_INIT;     // or: zeros, then env.struct_size = sizeof env
 *     env.threads = 4;
 *     s = mousse_create(&env, &opt);
 */
typedef struct mousse_env {
  size_t struct_size; /* sizeof(mousse_env); lets later versions add members */
  void *(*allocate)(void *user, size_t bytes);
  void (*release)(void *user, void *block, size_t bytes);
  void (*log)(void *user, int level, const char *text); /* level 1: a warning */
  void *user;
  const mousse_comm *comm; /* NULL: a single process; copied, its context is borrowed */
  int threads; /* up to 1024; 0: as many as OpenMP would use (OMP_NUM_THREADS, the machine) */
} mousse_env;
#define MOUSSE_ENV_INIT                                                                        \
  {                                                                                            \
    sizeof(mousse_env), NULL, NULL, NULL, NULL, NULL, 0                                        \
  }

typedef struct mousse_optimizer mousse_optimizer;

/* Life cycle. env may be NULL; destroy accepts NULL. When create fails, *out is NULL and
 * mousse_error(NULL) says why. */
MOUSSE_API mousse_status mousse_create(const mousse_env *env, mousse_optimizer **out);
MOUSSE_API void mousse_destroy(mousse_optimizer *opt);

/* Build. A group is a set of parameters under one algorithm and one set of options. A parameter
 * is one matrix of weights, row-major, with one row per output and one column per input of its
 * layer: the matrix algorithms scale their step by that. A vector has rows = 1. name is the
 * parameter's key in saved state. grad may be NULL until there is one; see mousse_step. */
MOUSSE_API mousse_status mousse_add_group(mousse_optimizer *opt, const char *algorithm,
                                          int *group);
MOUSSE_API mousse_status mousse_add_param(mousse_optimizer *opt, int group, const char *name,
                                          size_t rows, size_t cols, float *value,
                                          const float *grad);

/* A tensor in full: of other number types, stored (inputs, outputs), or holding many matrices,
 * each of which becomes a parameter. Zero members are the defaults.
 *
 *     count, stride   `count` equal matrices, the beginnings of neighbours `stride` elements
 *                     apart (0: packed): layers or experts of a (count, rows, cols) tensor
 *     row_blocks      each matrix is that many of equal height on top of each other, updated
 *                     apart: 3 for a fused (3 C, C) matrix of queries, keys and values
 *     transposed      memory holds cols x rows (inputs, outputs); with row_blocks the blocks lie
 *                     side by side. rows and cols are outputs and inputs all the same
 *
 * Parameters are called name[i] when count > 1, name[b] when row_blocks > 1, name[i][b] when
 * both are. Values and gradients are laid out alike. Values of 16 bits have a float32 master
 * copy in the state, which takes over a value that somebody else has written. */
typedef enum mousse_type {
  MOUSSE_FLOAT32 = 0,
  MOUSSE_BFLOAT16 = 1,
  MOUSSE_FLOAT16 = 2
} mousse_type;
typedef struct mousse_tensor {
  size_t struct_size; /* sizeof(mousse_tensor) */
  const char *name;
  size_t rows, cols; /* of one matrix, with all its row blocks */
  size_t count, stride, row_blocks;
  int transposed;
  mousse_type value_type, grad_type;
  void *value;
  const void *grad;
} mousse_tensor;
MOUSSE_API mousse_status mousse_add_tensor(mousse_optimizer *opt, int group,
                                           const mousse_tensor *tensor);

/* Points a tensor, by the name it was added under, at other memory of the same layout, in any
 * phase: for programs whose gradients move between steps. rebind_all moves several at once, all
 * or none, so that two may change places. */
typedef struct mousse_binding {
  const char *name;
  void *value;
  const void *grad;
} mousse_binding;
MOUSSE_API mousse_status mousse_rebind(mousse_optimizer *opt, const char *name, void *value,
                                       const void *grad);
MOUSSE_API mousse_status mousse_rebind_all(mousse_optimizer *opt,
                                           const mousse_binding *bindings, size_t count);

/* Some algorithms take more than the gradient: arrays that the caller computes, such as the
 * covariance of a layer's inputs. mousse_algorithm_input lists them; each is a row-major matrix
 * of float32 whose sides are the parameter's rows or columns. data is borrowed like a gradient,
 * read in every step, and may be bound in any phase; NULL takes it away. A step that lacks one
 * is refused with its name. */
typedef enum mousse_side { MOUSSE_ROWS = 0, MOUSSE_COLS = 1 } mousse_side;
typedef struct mousse_input {
  const char *name, *help;
  mousse_side rows,
      cols; /* how many rows and columns it has: as the parameter's rows or cols */
} mousse_input;
MOUSSE_API const mousse_input *mousse_algorithm_input(const char *algorithm, size_t index);
MOUSSE_API mousse_status mousse_bind_input(mousse_optimizer *opt, const char *param,
                                           const char *input, const float *data);

/* Options, by name, checked against a table; sticky; allowed between steps unless the table says
 * fixed. Text form takes a number or a choice ("spectral"); get_text gives that form back.
 *
 *     group                 one group's: mousse_algorithm_option lists them
 *     MOUSSE_ALL_GROUPS     of every group that has it; set only
 *     MOUSSE_OBJECT         of the optimizer as a whole: mousse_object_option lists them, e.g.
 *                           lr_factor (a schedule for all groups), clip_norm
 *
 * of a parameter: mousse_param_option lists them, e.g. lr_factor. */
enum { MOUSSE_ALL_GROUPS = -2, MOUSSE_OBJECT = -3 };
MOUSSE_API mousse_status mousse_set(mousse_optimizer *opt, int group, const char *option,
                                    double value);
MOUSSE_API mousse_status mousse_set_text(mousse_optimizer *opt, int group, const char *option,
                                         const char *value);
MOUSSE_API mousse_status mousse_get(const mousse_optimizer *opt, int group, const char *option,
                                    double *value);
MOUSSE_API mousse_status mousse_get_text(const mousse_optimizer *opt, int group,
                                         const char *option, char *text, size_t capacity);
MOUSSE_API mousse_status mousse_set_param(mousse_optimizer *opt, const char *name,
                                          const char *option, double value);
MOUSSE_API mousse_status mousse_get_param(const mousse_optimizer *opt, const char *name,
                                          const char *option, double *value);

/* Run. prepare assigns parameters to ranks and takes all memory. step reads every gradient
 * (already averaged over ranks) and updates every value; a parameter whose gradient is NULL is
 * left as it is and counts no step. Both [collective]. */
MOUSSE_API mousse_status mousse_prepare(mousse_optimizer *opt);
MOUSSE_API mousse_status mousse_step(mousse_optimizer *opt);

/* Save and restore. Rank 0 alone calls the callback; a state saved by N ranks loads on M.
 * Callbacks return 0 or fail. All [collective]. Format: docs/state-format.md.
 *
 * A state knows the options it was saved under, but load sets none: options are the program's.
 * mousse_load wants every parameter to be there as it is here; mousse_load_matching takes what
 * fits and leaves the rest as it is. `report` (NULL: nobody) is called on every rank while the
 * state is read, for each difference, with a sentence; mousse_load tells env.log of those that
 * are left to it, the options. An option that was set after prepare is a schedule's and is not
 * compared. */
typedef int (*mousse_write_fn)(void *user, const void *data, size_t bytes);
typedef int (*mousse_read_fn)(void *user, void *data, size_t bytes);
typedef enum mousse_difference {
  MOUSSE_MISSING = 0,  /* a parameter that the saved state does not have */
  MOUSSE_UNKNOWN = 1,  /* one that only the saved state has */
  MOUSSE_RESHAPED = 2, /* one whose shape, algorithm or arrays are others there */
  MOUSSE_OPTION = 3    /* name: the option; its value here is not the one it was saved under */
} mousse_difference;
typedef void (*mousse_report_fn)(void *user, mousse_difference difference, const char *name,
                                 const char *text);
MOUSSE_API mousse_status mousse_save(mousse_optimizer *opt, mousse_write_fn write, void *user);
MOUSSE_API mousse_status mousse_load(mousse_optimizer *opt, mousse_read_fn read, void *user);
MOUSSE_API mousse_status mousse_load_matching(mousse_optimizer *opt, mousse_read_fn read,
                                              void *user, mousse_report_fn report,
                                              void *report_user);

/* The state of one parameter, array by array ("momentum"): to look at it, or to bring along the
 * moments of another optimizer (then set_param "steps" as well). count must be state_count's.
 * read [collective] gives it to every rank; write takes the same data on every rank. Numbers are
 * those of the algorithm's formula; write refuses what is not finite. An array with an element per
 * weight is row-major; under an element-wise algorithm it lies as the weights do in memory, except
 * that of row blocks which lie side by side (transposed), which is row-major, too. */
MOUSSE_API const char *mousse_state_name(const mousse_optimizer *opt, const char *param,
                                         size_t index); /* NULL past the last */
MOUSSE_API size_t mousse_state_count(const mousse_optimizer *opt, const char *param,
                                     const char *array); /* floats; 0: no such array */
MOUSSE_API mousse_status mousse_state_read(mousse_optimizer *opt, const char *param,
                                           const char *array, float *data, size_t count);
MOUSSE_API mousse_status mousse_state_write(mousse_optimizer *opt, const char *param,
                                            const char *array, const float *data, size_t count);

/* The weights to evaluate with, as floats in row-major order: the values themselves or, with the
 * object's options average or wrapper, what those keep for it (docs/optimizers.md). count is
 * rows * cols. [collective] */
MOUSSE_API mousse_status mousse_read_weights(mousse_optimizer *opt, const char *param,
                                             float *data, size_t count);

/* Observe. fn is called in step for every parameter, whichever rank has updated it, e.g.
 * ("h.3.mlp.w", "update_rms", 0.21). Ranks that need not be told need not observe. */
typedef void (*mousse_observe_fn)(void *user, const char *param, const char *quantity,
                                  double value);
MOUSSE_API mousse_status mousse_observe(mousse_optimizer *opt, mousse_observe_fn fn,
                                        void *user);
MOUSSE_API uint64_t mousse_steps_done(const mousse_optimizer *opt);
MOUSSE_API size_t mousse_bytes_held(const mousse_optimizer *opt); /* on this rank */
/* Of all gradients in the last step, before clipping; 0 unless clip_norm is set. */
MOUSSE_API double mousse_grad_norm(const mousse_optimizer *opt);

/* Before prepare: what it would do, without talking to other ranks or taking memory for more
 * than lists. *bytes is what `rank` would hold; owners, loads and bytes of state are then known
 * as after prepare. For this, values may be NULL. */
MOUSSE_API mousse_status mousse_plan(mousse_optimizer *opt, int rank, size_t *bytes);

/* What a rank keeps between steps and computes in one; nothing before plan or prepare. */
MOUSSE_API mousse_status mousse_rank_load(const mousse_optimizer *opt, int rank,
                                          size_t *state_bytes, double *flops);

/* What is registered, for listings: groups and names in order of registration, NULL past the
 * last. The bytes of state are those kept for the parameter between steps, on whichever ranks
 * own it (0 before plan or prepare and for unknown names). Parameters under element-wise
 * algorithms (adamw, lion, sgd) may be divided among several ranks; the owner is that of the
 * first elements, and -1 before plan or prepare. The operations are those of an update, with the
 * refreshes' spread over the steps between them. */
MOUSSE_API const char *mousse_group_algorithm(const mousse_optimizer *opt, int group);
MOUSSE_API const char *mousse_param_name(const mousse_optimizer *opt, size_t index);
MOUSSE_API int mousse_param_group(const mousse_optimizer *opt, const char *name); /* -1: none */
MOUSSE_API mousse_status mousse_param_shape(const mousse_optimizer *opt, const char *name,
                                            size_t *rows, size_t *cols);
MOUSSE_API uint64_t mousse_param_steps(const mousse_optimizer *opt, const char *name);
MOUSSE_API size_t mousse_param_state_bytes(const mousse_optimizer *opt, const char *name);
MOUSSE_API double mousse_param_flops(const mousse_optimizer *opt, const char *name);
MOUSSE_API int mousse_param_owner(const mousse_optimizer *opt, const char *name);

/* Explain. mousse_error: the last failure on opt in words ("group 1 (adamw) has no option
 * 'beta3'; did you mean 'beta1'?"); of NULL: of the last mousse_create in this thread. The rest
 * feeds --help, bindings and docs; lookups by index return NULL past the last. */
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
MOUSSE_API const mousse_option *mousse_object_option(size_t index);
MOUSSE_API const mousse_option *mousse_param_option(size_t index);
MOUSSE_API const char *mousse_version(void);

#ifdef __cplusplus
}
#endif
#endif
