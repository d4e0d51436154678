/* basis.c - eigenvectors of a side's statistics, found and moved along. */
#include "optim/basis.h"

#include "linalg/blas.h"
#include "linalg/complement.h"
#include "linalg/orthonormal.h"
#include "linalg/vector.h"

#include <math.h>
#include <string.h>

const mo_eigh_solver mo_eigh_ladder[] = {mo_eigh_divide, mo_eigh_iterate, NULL};

size_t mo_decompose_work_floats(size_t n)
{
  const size_t rest = mo_larger(mo_eigh_work_doubles(n), mo_complement_work_doubles(n));
  return mo_scratch_floats(2 * (n * n + n + rest));
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

bool mo_decompose(size_t n, const float *pair, double factor, double shift,
                  const mo_eigh_solver *ladder, double *matrix, double *values, double *work,
                  mo_counts *counts)
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

/* Eigenvalues of at most this part of the largest do not count. */
static const double null_part = 1e-5;

/* Eigenvalues (ascending) that count. */
static size_t known_values(size_t n, const double *values)
{
  size_t lost = 0;
  while (lost < n && values[lost] <= null_part * values[n - 1]) lost++;
  return n - lost;
}

bool mo_basis_find(size_t n, const float *pair, const mo_eigh_solver *ladder, float *basis,
                   float *work, mo_counts *counts)
{
  double *matrix = (double *)(void *)work, *values = matrix + n * n, *rest = values + n;
  if (!mo_decompose(n, pair, 1.0, 0.0, ladder, matrix, values, rest, counts)) return false;
  const size_t known = known_values(n, values);
  if (known < n) mo_complement_rows(n, known, matrix, rest);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) basis[i * n + j] = (float)matrix[(n - 1 - i) * n + j];
  return true;
}

size_t mo_order_floats(size_t n)
{
  return mo_scratch_floats(n * sizeof(size_t) / sizeof(float));
}

size_t mo_basis_work_floats(size_t n)
{
  return 2 * mo_scratch_floats(n * n) + mo_scratch_floats(n) +
         mo_scratch_floats(mo_orthonormal_work_floats(n));
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

/* ||A||_F^2 of the symmetric matrix whose lower triangle is stored. */
static double squared_norm(size_t n, const float *pair)
{
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    const float *row = pair + i * (n + 1);
    sum += 2.0 * mo_sum_squares(row, i) + (double)row[i] * (double)row[i];
  }
  return sum;
}

/* B A B^T has the norm of A, so that what is off its diagonal needs no second product. */
static bool near_enough(size_t n, const float *pair, const float *estimate, double tolerance)
{
  if (tolerance <= 0.0) return false;
  const double all = squared_norm(n, pair), off = all - mo_sum_squares(estimate, n);
  return off <= tolerance * tolerance * all;
}

/* product = B A; estimate = the diagonal of B A B^T. */
static void estimate_values(size_t n, const float *pair, const float *basis, float *product,
                            float *estimate)
{
  mo_symm_right(MO_LOWER, n, n, pair, n + 1, basis, n, product, n);
  for (size_t i = 0; i < n; i++) estimate[i] = (float)mo_dot(basis + i * n, product + i * n, n);
}

bool mo_basis_near(size_t n, const float *pair, double tolerance, const float *basis,
                   float *values, float *work)
{
  if (tolerance <= 0.0 || mo_sum_squares(basis, n * n) == 0.0) return false;
  estimate_values(n, pair, basis, work, values);
  return near_enough(n, pair, values, tolerance);
}

void mo_basis_order(size_t n, const float *pair, const float *basis, size_t *order, float *work)
{
  float *estimate = work + n * n;
  estimate_values(n, pair, basis, work, estimate);
  sort_falling(n, estimate, order);
}

void mo_basis_places(size_t n, const float *pair, const float *basis, size_t *order,
                     float *work)
{
  float *estimate = work + n * n;
  estimate_values(n, pair, basis, work, estimate);
  const double least = null_part * (double)mo_largest(estimate, n);
  for (size_t i = 0; i < n; i++)
    if ((double)estimate[i] <= least) estimate[i] = 0.0f;
  sort_falling(n, estimate, order);
}

mo_basis_result mo_basis_move(size_t n, const float *pair, double tolerance, float *basis,
                              size_t *order, float *work)
{
  float *product = mo_scratch_take(&work, n * n), *sorted = mo_scratch_take(&work, n * n);
  float *estimate = mo_scratch_take(&work, n);
  estimate_values(n, pair, basis, product, estimate);
  if (near_enough(n, pair, estimate, tolerance)) return MO_BASIS_KEPT;
  if (order != NULL) sort_falling(n, estimate, order);
  for (size_t i = 0; i < n; i++)
    memcpy(sorted + i * n, product + (order != NULL ? order[i] : i) * n, n * sizeof *sorted);
  if (!mo_orthonormal_rows(n, sorted, work)) return MO_BASIS_FAILED;
  memcpy(basis, sorted, n * n * sizeof *basis);
  return MO_BASIS_MOVED;
}
