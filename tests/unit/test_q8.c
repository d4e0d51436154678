/* test_q8.c - products with one row, and weights of 8 bits for writing with a model. */
#include "base/q8.h"
#include "base/random.h"
#include "check.h"
#include "gpt/layers/layers.h"
#include "gpt/params.h"
#include "gpt_kinds.h"

#include <math.h>
#include <string.h>

enum { MOST = 200, OUTPUTS = 7 };

static float draw(uint64_t stream, uint64_t i)
{
  return (float)(2 * mo_random_uniform(5, stream, i) - 1);
}

/* Every length up to three steps of the loop, against sums in double. */
static void test_products_with_one_row(void **state)
{
  (void)state;
  static float x[MOST], w[OUTPUTS * MOST], y[OUTPUTS];
  for (size_t i = 0; i < MOST; i++) x[i] = draw(1, i);
  for (size_t i = 0; i < OUTPUTS * MOST; i++) w[i] = draw(2, i);
  for (size_t inputs = 1; inputs <= MOST; inputs++)
    for (int add = 0; add < 2; add++) {
      for (size_t j = 0; j < OUTPUTS; j++) y[j] = 100.0f;
      linear_vector(y, x, w, inputs, 1, OUTPUTS, add);
      assert_true(y[0] == 100.0f); /* not asked for */
      for (size_t j = 1; j < OUTPUTS; j++) {
        double sum = add ? 100.0 : 0.0;
        for (size_t i = 0; i < inputs; i++) sum += (double)x[i] * (double)w[j * inputs + i];
        if (fabs((double)y[j] - sum) > (add ? 2e-5 : 1e-5))
          fail_msg("%zu inputs, output %zu: %g, expected %g", inputs, j, (double)y[j], sum);
      }
    }
}

static void test_products_in_blocks(void **state)
{
  (void)state;
  enum { BLOCKS = 5, INPUTS = BLOCKS * MO_Q8_BLOCK };
  static float x[INPUTS], y[OUTPUTS], scales[OUTPUTS * BLOCKS];
  static int8_t q[OUTPUTS * INPUTS];
  static uint32_t packed[OUTPUTS * INPUTS / 4];
  for (size_t i = 0; i < INPUTS; i++) x[i] = draw(3, i);
  for (size_t i = 0; i < OUTPUTS * INPUTS; i++) q[i] = (int8_t)(127.0f * draw(4, i));
  for (size_t i = 0; i < OUTPUTS * BLOCKS; i++) scales[i] = draw(5, i);
  for (size_t blocks = 1; blocks <= BLOCKS; blocks++) {
    const size_t inputs = blocks * MO_Q8_BLOCK;
    for (size_t i = 0; i < OUTPUTS * blocks; i++)
      linear_pack_q8(q + i * MO_Q8_BLOCK, packed + i * MO_Q8_BLOCK / 4);
    linear_vector_q8(y, x, packed, scales, inputs, 0, OUTPUTS, 0);
    for (size_t j = 0; j < OUTPUTS; j++) {
      double sum = 0;
      for (size_t i = 0; i < inputs; i++)
        sum += (double)x[i] * (double)q[j * inputs + i] *
               (double)scales[(j * inputs + i) / MO_Q8_BLOCK];
      assert_true(fabs((double)y[j] - sum) < 2e-3);
    }
  }
}

static const uint32_t text[] = {3, 1, 4, 1, 5, 9, 2, 6};
enum { LENGTH = sizeof text / sizeof *text };

static void run(const gpt_params *params, const gpt_q8 *q8, size_t at_once, float *logits)
{
  gpt_generator *g = NULL;
  mo_error error = {{0}};
  assert_int_equal(gpt_generator_create(&g, params, LENGTH, 2, NULL, &error), MOUSSE_OK);
  gpt_generator_use_q8(g, q8);
  for (size_t i = 0; i < LENGTH; i += at_once)
    assert_int_equal(gpt_generator_feed(g, text + i, at_once, &error), MOUSSE_OK);
  memcpy(logits, gpt_generator_logits(g), params->config.vocab_size * sizeof *logits);
  gpt_generator_destroy(g);
}

static double distance(const float *a, const float *b, size_t count)
{
  double squares = 0, size = 0;
  for (size_t i = 0; i < count; i++) {
    squares += pow((double)a[i] - (double)b[i], 2);
    size += pow((double)b[i], 2);
  }
  return sqrt(squares / size);
}

/* Close to the model before; the same as the rounded values give, token by token or at once. */
static void test_weights_of_eight_bits(void **state)
{
  (void)state;
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    odd = kinds[kind];
    mo_error error = {{0}};
    gpt_q8 *q8 = NULL;
    static float before[64], rounded[64], copy[64], whole[64];
    odd.n_embd = 96;
    odd.head_size = 0;
    odd.mlp_width = 96;
    assert_true(odd.vocab_size <= 64 && odd.sequence_len >= LENGTH);
    gpt_params *params = make_params(&odd, false);
    run(params, NULL, 1, before);
    assert_int_equal(gpt_q8_create(&q8, params, 2, &error), MOUSSE_OK);
    run(params, NULL, 1, rounded);
    run(params, q8, 1, copy);
    run(params, q8, LENGTH, whole);
    const size_t V = odd.vocab_size;
    const double lost = distance(rounded, before, V);
    if (!(lost > 1e-4 && lost < 0.05)) fail_msg("kind %zu: %g", kind, lost);
    assert_true(distance(copy, rounded, V) < 1e-5);
    assert_true(distance(whole, rounded, V) < 1e-5);
    gpt_q8_destroy(q8);
    gpt_params_destroy(params);
  }
}

/* Rounded, a weight that is not a number would be 0 and nobody would know. */
static void test_weights_that_no_block_holds(void **state)
{
  (void)state;
  static const float broken[] = {NAN, INFINITY, -1e7f};
  const gpt_config config = {
      .vocab_size = 5, .n_layer = 1, .n_head = 2, .n_embd = 32, .sequence_len = 4};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    mo_error error = {{0}};
    gpt_params *params = make_params(&config, false);
    gpt_q8 *q8 = NULL;
    params->parts->layers[0].c_v->value[7] = broken[i];
    assert_int_equal(gpt_q8_create(&q8, params, 1, &error), MOUSSE_NOT_FINITE);
    assert_non_null(strstr(error.text, "'transformer.h.0.attn.c_v.weight' has the number"));
    assert_null(q8);
    params->parts->layers[0].c_v->value[7] = 1e-44f;
    assert_int_equal(gpt_q8_create(&q8, params, 1, &error), MOUSSE_OK);
    gpt_q8_destroy(q8);
    gpt_params_destroy(params);
  }
}

static void test_rows_that_are_no_blocks(void **state)
{
  (void)state;
  const gpt_config config = {
      .vocab_size = 5, .n_layer = 1, .n_head = 2, .n_embd = 20, .sequence_len = 4};
  mo_error error = {{0}};
  gpt_params *params = NULL;
  gpt_q8 *q8 = NULL;
  assert_int_equal(gpt_params_create(&params, &config, false, NULL, &error), MOUSSE_OK);
  assert_int_equal(gpt_q8_bytes(params), 0);
  assert_int_equal(gpt_q8_create(&q8, params, 1, &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "width 20"));
  assert_null(q8);
  gpt_params_destroy(params);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products_with_one_row),
      cmocka_unit_test(test_products_in_blocks),
      cmocka_unit_test(test_weights_of_eight_bits),
      cmocka_unit_test(test_weights_that_no_block_holds),
      cmocka_unit_test(test_rows_that_are_no_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
