/* orthogonal.c - the orthogonaliser: all singular values of x to about 1.
 *
 *     N = NS(X), by the polynomials of newton_schulz.h, or exactly (newton_schulz = exact)
 *
 * As written, or in the fused form (fused.h): with the roots that kron left to it, or without
 * any where the Gram form of Newton-Schulz is the cheaper one. divisor: X is divided by its
 * Frobenius norm, or by its Schatten 4-norm, which leaves small singular values larger.
 */
#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "linalg/vector.h"
#include "optim/stages/kron.h"

#include <math.h>
#include <string.h>

/* Without roots: the Gram form alone. */
static mo_fused gram_form(const mo_stage_options *o, mo_shape shape)
{
  return (mo_fused){.shape = shape,
                    .set = (mo_newton_schulz_set)o->newton_schulz,
                    .schatten4 = o->divisor != 0.0,
                    .right = {.right = true}};
}

static bool has_kron(const mo_stage_options *o)
{
  return o->inner == MO_INNER_KRON;
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  const mo_fused f = gram_form(o, shape);
  const size_t n = mo_shorter(shape);
  const size_t exact =
      f.set == MO_EXACT ? mo_scratch_floats(2 * mo_polar_work_doubles(shape.rows, shape.cols))
                        : 0;
  return mo_larger(mo_fused_work_floats(&f), 2 * mo_scratch_floats(n * n) + exact);
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  mo_fused f = gram_form(o, shape);
  if (has_kron(o) && mo_kron_fused(o, shape)) {
    f.left = mo_kron_side(o, shape, false);
    f.right = mo_kron_side(o, shape, true);
    return mo_fused_flops(&f);
  }
  return !has_kron(o) && mo_fused_pays(&f) ? mo_fused_flops(&f) : mo_plain_flops(&f, false);
}

/* gram (whole) = X X^T on the short side. */
static void gram_of(mo_shape shape, const float *x, float *gram)
{
  const size_t n = mo_shorter(shape);
  mo_syrk(MO_LOWER, mo_is_wide(shape) ? MO_PLAIN : MO_TRANSPOSED, n, mo_longer(shape), 1.0f, x,
          shape.cols, 0.0f, gram, n);
  mo_mirror(n, gram, n);
}

static double divisor_norm(const mo_step *s, double frobenius, const float *x, float *gram)
{
  const size_t n = mo_shorter(s->u->shape);
  if (s->o->divisor == 0.0) return frobenius;
  gram_of(s->u->shape, x, gram);
  return sqrt(sqrt(mo_sum_squares(gram, n * n)));
}

/* In place. */
static void plain(mo_step *s, float *x)
{
  const mo_shape shape = s->u->shape;
  const mo_newton_schulz_set set = (mo_newton_schulz_set)s->o->newton_schulz;
  const size_t n = mo_shorter(shape);
  float *work = s->work, *gram = mo_scratch_take(&work, n * n);
  float *factor = mo_scratch_take(&work, n * n);
  const double frobenius = sqrt(mo_sum_squares(x, s->count));
  if (frobenius == 0.0) return;
  if (set == MO_EXACT) {
    /* Dividing first keeps tiny and huge matrices within float and changes no direction. When
     * the decomposition fails, the divided X is what is left. */
    mo_scale(x, s->count, (float)(1.0 / frobenius));
    if (!mo_polar(shape.rows, shape.cols, x, (double *)(void *)work)) s->u->counts->fallbacks++;
    return;
  }
  const double norm =
      mo_newton_schulz_norm(set, divisor_norm(s, frobenius, x, gram), 1e-7 * s->scale);
  mo_scale(x, s->count, (float)(1.0 / norm));
  mo_newton_schulz(set, shape.rows, shape.cols, x, mo_step_buffer_beside(s, x), gram, factor);
}

static void by_plain(mo_step *s)
{
  float *x = mo_step_own(s);
  plain(s, x);
  if (s->u->telemetry != NULL) {
    gram_of(s->u->shape, x, s->work);
    mo_note_residual(s->u->telemetry, mo_shorter(s->u->shape), s->work);
  }
  s->wanted = s->o->graft != 0.0 ? sqrt(mo_sum_squares(x, s->count)) : -1.0;
}

/* False: the fused form has lost its digits, and x is what it was. */
static bool by_fused(mo_step *s, const mo_fused *f)
{
  float *u = mo_step_buffer(s), *y = mo_step_buffer_beside(s, u);
  const double norm = mo_fused_update(f, s->x, 1e-7 * s->scale, u, y, s->work, s->u->telemetry);
  if (norm < 0.0) return false;
  s->x = u;
  s->wanted = s->o->graft != 0.0 ? norm : -1.0;
  return true;
}

static void apply(mo_step *s)
{
  mo_step_comfort(s, 1.0, 16);
  mo_fused f = gram_form(s->o, s->u->shape);
  bool fused = s->fused || (!s->whitened && mo_fused_pays(&f));
  if (s->fused) f = mo_kron_roots(s->o, s->u->shape, s->inner_state);
  if (fused && !by_fused(s, &f)) {
    s->u->counts->fallbacks++;
    fused = false;
  }
  if (!fused) by_plain(s);
  s->scale = 1.0;
}

const mo_stage mo_stage_orthogonal = {
    .work_floats = work_floats, .flops = flops, .apply = apply};
