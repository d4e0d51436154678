/* pass.h - what one forward and backward pass works in: planned once, reused for every batch.
 *
 * N = batch * sequence rows (token positions), C = width, T = sequence, V = vocabulary; H and K
 * heads of q and of k and v, D numbers each; A = H D; S = A + 2 K D; W = width of the MLP, F = W
 * or, with a gate, 2 W. Work on rows is cut into tiles of tile_rows rows; a tile goes through all
 * row-wise layers between two attentions while it is in the cache.
 */
#ifndef MOUSSE_GPT_PASS_H
#define MOUSSE_GPT_PASS_H

#include "gpt/choice.h"
#include "gpt/gpt.h"
#include "gpt/profile.h"

/* What forward keeps of one layer for backward. In a pass without gradients all layers share
 * one of these; with recompute there are two, which layers use in turn. Where a layer is its own memory (a norm without gain, relu2) two members are
 * the same array; otherwise input1, input2 and active are shared by all layers, and backward
 * computes them again from what is kept. */
typedef struct gpt_activations {
  float *norm1, *r1;         /* N x C, N */
  float *input1;             /* N x C: input of q, k, v */
  float *qkv, *r_qk;         /* N x S, N x (H + K): as attention takes them */
  float *normal_qk;          /* N x (H + K) D: before gain and rotation; NULL without gain */
  float *attended, *log_sum; /* N x A, N x H ([sequence][head][position]) */
  float *norm2, *r2;         /* N x C, N */
  float *input2;             /* N x C: input of the MLP */
  float *hidden;             /* N x F: behind the first product */
  float *active;             /* N x W: before the second */
  float *low;                /* slots x N x rank: inside the adapters; NULL without */
} gpt_activations;

typedef struct gpt_gradient_space {
  float *d_x, *d_middle; /* N x C: of the stream after the layer; between attention and MLP */
  float *d_norm;         /* N x C: of input1, input2 and the final norm in turn */
  float *d_attended;     /* N x A; d_norm's memory when A = C */
  float *d_qkv;          /* N x S */
  float *d_hidden;       /* N x F */
  float *d_active;       /* N x W; d_hidden's memory but with a gate */
  float *vectors;        /* tiles x vector_count: sums of gains' and biases' gradients */
  float *final_vectors;  /* tiles x 2C: those of the final norm */
  float *qk_gains;       /* batch x K x 2D: those of QK-norm, q's and k's */
  float *d_low;          /* slots x N x rank: inside the adapters */
} gpt_gradient_space;

struct gpt_pass {
  gpt_params *params; /* borrowed */
  gpt_shape shape;
  size_t head_rows;       /* rows whose logits exist at a time */
  size_t vector_count;    /* numbers in a layer's gains and biases, but for QK-norm's */
  float *x;               /* N x C: the residual stream */
  float *final, *r_final; /* N x C, N: input of the head */
  float *normal_final;    /* N x C: before the gain; final itself without one */
  float *logits;          /* head_rows x V */
  float *losses;          /* N */
  float *cosines, *sines; /* T x head_size / 2 */
  float **scratch;        /* one block per thread, for attention */
  gpt_activations *kept;  /* n_layer; with recompute all even ones are one, and all odd ones */
  float **inputs;         /* with recompute: n_layer, N x C each; otherwise NULL */
  gpt_gradient_space gradient;
  gpt_complete_fn complete; /* NULL: nobody is watching */
  void *complete_user;
  gpt_covariances *covariances; /* borrowed; NULL: nobody asks */
  uint64_t phase;               /* of the tokens that they are of */
  gpt_profile *profile;         /* borrowed; NULL: nobody measures */
  size_t told;                  /* spans of gradients complete in this call */
  mo_arena arena;
};

/* One call of gpt_loss or gpt_gradients: the batch, its sizes, and how it is cut. */
typedef struct gpt_step {
  gpt_pass *pass;
  const gpt_batch *batch;
  const gpt_config *config;
  size_t counted; /* positions that have a target */
  size_t N, C, H, K, D, A, S, W, F, T, V, tile_rows, tiles;
  bool gradients; /* false: the loss only */
  float factor;   /* gradients are those of factor * loss */
  float beta;     /* 1: add to the gradients, 0: replace them */
} gpt_step;

/* forward.c: tokens -> pass->final. */
void gpt_forward(const gpt_step *step);
/* What forward keeps of a layer once more, from the layer's input: the same bits. */
void gpt_forward_again(const gpt_step *step, size_t layer);
/* head.c: pass->final -> loss and, with gradients, that of the head and gradient.d_norm. */
float gpt_head(const gpt_step *step);
/* backward.c: gradient.d_norm -> the gradients of everything below the head. */
void gpt_backward(const gpt_step *step);

/* Where the documents of the rows from `row` on begin; NULL: all see their whole sequence. */
static inline const uint32_t *gpt_starts(const gpt_step *step, size_t row)
{
  return step->batch->starts != NULL ? step->batch->starts + row : NULL;
}

/* The next span of gpt_completed_span is complete. */
static inline void gpt_tell_complete(gpt_pass *pass)
{
  if (pass->complete == NULL) return;
  pass->complete(pass->complete_user, gpt_completed_span(pass->params, pass->told++));
}

static inline bool gpt_has_final_vectors(const gpt_pass *pass)
{
  return pass->params->parts->ln_f_gain != NULL;
}

/* All matrices of one product are frozen: q, k and v; those behind the MLP's norm. */
static inline bool gpt_qkv_frozen(const gpt_layer *w)
{
  return w->c_q->frozen && w->c_k->frozen && w->c_v->frozen;
}
static inline bool gpt_hidden_frozen(const gpt_layer *w)
{
  return w->fc->frozen && (w->gate == NULL || w->gate->frozen);
}

static inline gpt_norm_tensors gpt_norm1(const gpt_layer *w)
{
  return (gpt_norm_tensors){w->ln1_gain, w->ln1_bias};
}
static inline gpt_norm_tensors gpt_norm2(const gpt_layer *w)
{
  return (gpt_norm_tensors){w->ln2_gain, w->ln2_bias};
}
static inline gpt_norm_tensors gpt_final_norm(const gpt_params *params)
{
  return (gpt_norm_tensors){params->parts->ln_f_gain, params->parts->ln_f_bias};
}

/* The context of a parallel loop over one layer. */
typedef struct gpt_layer_step {
  const gpt_step *step;
  size_t layer;
} gpt_layer_step;

typedef struct gpt_rows {
  size_t first, count;
} gpt_rows;

static inline gpt_rows gpt_tile(const gpt_step *step, size_t tile)
{
  const size_t first = tile * step->tile_rows, left = step->N - first;
  return (gpt_rows){first, left < step->tile_rows ? left : step->tile_rows};
}

#endif
