/* root_cholesky.c - the root of one block as a sum of shifted inverses (fractions.h), each by
 * one Cholesky factorization in float.
 *
 *     A^-power = unit^-power (A / unit)^-power ~ sum of fractions of A / unit
 *
 * The unit, a power of two, brings statistics of any size to where inverses and their squares
 * are floats; it is 1 for those that are there already, as normalised ones are.
 */
#include "base/team.h"
#include "linalg/cut.h"
#include "linalg/definite.h"
#include "linalg/fractions.h"
#include "linalg/vector.h"
#include "optim/root_block.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t mo_root_cholesky_floats(size_t n)
{
  const size_t eigenvalue =
      2 * mo_scratch_floats(n) + mo_scratch_floats(mo_symv_work_floats(n));
  return mo_scratch_floats(n * n) + eigenvalue + mo_scratch_floats(n) +
         mo_scratch_floats(mo_eigenvalues_work_floats(n));
}

/* An estimate from below of the stored statistics' largest eigenvalue, by power iteration. The
 * start leans to the large rows, unevenly, to be at right angles to no eigenvector of a regular
 * matrix. The estimate is within a third of the truth unless the start has less than 1e-3 of
 * the eigenvector: (2/3)^20 is 3e-4. Statistics that faded to the end of float count as 0. */
static double largest_eigenvalue(size_t n, const float *pair, float *work)
{
  enum { ITERATIONS = 20 };
  float *x = mo_scratch_take(&work, n), *y = mo_scratch_take(&work, n);
  float *partial = mo_scratch_take(&work, mo_symv_work_floats(n));
  double norm = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double uneven = fmod(0.6180339887 * (double)i, 1.0);
    x[i] = (float)(0.5 + uneven) * pair[i * (n + 1) + i];
  }
  for (int k = 0; k < ITERATIONS; k++) {
    const double length = sqrt(mo_sum_squares(x, n));
    if (length < (double)FLT_MIN) return 0.0;
    mo_scale(x, n, (float)(1.0 / length));
    mo_symv_in_bands(n, pair, n + 1, x, y, partial);
    norm = sqrt(mo_sum_squares(y, n));
    memcpy(x, y, n * sizeof *x);
  }
  return norm;
}

typedef struct shifted_load {
  size_t n;
  const float *pair;
  double factor, shift;
  float *matrix;
} shifted_load;

static void load_band(void *context, size_t part, int thread)
{
  const shifted_load *l = context;
  const size_t n = l->n, band = mo_definite_band(n), end = (part + 1) * band;
  (void)thread;
  for (size_t i = part * band; i < end && i < n; i++) {
    mo_copy_scaled(l->matrix + i * n, l->pair + i * (n + 1), i + 1, (float)l->factor);
    l->matrix[i * n + i] += (float)l->shift;
  }
}

/* matrix (lower) = factor * statistics + shift I */
static void load_lower(size_t n, const float *pair, double factor, double shift, float *matrix)
{
  const size_t band = mo_definite_band(n);
  shifted_load l = {n, pair, factor, shift, matrix};
  mo_team_divide((n + band - 1) / band, load_band, &l);
}

/* root (upper) = slope * statistics + constant I, by tiles: along whole columns, reading would
 * miss the cache. The slope alone may be beyond float. */
static void start_root(size_t n, double slope, double constant, float *pair)
{
  enum { TILE = 32 };
  for (size_t row = 0; row < n; row += TILE)
    for (size_t col = row; col < n; col += TILE)
      for (size_t i = row; i < n && i < row + TILE; i++)
        for (size_t k = col > i ? col : i; k < n && k < col + TILE; k++)
          pair[1 + i * (n + 1) + k] = (float)(slope * (double)pair[k * (n + 1) + i]);
  for (size_t i = 0; i < n; i++) pair[1 + i * (n + 1) + i] += (float)constant;
}

/* What the sum is taken of: factor * statistics + damping I, and what it is multiplied by. */
typedef struct damped {
  double factor, damping, scale;
} damped;

/* The sum of shifted inverses, the hardest one first: if it succeeds, so do the others, whose
 * shifts are larger, and if it fails the root is still what it was. */
static bool sum_fractions(size_t n, const mo_fractions *f, damped d, float *pair, float *matrix)
{
  for (int term = 0; term < f->count; term++) {
    load_lower(n, pair, d.factor, d.damping + f->shift[term], matrix);
    if (!mo_definite_invert_factor(n, matrix, n)) return false;
    if (term == 0)
      start_root(n, d.scale * f->linear * d.factor,
                 d.scale * (f->constant + f->linear * d.damping), pair);
    mo_definite_add_inverse(n, (float)(d.scale * f->weight[term]), matrix, n, pair + 1, n + 1);
  }
  return true;
}

/* The fewest terms that are as exact as if every eigenvalue were known to 35%: less than what a
 * root loses by the time of the next refresh (docs/refresh.md). */
static mo_fractions usual_fit(double power, double low, double high)
{
  const double limit = fmax(0.35 * power, 1e-3);
  mo_fractions f = mo_fractions_fit(power, low, high, 2);
  for (int terms = 3; f.error > limit && terms <= MO_MAX_FRACTIONS; terms++)
    f = mo_fractions_fit(power, low, high, terms);
  return f;
}

/* The eigenvalues of small blocks; those of large ones would cost more than their root, and are
 * told in outline (outline.h). */
static void observe_all(mo_root_pass *pass, mo_root_block block, float *matrix, float *work)
{
  enum { LARGEST_OBSERVED = 128 };
  const size_t n = block.n;
  if (!pass->observed || n > LARGEST_OBSERVED) return;
  float *values = mo_scratch_take(&work, n);
  load_lower(n, block.pair, block.factor, 0.0, matrix);
  const bool known = mo_eigenvalues(n, matrix, values, work);
  for (size_t i = 0; known && i < n; i++) mo_root_observe(pass, block, (double)values[i]);
}

/* The power of two next to a size, or 1 when that is near enough. */
static double unit_for(double size)
{
  int exponent = 0;
  frexp(size, &exponent);
  return abs(exponent) <= 20 ? 1.0 : ldexp(1.0, exponent);
}

static double damping_of(const mo_root_rule *rule, mo_root_block block, double highest)
{
  double trace = 0.0;
  switch (rule->damping) {
  case MO_DAMP_ABSOLUTE:
    return 2.0 * rule->eps;
  case MO_DAMP_FLOOR:
    return rule->eps;
  case MO_DAMP_TRACE:
    for (size_t i = 0; i < block.n; i++) trace += (double)block.pair[i * (block.n + 1) + i];
    return rule->eps * block.factor * trace / (double)block.n;
  default:
    return rule->eps * highest;
  }
}

void mo_root_by_cholesky(mo_root_pass *pass, mo_root_block block, float *work)
{
  enum { TRIES = 3 };
  const mo_root_rule *rule = pass->rule;
  const size_t n = block.n;
  float *matrix = mo_scratch_take(&work, n * n);
  double highest = block.factor * largest_eigenvalue(n, block.pair, work);
  const double damping = damping_of(rule, block, highest);
  const double unit = unit_for(highest + damping);
  damped d = {block.factor / unit, damping / unit, pow(unit, -rule->power)};
  highest /= unit;
  observe_all(pass, block, matrix, work);
  for (int attempt = 0; attempt < TRIES; attempt++, d.damping *= 30.0) {
    const double high = fmax(1.5 * highest, d.damping) + d.damping;
    const mo_fractions f = rule->terms > 0
                               ? mo_fractions_fit(rule->power, d.damping, high, rule->terms)
                               : usual_fit(rule->power, d.damping, high);
    if (sum_fractions(n, &f, d, block.pair, matrix)) return;
    pass->counts->retries++;
  }
  pass->counts->fallbacks++;
}
