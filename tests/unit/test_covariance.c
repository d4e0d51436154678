/* test_covariance.c - covariances of what enters and leaves the hidden matrices. */
#include "gpt/covariance.h"
#include "gpt_kinds.h"

#include <math.h>
#include <string.h>

static gpt_covariances *make_covariances(const gpt_params *params, size_t samples)
{
  mo_error error = {{0}};
  gpt_covariances *c = NULL;
  assert_int_equal(gpt_covariances_create(&c, params, true, true, samples, &error), MOUSSE_OK);
  return c;
}

static double trace(const float *s, size_t n)
{
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (double)s[i * (n + 1)];
  return sum;
}

/* Whether X = G G^T / scale, by rows of G; stride and step take its columns instead. */
static void check_gram(const char *name, const float *g, size_t n, size_t k, size_t row,
                       size_t column, const float *s, double scale)
{
  double worst = 0, largest = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      double sum = 0;
      for (size_t l = 0; l < k; l++)
        sum += (double)g[i * row + l * column] * (double)g[j * row + l * column];
      worst = fmax(worst, fabs(sum - scale * (double)s[i * n + j]));
      largest = fmax(largest, fabs(sum));
    }
  if (worst > 1e-4 * largest + 1e-30) fail_msg("%s: %g of %g", name, worst, largest);
}

/* With one token G = d a^T, A = a a^T and B = d d^T: G G^T = tr(A) B, G^T G = tr(B) A. */
static void test_one_token(void **state)
{
  (void)state;
  mo_error error = {{0}};
  const uint32_t tokens[2] = {7, 19};
  const gpt_batch batch = {tokens, tokens + 1, 1, 1, NULL};
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    float loss = 0;
    size_t seen = 0;
    gpt_params *params = make_params(&kinds[kind], true);
    gpt_pass *pass = make_pass(params, (gpt_shape){1, 4, 2, true, false});
    gpt_covariances *c = make_covariances(params, 16);
    gpt_pass_sample(pass, c, 5);
    assert_int_equal(gpt_gradients(pass, &batch, 1, false, &loss, &error), MOUSSE_OK);
    for (size_t i = 0; i < params->tensor_count; i++) {
      const gpt_tensor *t = &params->tensors[i];
      if (t->role != GPT_MATRIX) {
        assert_true(c->inputs[i] == NULL && c->outputs[i] == NULL);
        continue;
      }
      seen++;
      check_gram(t->name, t->gradient, t->rows, t->cols, t->cols, 1, c->outputs[i],
                 trace(c->inputs[i], t->cols));
      check_gram(t->name, t->gradient, t->cols, t->rows, 1, t->cols, c->inputs[i],
                 trace(c->outputs[i], t->rows));
      assert_true(trace(c->inputs[i], t->cols) > 0);
    }
    assert_true(seen >= 6 * params->config.n_layer);
    gpt_covariances_destroy(c);
    gpt_pass_destroy(pass);
    gpt_params_destroy(params);
  }
}

static float *sampled(gpt_params *params, size_t samples, uint64_t phase, int threads,
                      float factor, size_t *count)
{
  mo_error error = {{0}};
  float loss = 0;
  uint32_t *tokens = make_tokens(81, params->config.vocab_size, 3);
  const gpt_batch batch = {tokens, tokens + 1, 2, 40, NULL};
  gpt_pass *pass = make_pass(params, (gpt_shape){2, 40, threads, true, false});
  gpt_covariances *c = make_covariances(params, samples);
  gpt_pass_sample(pass, c, phase);
  assert_int_equal(gpt_gradients(pass, &batch, factor, false, &loss, &error), MOUSSE_OK);
  *count = c->value_count;
  float *values = malloc(*count * sizeof *values);
  assert_non_null(values);
  memcpy(values, c->values, *count * sizeof *values);
  gpt_covariances_destroy(c);
  gpt_pass_destroy(pass);
  free(tokens);
  return values;
}

/* Every second token, and the others, make up all of them; the size of the loss does not matter,
 * nor do threads. */
static void test_samples_make_up_the_whole(void **state)
{
  (void)state;
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    size_t count = 0;
    gpt_params *params = make_params(&kinds[kind], true);
    float *all = sampled(params, 1000, 3, 2, 1, &count);
    float *even = sampled(params, 40, 0, 1, 0.25f, &count);
    float *odds = sampled(params, 40, 1, 3, 1, &count);
    float *again = sampled(params, 40, 1, 1, 1, &count);
    assert_memory_equal(odds, again, count * sizeof *odds);
    double largest = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
      const double mean = 0.5 * ((double)even[i] + (double)odds[i]);
      const double size = fabs((double)all[i]), error = fabs(mean - (double)all[i]);
      if (size > largest) largest = size; /* GCC 12 for ARM stops at two fmax in a loop */
      if (!(error <= worst)) worst = error;
    }
    assert_true(largest > 0 && worst < 1e-5 * largest);
    free(again);
    free(odds);
    free(even);
    free(all);
    gpt_params_destroy(params);
  }
}

static gpt_params *make_frozen(const char *pattern)
{
  mo_error error = {{0}};
  gpt_params *params = NULL;
  assert_int_equal(gpt_params_create_frozen(&params, &odd, pattern, NULL, &error), MOUSSE_OK);
  gpt_params_initialise(params, 42, 2);
  return params;
}

/* Asking changes no bit of the gradients, and a frozen matrix among others leaves the shared input. */
static void test_gradients_stay(void **state)
{
  (void)state;
  mo_error error = {{0}};
  float loss = 0;
  uint32_t *tokens = make_tokens(81, odd.vocab_size, 3);
  const gpt_batch batch = {tokens, tokens + 1, 2, 40, NULL};
  gpt_params *plain = make_frozen("c_q"), *asked = make_frozen("c_q");
  gpt_pass *pass = make_pass(plain, (gpt_shape){2, 40, 2, true, false});
  gpt_pass *other = make_pass(asked, (gpt_shape){2, 40, 2, true, false});
  gpt_covariances *c = make_covariances(asked, 32);
  gpt_pass_sample(other, c, 0);
  assert_int_equal(gpt_gradients(pass, &batch, 1, false, &loss, &error), MOUSSE_OK);
  assert_int_equal(gpt_gradients(other, &batch, 1, false, &loss, &error), MOUSSE_OK);
  assert_memory_equal(plain->gradients, asked->gradients,
                      plain->gradient_count * sizeof(float));
  for (size_t i = 0; i < asked->tensor_count; i++)
    if (strstr(asked->tensors[i].name, "c_k") != NULL)
      assert_true(trace(c->inputs[i], asked->tensors[i].cols) > 0);
  gpt_covariances_destroy(c);
  gpt_pass_destroy(other);
  gpt_pass_destroy(pass);
  gpt_params_destroy(asked);
  gpt_params_destroy(plain);
  free(tokens);
}

/* One sample of a million tokens: a stride of 3.2e9 floats would be negative as an int. */
static void test_strides_fit_the_blas(void **state)
{
  (void)state;
  assert_int_equal(gpt_sample_distance(1000, 10, 64), 100);
  assert_int_equal(gpt_sample_distance(1000, 1000, 64), 1);
  for (size_t tokens = (size_t)1 << 20; tokens <= (size_t)1 << 24; tokens *= 2)
    for (size_t rows = 1; rows <= 4; rows++) {
      const size_t every = gpt_sample_distance(tokens, rows, 9216);
      assert_true(every > 0 && every * rows <= tokens && every * 9216 <= INT32_MAX);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_token),
      cmocka_unit_test(test_samples_make_up_the_whole),
      cmocka_unit_test(test_gradients_stay),
      cmocka_unit_test(test_strides_fit_the_blas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
