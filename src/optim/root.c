/* root.c - the root of a side from its statistics. */
#include "optim/root.h"

#include "linalg/blas.h"
#include "linalg/definite.h"
#include "linalg/fractions.h"
#include "linalg/orthonormal.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

const char *const mo_refresh_names[5] = {"auto", "eigh", "qr", "cholesky", NULL};
const mo_eigh_solver mo_eigh_ladder[] = {mo_eigh_divide, mo_eigh_iterate, NULL};

mo_refresh mo_refresh_resolve(mo_refresh method, mo_side side)
{
  if (method != MO_REFRESH_AUTO) return method;
  return side.block < 512 ? MO_REFRESH_EIGH : MO_REFRESH_CHOLESKY;
}

size_t mo_root_basis_floats(mo_refresh method, mo_side side)
{
  size_t floats = 0;
  if (mo_refresh_resolve(method, side) == MO_REFRESH_QR)
    MO_FOR_BLOCKS(side, at) floats += at.size * at.size;
  return floats;
}

/* matrix (double), eigenvalues, LAPACK's own */
static size_t eigh_floats(size_t n)
{
  return mo_scratch_floats(2 * (n * n + n + mo_eigh_work_doubles(n)));
}

static size_t order_floats(size_t n)
{
  return mo_scratch_floats(n * sizeof(size_t) / sizeof(float));
}

size_t mo_basis_work_floats(size_t n)
{
  return 2 * mo_scratch_floats(n * n) + mo_scratch_floats(n) +
         mo_scratch_floats(mo_orthonormal_work_floats(n));
}

size_t mo_root_work_floats(mo_refresh method, mo_side side)
{
  const size_t n = side.block;
  if (side.size == 0) return 0;
  switch (mo_refresh_resolve(method, side)) {
  case MO_REFRESH_CHOLESKY:
    return mo_scratch_floats(n * n) + 2 * mo_scratch_floats(n) +
           mo_scratch_floats(mo_eigenvalues_work_floats(n));
  case MO_REFRESH_QR:
    return mo_larger(eigh_floats(n),
                     order_floats(n) + mo_scratch_floats(n) + mo_basis_work_floats(n));
  default:
    return eigh_floats(n);
  }
}

/* The factor that takes stored statistics to normalised ones. In double: with gradients of
 * 1e38 the true statistics are far beyond float. */
static double normalisation(size_t n, const float *pair, const mo_root_rule *rule)
{
  const double factor =
      rule->correction / ((double)rule->grad_scale * (double)rule->grad_scale);
  double trace = 0.0;
  if (!rule->trace_norm) return factor;
  for (size_t i = 0; i < n; i++) trace += (double)pair[i * (n + 1) + i];
  return factor * (double)n / (factor * trace + rule->eps);
}

static void damp(size_t n, const mo_root_rule *rule, double *values)
{
  double lowest = values[0], highest = values[0];
  for (size_t i = 1; i < n; i++) {
    lowest = fmin(lowest, values[i]);
    highest = fmax(highest, values[i]);
  }
  if (rule->damping == MO_DAMP_ABSOLUTE) {
    const double shift = fmax(0.0, -lowest) + rule->eps;
    for (size_t i = 0; i < n; i++) values[i] += shift;
    return;
  }
  /* The floor keeps the zero matrix, whose relative damping is 0, finite: 1e-60^(-1/4) = 1e15.
   */
  for (size_t i = 0; i < n; i++)
    values[i] = fmax(values[i], 0.0) + rule->eps * fmax(highest, 0.0) + 1e-60;
}

/* Statistics of gradients that were all 0: the damping alone. */
static void decompose_nothing(size_t n, double shift, double *matrix, double *values)
{
  memset(matrix, 0, n * n * sizeof *matrix);
  for (size_t i = 0; i < n; i++) {
    matrix[i * n + i] = 1.0;
    values[i] = shift;
  }
}

bool mo_root_decompose(size_t n, const float *pair, double factor, double shift,
                       const mo_eigh_solver *ladder, double *matrix, double *values,
                       double *work, mo_counts *counts)
{
  double trace = 0.0; /* of sums of squares: 0 only when all of them are */
  for (size_t i = 0; i < n; i++) trace += (double)pair[i * (n + 1) + i];
  if (ladder == NULL && trace == 0.0) {
    decompose_nothing(n, shift, matrix, values);
    return true;
  }
  if (ladder == NULL) ladder = mo_eigh_ladder;
  for (size_t rung = 0; ladder[rung] != NULL; rung++) {
    if (rung > 0) counts->retries++;
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j <= i; j++)
        matrix[i * n + j] = factor * (double)pair[i * (n + 1) + j];
      matrix[i * n + i] += shift;
    }
    if (ladder[rung](n, matrix, values, work)) return true;
  }
  counts->fallbacks++;
  return false;
}

/* What an observer is told of a side, over all its blocks. */
typedef struct spectrum {
  double lowest, highest, squares;
} spectrum;

static const spectrum empty = {INFINITY, -INFINITY, 0.0};

static void gather(spectrum *s, double value)
{
  s->lowest = fmin(s->lowest, value);
  s->highest = fmax(s->highest, value);
  s->squares += value * value;
}

typedef struct refresh_pass {
  const mo_root_rule *rule;
  mo_counts *counts;
  spectrum raw, normalised;
  bool observed;
} refresh_pass;

/* An eigenvalue of the normalised statistics, before damping. */
static void observe(refresh_pass *j, double value, double factor)
{
  const double grad_scale = (double)j->rule->grad_scale;
  gather(&j->normalised, value);
  gather(&j->raw, value / (factor * grad_scale * grad_scale));
}

/* root = sum_i values[i]^-power row_i^T row_i, as a symmetric product of scaled rows. */
static void compose(size_t n, const double *values, double power, float *rows, float *pair)
{
  for (size_t i = 0; i < n; i++) mo_scale(rows + i * n, n, (float)pow(values[i], -0.5 * power));
  mo_syrk(MO_UPPER, MO_TRANSPOSED, n, n, 1.0f, rows, n, 0.0f, pair + 1, n + 1);
}

/* Doubles become floats in their own memory: writing never gets ahead of reading. */
static float *narrow(double *x, size_t count)
{
  float *narrowed = (float *)(void *)x;
  for (size_t i = 0; i < count; i++) {
    double wide;
    memcpy(&wide, x + i, sizeof wide);
    const float value = (float)wide;
    memcpy(narrowed + i, &value, sizeof value);
  }
  return narrowed;
}

static void by_eigh(refresh_pass *j, size_t n, float *pair, double factor, float *work)
{
  const double shift = j->rule->damping == MO_DAMP_ABSOLUTE ? j->rule->eps : 0.0;
  double *matrix = (double *)(void *)work, *values = matrix + n * n;
  if (!mo_root_decompose(n, pair, factor, shift, j->rule->ladder, matrix, values, values + n,
                         j->counts))
    return;
  for (size_t i = 0; j->observed && i < n; i++) observe(j, values[i] - shift, factor);
  damp(n, j->rule, values);
  compose(n, values, j->rule->power, narrow(matrix, n * n), pair);
}

/* The eigenvectors of last time, moved; the first time, and when moving fails, by eigh. */
static bool renew_basis(refresh_pass *j, size_t n, const float *pair, float *basis,
                        double factor, float *work)
{
  const bool first = mo_sum_squares(basis, n * n) == 0.0;
  float *rest = work;
  size_t *order = (size_t *)(void *)mo_scratch_take(&rest, order_floats(n));
  if (!first && mo_basis_move(n, pair, basis, order, rest)) return true;
  if (!first) j->counts->retries++;
  double *matrix = (double *)(void *)work, *values = matrix + n * n;
  if (!mo_root_decompose(n, pair, factor, 0.0, j->rule->ladder, matrix, values, values + n,
                         j->counts))
    return false;
  for (size_t i = 0; i < n * n; i++) basis[i] = (float)matrix[i];
  return true;
}

static void by_qr(refresh_pass *j, size_t n, float *pair, float *basis, double factor,
                  float *work)
{
  const double shift = j->rule->damping == MO_DAMP_ABSOLUTE ? j->rule->eps : 0.0;
  if (!renew_basis(j, n, pair, basis, factor, work)) return;
  double *values = (double *)(void *)mo_scratch_take(&work, 2 * n);
  float *rows = mo_scratch_take(&work, n * n);
  mo_symm_right(MO_LOWER, n, n, pair, n + 1, basis, n, rows, n);
  for (size_t i = 0; i < n; i++) /* Rayleigh quotients */
    values[i] = factor * mo_dot(basis + i * n, rows + i * n, n) + shift;
  for (size_t i = 0; j->observed && i < n; i++) observe(j, values[i] - shift, factor);
  damp(n, j->rule, values);
  memcpy(rows, basis, n * n * sizeof *rows);
  compose(n, values, j->rule->power, rows, pair);
}

/* An estimate from below of the statistics' largest eigenvalue, by power iteration. The start
 * leans to the large rows, unevenly, to be at right angles to no eigenvector of a regular
 * matrix. The estimate is within a third of the truth unless the start has less than 1e-3 of
 * the eigenvector: (2/3)^20 is 3e-4. */
static double largest_eigenvalue(size_t n, const float *pair, float *work)
{
  enum { ITERATIONS = 20 };
  float *x = mo_scratch_take(&work, n), *y = mo_scratch_take(&work, n);
  double norm = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double uneven = fmod(0.6180339887 * (double)i, 1.0);
    x[i] = (float)(0.5 + uneven) * pair[i * (n + 1) + i];
  }
  for (int k = 0; k < ITERATIONS; k++) {
    const double length = sqrt(mo_sum_squares(x, n));
    if (length == 0.0) return 0.0;
    mo_scale(x, n, (float)(1.0 / length));
    mo_symv(n, pair, n + 1, x, y);
    norm = sqrt(mo_sum_squares(y, n));
    memcpy(x, y, n * sizeof *x);
  }
  return norm;
}

/* matrix (lower) = factor * statistics + shift I */
static void load_lower(size_t n, const float *pair, double factor, double shift, float *matrix)
{
  for (size_t i = 0; i < n; i++) {
    mo_copy_scaled(matrix + i * n, pair + i * (n + 1), i + 1, (float)factor);
    matrix[i * n + i] += (float)shift;
  }
}

/* root (upper) = slope * statistics + constant I, by tiles: along whole columns, reading would
 * miss the cache. */
static void start_root(size_t n, double slope, double constant, float *pair)
{
  enum { TILE = 32 };
  const float factor = (float)slope;
  for (size_t row = 0; row < n; row += TILE)
    for (size_t col = row; col < n; col += TILE)
      for (size_t i = row; i < n && i < row + TILE; i++)
        for (size_t k = col > i ? col : i; k < n && k < col + TILE; k++)
          pair[1 + i * (n + 1) + k] = factor * pair[k * (n + 1) + i];
  for (size_t i = 0; i < n; i++) pair[1 + i * (n + 1) + i] += (float)constant;
}

/* The sum of shifted inverses, the hardest one first: if it succeeds, so do the others, whose
 * shifts are larger, and if it fails the root is still what it was. */
static bool sum_fractions(size_t n, const mo_fractions *f, double factor, double damping,
                          float *pair, float *matrix)
{
  for (int term = 0; term < f->count; term++) {
    load_lower(n, pair, factor, damping + f->shift[term], matrix);
    if (!mo_definite_invert_factor(n, matrix, n)) return false;
    if (term == 0) start_root(n, f->linear * factor, f->constant + f->linear * damping, pair);
    mo_definite_add_inverse(n, (float)f->weight[term], matrix, n, pair + 1, n + 1);
  }
  return true;
}

/* The fewest terms that are as exact as if every eigenvalue were known to 4%, or to 11% for the
 * longest sides, where a term is dear. */
static mo_fractions usual_fit(size_t n, double power, double low, double high)
{
  const double limit = fmax((n <= 1024 ? 0.04 : 0.11) * power, 1e-3);
  mo_fractions f = mo_fractions_fit(power, low, high, 3);
  for (int terms = 4; f.error > limit && terms <= MO_MAX_FRACTIONS; terms++)
    f = mo_fractions_fit(power, low, high, terms);
  return f;
}

static void by_cholesky(refresh_pass *j, size_t n, float *pair, double factor, float *work)
{
  enum { TRIES = 3 };
  const mo_root_rule *rule = j->rule;
  float *matrix = mo_scratch_take(&work, n * n);
  const double highest = factor * largest_eigenvalue(n, pair, work);
  double damping =
      rule->damping == MO_DAMP_ABSOLUTE ? 2.0 * rule->eps : rule->eps * highest + 1e-60;
  if (j->observed) {
    float *values = mo_scratch_take(&work, n);
    load_lower(n, pair, factor, 0.0, matrix);
    const bool known = mo_eigenvalues(n, matrix, values, work);
    for (size_t i = 0; known && i < n; i++) observe(j, (double)values[i], factor);
  }
  for (int attempt = 0; attempt < TRIES; attempt++, damping *= 30.0) {
    const double high = fmax(1.5 * highest, damping) + damping;
    const mo_fractions f = rule->terms > 0
                               ? mo_fractions_fit(rule->power, damping, high, rule->terms)
                               : usual_fit(n, rule->power, damping, high);
    if (sum_fractions(n, &f, factor, damping, pair, matrix)) return;
    j->counts->retries++;
  }
  j->counts->fallbacks++;
}

/* order[] = indices by falling estimate; equal ones keep their order. */
static void sort_falling(size_t n, const float *estimate, size_t *order)
{
  for (size_t i = 0; i < n; i++) {
    size_t place = i;
    while (place > 0 && estimate[order[place - 1]] < estimate[i]) {
      order[place] = order[place - 1];
      place--;
    }
    order[place] = i;
  }
}

bool mo_basis_move(size_t n, const float *pair, float *basis, size_t *order, float *work)
{
  float *product = mo_scratch_take(&work, n * n), *sorted = mo_scratch_take(&work, n * n);
  float *estimate = mo_scratch_take(&work, n);
  mo_symm_right(MO_LOWER, n, n, pair, n + 1, basis, n, product, n);
  for (size_t i = 0; i < n; i++) estimate[i] = (float)mo_dot(basis + i * n, product + i * n, n);
  sort_falling(n, estimate, order);
  for (size_t i = 0; i < n; i++)
    memcpy(sorted + i * n, product + order[i] * n, n * sizeof *sorted);
  if (!mo_orthonormal_rows(n, sorted, work)) return false;
  memcpy(basis, sorted, n * n * sizeof *basis);
  return true;
}

typedef struct side_names {
  const char *rms, *min, *max, *condition;
} side_names;

static const side_names raw_names[2] = {
    {"left_rms", "left_min", "left_max", "left_condition"},
    {"right_rms", "right_min", "right_max", "right_condition"}};
static const side_names normalised_names[2] = {
    {"left_normalised_rms", "left_normalised_min", "left_normalised_max",
     "left_normalised_condition"},
    {"right_normalised_rms", "right_normalised_min", "right_normalised_max",
     "right_normalised_condition"}};

/* The RMS is that of the matrix's entries: ||A||_F / n, and ||A||_F^2 is the sum of the squared
 * eigenvalues. A condition that rounding hides is told as the largest that can be seen. */
static void tell(mo_telemetry *telemetry, const side_names *names, const spectrum *s, size_t n)
{
  const double visible = fmax(s->lowest, 1e-16 * s->highest);
  mo_note(telemetry, names->rms, sqrt(s->squares) / (double)n);
  mo_note(telemetry, names->min, s->lowest);
  mo_note(telemetry, names->max, s->highest);
  mo_note(telemetry, names->condition, visible > 0.0 ? s->highest / visible : 1.0);
}

void mo_root_refresh(mo_side side, const mo_root_rule *rule, float *pair, float *basis,
                     float *work, mo_counts *counts, mo_telemetry *telemetry)
{
  const mo_refresh method = mo_refresh_resolve(rule->method, side);
  refresh_pass j = {rule, counts, empty, empty, telemetry != NULL};
  MO_FOR_BLOCKS(side, at)
  {
    float *block = pair + at.offset;
    const double factor = normalisation(at.size, block, rule);
    if (method == MO_REFRESH_CHOLESKY)
      by_cholesky(&j, at.size, block, factor, work);
    else if (method == MO_REFRESH_QR)
      by_qr(&j, at.size, block, basis + side.block * at.start, factor, work);
    else
      by_eigh(&j, at.size, block, factor, work);
  }
  counts->refreshes++;
  if (j.raw.highest >= j.raw.lowest) {
    tell(telemetry, &raw_names[side.right], &j.raw, side.size);
    tell(telemetry, &normalised_names[side.right], &j.normalised, side.size);
  }
}
