/* stage.h - one small step on the way from a gradient to an update.
 *
 *     gradient -> momentum -> inner preconditioner -> orthogonaliser -> post scaling -> outer
 *              -> norm -> step
 *
 * A stage is a file: its options are fields of mo_stage_options, its memory is what layout()
 * lists, its work is apply(), which takes the matrix s->x and leaves another one there. An
 * algorithm is a list of stages and defaults (pipeline.h). Stages know nothing of each other but
 * what stands in mo_step; in which order they come is the algorithm's business: FISMO has its
 * momentum after the inner preconditioner, PolarGrad may have it after the orthogonaliser.
 */
#ifndef MOUSSE_OPTIM_STAGES_STAGE_H
#define MOUSSE_OPTIM_STAGES_STAGE_H

#include "linalg/newton_schulz.h"
#include "optim/algorithm.h"
#include "optim/telemetry.h"

/* Every option of every stage. An algorithm shows those that matter to it, with its own defaults
 * (options.h), and sets others once and for all. */
typedef struct mo_stage_options {
  /* step.c */
  double lr, weight_decay, decay, lr_peak, radius, floor, floor_target, shape;
  /* momentum.c */
  double mu, nesterov, average, mu_schedule, mu_start, mu_warmup, mu_end, mu_fall, mu_last,
      kernel, mu2, mix, mix_end, mix_fall, mix_last, momenta, youngest, oldest;
  /* inner preconditioners */
  double inner, beta, alpha, eps, eps_rel, damping, sides, max_precond_dim, block, form,
      refresh, refresh_every, refresh_long, refresh_tol, stagger, trace_norm, bias_correction,
      stats_of, stats_when, floors, sinkhorn, kl_clip, gate, gate_floor, gate_cap;
  /* orthogonal.c */
  double ortho, newton_schulz, divisor, rank, fraction, limit, residual, order;
  /* post scaling */
  double post, axis, beta2, eps2;
  /* outer.c, graft.c, norm.c */
  double outer, graft, norm;
} mo_stage_options;

typedef struct mo_stage mo_stage;

/* One matrix on its way. */
typedef struct mo_step {
  const mo_stage_options *o;
  const mo_update *u;
  size_t count;      /* elements */
  const float *grad; /* grad_scale * gradient */

  const float
      *x;        /* what the stages made of it so far: the gradient, state, or one of buffers */
  double scale;  /* x is scale * (what the formulas say): grad_scale, 1 once it is scale-free */
  double factor; /* the update is factor / scale * x: norms are set here, not by another pass */
  double wanted; /* the norm that a later stage gives the update; negative: its own */
  double momentum_norm; /* of the momentum, true, as an average; for post = scalar alone */
  double nuclear;    /* <what was orthogonalised, what became of it>, true; 1 where nothing was;
                   * for norm = nuclear alone */
  float *buffers[3]; /* as large as the matrix */
  float *work;       /* the stage's own work_floats(), contents undefined */

  float *const *state;   /* of the stage that is called: state[i] is array i of its layout() */
  const mo_stage *inner; /* the stage whose operator `outer` applies again; NULL: none */
  float *const *inner_state;
  float *const
      *inside; /* the arrays of the eigenbasis that x is still in (eigen_rms.c); or NULL */

  bool fused;    /* kron left its products to the orthogonaliser (fused.h) */
  bool whitened; /* kron multiplied x itself */
  bool skip;     /* this step makes no update: later stages are passed over */
} mo_step;

struct mo_stage {
  /* The concrete stage for these options; NULL for none. Only of stages that are a choice. */
  const mo_stage *(*pick)(const mo_stage_options *o);
  /* The arrays kept between steps; returns how many. NULL: none. */
  size_t (*layout)(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays);
  size_t (*work_floats)(const mo_stage_options *o, mo_shape shape); /* NULL: none */
  double (*flops)(const mo_stage_options *o, mo_shape shape);       /* NULL: passes only */
  void (*apply)(mo_step *s);
  void (*again)(mo_step *s);  /* the same operator once more, for `outer`; NULL: not an inner */
  void (*finish)(mo_step *s); /* after the weights have moved; NULL: nothing */
};

/* A buffer that s->x is not in, and one that neither s->x nor `taken` is in. */
float *mo_step_buffer(const mo_step *s);
float *mo_step_buffer_beside(const mo_step *s, const float *taken);

/* s->x as memory that may be written, if it is a buffer; otherwise NULL. */
float *mo_step_if_own(const mo_step *s);

/* s->x as memory that may be written: copied to a buffer first if it is state or the gradient. */
float *mo_step_own(mo_step *s);

/* x times the power of two that brings the largest element of gain * x near 1, if that is
 * further from it than 2^limit: before products by `gain` that would leave float. */
void mo_step_comfort(mo_step *s, double gain, int limit);

/* NS(x) in place by the plain form, for stages that orthogonalise on their own; epsilon is 1e-7
 * in the units of x, spare as large as x. */
size_t mo_orthogonalise_work_floats(mo_newton_schulz_set set, mo_shape shape);
void mo_orthogonalise(mo_newton_schulz_set set, mo_shape shape, double epsilon, float *x,
                      float *spare, float *work, mo_counts *counts);

/* Whether mo_stage_orthogonal is next and goes by the Gram form, which can take x out of an
 * eigenbasis on its way. */
bool mo_orthogonal_leaves_basis(const mo_stage_options *o, mo_shape shape);

/* What later stages ask about an orthogonaliser that made n of s->x: the option norm = nuclear the
 * product, graft the norm of n. */
void mo_orthogonal_measure(mo_step *s, const float *n);

/* The Schatten 4-norm, ||x x^T||^(1/2); gram: shorter side squared floats of scratch. */
double mo_schatten4_norm(mo_shape shape, const float *x, float *gram);

/* One file each. The first of momenta, inner preconditioners, orthogonalisers, post scalings,
 * norms; then the step. */
extern const mo_stage mo_stage_momentum, mo_stage_moments, mo_stage_storm;
extern const mo_stage mo_stage_sign, mo_stage_equilibrate, mo_stage_diag, mo_stage_kron,
    mo_stage_sum, mo_stage_fisher, mo_stage_kl, mo_stage_eigen_adam, mo_stage_eigen_rms,
    mo_stage_eigen_sinkhorn, mo_stage_given, mo_stage_whiten_given, mo_stage_columns;
extern const mo_stage mo_stage_orthogonal, mo_stage_topk, mo_stage_subspace;
extern const mo_stage mo_stage_element, mo_stage_rows, mo_stage_scalar;
extern const mo_stage mo_stage_outer, mo_stage_graft, mo_stage_norm;
extern const mo_stage mo_stage_step;

/* choices.c: one of the above by the options inner, ortho and post; and momentum and orthogonaliser in
 * the order that the option order says, as a pair. */
extern const mo_stage mo_stage_inner, mo_stage_ortho, mo_stage_post, mo_stage_former,
    mo_stage_latter;

#endif
