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
#include "optim/stages/eigen.h"
#include "optim/stages/kron.h"

#include <math.h>
#include <string.h>

/* Without roots: the Gram form alone. */
static mo_fused gram_form(const mo_stage_options *o, mo_shape shape)
{
  return (mo_fused){.shape = shape,
                    .set = (mo_newton_schulz_set)o->newton_schulz,
                    .schatten4 = o->divisor == MO_SCHATTEN4,
                    /* cppcheck-suppress unknownEvaluationOrder - a member and one of its own */
                    .right = {.right = true}};
}

bool mo_orthogonal_leaves_basis(const mo_stage_options *o, mo_shape shape)
{
  const mo_fused f = gram_form(o, shape);
  return o->ortho == MO_ORTHO_ON && o->norm != MO_NORM_NUCLEAR && mo_fused_pays(&f);
}

static bool has_kron(const mo_stage_options *o)
{
  return o->inner == MO_INNER_KRON;
}

/* By the stages that set mo_step.whitened, after which it goes by the plain form. */
static bool is_whitened(const mo_stage_options *o)
{
  return has_kron(o) || o->inner == MO_INNER_SUM || o->inner == MO_INNER_FISHER;
}

static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  const mo_fused f = gram_form(o, shape);
  return mo_larger(mo_fused_work_floats(&f), mo_orthogonalise_work_floats(f.set, shape));
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  mo_fused f = gram_form(o, shape);
  if (has_kron(o) && mo_kron_fused(o, shape)) {
    f.left = mo_kron_side(o, shape, false);
    f.right = mo_kron_side(o, shape, true);
    return mo_fused_flops(&f);
  }
  return !is_whitened(o) && mo_fused_pays(&f) ? mo_fused_flops(&f) : mo_plain_flops(&f, false);
}

/* gram (whole) = X X^T on the short side. */
static void gram_of(mo_shape shape, const float *x, float *gram)
{
  const size_t n = mo_shorter(shape);
  mo_syrk(MO_LOWER, mo_is_wide(shape) ? MO_PLAIN : MO_TRANSPOSED, n, mo_longer(shape), 1.0f, x,
          shape.cols, 0.0f, gram, n);
  mo_mirror(n, gram, n);
}

double mo_schatten4_norm(mo_shape shape, const float *x, float *gram)
{
  const size_t n = mo_shorter(shape);
  gram_of(shape, x, gram);
  return sqrt(sqrt(mo_sum_squares(gram, n * n)));
}

size_t mo_orthogonalise_work_floats(mo_newton_schulz_set set, mo_shape shape)
{
  const size_t n = mo_shorter(shape);
  return 2 * mo_scratch_floats(n * n) +
         (set == MO_EXACT ? mo_scratch_floats(2 * mo_polar_work_doubles(shape.rows, shape.cols))
                          : 0);
}

/* NS(x), in x or in spare. */
static float *orthogonalise(mo_newton_schulz_set set, bool schatten4, mo_shape shape,
                            double epsilon, float *x, float *spare, float *work,
                            mo_counts *counts)
{
  const size_t n = mo_shorter(shape), count = mo_elements(shape);
  float *gram = mo_scratch_take(&work, n * n), *factor = mo_scratch_take(&work, n * n);
  const double frobenius = sqrt(mo_sum_squares(x, count));
  if (frobenius == 0.0) return x;
  if (set == MO_EXACT) {
    /* Dividing first keeps tiny and huge matrices within float and changes no direction. When
     * the decomposition fails, the divided X is what is left. */
    mo_scale(x, count, (float)(1.0 / frobenius));
    if (!mo_polar(shape.rows, shape.cols, x, (double *)(void *)work)) counts->fallbacks++;
    mo_scale(x, count, (float)(frobenius / (frobenius + epsilon))); /* fades as the others do */
    return x;
  }
  const double divisor = schatten4 ? mo_schatten4_norm(shape, x, gram) : frobenius;
  const double scale = 1.0 / mo_newton_schulz_norm(set, divisor, epsilon);
  mo_scale(x, count, (float)scale);
  if (schatten4) mo_scale(gram, n * n, (float)(scale * scale));
  return mo_newton_schulz(set, schatten4, shape.rows, shape.cols, x, spare, gram, factor);
}

void mo_orthogonalise(mo_newton_schulz_set set, mo_shape shape, double epsilon, float *x,
                      float *spare, float *work, mo_counts *counts)
{
  const float *n = orthogonalise(set, false, shape, epsilon, x, spare, work, counts);
  if (n != x) memcpy(x, n, mo_elements(shape) * sizeof *x);
}

/* <x0, N> of the true x0, for norm = nuclear; its copy is in the third buffer. */
static void measure(mo_step *s, const float *x0, const float *n)
{
  if (s->o->norm == MO_NORM_NUCLEAR) s->nuclear = mo_dot(x0, n, s->count) / s->scale;
}

void mo_orthogonal_measure(mo_step *s, const float *n)
{
  measure(s, s->x, n);
  s->wanted = s->o->graft != 0.0 ? sqrt(mo_sum_squares(n, s->count)) : -1.0;
}

static void by_plain(mo_step *s)
{
  const mo_stage_options *o = s->o;
  const float *before = s->x;
  float *x = mo_step_own(s), *spare = mo_step_buffer_beside(s, before);
  if (before == x && o->norm == MO_NORM_NUCLEAR) { /* a copy that outlives the iteration */
    float *copy = mo_step_buffer_beside(s, spare);
    memcpy(copy, x, s->count * sizeof *copy);
    before = copy;
  }
  x = orthogonalise((mo_newton_schulz_set)o->newton_schulz, o->divisor == MO_SCHATTEN4,
                    s->u->shape, 1e-7 * s->scale, x, spare, s->work, s->u->counts);
  s->x = x;
  measure(s, before, x);
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
  measure(s, s->x, u);
  s->x = u;
  s->wanted = s->o->graft != 0.0 ? norm : -1.0;
  return true;
}

static void leave(mo_step *s, const mo_eigenbasis *basis)
{
  float *y = mo_step_buffer(s);
  s->x = mo_eigenbasis_rotate(basis, MO_TRANSPOSED, s->x, mo_step_buffer_beside(s, y), y);
}

static void apply(mo_step *s)
{
  mo_step_comfort(s, 1.0, 16);
  mo_fused f = gram_form(s->o, s->u->shape);
  bool fused = s->fused || (!s->whitened && mo_fused_pays(&f));
  if (s->fused) f = mo_kron_roots(s->o, s->u->shape, s->inner_state);
  mo_eigenbasis basis;
  if (s->inside != NULL) {
    basis = mo_eigen_basis_in(s, s->inside);
    f.basis = &basis;
  }
  if (fused && !by_fused(s, &f)) {
    s->u->counts->fallbacks++;
    fused = false;
    if (f.basis != NULL) leave(s, f.basis);
  }
  if (!fused) by_plain(s);
  s->scale = 1.0;
}

const mo_stage mo_stage_orthogonal = {
    .work_floats = work_floats, .flops = flops, .apply = apply};
