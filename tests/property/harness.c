/* harness.c - optimizers with weights and gradients for the black-box tests. */
#include "property/harness.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fill_normal(float *values, size_t count, double deviation, uint64_t seed, uint64_t stream)
{
  mo_random_fill(values, count, deviation, seed, stream);
}

void fill_low_rank(float *values, size_t rows, size_t cols, size_t rank, uint64_t seed)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      double sum = 0;
      for (size_t k = 0; k < rank; k++)
        sum += mo_random_normal(seed, 2 * k, i) * mo_random_normal(seed, 2 * k + 1, j);
      values[i * cols + j] = (float)sum;
    }
}

void rig_start(rig *r, const mousse_env *env)
{
  *r = (rig){0};
  assert_int_equal(mousse_create(env, &r->opt), MOUSSE_OK);
}

/* The next parameter with its arrays, not yet known to the optimizer. */
rig_param *rig_new_param(rig *r, size_t rows, size_t cols)
{
  assert_true(r->count < RIG_MAX_PARAMS);
  rig_param *p = &r->params[r->count];
  snprintf(p->name, sizeof p->name, "p%zu", r->count);
  p->rows = rows;
  p->cols = cols;
  p->count = rows * cols;
  p->value = malloc(p->count * sizeof *p->value);
  p->grad = malloc(p->count * sizeof *p->grad);
  assert_true(p->value != NULL && p->grad != NULL);
  fill_normal(p->value, p->count, 1 / sqrt((double)cols), 1, r->count);
  fill_normal(p->grad, p->count, 1, 2, r->count);
  r->count++;
  return p;
}

/* I + x x^T, where x is normal. */
static void fill_covariance(float *values, size_t n, uint64_t seed)
{
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      values[i * n + j] = (float)((i == j ? 1.0 : 0.0) +
                                  mo_random_normal(seed, 0, i) * mo_random_normal(seed, 0, j));
}

/* Covariances, or the normal numbers of another gradient. */
static void fill_input(const mousse_input *input, size_t rows, size_t cols, uint64_t seed,
                       float *values)
{
  const size_t m = input->rows == MOUSSE_ROWS ? rows : cols;
  const size_t n = input->cols == MOUSSE_ROWS ? rows : cols;
  if (input->rows == input->cols)
    fill_covariance(values, m, 5 + seed);
  else
    fill_normal(values, m * n, 1, 4, seed);
}

void fill_inputs(const rig_param *p, uint64_t step)
{
  const mousse_input *input;
  for (size_t i = 0;
       p->algorithm != NULL && (input = mousse_algorithm_input(p->algorithm, i)) != NULL; i++)
    if (p->inputs[i] != NULL)
      fill_input(input, p->rows, p->cols, i + RIG_MAX_INPUTS * step, p->inputs[i]);
}

void bind_inputs(mousse_optimizer *opt, const char *algorithm, const char *name, size_t rows,
                 size_t cols, float *inputs[RIG_MAX_INPUTS])
{
  const mousse_input *input;
  for (size_t i = 0; (input = mousse_algorithm_input(algorithm, i)) != NULL; i++) {
    assert_true(i < RIG_MAX_INPUTS);
    const size_t m = input->rows == MOUSSE_ROWS ? rows : cols;
    const size_t n = input->cols == MOUSSE_ROWS ? rows : cols;
    inputs[i] = malloc(m * n * sizeof(float));
    assert_non_null(inputs[i]);
    fill_input(input, rows, cols, i, inputs[i]);
    assert_int_equal(mousse_bind_input(opt, name, input->name, inputs[i]), MOUSSE_OK);
  }
}

mousse_status rig_try_add(rig *r, const char *algorithm, size_t rows, size_t cols)
{
  rig_param *p = rig_new_param(r, rows, cols);
  p->algorithm = algorithm;
  const mousse_status s = mousse_add_group(r->opt, algorithm, &p->group);
  if (s != MOUSSE_OK) return s;
  const mousse_status added =
      mousse_add_param(r->opt, p->group, p->name, rows, cols, p->value, p->grad);
  if (added == MOUSSE_OK) bind_inputs(r->opt, algorithm, p->name, rows, cols, p->inputs);
  return added;
}

mousse_status rig_set_all(rig *r, int group, const char *options)
{
  char text[512];
  snprintf(text, sizeof text, "%s", options != NULL ? options : "");
  for (char *rest = text, *pair; (pair = strtok_r(rest, " ", &rest)) != NULL;) {
    char *equals = strchr(pair, '=');
    assert_non_null(equals);
    *equals = '\0';
    const mousse_status s = mousse_set_text(r->opt, group, pair, equals + 1);
    if (s != MOUSSE_OK) return s;
  }
  return MOUSSE_OK;
}

rig_param *rig_add(rig *r, const char *algorithm, size_t rows, size_t cols, const char *options)
{
  mousse_status s = rig_try_add(r, algorithm, rows, cols);
  rig_param *p = &r->params[r->count - 1];
  if (s == MOUSSE_OK) s = rig_set_all(r, p->group, options);
  if (s != MOUSSE_OK) fail_msg("%s %s: %s", algorithm, options, mousse_error(r->opt));
  return p;
}

void rig_prepare(rig *r)
{
  if (mousse_prepare(r->opt) != MOUSSE_OK) fail_msg("prepare: %s", mousse_error(r->opt));
}

void rig_single(rig *r, const mousse_env *env, const char *algorithm, size_t rows, size_t cols,
                const char *options)
{
  rig_start(r, env);
  rig_add(r, algorithm, rows, cols, options);
  rig_prepare(r);
}

void rig_gradients(rig *r, uint64_t step)
{
  for (size_t i = 0; i < r->count; i++) {
    fill_normal(r->params[i].grad, r->params[i].count, 1, 100 + step, i);
    fill_inputs(&r->params[i], step);
  }
}

void rig_step(rig *r, uint64_t step)
{
  rig_gradients(r, step);
  if (mousse_step(r->opt) != MOUSSE_OK) fail_msg("step: %s", mousse_error(r->opt));
}

void rig_stop(rig *r)
{
  mousse_destroy(r->opt);
  for (size_t i = 0; i < r->count; i++) {
    free(r->params[i].value);
    free(r->params[i].grad);
    for (size_t k = 0; k < RIG_MAX_INPUTS; k++) free(r->params[i].inputs[k]);
  }
  *r = (rig){0};
}

float *rig_weights(const rig *r)
{
  size_t count = 0, at = 0;
  for (size_t i = 0; i < r->count; i++) count += r->params[i].count;
  float *weights = malloc(count * sizeof *weights);
  assert_non_null(weights);
  for (size_t i = 0; i < r->count; at += r->params[i++].count)
    memcpy(weights + at, r->params[i].value, r->params[i].count * sizeof *weights);
  return weights;
}

bool rig_weights_are(const rig *r, const float *weights)
{
  for (size_t i = 0; i < r->count; weights += r->params[i++].count)
    if (memcmp(weights, r->params[i].value, r->params[i].count * sizeof *weights) != 0)
      return false;
  return true;
}

bool rig_weights_finite(const rig *r)
{
  for (size_t i = 0; i < r->count; i++)
    for (size_t j = 0; j < r->params[i].count; j++)
      if (!isfinite(r->params[i].value[j])) return false;
  return true;
}

void assert_same_weights(const rig *found, const rig *expected)
{
  float *weights = rig_weights(expected);
  const bool same = rig_weights_are(found, weights);
  free(weights);
  assert_true(same);
}

bool first_step_is_idle(const char *algorithm)
{
  return strcmp(algorithm, "soap") == 0 || strcmp(algorithm, "klshampoo") == 0 ||
         strcmp(algorithm, "klsoap") == 0;
}

void assert_error_mentions(const mousse_optimizer *opt, const char *word)
{
  const char *text = mousse_error(opt);
  assert_non_null(text);
  if (strstr(text, word) == NULL) fail_msg("'%s' is not in the error: %s", word, text);
}

blob blob_new(void)
{
  return (blob){.fail_after = SIZE_MAX};
}

void blob_free(blob *b)
{
  free(b->data);
  *b = blob_new();
}

void blob_rewind(blob *b)
{
  b->position = 0;
}

int blob_write(void *user, const void *data, size_t bytes)
{
  blob *b = user;
  if (b->fail_after != SIZE_MAX && b->fail_after-- == 0) return 1;
  if (b->size + bytes > b->capacity) {
    b->capacity = 2 * (b->size + bytes);
    b->data = realloc(b->data, b->capacity);
    assert_non_null(b->data);
  }
  memcpy(b->data + b->size, data, bytes);
  b->size += bytes;
  return 0;
}

int blob_read(void *user, void *data, size_t bytes)
{
  blob *b = user;
  if (b->fail_after != SIZE_MAX && b->fail_after-- == 0) return 1;
  if (bytes > b->size - b->position) return 1;
  memcpy(data, b->data + b->position, bytes);
  b->position += bytes;
  return 0;
}

void rig_save(rig *r, blob *b)
{
  *b = blob_new();
  if (mousse_save(r->opt, blob_write, b) != MOUSSE_OK)
    fail_msg("save: %s", mousse_error(r->opt));
}

void rig_load(rig *r, blob *b)
{
  blob_rewind(b);
  if (mousse_load(r->opt, blob_read, b) != MOUSSE_OK)
    fail_msg("load: %s", mousse_error(r->opt));
}
