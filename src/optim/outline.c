/* outline.c - spectra in outline, for observers. */
#include "optim/outline.h"

#include "linalg/blas.h"
#include "linalg/lanczos.h"
#include "linalg/vector.h"
#include "optim/telemetry.h"

#include <math.h>
#include <string.h>

/* Statistics, block by block. */
typedef struct pair_matrix {
  mo_side side;
  const float *pair;
} pair_matrix;

static void multiply_pair(const void *matrix, const float *x, float *y)
{
  const pair_matrix *p = matrix;
  MO_FOR_BLOCKS(p->side, at)
  mo_symv(at.size, p->pair + at.offset, at.size + 1, x + at.start, y + at.start);
}

/* M M^T or M^T M, whichever is smaller, as two products; middle is as long as the longer side. */
typedef struct gram_matrix {
  mo_shape shape;
  const float *m;
  float *middle;
} gram_matrix;

static void times(const gram_matrix *g, const float *x, float *y) /* y = M x */
{
  for (size_t i = 0; i < g->shape.rows; i++)
    y[i] = (float)mo_dot(g->m + i * g->shape.cols, x, g->shape.cols);
}

static void times_transposed(const gram_matrix *g, const float *x, float *y) /* y = M^T x */
{
  memset(y, 0, g->shape.cols * sizeof *y);
  for (size_t i = 0; i < g->shape.rows; i++)
    mo_subtract(y, g->m + i * g->shape.cols, g->shape.cols, -x[i]);
}

static void multiply_gram(const void *matrix, const float *x, float *y)
{
  const gram_matrix *g = matrix;
  if (g->shape.rows <= g->shape.cols) {
    times_transposed(g, x, g->middle);
    times(g, g->middle, y);
  } else {
    times(g, x, g->middle);
    times_transposed(g, g->middle, y);
  }
}

static bool is_noted(const mo_telemetry *t, mo_quantity quantity)
{
  for (int64_t i = 0; i < t->count; i++)
    if (t->notes[i].quantity == (int64_t)quantity) return true;
  return false;
}

/* unit: what takes the stored matrix to the true one. A condition beyond what floats can show
 * is told as the largest that they can. */
static void tell(mo_telemetry *t, const mo_outline *o, double unit,
                 const mo_quantity quantities[7])
{
  const double visible = fmax(o->lowest, 1e-7 * o->highest);
  const double values[7] = {o->q10 * unit,       o->q50 * unit,    o->q90 * unit,
                            o->effective_rank,   o->lowest * unit, o->highest * unit,
                            o->highest / visible};
  for (size_t i = 0; i < 7; i++)
    if (!is_noted(t, quantities[i])) mo_note(t, quantities[i], values[i]);
}

static const mo_quantity side_quantities[2][7] = {
    {MO_LEFT_Q10, MO_LEFT_Q50, MO_LEFT_Q90, MO_LEFT_EFFECTIVE_RANK, MO_LEFT_MIN, MO_LEFT_MAX,
     MO_LEFT_CONDITION},
    {MO_RIGHT_Q10, MO_RIGHT_Q50, MO_RIGHT_Q90, MO_RIGHT_EFFECTIVE_RANK, MO_RIGHT_MIN,
     MO_RIGHT_MAX, MO_RIGHT_CONDITION}};
static const mo_quantity momentum_quantities[7] = {
    MO_MOMENTUM_Q10, MO_MOMENTUM_Q50, MO_MOMENTUM_Q90,      MO_MOMENTUM_EFFECTIVE_RANK,
    MO_MOMENTUM_MIN, MO_MOMENTUM_MAX, MO_MOMENTUM_CONDITION};

static void tell_side(const mo_update *u, mo_side side, const float *pair, double unit)
{
  mo_outline outline;
  const pair_matrix matrix = {side, pair};
  const mo_quantity rms = side.right ? MO_RIGHT_RMS : MO_LEFT_RMS;
  if (!mo_lanczos(side.size, multiply_pair, &matrix, u->work, &outline)) return;
  tell(u->telemetry, &outline, unit, side_quantities[side.right]);
  if (!is_noted(u->telemetry, rms)) mo_note(u->telemetry, rms, outline.rms * unit);
}

static void tell_momentum(const mo_update *u, const float *m, double unit)
{
  mo_outline outline;
  const size_t n = mo_shorter(u->shape);
  const gram_matrix matrix = {u->shape, m, u->work + 3 * n};
  if (mo_lanczos(n, multiply_gram, &matrix, u->work, &outline))
    tell(u->telemetry, &outline, unit, momentum_quantities);
}

/* What takes an array of this degree in the gradient to its true unit, and a Gram matrix of one to
 * the square of that. */
void mo_outline_tell(const mo_update *u, const mo_state_array *arrays, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const double unit = pow((double)u->grad_scale, -arrays[i].degree);
    if (arrays[i].side.size > 0)
      tell_side(u, arrays[i].side, u->state[i], unit);
    else if (strcmp(arrays[i].name, "momentum") == 0 &&
             arrays[i].count == mo_elements(u->shape))
      tell_momentum(u, u->state[i], unit * unit);
  }
}
