/* gpt.h - the GPT model: configuration, parameters, loss and gradients, generation, weights
 * files.
 *
 *     config -> params (weights, gradients) -> pass (activations for B x T) -> loss, gradients
 *
 * Each object owns its memory and is made for one life time: parameters live through a run, a
 * pass belongs to one batch shape, a generator to one text. Passes and generators borrow the
 * parameters. The model's formulas are in docs/model.md.
 */
#ifndef MOUSSE_GPT_GPT_H
#define MOUSSE_GPT_GPT_H

#include "base/error.h"
#include "base/memory.h"
#include "gpt/config.h"

#include <stdint.h>

/* GPT_VECTOR: gains and biases, which have no rows and columns to speak of. */
typedef enum gpt_role { GPT_EMBED, GPT_HEAD, GPT_MATRIX, GPT_VECTOR } gpt_role;
enum { GPT_ROLES = GPT_VECTOR + 1 };

typedef struct gpt_tensor {
  char name[64];     /* as in a weights file: transformer.h.0.attn.c_q.weight */
  size_t rows, cols; /* a vector is one row */
  gpt_role role;
  double deviation; /* of the normal distribution that it starts from; 0: ... */
  double start;     /* ... from this number */
  bool frozen;      /* stays as it is: its gradient is not computed and 0 */
  float *value;     /* rows x cols, inside values */
  float *gradient;  /* inside gradients; NULL: it has none */
  const struct gpt_tensor *lora_a, *lora_b; /* its adapter (layers/lora.c); NULL: it has none */
  size_t slot;                              /* where the adapter's numbers are: adapters.h */
} gpt_tensor;

/* All tensors lie back to back in one array, in the order of the table, and behind them their
 * adapters; so do the gradients of those that are trained: averaging, norms and checks are one
 * loop. */
typedef struct gpt_params {
  gpt_config config; /* resolved: no member is left to a default */
  gpt_tensor *tensors;
  struct gpt_model_tensors *parts;  /* the same by name: params.h */
  size_t tensor_count, value_count; /* all, */
  size_t base_count, base_values;   /* and without adapters */
  size_t gradient_count;
  float *values, *gradients; /* value_count, gradient_count; gradients may be NULL */
  mo_arena arena;
} gpt_params;

/* Bytes that gpt_params_create takes for a configuration that passed its check. */
size_t gpt_params_bytes(const gpt_config *config, bool gradients);
/* All values are 0 until gpt_params_initialise or gpt_load_weights. Of a model with adapters
 * only these have gradients. */
mousse_status gpt_params_create(gpt_params **params, const gpt_config *config, bool gradients,
                                const mo_allocator *allocator, mo_error *error);
/* The same with gradients, but none of tensors in whose names the regular expression `freeze` is
 * found ("": all have them). Refused when it is none of them, or all. Neighbours that one product
 * serves (params.def) have gradients as long as one of them is trained. */
mousse_status gpt_params_create_frozen(gpt_params **params, const gpt_config *config,
                                       const char *freeze, const mo_allocator *allocator,
                                       mo_error *error);
/* The list of tensors alone, to plan with: values and gradients are at addresses that nobody may
 * look at, as far apart as the tensors are large. */
mousse_status gpt_params_outline(gpt_params **params, const gpt_config *config,
                                 const char *freeze, mo_error *error);
/* What gpt_params_create_frozen takes for what is outlined. */
size_t gpt_outline_bytes(const gpt_params *outline);
void gpt_params_destroy(gpt_params *params); /* accepts NULL */
/* The same values for the same seed at any number of threads. */
void gpt_params_initialise(gpt_params *params, uint64_t seed, int threads);
void gpt_initialise_adapters(gpt_params *params, uint64_t seed, int threads);
/* Makes the adapters part of the matrices; the model has none from then on. */
void gpt_merge_adapters(gpt_params *params, int threads);
/* From now on they are in this array of gradient_count; what it holds stays. */
void gpt_move_gradients(gpt_params *params, float *gradients);

/* The shape of a pass: batches of up to `batch` sequences of up to `sequence` tokens. */
typedef struct gpt_shape {
  size_t batch, sequence;
  int threads;    /* 0: as many as the machine has */
  bool gradients; /* false: only gpt_loss, in the memory of one layer */
  bool recompute; /* keep the layers' inputs only, and compute the rest again: the same bits */
} gpt_shape;

typedef struct gpt_pass gpt_pass;

/* For a configuration that passed its check; 0 when the shape does not suit it. */
size_t gpt_pass_bytes(const gpt_config *config, const gpt_shape *shape);
/* Everything that training (or evaluation) allocates: parameters and pass. */
size_t gpt_plan_bytes(const gpt_config *config, const gpt_shape *shape);
mousse_status gpt_pass_create(gpt_pass **pass, gpt_params *params, const gpt_shape *shape,
                              const mo_allocator *allocator, mo_error *error);
void gpt_pass_destroy(gpt_pass *pass); /* accepts NULL */

#define GPT_NO_TARGET UINT32_MAX /* as a target: the position does not count */

/* B sequences of T tokens each, row by row, and for each position the token that follows it. */
typedef struct gpt_batch {
  const uint32_t *tokens, *targets; /* batch * sequence each, borrowed for the call */
  size_t batch, sequence;
  /* For each position where in its sequence the document begins that it belongs to, not falling:
   * attention does not go back further. Positions count on. NULL: a sequence is one document. */
  const uint32_t *starts;
} gpt_batch;

size_t gpt_batch_targets(const gpt_batch *batch); /* how many positions count */

/* Mean cross-entropy in nats over all positions that count; 0 when none does. A token outside
 * the vocabulary is refused before anything changes. Loss and gradients have the same bits at any number of threads. */
mousse_status gpt_loss(gpt_pass *pass, const gpt_batch *batch, float *loss, mo_error *error);

/* Forward and backward: the loss, and gradients of factor * loss, which replace those of before
 * or, with add, are added to them. A mean over n micro-batches: factor 1/n in each, add in all
 * but the first. */
mousse_status gpt_gradients(gpt_pass *pass, const gpt_batch *batch, float factor, bool add,
                            float *loss, mo_error *error);

/* Neighbouring gradients that gpt_gradients completes together. It completes those of head and
 * final norm first (a model that has neither of its own has no such span), then the layers' from
 * the last to the first, then the embedding's. Where nothing is trained, count is 0. */
typedef struct gpt_gradient_span {
  float *gradients;
  size_t count;
} gpt_gradient_span;
gpt_gradient_span gpt_completed_span(const gpt_params *params, size_t order);
size_t gpt_completed_count(const gpt_params *params); /* how many of them there are */

/* From now on gpt_gradients tells of each run when it is complete and goes on with the others;
 * NULL: it does not. */
typedef void (*gpt_complete_fn)(void *user, gpt_gradient_span run);
void gpt_pass_watch(gpt_pass *pass, gpt_complete_fn complete, void *user);

/* Covariances for optimizers that ask for them (K-FAC): of hidden matrix i of the list of tensors,
 *
 *     inputs[i]     mean of a a^T for the input a of the matrix (cols x cols)
 *     outputs[i]    mean of d d^T for the gradient d of a token's own loss at its output
 *                   (rows x rows), with the labels of the data: the empirical Fisher matrix's
 *
 * over `samples` of a batch's tokens, or all if there are fewer. Matrices with the same input (q, k
 * and v) share one array; what is not asked for, or of a frozen tensor, is NULL or stays 0. */
typedef struct gpt_covariances {
  size_t samples;
  float **inputs, **outputs; /* tensor_count each */
  float *values;             /* all of them, back to back */
  size_t tensor_count, value_count;
} gpt_covariances;
size_t gpt_covariances_bytes(const gpt_params *params, bool inputs, bool outputs);
mousse_status gpt_covariances_create(gpt_covariances **covariances, const gpt_params *params,
                                     bool inputs, bool outputs, size_t samples,
                                     mo_error *error);
void gpt_covariances_destroy(gpt_covariances *covariances); /* accepts NULL */
/* From now on gpt_gradients replaces the covariances by those of its batch; NULL: it does not.
 * Tokens are equally far apart; phase moves them on. */
void gpt_pass_sample(gpt_pass *pass, gpt_covariances *covariances, uint64_t phase);

/* Generation, with a cache of keys and values for up to `capacity` tokens. */
typedef struct gpt_generator gpt_generator;

typedef struct gpt_sampling {
  double temperature; /* 0: always the most probable token */
  size_t top_k;       /* choose among the k most probable; 0: all */
  double top_p;       /* ... among the fewest with this much probability; 1: all */
  double repetition; /* recent tokens: logits above 0 divided, below 0 multiplied; 0, 1: none */
  const uint32_t *recent; /* borrowed */
  size_t recent_count;
  uint64_t seed;
  int64_t stop_token; /* ends the text; -1: none */
} gpt_sampling;

size_t gpt_generator_bytes(const gpt_config *config, size_t capacity, int threads);
mousse_status gpt_generator_create(gpt_generator **generator, const gpt_params *params,
                                   size_t capacity, int threads, const mo_allocator *allocator,
                                   mo_error *error);
void gpt_generator_destroy(gpt_generator *generator); /* accepts NULL */
/* A copy of the matrices in 8 bits per number, which a token needs a quarter of the time to
 * read. The values of params are rounded to those of the copy, which borrows params. */
typedef struct gpt_q8 gpt_q8;
size_t gpt_q8_bytes(const gpt_params *params); /* 0: no matrix can have one */
mousse_status gpt_q8_create(gpt_q8 **q8, gpt_params *params, int threads, mo_error *error);
void gpt_q8_destroy(gpt_q8 *q8); /* accepts NULL */
/* From now on tokens read the copy, which is borrowed; NULL: the values themselves. */
void gpt_generator_use_q8(gpt_generator *generator, const gpt_q8 *q8);
void gpt_generator_restart(gpt_generator *generator); /* forgets the text */
/* Appends tokens to the text. Afterwards the logits (vocab_size, owned by the generator) are
 * those of the token that follows. */
mousse_status gpt_generator_feed(gpt_generator *generator, const uint32_t *tokens, size_t count,
                                 mo_error *error);
const float *gpt_generator_logits(const gpt_generator *generator);
/* Draws the next token from the logits; a function of the seed and the token's place in the
 * text, which may have begun before what the generator holds. */
mousse_status gpt_generator_sample(gpt_generator *generator, const gpt_sampling *sampling,
                                   uint64_t place, uint32_t *token, mo_error *error);

/* Weights files: model.safetensors, which lies beside config.json. */
mousse_status gpt_save_weights(const gpt_params *params, const char *path, mo_error *error);
/* Other numbers for the same tensors, value_count of them, in the order of params->values. */
mousse_status gpt_save_values(const gpt_params *params, const float *values, const char *path,
                              mo_error *error);
/* The file must hold exactly this model's tensors, as F32, BF16 or F16; a failed load leaves
 * the values unchanged. */
mousse_status gpt_load_weights(gpt_params *params, const char *path, mo_error *error);
/* The same without the adapters: the file has none, and theirs stay. */
mousse_status gpt_load_base(gpt_params *params, const char *path, mo_error *error);

#endif
