/* options.h - the options of the stages, each with one wording and one range. An algorithm's
 * table takes those that it shows, with its own defaults. */
#ifndef MOUSSE_OPTIM_STAGES_OPTIONS_H
#define MOUSSE_OPTIM_STAGES_OPTIONS_H

#include "linalg/newton_schulz.h"
#include "optim/root.h"
#include "optim/shape_scale.h"
#include "optim/stages/stage.h"

/* Choices, in the order of their names (choices.c). */
enum { MO_SUM, MO_AVERAGE };
enum { MO_MU_CONSTANT, MO_MU_WARMUP, MO_MU_CYCLE };
enum { MO_KERNEL_SINGLE, MO_KERNEL_TWO, MO_KERNEL_MANY };
enum {
  MO_INNER_NONE,
  MO_INNER_SIGN,
  MO_INNER_DIAG,
  MO_INNER_KRON,
  MO_INNER_SUM,
  MO_INNER_FISHER,
  MO_INNER_RMS,
  MO_INNER_SINKHORN,
  MO_INNER_ROWS,
  MO_INNER_COLUMNS,
  MO_INNER_KL,
  MO_INNERS,
  MO_INNER_KL_SHAMPOO, /* with a momentum of their own: not to be combined */
  MO_INNER_KL_ADAM
};
enum { MO_SIDES_BOTH, MO_SIDES_LEFT, MO_SIDES_RIGHT, MO_SIDES_SMALL, MO_SIDES_SMALL_RIGHT };
enum { MO_FORM_AUTO, MO_FORM_PLAIN, MO_FORM_FUSED };
enum { MO_OF_GRADIENT, MO_OF_MOMENTUM };
enum { MO_WHEN_BEFORE, MO_WHEN_AFTER };
enum { MO_FLOORS_RELATIVE, MO_FLOORS_ABSOLUTE };
enum { MO_ORTHO_ON, MO_ORTHO_OFF, MO_ORTHO_TOPK, MO_ORTHO_LOW_RANK, MO_ORTHOS };
enum { MO_FROBENIUS, MO_SCHATTEN4 };
enum { MO_MOMENTUM_FIRST, MO_POLAR_FIRST };
enum { MO_POST_NONE, MO_POST_ROWS, MO_POST_ELEMENT, MO_POST_SCALAR, MO_POSTS };
enum { MO_AXIS_ROWS, MO_AXIS_LONG, MO_AXIS_LONGER }; /* the last: not on square matrices */
enum { MO_MOMENT_ADAM, MO_MOMENT_SGD, MO_MOMENT_NONE };
enum {
  MO_NORM_KEEP,
  MO_NORM_SQRT_MIN,
  MO_NORM_SQRT_ROWS,
  MO_NORM_RMS,
  MO_NORM_RELATIVE,
  MO_NORM_NUCLEAR,
  MO_NORMS
};
enum {
  MO_DECAY_DECOUPLED,
  MO_DECAY_CORRECTED,
  MO_DECAY_INDEPENDENT,
  MO_DECAY_CAUTIOUS,
  MO_DECAYS,
  MO_DECAY_AFTER /* of the moved weights, as SOAP was published */
};
enum {
  MO_RADIUS_FREE,
  MO_RADIUS_BRAKE,
  MO_RADIUS_PIN,
  MO_RADIUS_BALL,
  MO_RADIUS_BRAKE_PIN,
  MO_RADII
};
enum { MO_FLOOR_NONE, MO_FLOOR_MATRIX, MO_FLOOR_ROW };

extern const char *const mo_mu_names[],
    *const mo_kernel_names[],
        *const mo_inner_names[],
            *const mo_side_names[],
                *const mo_form_names[],
                    *const mo_of_names[],
                        *const mo_when_names[],
                            *const mo_floors_names[],
                                *const mo_ortho_names[],
                                    *const mo_divisor_names[],
                                        *const mo_order_names[],
                                            *const mo_post_names[],
                                                *const mo_axis_names[],
                                                    *const mo_moment_names[],
                                                        *const mo_norm_names[],
                                                            *const mo_decay_names[],
                                                                *const mo_radius_names[],
                                                                    *const mo_floor_names[];

/* beta of the statistics; a recipe that sets it to MO_AS_BETA2 has one beta for both. */
#define MO_AS_BETA2 (-1.0)
static inline double mo_stats_beta(const mo_stage_options *o)
{
  return o->beta < 0.0 ? o->beta2 : o->beta;
}

/* MO_CHOICE measures its array, which here is another file's: the count is given instead. */
#define MO_STAGE_CHOICE(field, names, count, first, is_fixed, text)                            \
  {                                                                                            \
    .info = {.name = #field,                                                                   \
             .help = text,                                                                     \
             .choices = names,                                                                 \
             .initial = first,                                                                 \
             .min = 0,                                                                         \
             .max = (count)-1.0,                                                               \
             .integer = 1,                                                                     \
             .fixed = is_fixed},                                                               \
    .offset = offsetof(mo_stage_options, field)                                                \
  }
#define MO_STAGE_NUMBER(field, first, low, high, text)                                         \
  MO_NUMBER(mo_stage_options, field, first, low, high, text)
/* A number that this algorithm calls by another name than the stage does. */
#define MO_STAGE_CALLED(called, field, first, low, high, text)                                 \
  {                                                                                            \
    .info = {.name = called, .help = text, .initial = first, .min = low, .max = high},         \
    .offset = offsetof(mo_stage_options, field)                                                \
  }
#define MO_STAGE_SWITCH_CALLED(called, field, first, is_fixed, text)                           \
  {                                                                                            \
    .info = {.name = called,                                                                   \
             .help = text,                                                                     \
             .choices = mo_off_on,                                                             \
             .initial = first,                                                                 \
             .min = 0,                                                                         \
             .max = 1,                                                                         \
             .integer = 1,                                                                     \
             .fixed = is_fixed},                                                               \
    .offset = offsetof(mo_stage_options, field)                                                \
  }
#define MO_STAGE_SWITCH(field, first, is_fixed, text)                                          \
  MO_SWITCH(mo_stage_options, field, first, is_fixed, text)

/* The step. */
#define MO_STAGE_LR(first)           MO_OPTION_LR(mo_stage_options, first)
#define MO_STAGE_WEIGHT_DECAY(first) MO_OPTION_WEIGHT_DECAY(mo_stage_options, first)
#define MO_STAGE_SHAPE(first)                                                                  \
  MO_CHOICE(                                                                                   \
      mo_stage_options, shape, mo_shape_rule_names, first, 0,                                  \
      "scale the step by matrix shape: sqrt(m/n), 0.2 sqrt(max(m,n)), sqrt(max(1,m/n)), 1")

#define MO_STAGE_DECAY(first)                                                                  \
  MO_STAGE_CHOICE(                                                                             \
      decay, mo_decay_names, MO_DECAYS, first, 0,                                              \
      "weights shrink by lr wd; corrected: by lr^2 wd / lr_peak; independent: by lr wd / "     \
      "lr_peak; cautious: by lr wd where they agree in sign with the update")
#define MO_STAGE_LR_PEAK                                                                       \
  MO_STAGE_NUMBER(lr_peak, 0, 0, 1e3,                                                          \
                  "decay: the schedule's highest lr; 0: lr without lr_factor")
#define MO_STAGE_RADIUS(first)                                                                 \
  MO_STAGE_CHOICE(radius, mo_radius_names, MO_RADII, first, 0,                                 \
                  "norm of the weights: free; brake: halve its growth; pin: first-order "      \
                  "change only; ball: fixed, not for weights that start at 0; brake_pin: "     \
                  "brake and pin")
#define MO_STAGE_FLOOR                                                                         \
  MO_STAGE_CHOICE(                                                                             \
      floor, mo_floor_names, 3, MO_FLOOR_NONE, 0,                                              \
      "smallest length of the update, relative to the weights: of all, of each row")
#define MO_STAGE_FLOOR_TARGET(first)                                                           \
  MO_STAGE_NUMBER(floor_target, first, 0, 1e3, "that smallest length, before lr")

/* The momentum. */
#define MO_STAGE_MU(first) MO_STAGE_NUMBER(mu, first, 0, MO_BETA_MAX, "decay of the momentum")
#define MO_STAGE_NESTEROV(first)                                                               \
  MO_STAGE_SWITCH(nesterov, first, 0, "look ahead: momentum plus the newest gradient")

#define MO_STAGE_MU_SCHEDULE                                                                   \
  MO_STAGE_CHOICE(mu_schedule, mo_mu_names, 3, MO_MU_CONSTANT, 0,                              \
                  "mu is constant, rises from mu_start, or rises and later falls to mu_end")
#define MO_STAGE_MU_WARMUP(first)                                                              \
  MO_WHOLE(mo_stage_options, mu_warmup, first, 0, 1e9, 0, "steps from mu_start to mu")
#define MO_STAGE_MU_START(first)                                                               \
  MO_STAGE_NUMBER(mu_start, first, 0, MO_BETA_MAX, "mu at the start of the warm-up")
#define MO_STAGE_MU_END(first)                                                                 \
  MO_STAGE_NUMBER(mu_end, first, 0, MO_BETA_MAX, "mu at the end of the cycle")
#define MO_STAGE_MU_FALL(first)                                                                \
  MO_WHOLE(mo_stage_options, mu_fall, first, 0, 1e9, 0, "step at which mu begins to fall")
#define MO_STAGE_MU_LAST(first)                                                                \
  MO_WHOLE(mo_stage_options, mu_last, first, 0, 1e9, 0, "step at which mu is mu_end; 0: never")
#define MO_STAGE_KERNEL                                                                        \
  MO_STAGE_CHOICE(kernel, mo_kernel_names, 3, MO_KERNEL_SINGLE, 1,                             \
                  "one momentum, two of decays mu and mu2, or many by age")
#define MO_STAGE_MOMENTA(first)                                                                \
  MO_WHOLE(mo_stage_options, momenta, first, 2, 32, 1, "kernel = many: how many momenta")
#define MO_STAGE_YOUNGEST(first)                                                               \
  MO_STAGE_NUMBER(youngest, first, 0.1, 1e6, "kernel = many: shortest mean age, in steps")
#define MO_STAGE_OLDEST(first)                                                                 \
  MO_STAGE_NUMBER(oldest, first, 0.1, 1e6, "kernel = many: longest mean age, in steps")
#define MO_STAGE_MIX_END(first) MO_STAGE_NUMBER(mix_end, first, 0, 1, "mix at the end")
#define MO_STAGE_MIX_FALL(first)                                                               \
  MO_WHOLE(mo_stage_options, mix_fall, first, 0, 1e9, 0, "step at which mix begins to change")
#define MO_STAGE_MIX_LAST(first)                                                               \
  MO_WHOLE(mo_stage_options, mix_last, first, 0, 1e9, 0,                                       \
           "step at which mix is mix_end; 0: never")
#define MO_STAGE_MU2(first)                                                                    \
  MO_STAGE_NUMBER(mu2, first, 0, MO_BETA_MAX, "decay of the second momentum")
#define MO_STAGE_MIX(first)                                                                    \
  MO_STAGE_NUMBER(mix, first, 0, 1, "part of the second momentum, or of the oldest")
#define MO_STAGE_ORDER(first)                                                                  \
  MO_STAGE_CHOICE(order, mo_order_names, 2, first, 1,                                          \
                  "momentum of the gradient, or of its orthogonal factor")

/* Inner preconditioners. */
#define MO_STAGE_INNER(first)                                                                  \
  MO_STAGE_CHOICE(inner, mo_inner_names, MO_INNERS, first, 1, "inner preconditioner")
#define MO_STAGE_STATS_OF(first)                                                               \
  MO_STAGE_CHOICE(stats_of, mo_of_names, 2, first, 1,                                          \
                  "what the curvature statistics are taken from")
#define MO_STAGE_STATS_WHEN(first)                                                             \
  MO_STAGE_CHOICE(stats_when, mo_when_names, 2, first, 0,                                      \
                  "when a gradient enters the statistics: before its own step, or after it")
#define MO_STAGE_FLOORS(first)                                                                 \
  MO_STAGE_CHOICE(floors, mo_floors_names, 2, first, 0,                                        \
                  "eps and other floors: relative to what they bound, or as they are")
#define MO_STAGE_SINKHORN(first)                                                               \
  MO_WHOLE(mo_stage_options, sinkhorn, first, 1, 1000, 0,                                      \
           "rounds of balancing rows and columns")
#define MO_STAGE_GATE                                                                          \
  MO_STAGE_SWITCH(gate, 0, 0,                                                                  \
                  "apply the scaling as far as it agrees with momentum and gradient")
#define MO_STAGE_GATE_FLOOR(first) MO_STAGE_NUMBER(gate_floor, first, 0, 1, "smallest gate")
#define MO_STAGE_GATE_CAP(first)   MO_STAGE_NUMBER(gate_cap, first, 0, 1, "largest gate")
#define MO_STAGE_KL_CLIP(first)                                                                \
  MO_STAGE_NUMBER(kl_clip, first, 0, 1e3, "largest divergence of a step; 0: no limit")
#define MO_STAGE_BETA(first)                                                                   \
  MO_STAGE_NUMBER(beta, first, 0, MO_BETA_MAX, "decay of the curvature statistics")
#define MO_STAGE_ALPHA(first, high)                                                            \
  MO_STAGE_NUMBER(alpha, first, 0, high, "power of the whitening; 0 whitens nothing")
#define MO_STAGE_SIDES(first)                                                                  \
  MO_STAGE_CHOICE(                                                                             \
      sides, mo_side_names, 4, first, 1,                                                       \
      "preconditioned sides: rows (left), columns (right), the shorter one (small)")
#define MO_STAGE_MAX_PRECOND_DIM(first, text)                                                  \
  MO_WHOLE(mo_stage_options, max_precond_dim, first, 1, 1e6, 1, text)
#define MO_STAGE_BLOCK(first)                                                                  \
  MO_WHOLE(mo_stage_options, block, first, 0, 1e6, 1,                                          \
           "cut longer sides into blocks of this size; 0: never")
#define MO_STAGE_FORM(first)                                                                   \
  MO_STAGE_CHOICE(                                                                             \
      form, mo_form_names, 3, first, 1,                                                        \
      "plain: as written; fused: multiplies the long side only once; auto: the cheaper one")
#define MO_STAGE_REFRESH MO_OPTION_REFRESH(mo_stage_options)
#define MO_STAGE_REFRESH_EVERY(first, text)                                                    \
  MO_WHOLE(mo_stage_options, refresh_every, first, 1, 1e9, 0, text)
#define MO_STAGE_REFRESH_LONG(first)                                                           \
  MO_WHOLE(mo_stage_options, refresh_long, first, 1, 1000, 0,                                  \
           "sides of 768 or more are updated only every this many times")
#define MO_STAGE_REFRESH_TOL                                                                   \
  MO_STAGE_NUMBER(refresh_tol, 0, 0, 1,                                                        \
                  "keep a basis that is off by at most this fraction; 0: always recompute it")
#define MO_STAGE_STAGGER MO_OPTION_STAGGER(mo_stage_options)
#define MO_STAGE_TRACE_NORM(first)                                                             \
  MO_STAGE_SWITCH(trace_norm, first, 0, "scale the statistics to the trace of the identity")
#define MO_STAGE_BIAS_CORRECTION(first, text) MO_STAGE_SWITCH(bias_correction, first, 0, text)

/* The orthogonaliser. */
#define MO_STAGE_NEWTON_SCHULZ(first)                                                          \
  MO_STAGE_CHOICE(newton_schulz, mo_newton_schulz_names, MO_NEWTON_SCHULZ_SETS, first, 1,      \
                  "polynomial of the orthogonalisation; exact: by singular values")

#define MO_STAGE_ORTHO(first)                                                                  \
  MO_STAGE_CHOICE(ortho, mo_ortho_names, MO_ORTHOS, first, 1,                                  \
                  "orthogonalise all, nothing, the heaviest lines, the leading directions")
#define MO_STAGE_DIVISOR(first)                                                                \
  MO_STAGE_CHOICE(divisor, mo_divisor_names, 2, first, 0, "norm that Newton-Schulz starts from")
#define MO_STAGE_FRACTION(first)                                                               \
  MO_STAGE_NUMBER(fraction, first, 1e-6, 1, "part of the lines that move in a step")
#define MO_STAGE_RANK(first, text) MO_WHOLE(mo_stage_options, rank, first, 0, 1e6, 1, text)
#define MO_STAGE_LIMIT(first)                                                                  \
  MO_STAGE_NUMBER(limit, first, 0, 1e3,                                                        \
                  "largest growth of the update's norm in a step; 0: no limit")
#define MO_STAGE_RESIDUAL(first)                                                               \
  MO_STAGE_NUMBER(residual, first, 0, 1e3, "weight of the gradient's part outside the subspace")

/* Post scaling. */
#define MO_STAGE_POST(first)                                                                   \
  MO_STAGE_CHOICE(post, mo_post_names, MO_POSTS, first, 1,                                     \
                  "scaling after the orthogonalisation: as NorMuon, AdaMuon, NAMO")
#define MO_STAGE_AXIS(first)                                                                   \
  MO_STAGE_CHOICE(axis, mo_axis_names, 2, first, 1,                                            \
                  "what is scaled: rows, or the lines along the longer side")
#define MO_STAGE_BETA2(first, text) MO_STAGE_NUMBER(beta2, first, 0, MO_BETA_MAX, text)

/* Outer factor and norm. */
#define MO_STAGE_OUTER(first) MO_STAGE_SWITCH(outer, first, 1, "unwhiten after orthogonalising")
#define MO_STAGE_GRAFT(first)                                                                  \
  MO_STAGE_SWITCH(graft, first, 0, "give the update the norm it had before unwhitening")
#define MO_STAGE_NORM(first)                                                                   \
  MO_STAGE_CHOICE(norm, mo_norm_names, MO_NORMS, first, 1, "norm of the update")
#define MO_STAGE_MOMENT_GRAFT                                                                  \
  MO_STAGE_CHOICE(graft, mo_moment_names, 3, MO_MOMENT_ADAM, 1, "whose norm the update gets")

#endif
