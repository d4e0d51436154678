/* complement.c - a pivoted Cholesky factorization of a projection.
 *
 * P = I - V^T V is removed from in panels: within one, a vector is P's row less what the panel's
 * earlier vectors took from it; at its end all of them are removed from P in one product. The
 * diagonal alone, which says which axis is next, is kept up to date all the time.
 */
#include "linalg/complement.h"

#include "linalg/blas.h"

#include <math.h>
#include <string.h>

enum { PANEL = 64 };

size_t mo_complement_work_doubles(size_t n)
{
  return n * n + n;
}

static size_t next_axis(size_t n, const double *diagonal)
{
  double most = 0.0;
  size_t axis = 0;
  for (size_t j = 0; j < n; j++)
    if (diagonal[j] > most) most = diagonal[j];
  while (axis + 1 < n && diagonal[axis] < most / 2.0) axis++;
  return axis;
}

/* row = row `axis` of a symmetric matrix of which the lower triangle is stored. */
static void read_row(size_t n, const double *lower, size_t axis, double *row)
{
  memcpy(row, lower + axis * n, axis * sizeof *row);
  for (size_t i = axis; i < n; i++) row[i] = lower[i * n + axis];
}

/* The next vector, into `row`; the panel's `earlier` ones follow it. */
static void next_row(size_t n, const double *projection, double *diagonal, size_t earlier,
                     double *row)
{
  const size_t axis = next_axis(n, diagonal);
  read_row(n, projection, axis, row);
  for (size_t k = 1; k <= earlier; k++) {
    const double part = row[k * n + axis];
    for (size_t i = 0; i < n; i++) row[i] -= part * row[k * n + i];
  }
  const double length = row[axis] > 0.0 ? sqrt(row[axis]) : 0.0;
  for (size_t i = 0; i < n; i++) {
    row[i] = length > 0.0 ? row[i] / length : 0.0;
    diagonal[i] -= row[i] * row[i];
  }
}

void mo_complement_rows(size_t n, size_t known, double *rows, double *work)
{
  double *projection = work, *diagonal = work + n * n;
  memset(projection, 0, n * n * sizeof *projection);
  for (size_t i = 0; i < n; i++) projection[i * (n + 1)] = 1.0;
  mo_remove_rows(n, known, rows + (n - known) * n, projection);
  for (size_t i = 0; i < n; i++) diagonal[i] = projection[i * (n + 1)];
  for (size_t left = n - known; left > 0;) {
    const size_t count = left < PANEL ? left : PANEL;
    for (size_t k = 0; k < count; k++)
      next_row(n, projection, diagonal, k, rows + (left - 1 - k) * n);
    left -= count;
    if (left > 0) mo_remove_rows(n, count, rows + left * n, projection);
  }
}
