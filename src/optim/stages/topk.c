/* topk.c - Dion2's momentum and orthogonaliser: only the heaviest lines move in a step.
 *
 *     M <- M + G
 *     lines: rows when m <= n, else columns; I = the k = ceil(fraction lines) of them with the
 *     largest sums of magnitudes, of equal ones the first
 *     U[I] = NS(M[I]), 0 elsewhere      M[I] <- mu M[I]
 *
 * What is not chosen waits in M and grows: nothing is lost. Newton-Schulz on k lines costs
 * fraction^2 of that on all of them. With ortho = topk it is an orthogonaliser alone: M is what the
 * stages before made, and nothing is kept.
 */
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <math.h>
#include <string.h>

static size_t chosen_lines(const mo_stage_options *o, mo_shape shape)
{
  const size_t lines = mo_shorter(shape);
  const size_t k = (size_t)ceil(o->fraction * (double)lines);
  return k < 1 ? 1 : k > lines ? lines : k;
}

static bool keeps_momentum(const mo_stage_options *o)
{
  return o->ortho != MO_ORTHO_TOPK;
}

static size_t layout(const mo_stage_options *o, mo_shape shape, mo_state_array *arrays)
{
  if (!keeps_momentum(o)) return 0;
  arrays[0] = (mo_state_array){"momentum", mo_elements(shape), 1, {0}};
  return 1;
}

/* Scores and marks of the lines, and what orthogonalising takes: of all lines, as `fraction` may
 * grow between steps. */
static size_t work_floats(const mo_stage_options *o, mo_shape shape)
{
  const size_t lines = mo_shorter(shape);
  return mo_scratch_floats(2 * lines) +
         mo_orthogonalise_work_floats((mo_newton_schulz_set)o->newton_schulz,
                                      (mo_shape){lines, mo_longer(shape)});
}

static double flops(const mo_stage_options *o, mo_shape shape)
{
  const double k = (double)chosen_lines(o, shape), l = (double)mo_longer(shape);
  const double iterations =
      o->newton_schulz == MO_EXACT
          ? 20.0
          : (double)mo_newton_schulz_iterations((mo_newton_schulz_set)o->newton_schulz);
  return iterations * (3.2 * k * k * l + 1.2 * k * k * k);
}

/* Of element j of line i. */
static size_t place(mo_shape shape, size_t i, size_t j)
{
  return mo_is_wide(shape) ? i * shape.cols + j : j * shape.cols + i;
}

/* marks[i] is true for the k heaviest lines. */
static void choose(mo_shape shape, const float *momentum, size_t k, double *scores)
{
  const size_t lines = mo_shorter(shape), length = mo_longer(shape);
  for (size_t i = 0; i < lines; i++) scores[i] = 0.0;
  for (size_t i = 0; i < lines; i++)
    for (size_t j = 0; j < length; j++) scores[i] += fabs((double)momentum[place(shape, i, j)]);
  for (size_t taken = 0; taken < k; taken++) {
    size_t best = lines;
    for (size_t i = 0; i < lines; i++)
      if (scores[i] >= 0.0 && (best == lines || scores[i] > scores[best])) best = i;
    scores[best] = -1.0; /* chosen */
  }
}

/* The chosen lines of x, one after the other, to `some`. */
static void gather(mo_shape shape, const float *x, const double *scores, float *some)
{
  for (size_t i = 0; i < mo_shorter(shape); i++)
    for (size_t j = 0; scores[i] < 0.0 && j < mo_longer(shape); j++)
      *some++ = x[place(shape, i, j)];
}

static void decay(mo_shape shape, const double *scores, double mu, float *momentum)
{
  for (size_t i = 0; i < mo_shorter(shape); i++)
    for (size_t j = 0; scores[i] < 0.0 && j < mo_longer(shape); j++) {
      float *m = &momentum[place(shape, i, j)];
      *m = mo_normal_float(mu * (double)*m);
    }
}

static void apply(mo_step *s)
{
  const mo_shape shape = s->u->shape;
  const size_t lines = mo_shorter(shape), length = mo_longer(shape);
  const size_t k = chosen_lines(s->o, shape);
  const mo_shape chosen = {k, length};
  const bool own = keeps_momentum(s->o);
  if (!own) mo_step_comfort(s, 1.0, 16);
  float *work = s->work, *some = mo_step_buffer(s), *spare = mo_step_buffer_beside(s, some);
  double *scores = (double *)(void *)mo_scratch_take(&work, 2 * lines);
  if (own) mo_accumulate(s->state[0], s->x, s->count);
  const float *from = own ? s->state[0] : s->x;
  choose(shape, from, k, scores);
  gather(shape, from, scores, some);
  if (own) decay(shape, scores, s->o->mu, s->state[0]);
  mo_orthogonalise((mo_newton_schulz_set)s->o->newton_schulz, chosen, 1e-7 * s->scale, some,
                   spare, work, s->u->counts);
  memset(spare, 0, s->count * sizeof *spare);
  for (size_t i = 0; i < lines; i++)
    for (size_t j = 0; scores[i] < 0.0 && j < length; j++) spare[place(shape, i, j)] = *some++;
  if (!own) mo_orthogonal_measure(s, spare);
  s->x = spare;
  s->scale = 1.0;
}

const mo_stage mo_stage_topk = {
    .layout = layout, .work_floats = work_floats, .flops = flops, .apply = apply};
