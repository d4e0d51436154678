/* kronecker.c - Kronecker-factored curvature: statistics, roots, products. */
#include "optim/kronecker.h"

#include "linalg/vector.h"

#include <math.h>
#include <string.h>

mo_side mo_side_make(mo_shape shape, bool right, size_t block)
{
  const size_t size = right ? shape.cols : shape.rows;
  return (mo_side){right, size, block == 0 || block > size ? size : block};
}

/* Block after block: its place along the side, its size, its place in the arrays. */
typedef struct cursor {
  size_t start, size, offset;
} cursor;

static cursor first_block(mo_side side)
{
  return (cursor){0, side.block, 0};
}

static bool within(mo_side side, const cursor *at)
{
  return at->start < side.size;
}

static void advance(mo_side side, cursor *at)
{
  at->offset += at->size * at->size;
  at->start += at->size;
  const size_t left = side.size - at->start;
  at->size = left < side.block ? left : side.block;
}

#define FOR_BLOCKS(side, at)                                                                   \
  for (cursor at = first_block(side); within(side, &at); advance(side, &at))

size_t mo_side_floats(mo_side side)
{
  size_t floats = 0;
  FOR_BLOCKS(side, at) floats += at.size * at.size;
  return floats;
}

void mo_side_average(mo_side side, mo_shape shape, const float *grad, double beta,
                     float *statistics)
{
  const float keep = (float)beta, add = (float)(1.0 - beta);
  FOR_BLOCKS(side, at)
  {
    float *block = statistics + at.offset;
    if (side.right)
      mo_syrk(MO_TRANSPOSED, at.size, shape.rows, add, grad + at.start, shape.cols, keep, block,
              at.size);
    else
      mo_syrk(MO_PLAIN, at.size, shape.cols, add, grad + at.start * shape.cols, shape.cols,
              keep, block, at.size);
  }
}

void mo_side_multiply(mo_side side, mo_shape shape, const float *root, const float *x, float *y)
{
  const size_t cols = shape.cols;
  FOR_BLOCKS(side, at)
  {
    const float *block = root + at.offset;
    if (side.right)
      mo_gemm(MO_PLAIN, MO_PLAIN, shape.rows, at.size, at.size, 1.0f, x + at.start, cols, block,
              at.size, 0.0f, y + at.start, cols);
    else
      mo_gemm(MO_PLAIN, MO_PLAIN, at.size, cols, at.size, 1.0f, block, at.size,
              x + at.start * cols, cols, 0.0f, y + at.start * cols, cols);
  }
}

void mo_side_identity(mo_side side, float *root)
{
  memset(root, 0, mo_side_floats(side) * sizeof *root);
  FOR_BLOCKS(side, at)
  for (size_t i = 0; i < at.size; i++) root[at.offset + i * at.size + i] = 1.0f;
}

const mo_eigh_solver mo_eigh_ladder[] = {mo_eigh_divide, mo_eigh_iterate, NULL};

/* matrix (double), eigenvalues, LAPACK's own */
static size_t refresh_doubles(size_t n)
{
  return n * n + n + mo_eigh_work_doubles(n);
}

size_t mo_side_refresh_floats(mo_side side)
{
  return side.size == 0 ? 0 : mo_scratch_floats(2 * refresh_doubles(side.block));
}

/* The factor that takes stored statistics to normalised ones. In double: with gradients of
 * 1e38 the true statistics are far beyond float. */
static double normalisation(size_t n, const float *statistics, const mo_root_rule *rule)
{
  const double factor = rule->correction / ((double)rule->gain * (double)rule->gain);
  if (!rule->trace_norm) return factor;
  return factor * (double)n / (factor * mo_trace(statistics, n) + rule->eps);
}

static void load_lower(size_t n, const float *statistics, double factor, double shift,
                       double *matrix)
{
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) matrix[i * n + j] = factor * (double)statistics[i * n + j];
    matrix[i * n + i] += shift;
  }
}

static void damp(size_t n, const mo_root_rule *rule, double *values)
{
  const double lowest = values[0], highest = values[n - 1];
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

/* root = Q diag(values^-power) Q^T, as a symmetric product of rows scaled by
 * values^(-power/2); `rows` of the decomposition become floats in their own memory. */
static void compose(size_t n, const double *values, double power, double *rows, float *root)
{
  float *scaled = (float *)(void *)rows;
  for (size_t i = 0; i < n; i++) {
    const double weight = pow(values[i], -0.5 * power);
    for (size_t j = 0; j < n; j++) {
      const float entry = (float)(weight * rows[i * n + j]);
      memcpy(scaled + i * n + j, &entry, sizeof entry); /* never ahead of what is read */
    }
  }
  mo_syrk(MO_TRANSPOSED, n, n, 1.0f, scaled, n, 0.0f, root, n);
  mo_mirror(n, root, n);
}

/* Names of what is told about a side, raw and after normalisation. */
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

typedef struct spectrum {
  double lowest, highest, squares; /* over all blocks */
} spectrum;

static void gather(spectrum *s, const double *values, size_t n, double factor)
{
  s->lowest = fmin(s->lowest, factor * values[0]);
  s->highest = fmax(s->highest, factor * values[n - 1]);
  for (size_t i = 0; i < n; i++) s->squares += factor * factor * values[i] * values[i];
}

/* The RMS is that of the matrix's entries: ||A||_F / n, and ||A||_F^2 is the sum of the squared
 * eigenvalues. */
static void tell(mo_telemetry *telemetry, const side_names *names, const spectrum *s, size_t n)
{
  mo_note(telemetry, names->rms, sqrt(s->squares) / (double)n);
  mo_note(telemetry, names->min, s->lowest);
  mo_note(telemetry, names->max, s->highest);
  mo_note(telemetry, names->condition,
          s->lowest > 0.0 ? s->highest / s->lowest : (double)INFINITY);
}

/* Decomposes one block by the first solver that succeeds. */
bool mo_side_decompose(size_t n, const float *statistics, double factor, double shift,
                       const mo_eigh_solver *ladder, double *matrix, double *values,
                       double *work, mo_counts *counts)
{
  for (size_t rung = 0; ladder[rung] != NULL; rung++) {
    if (rung == 1) counts->retries++;
    load_lower(n, statistics, factor, shift, matrix);
    if (ladder[rung](n, matrix, values, work)) return true;
  }
  counts->kept++;
  return false;
}

void mo_side_refresh(mo_side side, const float *statistics, const mo_root_rule *rule,
                     const mo_eigh_solver *ladder, float *root, float *work, mo_counts *counts,
                     mo_telemetry *telemetry)
{
  spectrum raw = {INFINITY, -INFINITY, 0.0}, normalised = raw;
  const double raw_unit = 1.0 / ((double)rule->gain * (double)rule->gain);
  const double shift = rule->damping == MO_DAMP_ABSOLUTE ? rule->eps : 0.0;
  FOR_BLOCKS(side, at)
  {
    double *matrix = (double *)(void *)work, *values = matrix + at.size * at.size;
    const double factor = normalisation(at.size, statistics + at.offset, rule);
    if (!mo_side_decompose(at.size, statistics + at.offset, factor, shift, ladder, matrix,
                           values, values + at.size, counts))
      continue;
    if (telemetry != NULL) {
      for (size_t i = 0; i < at.size; i++) values[i] -= shift;
      gather(&normalised, values, at.size, 1.0);
      gather(&raw, values, at.size, raw_unit / factor);
      for (size_t i = 0; i < at.size; i++) values[i] += shift;
    }
    damp(at.size, rule, values);
    compose(at.size, values, rule->power, matrix, root + at.offset);
  }
  counts->refreshes++;
  if (telemetry != NULL && raw.highest >= raw.lowest) {
    tell(telemetry, &raw_names[side.right], &raw, side.size);
    tell(telemetry, &normalised_names[side.right], &normalised, side.size);
  }
}
