/* test_family_layers.c - the layers of the GPT-2 and Llama families, as test_layers.c does it. */
#include "difference.h"

#include <string.h>

enum { ROWS = 3, WIDTH = 37 };

/* What every case needs: x and the weights c of the objective, our y and gradient d. */
static problem p;
static float x[MOST], c[MOST], y[MOST], d[MOST];

static void start(size_t count, size_t outputs, uint64_t seed)
{
  p.rows = ROWS;
  p.width = WIDTH;
  fill(&p, x, count, c, outputs, seed);
  memset(d, 0, sizeof d);
}

static double slow_layernorm(const problem *q)
{
  double sum = 0;
  for (size_t i = 0; i < q->rows; i++) {
    const double *row = q->x + i * q->width, *k = q->c + i * q->width;
    double mean = 0, variance = 0;
    for (size_t j = 0; j < q->width; j++) mean += row[j] / (double)q->width;
    for (size_t j = 0; j < q->width; j++)
      variance += (row[j] - mean) * (row[j] - mean) / (double)q->width;
    for (size_t j = 0; j < q->width; j++) sum += k[j] * (row[j] - mean) / sqrt(variance + 0.01);
  }
  return sum;
}

static void test_layernorm(void **state)
{
  (void)state;
  static float r[ROWS], add[MOST];
  start(ROWS * WIDTH, ROWS * WIDTH, 21);
  layernorm_forward(y, r, x, ROWS, WIDTH, 0.01f);
  check_value(&p, slow_layernorm, y, ROWS * WIDTH);
  layernorm_backward(d, add, c, y, r, ROWS, WIDTH);
  check_gradient(&p, slow_layernorm, d);
}

/* x: the input, then the gain, then the bias. */
static double slow_gain(const problem *q)
{
  const double *gain = q->x + ROWS * WIDTH, *bias = gain + WIDTH;
  double sum = 0;
  for (size_t i = 0; i < ROWS * WIDTH; i++)
    sum += q->c[i] * (q->x[i] * gain[i % WIDTH] + bias[i % WIDTH]);
  return sum;
}

static void test_gain(void **state)
{
  (void)state;
  const float *gain = x + ROWS * WIDTH, *bias = gain + WIDTH;
  float *d_gain = d + ROWS * WIDTH;
  start((ROWS + 2) * WIDTH, ROWS * WIDTH, 22);
  gain_forward(y, x, gain, bias, ROWS, WIDTH);
  check_value(&p, slow_gain, y, ROWS * WIDTH);
  gain_backward(d, d_gain, d_gain + WIDTH, c, x, gain, ROWS, WIDTH);
  check_gradient(&p, slow_gain, d);
  gain_forward(y, x, gain, NULL, ROWS, WIDTH); /* no bias: the same without it */
  bias_forward(y, bias, ROWS, WIDTH);
  check_value(&p, slow_gain, y, ROWS * WIDTH);
  memcpy(d, c, ROWS * WIDTH * sizeof *d); /* in place, and without d_bias */
  gain_backward(d, d_gain, NULL, d, x, gain, ROWS, WIDTH);
  check_gradient(&p, slow_gain, d);
}

/* x: the input, then the bias. */
static double slow_bias(const problem *q)
{
  double sum = 0;
  for (size_t i = 0; i < ROWS * WIDTH; i++)
    sum += q->c[i] * (q->x[i] + q->x[ROWS * WIDTH + i % WIDTH]);
  return sum;
}

static void test_bias(void **state)
{
  (void)state;
  start((ROWS + 1) * WIDTH, ROWS * WIDTH, 23);
  memcpy(y, x, ROWS * WIDTH * sizeof *y);
  bias_forward(y, x + ROWS * WIDTH, ROWS, WIDTH);
  bias_forward(y, NULL, ROWS, WIDTH);
  check_value(&p, slow_bias, y, ROWS * WIDTH);
  memcpy(d, c, ROWS * WIDTH * sizeof *d);
  bias_backward(d + ROWS * WIDTH, c, ROWS, WIDTH);
  bias_backward(NULL, c, ROWS, WIDTH);
  check_gradient(&p, slow_bias, d);
}

static double slow_gelu(const problem *q)
{
  double sum = 0;
  for (size_t i = 0; i < q->count; i++)
    sum += q->c[i] * 0.5 * q->x[i] * (1 + erf(q->x[i] / sqrt(2)));
  return sum;
}

static double slow_gelu_tanh(const problem *q)
{
  double sum = 0;
  for (size_t i = 0; i < q->count; i++) {
    const double u = sqrt(2 / acos(-1)) * (q->x[i] + 0.044715 * pow(q->x[i], 3));
    sum += q->c[i] * 0.5 * q->x[i] * (1 + tanh(u));
  }
  return sum;
}

static void test_gelu(void **state)
{
  (void)state;
  start(101, 101, 24);
  gelu_forward(y, x, 101);
  check_value(&p, slow_gelu, y, 101);
  memcpy(d, c, 101 * sizeof *d);
  gelu_backward(d, x, 101);
  check_gradient(&p, slow_gelu, d);
  gelu_tanh_forward(y, x, 101);
  check_value(&p, slow_gelu_tanh, y, 101);
  memcpy(d, c, 101 * sizeof *d);
  gelu_tanh_backward(d, x, 101);
  check_gradient(&p, slow_gelu_tanh, d);
}

/* Far out both are x or 0, and nothing overflows on the way. */
static void test_far_inputs(void **state)
{
  (void)state;
  const float far[] = {-1e4f, 1e4f, -30, 30};
  float out[4], gate[] = {-1e4f, 1e4f, 2, 3};
  for (int exact = 0; exact < 2; exact++) {
    (exact ? gelu_forward : gelu_tanh_forward)(out, far, 4);
    for (size_t i = 0; i < 4; i++)
      assert_true(fabsf(out[i] - (far[i] > 0 ? far[i] : 0)) < 1e-3f);
  }
  swiglu_forward(out, gate, 1, 2);
  assert_true(fabsf(out[0]) < 1e-3f && fabsf(out[1] - 3e4f) < 1e-1f);
}

static double slow_swiglu(const problem *q)
{
  double sum = 0;
  for (size_t i = 0; i < ROWS; i++)
    for (size_t j = 0; j < WIDTH; j++) {
      const double g = q->x[i * 2 * WIDTH + j], u = q->x[i * 2 * WIDTH + WIDTH + j];
      sum += q->c[i * WIDTH + j] * g / (1 + exp(-g)) * u;
    }
  return sum;
}

static void test_swiglu(void **state)
{
  (void)state;
  start(ROWS * 2 * WIDTH, ROWS * WIDTH, 25);
  swiglu_forward(y, x, ROWS, WIDTH);
  check_value(&p, slow_swiglu, y, ROWS * WIDTH);
  memset(y, 0, ROWS * WIDTH * sizeof *y);
  swiglu_backward(d, y, c, x, ROWS, WIDTH);
  check_gradient(&p, slow_swiglu, d);
  check_value(&p, slow_swiglu, y, ROWS * WIDTH); /* once more */
}

/* Positions 0 and 1 of two sequences; x is the table (2 x 5), then the rows (4 x 5). */
static double slow_position(const problem *q)
{
  double sum = 0;
  for (size_t i = 0; i < 20; i++) sum += q->c[i] * (q->x[10 + i] + q->x[i % 10]);
  return sum;
}

static void test_position_embedding(void **state)
{
  (void)state;
  start(30, 20, 26);
  memcpy(y, x + 10, 20 * sizeof *y);
  position_embedding_forward(y, x, 0, 3, 2, 5); /* cut within a sequence, as tiles are */
  position_embedding_forward(y + 15, x, 3, 1, 2, 5);
  check_value(&p, slow_position, y, 20);
  memcpy(d + 10, c, 20 * sizeof *d);
  position_embedding_backward(d, c, 4, 2, 5, 0, 2);
  position_embedding_backward(d, c, 4, 2, 5, 2, 5);
  check_gradient(&p, slow_position, d);
}

enum { HEADS = 3, SIZE = 6, STRIDE = 4 * SIZE, LENGTH = 5 };

/* Turns by +a after an optional gain of the normalised head: x is LENGTH rows of STRIDE, of
 * which the first HEADS heads are turned, then the gains of q (2 heads) and of k (1). */
static double slow_turn(const problem *q, int gains)
{
  double sum = 0;
  for (size_t t = 0; t < LENGTH; t++)
    for (size_t h = 0; h < 4; h++) {
      const double *in = q->x + t * STRIDE + h * SIZE, *k = q->c + t * STRIDE + h * SIZE;
      const double *gain = q->x + LENGTH * STRIDE + (h < 2 ? 0 : SIZE);
      double z[SIZE], squares = 0;
      for (size_t j = 0; j < SIZE; j++) squares += in[j] * in[j] / SIZE;
      for (size_t j = 0; j < SIZE; j++)
        z[j] = gains && h < HEADS ? in[j] * gain[j] / sqrt(squares + 0.01) : in[j];
      for (size_t j = 0; j < SIZE / 2; j++) {
        const double a = h < HEADS ? (double)t * pow(100.0, -2.0 * (double)j / SIZE) : 0;
        sum += k[j] * (z[j] * cos(a) - z[j + SIZE / 2] * sin(a));
        sum += k[j + SIZE / 2] * (z[j] * sin(a) + z[j + SIZE / 2] * cos(a));
      }
    }
  return sum;
}

static double slow_rope(const problem *q)
{
  return slow_turn(q, 0);
}

static double slow_qk_gain(const problem *q)
{
  return slow_turn(q, 1);
}

static float cosines[64], sines[64];

static rope_heads heads_at(size_t first, size_t rows)
{
  rope_tables(cosines, sines, LENGTH, SIZE, &(rope_angles){.theta = 100, .direction = 1});
  return (rope_heads){HEADS, SIZE, STRIDE, first, rows, LENGTH, cosines, sines};
}

static void test_rope(void **state)
{
  (void)state;
  start(LENGTH * STRIDE, LENGTH * STRIDE, 27);
  const rope_heads some = heads_at(0, 2), rest = heads_at(2, LENGTH - 2);
  rope_forward(x, &some);
  rope_forward(x + 2 * STRIDE, &rest);
  check_value(&p, slow_rope, x, LENGTH * STRIDE);
  memcpy(d, c, LENGTH * STRIDE * sizeof *d);
  for (size_t h = 0; h < HEADS; h++)
    rope_backward(d + h * SIZE, cosines, sines, LENGTH, SIZE, STRIDE);
  check_gradient(&p, slow_rope, d);
}

static void test_qk_gain(void **state)
{
  (void)state;
  static float normal[LENGTH * HEADS * SIZE], r[LENGTH * HEADS];
  const size_t rows = LENGTH * STRIDE;
  start(rows + 2 * SIZE, rows, 28);
  const rope_heads all = heads_at(0, LENGTH);
  const float *gains = x + rows;
  qk_gain_forward(x, normal, r, gains, gains + SIZE, 2, &all, 0.01f);
  check_value(&p, slow_qk_gain, x, rows);
  memcpy(d, c, rows * sizeof *d);
  for (size_t h = 0; h < HEADS; h++) {
    const size_t kind = h < 2 ? 0 : SIZE;
    qk_gain_backward(d + h * SIZE, d + rows + kind, normal + h * SIZE, HEADS * SIZE, r + h,
                     HEADS, gains + kind, cosines, sines, LENGTH, SIZE, STRIDE);
  }
  check_gradient(&p, slow_qk_gain, d);
}

/* The published rule for long contexts, at its two ends and in its middle. */
static void test_scaled_angles(void **state)
{
  (void)state;
  const double pi = acos(-1);
  float plain[4], none[4], cosine[4], sine[4];
  /* heads of 8: frequencies 1, 1/10, 1/100, 1/1000: 1000, 100, 10 and 1 radians in the context */
  rope_angles a = {.theta = 1e4, .direction = -1, .factor = 8};
  rope_tables(cosine, sine, 1, 8, &a);
  assert_true(cosine[3] > 0.99f);
  float table[8], sines8[8];
  rope_tables(table, sines8, 2, 8, &a);
  assert_true(fabs(sines8[4] - sin(1.0 / 8)) < 1e-6);
  a.context = 1000;
  a.low = 5 / pi; /* 10 radians are 5 / pi turns: the slowest two are below or at it */
  a.high = 100 / pi;
  rope_tables(table, sines8, 2, 8, &a);
  rope_tables(plain, none, 1, 8, &a);
  const double turns = 50 / pi, smooth = (turns - a.low) / (a.high - a.low);
  assert_true(fabs(sines8[4] - sin(1.0)) < 1e-6);
  assert_true(fabs(sines8[5] - sin(0.1 * (smooth + (1 - smooth) / 8))) < 1e-6);
  assert_true(fabs(sines8[7] - sin(0.001 / 8)) < 1e-8);
}

enum { RANK = 2, OUTPUTS = 3, SPACE = 4 }; /* rows of y are further apart than they are long */

/* x: the input, then A, then B. */
static double slow_lora(const problem *q)
{
  const double *a = q->x + ROWS * WIDTH, *b = a + RANK * WIDTH;
  double sum = 0;
  for (size_t i = 0; i < ROWS; i++)
    for (size_t o = 0; o < OUTPUTS; o++)
      for (size_t r = 0; r < RANK; r++)
        for (size_t j = 0; j < WIDTH; j++)
          sum += q->c[i * SPACE + o] * 0.7 * b[o * RANK + r] * a[r * WIDTH + j] *
                 q->x[i * WIDTH + j];
  return sum;
}

static void test_lora(void **state)
{
  (void)state;
  static float low[ROWS * RANK], d_low[ROWS * RANK];
  const lora_weights w = {.a = x + ROWS * WIDTH,
                          .b = x + (ROWS + RANK) * WIDTH,
                          .inputs = WIDTH,
                          .outputs = OUTPUTS,
                          .rank = RANK,
                          .scale = 0.7f};
  float *d_a = d + ROWS * WIDTH, *d_b = d_a + RANK * WIDTH;
  start((ROWS + RANK) * WIDTH + OUTPUTS * RANK, ROWS * SPACE, 31);
  for (size_t i = 0; i < ROWS; i++) p.c[i * SPACE + OUTPUTS] = c[i * SPACE + OUTPUTS] = 0;
  memset(y, 0, ROWS * SPACE * sizeof *y);
  lora_forward(y, SPACE, low, x, &w, ROWS);
  check_value(&p, slow_lora, y, ROWS * SPACE);
  lora_backward_low(d_low, c, SPACE, &w, ROWS);
  memset(d, 0, sizeof d);
  lora_backward(d, d_low, &w, ROWS);
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t r = 0; r < RANK; r++)
      for (size_t j = 0; j < WIDTH; j++)
        d_a[r * WIDTH + j] += d_low[i * RANK + r] * x[i * WIDTH + j];
    for (size_t o = 0; o < OUTPUTS; o++)
      for (size_t r = 0; r < RANK; r++)
        d_b[o * RANK + r] += c[i * SPACE + o] * low[i * RANK + r];
  }
  check_gradient(&p, slow_lora, d);
}

/* What is merged into a matrix is what was beside it. */
static void test_merged_lora(void **state)
{
  (void)state;
  static float low[ROWS * RANK], weight[OUTPUTS * WIDTH], merged[ROWS * OUTPUTS];
  const lora_weights w = {x + ROWS * WIDTH, x + (ROWS + RANK) * WIDTH, WIDTH, OUTPUTS, RANK, 3};
  start((ROWS + RANK) * WIDTH + OUTPUTS * RANK, OUTPUTS * WIDTH, 32);
  memcpy(weight, c, sizeof weight);
  linear_forward(y, x, weight, ROWS, WIDTH, OUTPUTS);
  lora_forward(y, OUTPUTS, low, x, &w, ROWS);
  lora_merge(weight, &w);
  linear_forward(merged, x, weight, ROWS, WIDTH, OUTPUTS);
  for (size_t i = 0; i < ROWS * OUTPUTS; i++)
    assert_true(fabsf(merged[i] - y[i]) < 1e-4f * (1 + fabsf(y[i])));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lora),
      cmocka_unit_test(test_merged_lora),
      cmocka_unit_test(test_layernorm),
      cmocka_unit_test(test_gain),
      cmocka_unit_test(test_bias),
      cmocka_unit_test(test_gelu),
      cmocka_unit_test(test_swiglu),
      cmocka_unit_test(test_far_inputs),
      cmocka_unit_test(test_rope),
      cmocka_unit_test(test_qk_gain),
      cmocka_unit_test(test_position_embedding),
      cmocka_unit_test(test_scaled_angles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
