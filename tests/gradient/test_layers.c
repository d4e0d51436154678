/* test_layers.c - every layer's backward against finite differences of a slow double-precision
 * version, and its forward against that version.
 *
 * For weights c of our choice, f(x) = sum c_i y_i(x) has the gradient that backward returns for
 * d_y = c. The slow version is differenced centrally in double, so that the error is all ours.
 */
#include "difference.h"

#include <float.h>
#include <stdlib.h>

static double slow_rmsnorm(const problem *p)
{
  double sum = 0;
  for (size_t i = 0; i < p->rows; i++) {
    const double *x = p->x + i * p->width, *c = p->c + i * p->width;
    double squares = 0, dot = 0;
    for (size_t j = 0; j < p->width; j++) squares += x[j] * x[j];
    for (size_t j = 0; j < p->width; j++) dot += c[j] * x[j];
    sum += dot / sqrt(squares / (double)p->width + FLT_EPSILON);
  }
  return sum;
}

static void test_rmsnorm(void **state)
{
  (void)state;
  static problem p;
  static float x[MOST], c[MOST], y[MOST], d[MOST], r[8], add[MOST];
  p.rows = 3;
  p.width = 37;
  fill(&p, x, 111, c, 111, 1);
  rmsnorm_forward(y, r, x, p.rows, p.width, FLT_EPSILON);
  rmsnorm_backward(d, add, c, y, r, p.rows, p.width);
  check_value(&p, slow_rmsnorm, y, 111);
  check_gradient(&p, slow_rmsnorm, d);
}

static double slow_relu2(const problem *p)
{
  double sum = 0;
  for (size_t i = 0; i < p->count; i++) sum += p->x[i] > 0 ? p->c[i] * p->x[i] * p->x[i] : 0;
  return sum;
}

static void test_relu2(void **state)
{
  (void)state;
  static problem p;
  static float x[MOST], d[MOST];
  fill(&p, x, 101, d, 101, 2);
  relu2_forward(x, 101);
  check_value(&p, slow_relu2, x, 101);
  relu2_backward(d, x, 101);
  check_gradient(&p, slow_relu2, d);
}

static double slow_cross_entropy(const problem *p)
{
  double sum = 0;
  for (size_t j = 0; j < p->count; j++) sum += exp(p->x[j]);
  return log(sum) - p->x[p->target];
}

static void test_cross_entropy(void **state)
{
  (void)state;
  static problem p;
  static float x[MOST], c[MOST];
  fill(&p, x, 53, c, 0, 3);
  p.target = 7;
  const double expected = slow_cross_entropy(&p);
  assert_true(fabs(cross_entropy_loss(x, 53, p.target) - expected) < 1e-5);
  assert_true(fabs(cross_entropy_gradient(x, 53, p.target, 1.0f) - expected) < 1e-5);
  check_gradient(&p, slow_cross_entropy, x);
}

static void test_cross_entropy_far_logits(void **state)
{
  (void)state;
  float logits[] = {1e4f, -1e4f, 9990.0f};
  assert_true(fabsf(cross_entropy_loss(logits, 3, 0)) < 1e-4f);
  assert_true(fabsf(cross_entropy_loss(logits, 3, 1) - 2e4f) < 1.0f);
  assert_true(fabsf(cross_entropy_gradient(logits, 3, 1, 2.0f) - 2e4f) < 1.0f);
  assert_true(fabsf(logits[0] - 2.0f) < 1e-3f && fabsf(logits[1] + 2.0f) < 1e-3f);
  logits[2] = NAN;
  assert_true(isnan(cross_entropy_loss(logits, 3, 0)));
}

/* Rotates and normalises heads of width numbers; rows are positions; only q and k: 2 heads. */
static double slow_rope(const problem *p)
{
  const size_t D = p->width, half = D / 2, stride = 3 * p->heads * D;
  double sum = 0;
  for (size_t t = 0; t < p->rows; t++) {
    for (size_t h = 0; h < 2 * p->heads; h++) {
      const double *x = p->x + t * stride + h * D, *c = p->c + t * stride + h * D;
      double squares = 0, dot = 0;
      for (size_t j = 0; j < half; j++) {
        const double a = (double)t * pow(10000.0, -2.0 * (double)j / (double)D);
        const double y1 = x[j] * cos(a) + x[j + half] * sin(a);
        const double y2 = -x[j] * sin(a) + x[j + half] * cos(a);
        squares += y1 * y1 + y2 * y2;
        dot += c[j] * y1 + c[j + half] * y2;
      }
      sum += dot / sqrt(squares / (double)D + FLT_EPSILON);
    }
    for (size_t j = 2 * p->heads * D; j < stride; j++) /* v passes */
      sum += p->c[t * stride + j] * p->x[t * stride + j];
  }
  return sum;
}

static void test_rope_and_norm(void **state)
{
  (void)state;
  static problem p;
  static float x[MOST], d[MOST], r[64], cosines[64], sines[64];
  const size_t rows = 5, heads = 2, D = 6, stride = 3 * heads * D;
  p.rows = rows;
  p.heads = heads;
  p.width = D;
  rope_tables(cosines, sines, rows, D, &(rope_angles){.theta = 10000, .direction = -1});
  fill(&p, x, rows * stride, d, rows * stride, 4);
  const rope_heads all = {2 * heads, D, stride, 0, rows, rows, cosines, sines};
  rope_norm_forward(x, r, &all, FLT_EPSILON);
  check_value(&p, slow_rope, x, rows * stride);
  for (size_t h = 0; h < 2 * heads; h++)
    rope_norm_backward(d + h * D, x + h * D, r + h, cosines, sines, rows, D, stride, 2 * heads);
  check_gradient(&p, slow_rope, d);
}

/* x holds rows of [q | k | v]. */
static const uint32_t *document_starts; /* NULL: one document */

static double slow_attention(const problem *p)
{
  const size_t D = p->width;
  double sum = 0;
  for (size_t i = 0; i < p->rows; i++) {
    double total = 0, dot = 0;
    const double *q = p->x + i * 3 * D;
    for (size_t j = document_starts != NULL ? document_starts[i] : 0; j <= i; j++) {
      const double *k = p->x + j * 3 * D + D, *v = k + D;
      double score = 0, value = 0;
      for (size_t a = 0; a < D; a++) score += q[a] * k[a];
      for (size_t a = 0; a < D; a++) value += p->c[i * D + a] * v[a];
      const double e = exp(score / sqrt((double)D));
      total += e;
      dot += e * value;
    }
    sum += dot / total;
  }
  return sum;
}

static void attention_case(size_t rows, size_t D, const uint32_t *starts, uint64_t seed)
{
  static problem p;
  static float x[MOST], c[MOST], y[MOST], d[MOST], log_sum[256];
  float *scratch = calloc(attention_scratch(rows), sizeof *scratch);
  assert_non_null(scratch);
  document_starts = starts;
  p.rows = rows;
  p.width = D;
  fill(&p, x, rows * 3 * D, c, rows * D, seed);
  for (size_t first = 0; first < rows; first += ATTENTION_BLOCK) {
    const size_t left = rows - first;
    attention_forward(y + first * D, D, log_sum + first, x + first * 3 * D, 3 * D, x + D,
                      x + 2 * D, 3 * D, first, left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK,
                      D, starts != NULL ? starts + first : NULL, scratch);
  }
  check_value(&p, slow_attention, y, rows * D);
  attention_backward(d, d + D, d + 2 * D, c, y, D, log_sum, x, x + D, x + 2 * D, 3 * D, rows, D,
                     false, starts, scratch);
  check_gradient(&p, slow_attention, d);
  free(scratch);
}

static void test_attention(void **state)
{
  (void)state;
  attention_case(1, 4, NULL, 5);
  attention_case(7, 10, NULL, 6);
  attention_case(ATTENTION_BLOCK, 4, NULL, 7);
  attention_case(ATTENTION_BLOCK + 9, 4, NULL, 8);
  attention_case(2 * ATTENTION_BLOCK + 1, 2, NULL, 9);
}

/* Documents that end within a block, at its end, and beyond the next one. */
static void test_attention_within_documents(void **state)
{
  (void)state;
  enum { ROWS = 2 * ATTENTION_BLOCK + 9 };
  static const uint32_t ends[] = {3,
                                  4,
                                  ATTENTION_BLOCK - 1,
                                  ATTENTION_BLOCK,
                                  ATTENTION_BLOCK + 20,
                                  2 * ATTENTION_BLOCK + 2};
  uint32_t starts[ROWS] = {0};
  for (uint32_t i = 1; i < ROWS; i++) {
    starts[i] = starts[i - 1];
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
      if (ends[k] == i) starts[i] = i;
  }
  attention_case(ROWS, 4, starts, 9);
  attention_case(ATTENTION_BLOCK + 9, 4, starts, 10);
  attention_case(7, 10, starts, 11);
  for (uint32_t i = 0; i < ROWS; i++) starts[i] = i; /* every token on its own */
  attention_case(ROWS, 4, starts, 12);
}

/* x is the input (rows x 5) followed by the weight (4 x 5). */
static double slow_linear(const problem *p)
{
  const double *weight = p->x + p->rows * 5;
  double sum = 0;
  for (size_t i = 0; i < p->rows; i++)
    for (size_t o = 0; o < 4; o++)
      for (size_t j = 0; j < 5; j++)
        sum += p->c[i * 4 + o] * p->x[i * 5 + j] * weight[o * 5 + j];
  return sum;
}

static void test_linear(void **state)
{
  (void)state;
  static problem p;
  static float x[MOST], c[MOST], y[MOST], d[MOST], again[MOST];
  p.rows = 3;
  fill(&p, x, 3 * 5 + 4 * 5, c, 3 * 4, 10);
  const float *weight = x + 15;
  linear_forward(y, x, weight, 3, 5, 4);
  check_value(&p, slow_linear, y, 12);
  for (size_t i = 0; i < 3; i++) {
    linear_vector(again + i * 4, x + i * 5, weight, 5, 0, 4, 0);
    linear_vector(again + i * 4, x + i * 5, weight, 5, 1, 3, 1);
  }
  linear_forward_add(y, x, weight, 3, 5, 4);
  for (size_t i = 0; i < 12; i++) {
    const float twice = i % 4 == 1 || i % 4 == 2 ? again[i] : 2 * again[i];
    assert_true(fabsf(y[i] - twice) < 1e-5f);
  }
  linear_backward(d, c, weight, 3, 5, 4);
  for (size_t o = 0; o < 4; o++)
    for (size_t j = 0; j < 5; j++)
      for (size_t i = 0; i < 3; i++) d[15 + o * 5 + j] += c[i * 4 + o] * x[i * 5 + j];
  check_gradient(&p, slow_linear, d);
}

/* x is the table (6 x 3); tokens 4, 1, 4: two rows meet in one entry. */
static double slow_embedding(const problem *p)
{
  static const size_t tokens[] = {4, 1, 4};
  double sum = 0;
  for (size_t i = 0; i < 3; i++)
    for (size_t j = 0; j < 3; j++) sum += p->c[i * 3 + j] * p->x[tokens[i] * 3 + j];
  return sum;
}

static void test_embedding(void **state)
{
  (void)state;
  static problem p;
  static float x[MOST], c[MOST], y[MOST], d[MOST];
  const uint32_t tokens[] = {4, 1, 4};
  fill(&p, x, 18, c, 9, 11);
  embedding_forward(y, x, tokens, 3, 3);
  check_value(&p, slow_embedding, y, 9);
  embedding_backward(d, c, tokens, 3, 3, 0, 2);
  embedding_backward(d, c, tokens, 3, 3, 2, 3);
  check_gradient(&p, slow_embedding, d);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_embedding),
      cmocka_unit_test(test_linear),
      cmocka_unit_test(test_rmsnorm),
      cmocka_unit_test(test_rope_and_norm),
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_attention_within_documents),
      cmocka_unit_test(test_relu2),
      cmocka_unit_test(test_cross_entropy),
      cmocka_unit_test(test_cross_entropy_far_logits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
