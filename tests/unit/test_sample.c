/* test_sample.c - one token out of logits, against the slow and obvious way. */
#include "base/random.h"
#include "check.h"
#include "gpt/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 700 };

static int by_weight_then_token(const void *left, const void *right)
{
  const gpt_candidate *a = left, *b = right;
  if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
  return (a->token > b->token) - (a->token < b->token);
}

static uint32_t slow_sample(const float *logits, size_t count, const gpt_sampling *s,
                            double uniform)
{
  gpt_candidate c[MOST];
  double total = 0, kept = 0;
  size_t most = s->top_k > 0 && s->top_k < count ? s->top_k : count, used = 0;
  for (size_t i = 0; i < count; i++) c[i] = (gpt_candidate){logits[i], (uint32_t)i};
  qsort(c, count, sizeof *c, by_weight_then_token);
  const double top = c[0].weight;
  for (size_t i = 0; i < most; i++) {
    c[i].weight = (float)exp((c[i].weight - top) / s->temperature);
    total += c[i].weight;
  }
  while (used < most && (used == 0 || kept < s->top_p * total)) kept += c[used++].weight;
  double left = uniform * kept;
  for (size_t i = 0; i < used; i++) {
    left -= c[i].weight;
    if (left < 0) return c[i].token;
  }
  return c[0].token;
}

/* Logits of both signs, some of them equal, zeros of both signs, very large and very small. */
static void make_logits(float *logits, size_t count, uint64_t seed)
{
  mo_random_fill(logits, count, 3.0, seed, 1);
  for (size_t i = 0; i < count; i++) {
    if (i % 5 == 1) logits[i] = roundf(logits[i]);
    if (i % 50 == 2) logits[i] = i % 100 == 2 ? 0.0f : -0.0f;
    if (i % 97 == 3) logits[i] *= 1e-30f;
  }
}

static void test_sampling_is_the_obvious_one(void **state)
{
  (void)state;
  static const gpt_sampling ways[] = {{.temperature = 1, .top_p = 1},
                                      {.temperature = 0.7, .top_p = 0.9},
                                      {.temperature = 2, .top_p = 1, .top_k = 5},
                                      {.temperature = 0.1, .top_p = 0.5, .top_k = 100}};
  static const size_t counts[] = {1, 2, 3, 257, MOST};
  float logits[MOST];
  gpt_candidate scratch[2 * MOST];
  for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
    for (uint64_t seed = 0; seed < 20; seed++) {
      make_logits(logits, counts[n], seed);
      for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        const double uniform = mo_random_uniform(seed, w, n);
        assert_int_equal(gpt_sample(logits, counts[n], &ways[w], uniform, scratch),
                         slow_sample(logits, counts[n], &ways[w], uniform));
      }
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sampling_is_the_obvious_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
