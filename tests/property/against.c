/* against.c - the library against the float64 references. */
#include "property/against.h"

#include "reference/dense.h"

#include <stdlib.h>

double *to_double(const float *values, size_t count)
{
  double *wide = ref_zeros(count);
  for (size_t i = 0; i < count; i++) wide[i] = values[i];
  return wide;
}

double distance(const double *a, const double *b, size_t count)
{
  double *difference = ref_copy(a, count);
  for (size_t i = 0; i < count; i++) difference[i] -= b[i];
  const double norm = ref_norm(difference, count);
  free(difference);
  return norm;
}

void gradient(rig_param *p, size_t rank, uint64_t step)
{
  if (rank == FULL)
    fill_normal(p->grad, p->count, 1, 7, step);
  else
    fill_low_rank(p->grad, p->rows, p->cols, rank, 1000 * step);
}

void give_inputs(const rig_param *p, uint64_t step, ref_optimizer *reference,
                 double *inputs[REF_INPUTS])
{
  const mousse_input *input;
  fill_inputs(p, step);
  for (size_t i = 0; (input = mousse_algorithm_input(p->algorithm, i)) != NULL; i++) {
    const size_t rows = input->rows == MOUSSE_ROWS ? p->rows : p->cols;
    const size_t cols = input->cols == MOUSSE_ROWS ? p->rows : p->cols;
    assert_true(i < REF_INPUTS);
    free(inputs[i]);
    reference->input[i] = inputs[i] = to_double(p->inputs[i], rows * cols);
  }
}

double error_of(const against *pair, const size_t shape[2], uint64_t steps, gradient_rule fill,
                const void *context)
{
  rig r;
  rig_single(&r, NULL, pair->algorithm, shape[0], shape[1], pair->options);
  rig_param *p = &r.params[0];
  ref_optimizer *reference =
      ref_create(pair->reference, shape[0], shape[1], pair->reference_options);
  double *inputs[REF_INPUTS] = {NULL};
  double *start = to_double(p->value, p->count), *expected = ref_copy(start, p->count);
  for (uint64_t t = 1; t <= steps; t++) {
    fill(p, context, t);
    give_inputs(p, t, reference, inputs);
    double *g = to_double(p->grad, p->count);
    ref_step(reference, expected, g);
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    free(g);
  }
  double *found = to_double(p->value, p->count);
  const double moved = distance(expected, start, p->count);
  assert_true(moved > 0);
  const double error = distance(found, expected, p->count) / moved;
  free(found);
  free(expected);
  free(start);
  for (size_t i = 0; i < REF_INPUTS; i++) free(inputs[i]);
  ref_free(reference);
  rig_stop(&r);
  return error;
}

double error_against(const char *algorithm, const size_t shape[2], const char *options,
                     uint64_t steps, gradient_rule fill, const void *context)
{
  const against pair = {algorithm, options, algorithm, options};
  return error_of(&pair, shape, steps, fill, context);
}

static void fill_rank(rig_param *p, const void *rank, uint64_t step)
{
  gradient(p, *(const size_t *)rank, step);
}

size_t check(const char *algorithm, const size_t shape[2], const char *options, size_t rank,
             double tolerance)
{
  const double error = error_against(algorithm, shape, options, STEPS, fill_rank, &rank);
  if (error < tolerance) return 0;
  print_error("%s %zux%zu '%s' rank %zu: error %.2g, allowed %.2g\n", algorithm, shape[0],
              shape[1], options, rank, error, tolerance);
  return 1;
}
