/* limits.c - see limits.h. */
#include "property/limits.h"

#include "reference/dense.h"

#include <stdlib.h>

const size_t limit_shapes[LIMIT_SHAPES][2] = {{20, 20}, {12, 24}, {24, 12}};

void limit_step(rig *r)
{
  if (mousse_step(r->opt) != MOUSSE_OK) fail_msg("%s", mousse_error(r->opt));
}

float *limit_read(rig *r, const char *name, size_t *count)
{
  *count = mousse_state_count(r->opt, "p0", name);
  float *data = malloc(*count * sizeof *data);
  assert_non_null(data);
  assert_int_equal(mousse_state_read(r->opt, "p0", name, data, *count), MOUSSE_OK);
  return data;
}

void limit_write(rig *r, const char *name, const float *data, size_t count)
{
  assert_int_equal(mousse_state_write(r->opt, "p0", name, data, count), MOUSSE_OK);
}

void limit_fill(rig *r, const char *name, float value)
{
  size_t count = 0;
  float *data = limit_read(r, name, &count);
  for (size_t i = 0; i < count; i++) data[i] = value;
  limit_write(r, name, data, count);
  free(data);
}

static void write_identity(rig *r, const char *name, size_t n)
{
  float *data = calloc(n * n, sizeof *data);
  assert_non_null(data);
  for (size_t i = 0; i < n; i++) data[i * n + i] = 1;
  limit_write(r, name, data, n * n);
  free(data);
}

void limit_no_basis(rig *r)
{
  write_identity(r, "left_basis", r->params[0].rows);
  write_identity(r, "right_basis", r->params[0].cols);
}

/* The statistics of one side, whole and in double, from the lower triangle of its pair. */
double *limit_statistics(rig *r, const char *name, size_t n)
{
  size_t count = 0;
  float *pair = limit_read(r, name, &count);
  double *s = ref_zeros(n * n);
  assert_int_equal(count, n * (n + 1));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) s[i * n + j] = s[j * n + i] = (double)pair[i * (n + 1) + j];
  free(pair);
  return s;
}

/* lambda_i = q_i S q_i^T for the rows q_i of the basis. */
double *limit_eigenvalues(rig *r, const char *statistics_name, const char *basis_name, size_t n)
{
  size_t count = 0;
  double *s = limit_statistics(r, statistics_name, n), *values = ref_zeros(n);
  float *q = limit_read(r, basis_name, &count);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      for (size_t k = 0; k < n; k++)
        values[i] += (double)q[i * n + j] * s[j * n + k] * (double)q[i * n + k];
  free(q);
  free(s);
  return values;
}

/* A step of length 1: where it went. */
double *limit_direction(rig *r)
{
  const rig_param *p = &r->params[0];
  double *before = to_double(p->value, p->count);
  limit_step(r);
  double *moved = to_double(p->value, p->count);
  for (size_t i = 0; i < p->count; i++) moved[i] -= before[i];
  const double length = ref_norm(moved, p->count);
  assert_true(length > 0);
  ref_scale(moved, p->count, 1 / length);
  free(before);
  return moved;
}

void limit_assert_direction(rig *a, rig *b, double tolerance, const char *what)
{
  const size_t count = a->params[0].count;
  double *x = limit_direction(a), *y = limit_direction(b);
  const double part = distance(x, y, count);
  if (!(part < tolerance))
    fail_msg("%s, %zux%zu: %.2g apart", what, a->params[0].rows, a->params[0].cols, part);
  free(y);
  free(x);
}

/* |W - expected| relative to |expected - start|. */
void limit_assert_near(const rig *r, const double *expected, const double *start,
                       double tolerance, const char *what)
{
  const rig_param *p = &r->params[0];
  double *found = to_double(p->value, p->count);
  const double part = distance(found, expected, p->count) / distance(expected, start, p->count);
  if (!(part < tolerance)) fail_msg("%s, %zux%zu: %.2g apart", what, p->rows, p->cols, part);
  free(found);
}
