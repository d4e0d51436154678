/* eigenbasis.c - the eigenvectors of both sides' statistics, as a space to work in. */
#include "optim/eigenbasis.h"

#include "base/team.h"
#include "linalg/vector.h"

#include <string.h>

enum { LEFT, RIGHT, LEFT_BASIS, RIGHT_BASIS };

void mo_eigenbasis_layout(mo_side left, mo_side right, mo_state_array *arrays)
{
  arrays[LEFT] = (mo_state_array){"left", mo_pair_floats(left), 2, left};
  arrays[RIGHT] = (mo_state_array){"right", mo_pair_floats(right), 2, right};
  arrays[LEFT_BASIS] = (mo_state_array){"left_basis", left.size * left.size, 0, {0}};
  arrays[RIGHT_BASIS] = (mo_state_array){"right_basis", right.size * right.size, 0, {0}};
}

mo_eigenbasis mo_eigenbasis_in(mo_shape shape, mo_side left, mo_side right,
                               float *const *arrays)
{
  return (mo_eigenbasis){
      shape, left, right, arrays[LEFT], arrays[RIGHT], arrays[LEFT_BASIS], arrays[RIGHT_BASIS]};
}

void mo_eigenbasis_rotate_left(const mo_eigenbasis *b, mo_transpose into, const float *x,
                               float *y)
{
  const size_t rows = b->shape.rows, cols = b->shape.cols;
  mo_gemm(into, MO_PLAIN, rows, cols, rows, 1.0f, b->left_basis, rows, x, cols, 0.0f, y, cols);
}

void mo_eigenbasis_rotate_right(const mo_eigenbasis *b, mo_transpose into, const float *x,
                                float *y)
{
  const size_t rows = b->shape.rows, cols = b->shape.cols;
  mo_gemm(MO_PLAIN, into == MO_PLAIN ? MO_TRANSPOSED : MO_PLAIN, rows, cols, cols, 1.0f, x,
          cols, b->right_basis, cols, 0.0f, y, cols);
}

float *mo_eigenbasis_rotate(const mo_eigenbasis *b, mo_transpose into, const float *x,
                            float *half, float *y)
{
  const bool left = b->left.size > 0, right = b->right.size > 0;
  float *only = x == y ? half : y; /* where the result of one product can go */
  if (left && right) {
    mo_eigenbasis_rotate_left(b, into, x, half);
    mo_eigenbasis_rotate_right(b, into, half, y);
    return y;
  }
  if (left) mo_eigenbasis_rotate_left(b, into, x, only);
  if (right) mo_eigenbasis_rotate_right(b, into, x, only);
  if (left || right) return only;
  if (x != y) memcpy(y, x, mo_elements(b->shape) * sizeof *y);
  return y;
}

void mo_eigenbasis_average(const mo_eigenbasis *b, const float *grad, double beta,
                           uint64_t step)
{
  mo_side_average(b->left, b->shape, grad, beta, step, b->left_pair);
  mo_side_average(b->right, b->shape, grad, beta, step, b->right_pair);
}

static size_t side_floats(mo_side side)
{
  const size_t n = side.size;
  return mo_order_floats(n) + mo_larger(mo_basis_work_floats(n), mo_decompose_work_floats(n));
}

size_t mo_eigenbasis_work_floats(mo_side left, mo_side right)
{
  return mo_larger(side_floats(left), side_floats(right));
}

/* Rows (left) or columns (right) into the new order. */
static void permute(mo_side side, mo_shape shape, const size_t *order, float *x, float *copy)
{
  memcpy(copy, x, mo_elements(shape) * sizeof *copy);
  for (size_t i = 0; i < shape.rows; i++)
    for (size_t j = 0; j < shape.cols; j++)
      x[i * shape.cols + j] =
          side.right ? copy[i * shape.cols + order[j]] : copy[order[i] * shape.cols + j];
}

/* False: it is near enough where it is. Without a basis and without a solver, I is one. */
static bool find_side(mo_side side, const float *pair, float *basis, double tolerance,
                      float *work, mo_counts *counts)
{
  const size_t n = side.size;
  float *rest = work, *values = mo_scratch_take(&rest, n);
  if (mo_basis_near(n, pair, tolerance, basis, values, rest)) return false;
  if (!mo_basis_find(n, pair, NULL, basis, work, counts) && mo_sum_squares(basis, n * n) == 0.0)
    for (size_t i = 0; i < n; i++) basis[i * n + i] = 1.0f;
  return true;
}

/* A new basis goes by falling eigenvalue, and so does what follows the old one. */
static bool replace_side(const mo_eigenbasis *b, mo_side side, const float *pair, float *basis,
                         double tolerance, float *follows, float *copy, float *work,
                         mo_counts *counts)
{
  size_t *order = (size_t *)(void *)mo_scratch_take(&work, mo_order_floats(side.size));
  const uint64_t failures = counts->fallbacks;
  mo_basis_order(side.size, pair, basis, order, work);
  if (!find_side(side, pair, basis, tolerance, work, counts)) return false;
  if (counts->fallbacks == failures) permute(side, b->shape, order, follows, copy);
  return true;
}

/* What does not follow is kept for a vector's place: the new one of its rank takes it. */
static bool place_side(mo_side side, const float *pair, float *basis, double tolerance,
                       float *work, mo_counts *counts)
{
  const size_t n = side.size;
  size_t *order = (size_t *)(void *)mo_scratch_take(&work, mo_order_floats(n));
  const uint64_t failures = counts->fallbacks;
  mo_basis_places(n, pair, basis, order, work);
  if (!find_side(side, pair, basis, tolerance, work, counts)) return false;
  if (counts->fallbacks > failures) return true;
  memcpy(work, basis, n * n * sizeof *basis);
  for (size_t i = 0; i < n; i++) memcpy(basis + order[i] * n, work + i * n, n * sizeof *basis);
  return true;
}

static bool move_side(const mo_eigenbasis *b, bool sorted, mo_side side, const float *pair,
                      float *basis, double tolerance, float *follows, float *copy, float *work,
                      mo_counts *counts)
{
  size_t *order = (size_t *)(void *)mo_scratch_take(&work, mo_order_floats(side.size));
  switch (mo_basis_move(side.size, pair, tolerance, basis, sorted ? order : NULL, work)) {
  case MO_BASIS_MOVED:
    if (sorted && follows != NULL) permute(side, b->shape, order, follows, copy);
    return true;
  case MO_BASIS_FAILED:
    counts->fallbacks++;
    return true;
  default:
    return false;
  }
}

static void renew_side(const mo_eigenbasis *b, mo_renewal how, mo_side side, const float *pair,
                       float *basis, double tolerance, float *follows, float *copy, float *work,
                       mo_counts *counts)
{
  if (side.size == 0) return;
  if (how == MO_BASIS_REPLACE && follows != NULL)
    counts->refreshes +=
        replace_side(b, side, pair, basis, tolerance, follows, copy, work, counts);
  else if (how == MO_BASIS_PLACE)
    counts->refreshes += place_side(side, pair, basis, tolerance, work, counts);
  else if (how == MO_BASIS_FIND || how == MO_BASIS_REPLACE)
    counts->refreshes += find_side(side, pair, basis, tolerance, work, counts);
  else
    counts->refreshes += move_side(b, how == MO_BASIS_MOVE, side, pair, basis, tolerance,
                                   follows, copy, work, counts);
}

void mo_eigenbasis_renew(const mo_eigenbasis *b, mo_renewal left, mo_renewal right,
                         double tolerance, float *follows, float *copy, float *work,
                         mo_counts *counts)
{
  mo_team_hurry();
  renew_side(b, left, b->left, b->left_pair, b->left_basis, tolerance, follows, copy, work,
             counts);
  renew_side(b, right, b->right, b->right_pair, b->right_basis, tolerance, follows, copy, work,
             counts);
}
