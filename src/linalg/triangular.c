/* triangular.c - what BLAS and LAPACK do with a lower triangular matrix. Their routines for
 * other matrices are called from blas.c and lapack.c. */
#include "linalg/triangular.h"

#include <cblas.h>
#include <lapacke.h>

void mo_lower_times(size_t rows, size_t cols, float alpha, const float *l, size_t l_stride,
                    float *x, size_t x_stride)
{
  cblas_strmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)rows,
              (int)cols, alpha, l, (int)l_stride, x, (int)x_stride);
}

void mo_times_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                    size_t x_stride)
{
  cblas_strmm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (int)rows,
              (int)cols, 1.0f, l, (int)l_stride, x, (int)x_stride);
}

void mo_solve_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                    size_t x_stride)
{
  cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows,
              (int)cols, 1.0f, l, (int)l_stride, x, (int)x_stride);
}

/* To LAPACK, which counts along columns, row-major lower is upper. */

bool mo_cholesky(size_t n, float *a, size_t stride)
{
  return LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, a, (lapack_int)stride) == 0;
}

void mo_invert_lower(size_t n, float *l, size_t stride)
{
  LAPACKE_strtri_work(LAPACK_COL_MAJOR, 'U', 'N', (lapack_int)n, l, (lapack_int)stride);
}
