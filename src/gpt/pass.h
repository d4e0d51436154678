/* pass.h - what one forward and backward pass works in: planned once, reused for every batch.
 *
 * N = batch * sequence rows (token positions), C = width, H = heads, T = sequence, V =
 * vocabulary. Work on rows is cut into tiles of tile_rows rows; a tile goes through all
 * row-wise layers between two attentions while it is in the cache.
 */
#ifndef MOUSSE_GPT_PASS_H
#define MOUSSE_GPT_PASS_H

#include "gpt/gpt.h"
#include "gpt/params.h"

/* What forward keeps of one layer for backward. In a pass without gradients all layers share
 * one of these. */
typedef struct gpt_activations {
  float *norm1, *r1;         /* N x C, N: input of q, k, v */
  float *qkv, *r_qk;         /* N x 3C, N x 2H: after rotation and QK-norm */
  float *attended, *log_sum; /* N x C, N x H ([sequence][head][position]) */
  float *norm2, *r2;         /* N x C, N: input of the MLP */
  float *hidden;             /* N x 4C: relu(.)^2 */
} gpt_activations;

typedef struct gpt_gradient_space {
  float *d_x, *d_middle; /* N x C: of the stream after the layer; between attention and MLP */
  float *d_norm;         /* N x C: of norm1, norm2, attended and the final norm in turn */
  float *d_qkv;          /* N x 3C */
  float *d_hidden;       /* N x 4C */
} gpt_gradient_space;

struct gpt_pass {
  gpt_params *params; /* borrowed */
  gpt_shape shape;
  size_t head_rows;       /* rows whose logits exist at a time */
  float *x;               /* N x C: the residual stream */
  float *final, *r_final; /* N x C, N: input of the head */
  float *logits;          /* head_rows x V */
  float *losses;          /* N */
  float *cosines, *sines; /* T x head_size / 2 */
  float **scratch;        /* one block per thread, for attention */
  gpt_activations *kept;  /* n_layer */
  gpt_gradient_space gradient;
  gpt_complete_fn complete; /* NULL: nobody is watching */
  void *complete_user;
  mo_arena arena;
};

/* One call of gpt_loss or gpt_gradients: the batch, its sizes, and how it is cut. */
typedef struct gpt_step {
  gpt_pass *pass;
  const gpt_batch *batch;
  size_t N, C, H, T, V, head_size, tile_rows, tiles;
  bool gradients; /* false: the loss only */
  float factor;   /* gradients are those of factor * loss */
  float beta;     /* 1: add to the gradients, 0: replace them */
} gpt_step;

/* forward.c: tokens -> pass->final. */
void gpt_forward(const gpt_step *step);
/* head.c: pass->final -> loss and, with gradients, that of the head and gradient.d_norm. */
float gpt_head(const gpt_step *step);
/* backward.c: gradient.d_norm -> the gradients of everything below the head. */
void gpt_backward(const gpt_step *step);

static inline void gpt_tell_complete(const gpt_pass *pass, size_t order)
{
  if (pass->complete == NULL) return;
  pass->complete(pass->complete_user, gpt_completed_span(pass->params, order));
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
