/* sample.c - one token out of a row of logits: a penalty on repetition, temperature,
 * top-k, top-p. */
#include "gpt/sample.h"

#include <math.h>
#include <string.h>

mousse_status gpt_sampling_check(const gpt_sampling *sampling, mo_error *error)
{
  if (!(sampling->temperature >= 0.0 && sampling->temperature <= 1e6))
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "temperature is %g, expected 0 to 1e6",
                   sampling->temperature);
  if (!(sampling->top_p > 0.0 && sampling->top_p <= 1.0))
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "top_p is %g, expected above 0 and at most 1",
                   sampling->top_p);
  if (sampling->repetition != 0.0 &&
      !(sampling->repetition >= 1.0 && sampling->repetition <= 1e6))
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "repetition_penalty is %g, expected 1 (none) or more", sampling->repetition);
  return MOUSSE_OK;
}

static uint32_t most_probable(const gpt_candidate *candidates, size_t count)
{
  size_t best = 0;
  for (size_t i = 1; i < count; i++)
    if (candidates[i].weight > candidates[best].weight) best = i;
  return candidates[best].token;
}

/* The logits as they count; a token is penalised once, however often it was there. */
static void fill_candidates(gpt_candidate *candidates, const float *logits, size_t vocabulary,
                            const gpt_sampling *sampling)
{
  const float penalty = (float)sampling->repetition;
  for (size_t i = 0; i < vocabulary; i++)
    candidates[i] = (gpt_candidate){logits[i], (uint32_t)i};
  for (size_t i = 0; penalty > 1.0f && i < sampling->recent_count; i++) {
    const uint32_t token = sampling->recent[i];
    if (token >= vocabulary) continue;
    candidates[token].weight =
        logits[token] > 0 ? logits[token] / penalty : logits[token] * penalty;
  }
}

/* Falling weights as rising whole numbers: the bits of a float, all of them of a negative one and
 * none but the sign of a positive one turned over. -0 counts as 0. */
static uint32_t sort_key(float weight)
{
  const float value = weight == 0.0f ? 0.0f : weight;
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return (bits & 0x80000000u) != 0 ? bits : ~bits & 0x7fffffffu;
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 };

/* One pass of a radix sort; equal digits stay in order. */
static void sort_pass(const gpt_candidate *from, gpt_candidate *to, size_t count, int shift)
{
  size_t starts[DIGITS] = {0}, sum = 0;
  for (size_t i = 0; i < count; i++) starts[sort_key(from[i].weight) >> shift & (DIGITS - 1)]++;
  for (size_t digit = 0; digit < DIGITS; digit++) {
    const size_t here = starts[digit];
    starts[digit] = sum;
    sum += here;
  }
  for (size_t i = 0; i < count; i++)
    to[starts[sort_key(from[i].weight) >> shift & (DIGITS - 1)]++] = from[i];
}

/* By falling weight, equal ones by token, as they come. The result is in `spare`: three passes
 * end on the other side. */
static void sort_candidates(gpt_candidate *candidates, gpt_candidate *spare, size_t count)
{
  for (int pass = 0; pass < PASSES; pass++) {
    const bool there = pass % 2 == 0;
    sort_pass(there ? candidates : spare, there ? spare : candidates, count, pass * DIGIT_BITS);
  }
}

/* Sorted by falling probability, so that top-k and top-p keep the first ones. */
uint32_t gpt_sample(const float *logits, size_t vocabulary, const gpt_sampling *sampling,
                    double uniform, gpt_candidate *candidates)
{
  fill_candidates(candidates, logits, vocabulary, sampling);
  if (sampling->temperature == 0.0) return most_probable(candidates, vocabulary);
  sort_candidates(candidates, candidates + vocabulary, vocabulary);
  candidates += vocabulary;

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
