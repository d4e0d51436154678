/* lapack.c - the only file that calls LAPACK.
 *
 * Row-major data is given to LAPACK as column-major data of the transpose: a lower triangle is
 * an upper one there, and eigenvectors come out as rows. Nothing is copied for it.
 */
#include "linalg/lapack.h"

#include "base/fence.h"
#include "linalg/blas.h"
#include "linalg/vector.h"

#include <lapacke.h>
#include <math.h>
#include <stdint.h>

static bool all_finite(const double *x, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

static bool all_finite_float(const float *x, size_t count)
{
  return mo_largest(x, count) >= 0.0f;
}

static bool lower_finite(size_t n, const double *a)
{
  for (size_t i = 0; i < n; i++)
    if (!all_finite(a + i * n, i + 1)) return false;
  return true;
}

enum { QR_BLOCK = 64 }; /* LAPACK's usual block size */

/* Integers of LAPACK live in the tail of a workspace of doubles: two to a double. */
static size_t doubles_for_integers(size_t count)
{
  return (count * sizeof(lapack_int) + sizeof(double) - 1) / sizeof(double);
}

/* LAPACK counts its workspace in its own integers, which end at 2^31 - 1 with most builds: a
 * size beyond them would arrive as a negative one. */
static bool countable(size_t length)
{
  /* NOLINTNEXTLINE(misc-redundant-expression) - a LAPACK of 64-bit integers has another size */
  return length <= (size_t)INT32_MAX || sizeof(lapack_int) > sizeof(int32_t);
}

static size_t divide_floats(size_t n)
{
  return 1 + 6 * n + 2 * n * n;
}

size_t mo_eigh_work_doubles(size_t n)
{
  return divide_floats(n) + doubles_for_integers(3 + 5 * n);
}

bool mo_eigh_divide(size_t n, double *a, double *values, double *work)
{
  const size_t length = divide_floats(n);
  if (!countable(length) || !lower_finite(n, a)) return false;
  lapack_int *integers = (lapack_int *)(void *)(work + length);
  mo_reach(integers, (3 + 5 * n) * sizeof *integers);
  mo_blas_begin();
  const lapack_int info =
      LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)n, a, (lapack_int)n, values,
                          work, (lapack_int)length, integers, (lapack_int)(3 + 5 * n));
  mo_blas_end();
  return info == 0 && all_finite(values, n) && all_finite(a, n * n);
}

bool mo_eigh_iterate(size_t n, double *a, double *values, double *work)
{
  const size_t most = (QR_BLOCK + 2) * n, given = divide_floats(n); /* it has no use for more */
  const size_t length = most < given ? most : given;
  if (!countable(length) || !lower_finite(n, a)) return false;
  mo_reach(work, length * sizeof *work);
  mo_blas_begin();
  const lapack_int info = LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)n, a,
                                             (lapack_int)n, values, work, (lapack_int)length);
  mo_blas_end();
  return info == 0 && all_finite(values, n) && all_finite(a, n * n);
}

static bool lower_finite_float(size_t n, const float *a)
{
  for (size_t i = 0; i < n; i++)
    if (!all_finite_float(a + i * n, i + 1)) return false;
  return true;
}

size_t mo_eigenvalues_work_floats(size_t n)
{
  return 1 + 2 * n + QR_BLOCK * n + 1;
}

bool mo_eigenvalues(size_t n, float *a, float *values, float *work)
{
  const size_t length = mo_eigenvalues_work_floats(n) - 1;
  if (!countable(length) || !lower_finite_float(n, a)) return false;
  lapack_int *integer = (lapack_int *)(void *)(work + length);
  mo_reach(integer, sizeof *integer);
  mo_blas_begin();
  const lapack_int info =
      LAPACKE_ssyevd_work(LAPACK_COL_MAJOR, 'N', 'U', (lapack_int)n, a, (lapack_int)n, values,
                          work, (lapack_int)length, integer, 1);
  mo_blas_end();
  return info == 0 && all_finite_float(values, n);
}

bool mo_cholesky(size_t n, float *a, size_t stride)
{
  mo_blas_begin();
  const lapack_int info =
      LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, a, (lapack_int)stride);
  mo_blas_end();
  return info == 0;
}

void mo_invert_lower(size_t n, float *l, size_t stride)
{
  mo_blas_begin();
  LAPACKE_strtri_work(LAPACK_COL_MAJOR, 'U', 'N', (lapack_int)n, l, (lapack_int)stride);
  mo_blas_end();
}

/* dgesdd with JOBZ = 'S', k = min(rows, cols): 4 k^2 + 7 k by its documentation, plus the
 * blocked QR of the longer side. */
static size_t svd_doubles(size_t rows, size_t cols)
{
  const size_t k = rows < cols ? rows : cols, longer = rows < cols ? cols : rows;
  return 4 * k * k + 7 * k + QR_BLOCK * (longer + k);
}

size_t mo_polar_work_doubles(size_t rows, size_t cols)
{
  const size_t k = rows < cols ? rows : cols;
  return rows * cols + rows * k + k * cols + k + svd_doubles(rows, cols) +
         doubles_for_integers(8 * k);
}

bool mo_polar(size_t rows, size_t cols, float *x, double *work)
{
  const size_t k = rows < cols ? rows : cols, length = svd_doubles(rows, cols);
  if (!countable(length) || !all_finite_float(x, rows * cols)) return false;
  double *a = work, *left = a + rows * cols; /* row-major rows x k */
  double *right = left + rows * k;           /* row-major k x cols */
  double *values = right + k * cols, *rest = values + k;
  lapack_int *integers = (lapack_int *)(void *)(rest + length);
  for (size_t i = 0; i < rows * cols; i++) a[i] = (double)x[i];
  mo_reach(integers, 8 * k * sizeof *integers);

  /* Column-major, this is the transpose: its left factor is our right one. */
  mo_blas_begin();
  const lapack_int info = LAPACKE_dgesdd_work(
      LAPACK_COL_MAJOR, 'S', (lapack_int)cols, (lapack_int)rows, a, (lapack_int)cols, values,
      right, (lapack_int)cols, left, (lapack_int)k, rest, (lapack_int)length, integers);
  mo_blas_end();
  if (info != 0 || !all_finite(values, k) || !all_finite(left, rows * k) ||
      !all_finite(right, k * cols))
    return false;

  size_t rank = 0;
  while (rank < k && values[rank] > 1e-6 * values[0]) rank++;
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < cols; j++) {
      double sum = 0.0;
      for (size_t r = 0; r < rank; r++) sum += left[i * k + r] * right[r * cols + j];
      x[i * cols + j] = (float)sum;
    }
  }
  return true;
}
