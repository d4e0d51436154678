/* blas.c - the only file that calls CBLAS. */
#include "linalg/blas.h"

#include "base/fence.h"
#include "base/simd.h"
#include "linalg/blas_core.h"
#include "linalg/block_gemm.h"
#include "linalg/cut.h"
#include "linalg/lanes.h"

#include <cblas.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

/* Present in OpenBLAS only; another vendor's library links without them. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));
extern char *openblas_get_config(void) __attribute__((weak));
extern int openblas_get_parallel(void) __attribute__((weak));

/* OpenBLAS's thread count belongs to the whole process, so what guards it must too: the first
 * one in saves the host's setting, the last one out restores it. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int inside = 0, host_threads = 1;

static void enter_process(void)
{
  pthread_mutex_lock(&guard);
  if (inside++ == 0) {
    host_threads = openblas_get_num_threads();
    if (host_threads != 1) openblas_set_num_threads(1);
  }
  pthread_mutex_unlock(&guard);
}

static void leave_process(void)
{
  pthread_mutex_lock(&guard);
  if (--inside == 0 && host_threads != 1) openblas_set_num_threads(host_threads);
  pthread_mutex_unlock(&guard);
}

/* Built with OpenMP, it takes OpenMP's setting instead, of which every thread has its own. */
static _Thread_local int inside_here = 0, host_threads_here = 1;

static void enter_thread(void)
{
  if (inside_here++ > 0) return;
  host_threads_here = omp_get_max_threads();
  omp_set_num_threads(1);
}

static void leave_thread(void)
{
  if (--inside_here == 0) omp_set_num_threads(host_threads_here);
}

static bool is_built_with_openmp(void)
{
  enum { OPENMP = 2 }; /* OPENBLAS_OPENMP in its header, which another vendor's cblas.h lacks */
  return openblas_get_parallel != NULL && openblas_get_parallel() == OPENMP;
}

void mo_blas_enter(void)
{
  if (is_built_with_openmp())
    enter_thread();
  else if (openblas_set_num_threads != NULL && openblas_get_num_threads != NULL)
    enter_process();
}

void mo_blas_leave(void)
{
  if (is_built_with_openmp())
    leave_thread();
  else if (openblas_set_num_threads != NULL && openblas_get_num_threads != NULL)
    leave_process();
}

/* Built for one thread, it shares its buffers among all that call it, and computes something else
 * then: one at a time. */
static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;

static bool is_built_for_one_thread(void)
{
  return openblas_get_parallel != NULL && openblas_get_parallel() == 0;
}

void mo_blas_begin(void)
{
  if (is_built_for_one_thread()) pthread_mutex_lock(&alone);
}

void mo_blas_end(void)
{
  if (is_built_for_one_thread()) pthread_mutex_unlock(&alone);
}

const char *mo_blas_description(void)
{
  return openblas_get_config != NULL ? openblas_get_config() : "CBLAS";
}

bool mo_blas_fits_memory(int threads)
{
  const size_t per_thread =
      ((size_t)128 << 20) + (1 << 16); /* its buffer, and what malloc adds */
  const size_t bytes = per_thread * (size_t)(threads > 0 ? threads : 1);
  void *probe = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return false;
  munmap(probe, bytes);
  return true;
}

static enum CBLAS_TRANSPOSE cblas_transpose(mo_transpose transpose)
{
  return transpose == MO_PLAIN ? CblasNoTrans : CblasTrans;
}

static enum CBLAS_UPLO cblas_triangle(mo_triangle triangle)
{
  return triangle == MO_LOWER ? CblasLower : CblasUpper;
}

/* What the BLAS is about to read or write, to its last element (base/fence.h). */
static void reach(size_t rows, size_t cols, const float *x, size_t stride)
{
  if (rows > 0 && cols > 0) mo_reach(x, ((rows - 1) * stride + cols) * sizeof *x);
}

static void reach_turned(mo_transpose transpose, size_t rows, size_t cols, const float *x,
                         size_t stride)
{
  reach(transpose == MO_PLAIN ? rows : cols, transpose == MO_PLAIN ? cols : rows, x, stride);
}

void mo_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows, size_t cols,
             size_t inner, float alpha, const float *a, size_t a_stride, const float *b,
             size_t b_stride, float beta, float *c, size_t c_stride)
{
  if (rows == 0 || cols == 0) return;
  reach_turned(transpose_a, rows, inner, a, a_stride);
  reach_turned(transpose_b, inner, cols, b, b_stride);
  reach(rows, cols, c, c_stride);
  if (mo_cut_gemm(transpose_a, transpose_b, rows, cols, inner, alpha, a, a_stride, b, b_stride,
                  beta, c, c_stride))
    return;
  if (mo_blas_better_core() != NULL) { /* even large products are three times as fast by ours */
    mo_block_gemm(transpose_a, transpose_b, rows, cols, inner, MO_NO_DIAGONAL, alpha, a,
                  a_stride, b, b_stride, beta, c, c_stride);
    return;
  }
  mo_blas_begin();
  cblas_sgemm(CblasRowMajor, cblas_transpose(transpose_a), cblas_transpose(transpose_b),
              (int)rows, (int)cols, (int)inner, alpha, a, (int)a_stride, b, (int)b_stride, beta,
              c, (int)c_stride);
  mo_blas_end();
}

void mo_syrk(mo_triangle triangle, mo_transpose transpose_a, size_t n, size_t k, float alpha,
             const float *a, size_t a_stride, float beta, float *c, size_t c_stride)
{
  if (n == 0) return;
  reach_turned(transpose_a, n, k, a, a_stride);
  reach(n, n, c, c_stride);
  if (mo_cut_syrk(triangle, transpose_a, n, k, alpha, a, a_stride, beta, c, c_stride)) return;
  mo_blas_begin();
  cblas_ssyrk(CblasRowMajor, cblas_triangle(triangle), cblas_transpose(transpose_a), (int)n,
              (int)k, alpha, a, (int)a_stride, beta, c, (int)c_stride);
  mo_blas_end();
}

void mo_remove_rows(size_t n, size_t k, const double *rows, double *c)
{
  if (n == 0 || k == 0) return;
  mo_reach(rows, n * k * sizeof *rows);
  mo_reach(c, n * n * sizeof *c);
  mo_blas_begin();
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)k, -1.0, rows, (int)n, 1.0, c,
              (int)n);
  mo_blas_end();
}

void mo_symm_left(mo_triangle triangle, size_t rows, size_t cols, const float *s,
                  size_t s_stride, const float *x, size_t x_stride, float *c, size_t c_stride)
{
  reach(rows, rows, s, s_stride);
  reach(rows, cols, x, x_stride);
  reach(rows, cols, c, c_stride);
  if (mo_cut_symm(true, triangle, rows, cols, s, s_stride, x, x_stride, c, c_stride)) return;
  mo_blas_begin();
  cblas_ssymm(CblasRowMajor, CblasLeft, cblas_triangle(triangle), (int)rows, (int)cols, 1.0f, s,
              (int)s_stride, x, (int)x_stride, 0.0f, c, (int)c_stride);
  mo_blas_end();
}

void mo_symm_right(mo_triangle triangle, size_t rows, size_t cols, const float *s,
                   size_t s_stride, const float *x, size_t x_stride, float *c, size_t c_stride)
{
  reach(cols, cols, s, s_stride);
  reach(rows, cols, x, x_stride);
  reach(rows, cols, c, c_stride);
  if (mo_cut_symm(false, triangle, rows, cols, s, s_stride, x, x_stride, c, c_stride)) return;
  mo_blas_begin();
  cblas_ssymm(CblasRowMajor, CblasRight, cblas_triangle(triangle), (int)rows, (int)cols, 1.0f,
              s, (int)s_stride, x, (int)x_stride, 0.0f, c, (int)c_stride);
  mo_blas_end();
}

/* The lower triangle of op(A) * op(B): two triangles of half the size and the square between
 * them, so that most of the work is in large products. */
void mo_lower_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t n,
                      size_t inner, const float *a, size_t a_stride, const float *b,
                      size_t b_stride, float *c, size_t c_stride)
{
  enum { LEAF = 64, LANES = 16 }; /* a smaller leaf wastes BLAS's packing, a larger one flops */
  if (mo_cut_lower_product(transpose_a, transpose_b, n, inner, a, a_stride, b, b_stride, c,
                           c_stride))
    return;
  if (n <= LEAF) {
    mo_gemm(transpose_a, transpose_b, n, n, inner, 1.0f, a, a_stride, b, b_stride, 0.0f, c,
            c_stride);
    return;
  }
  const size_t half = (n / 2 + LANES - 1) / LANES * LANES;
  const float *a_low = transpose_a == MO_PLAIN ? a + half * a_stride : a + half;
  const float *b_right = transpose_b == MO_PLAIN ? b + half : b + half * b_stride;
  float *c_low = c + half * c_stride;
  mo_lower_product(transpose_a, transpose_b, half, inner, a, a_stride, b, b_stride, c,
                   c_stride);
  mo_gemm(transpose_a, transpose_b, n - half, half, inner, 1.0f, a_low, a_stride, b, b_stride,
          0.0f, c_low, c_stride);
  mo_lower_product(transpose_a, transpose_b, n - half, inner, a_low, a_stride, b_right,
                   b_stride, c_low + half, c_stride);
}

void mo_symmetric_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t n,
                          size_t inner, const float *a, size_t a_stride, const float *b,
                          size_t b_stride, float *c)
{
  mo_lower_product(transpose_a, transpose_b, n, inner, a, a_stride, b, b_stride, c, n);
  mo_mirror(n, c, n);
}

enum { TILE = 32 };

/* A whole tile, eight by eight in registers: its rows may lie a power of two apart, and would
 * push each other out of the cache before they are used up. */
MO_CLONES(static void mirror_whole_tile(const float *from, float *to, size_t stride))
{
  for (size_t i = 0; i < TILE; i += MO_LANES)
    for (size_t j = 0; j < TILE; j += MO_LANES) {
      mo_lanes block[MO_LANES];
      for (size_t k = 0; k < MO_LANES; k++)
        mo_lanes_load(&block[k], from + (i + k) * stride + j);
      mo_lanes_transpose(block);
      for (size_t k = 0; k < MO_LANES; k++)
        mo_lanes_store(to + (j + k) * stride + i, &block[k]);
    }
}

/* A tile of rows x cols, transposed into its mirror image. */
static void mirror_tile(size_t rows, size_t cols, const float *from, float *to, size_t stride)
{
  if (rows == TILE && cols == TILE) {
    mirror_whole_tile(from, to, stride);
    return;
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) to[j * stride + i] = from[i * stride + j];
}

static void mirror(mo_triangle known, size_t n, float *c, size_t stride)
{
  for (size_t row = 0; row < n; row += TILE) {
    const size_t rows = n - row < TILE ? n - row : TILE;
    for (size_t col = 0; col < row; col += TILE) {
      float *lower = c + row * stride + col, *upper = c + col * stride + row;
      if (known == MO_LOWER)
        mirror_tile(rows, TILE, lower, upper, stride);
      else
        mirror_tile(TILE, rows, upper, lower, stride);
    }
    for (size_t i = row; i < row + rows; i++)
      for (size_t j = row; j < i; j++) {
        float *lower = c + i * stride + j, *upper = c + j * stride + i;
        if (known == MO_LOWER)
          *upper = *lower;
        else
          *lower = *upper;
      }
  }
}

void mo_mirror(size_t n, float *c, size_t c_stride)
{
  mirror(MO_LOWER, n, c, c_stride);
}

void mo_mirror_upper(size_t n, float *c, size_t c_stride)
{
  mirror(MO_UPPER, n, c, c_stride);
}

void mo_symv(size_t n, const float *s, size_t s_stride, const float *x, float *y)
{
  reach(n, n, s, s_stride);
  mo_blas_begin();
  cblas_ssymv(CblasRowMajor, CblasLower, (int)n, 1.0f, s, (int)s_stride, x, 1, 0.0f, y, 1);
  mo_blas_end();
}

void mo_gemv(mo_transpose transpose_a, size_t rows, size_t cols, const float *a,
             size_t a_stride, const float *x, float beta, float *y)
{
  if (rows == 0 || cols == 0) return;
  reach(rows, cols, a, a_stride);
  mo_blas_begin();
  cblas_sgemv(CblasRowMajor, cblas_transpose(transpose_a), (int)rows, (int)cols, 1.0f, a,
              (int)a_stride, x, 1, beta, y, 1);
  mo_blas_end();
}

void mo_lower_times(size_t rows, size_t cols, float alpha, const float *l, size_t l_stride,
                    float *x, size_t x_stride)
{
  reach(rows, rows, l, l_stride);
  reach(rows, cols, x, x_stride);
  if (mo_cut_lower_times(rows, cols, alpha, l, l_stride, x, x_stride)) return;
  mo_blas_begin();
  cblas_strmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)rows,
              (int)cols, alpha, l, (int)l_stride, x, (int)x_stride);
  mo_blas_end();
}

void mo_times_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                    size_t x_stride)
{
  reach(cols, cols, l, l_stride);
  reach(rows, cols, x, x_stride);
  if (mo_cut_times_lower(rows, cols, l, l_stride, x, x_stride)) return;
  mo_blas_begin();
  cblas_strmm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (int)rows,
              (int)cols, 1.0f, l, (int)l_stride, x, (int)x_stride);
  mo_blas_end();
}

void mo_solve_lower(size_t rows, size_t cols, const float *l, size_t l_stride, float *x,
                    size_t x_stride)
{
  reach(cols, cols, l, l_stride);
  reach(rows, cols, x, x_stride);
  if (mo_cut_solve_lower(rows, cols, l, l_stride, x, x_stride)) return;
  mo_blas_begin();
  cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows,
              (int)cols, 1.0f, l, (int)l_stride, x, (int)x_stride);
  mo_blas_end();
}
