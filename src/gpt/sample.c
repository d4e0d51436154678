/* sample.c - one token out of a row of logits: temperature, top-k, top-p. */
#include "gpt/sample.h"

#include <math.h>
#include <stdlib.h>

mousse_status gpt_sampling_check(const gpt_sampling *sampling, mo_error *error)
{
  if (!(sampling->temperature >= 0.0 && sampling->temperature <= 1e6))
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "temperature is %g, expected 0 to 1e6",
                   sampling->temperature);
  if (!(sampling->top_p > 0.0 && sampling->top_p <= 1.0))
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "top_p is %g, expected above 0 and at most 1",
                   sampling->top_p);
  return MOUSSE_OK;
}

static uint32_t most_probable(const float *logits, size_t vocabulary)
{
  size_t best = 0;
  for (size_t i = 1; i < vocabulary; i++)
    if (logits[i] > logits[best]) best = i;
  return (uint32_t)best;
}

static int by_weight_then_token(const void *left, const void *right)
{
  const gpt_candidate *a = left, *b = right;
  if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
  return (a->token > b->token) - (a->token < b->token);
}

/* Sorted by falling probability, so that top-k and top-p keep the first ones. */
uint32_t gpt_sample(const float *logits, size_t vocabulary, const gpt_sampling *sampling,
                    double uniform, gpt_candidate *candidates)
{
  if (sampling->temperature == 0.0) return most_probable(logits, vocabulary);
  for (size_t i = 0; i < vocabulary; i++)
    candidates[i] = (gpt_candidate){logits[i], (uint32_t)i};
  qsort(candidates, vocabulary, sizeof *candidates, by_weight_then_token);

  size_t count = vocabulary;
  if (sampling->top_k > 0 && sampling->top_k < count) count = sampling->top_k;
  const double top = candidates[0].weight;
  double total = 0.0;
  for (size_t i = 0; i < count; i++) {
    candidates[i].weight = (float)exp((candidates[i].weight - top) / sampling->temperature);
    total += candidates[i].weight;
  }
  double kept = 0.0;
  size_t used = 0;
  while (used < count && (used == 0 || kept < sampling->top_p * total))
    kept += candidates[used++].weight;

  double left = uniform * kept;
  for (size_t i = 0; i < used; i++) {
    left -= candidates[i].weight;
    if (left < 0.0) return candidates[i].token;
  }
  return candidates[0].token; /* rounding, or logits that are not numbers */
}
