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
enum { MO_INNER_NONE, MO_INNER_KRON, MO_INNER_ADAM };
enum { MO_SIDES_BOTH, MO_SIDES_LEFT, MO_SIDES_RIGHT, MO_SIDES_SMALL, MO_SIDES_SMALL_RIGHT };
enum { MO_FORM_AUTO, MO_FORM_PLAIN, MO_FORM_FUSED };
enum { MO_POST_NONE, MO_POST_ROWS };
enum { MO_AXIS_ROWS, MO_AXIS_LONG };
enum { MO_MOMENT_ADAM, MO_MOMENT_SGD, MO_MOMENT_NONE };
enum { MO_DECAY_DECOUPLED, MO_DECAY_AFTER };

extern const char *const mo_side_names[],
    *const mo_form_names[], *const mo_axis_names[], *const mo_moment_names[],
                                                        *const mo_post_names[];

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
#define MO_STAGE_SWITCH(field, first, is_fixed, text)                                          \
  MO_SWITCH(mo_stage_options, field, first, is_fixed, text)

/* The step. */
#define MO_STAGE_LR(first)           MO_OPTION_LR(mo_stage_options, first)
#define MO_STAGE_WEIGHT_DECAY(first) MO_OPTION_WEIGHT_DECAY(mo_stage_options, first)
#define MO_STAGE_SHAPE(first)                                                                  \
  MO_CHOICE(mo_stage_options, shape, mo_shape_rule_names, first, 0,                            \
            "step by matrix shape: sqrt(m/n), 0.2 sqrt(max(m,n)), sqrt(max(1,m/n)), 1")

/* The momentum. */
#define MO_STAGE_MU(first) MO_STAGE_NUMBER(mu, first, 0, MO_BETA_MAX, "decay of the momentum")
#define MO_STAGE_NESTEROV(first)                                                               \
  MO_STAGE_SWITCH(nesterov, first, 0, "look ahead: momentum plus the newest gradient")

/* Inner preconditioners by curvature. */
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
      "plain as written, fused with the long side multiplied once, or the cheaper")
#define MO_STAGE_REFRESH MO_OPTION_REFRESH(mo_stage_options)
#define MO_STAGE_REFRESH_EVERY(first, text)                                                    \
  MO_WHOLE(mo_stage_options, refresh_every, first, 1, 1e9, 0, text)
#define MO_STAGE_REFRESH_TOL                                                                   \
  MO_STAGE_NUMBER(refresh_tol, 0, 0, 1,                                                        \
                  "a basis that is off by less than this part stays; 0: none")
#define MO_STAGE_STAGGER MO_OPTION_STAGGER(mo_stage_options)
#define MO_STAGE_TRACE_NORM(first)                                                             \
  MO_STAGE_SWITCH(trace_norm, first, 0, "scale the statistics to the trace of the identity")
#define MO_STAGE_BIAS_CORRECTION(first, text) MO_STAGE_SWITCH(bias_correction, first, 0, text)

/* The orthogonaliser. */
#define MO_STAGE_NEWTON_SCHULZ(first)                                                          \
  MO_STAGE_CHOICE(newton_schulz, mo_newton_schulz_names, MO_NEWTON_SCHULZ_SETS, first, 1,      \
                  "polynomial of the orthogonalisation; exact: by singular values")

/* Post scaling. */
#define MO_STAGE_POST                                                                          \
  MO_STAGE_CHOICE(post, mo_post_names, 2, MO_POST_NONE, 1,                                     \
                  "scaling after the orthogonalisation: rows as NorMuon")
#define MO_STAGE_AXIS(first)                                                                   \
  MO_STAGE_CHOICE(axis, mo_axis_names, 2, first, 1,                                            \
                  "lines that are scaled: rows, or those along the longer side")
#define MO_STAGE_BETA2(first, text) MO_STAGE_NUMBER(beta2, first, 0, MO_BETA_MAX, text)

/* Outer factor and norm. */
#define MO_STAGE_OUTER(first) MO_STAGE_SWITCH(outer, first, 1, "unwhiten after orthogonalising")
#define MO_STAGE_GRAFT(first)                                                                  \
  MO_STAGE_SWITCH(graft, first, 0, "give the update the norm it had before unwhitening")
#define MO_STAGE_MOMENT_GRAFT                                                                  \
  MO_STAGE_CHOICE(graft, mo_moment_names, 3, MO_MOMENT_ADAM, 1, "whose norm the update gets")

#endif
