/* dealing.c - sequences dealt out to several sources by weight. */
#include "data/shards/dealing.h"

#include "base/memory.h"

/* d_k: the whole parts of the shares, and one more for the largest remainders. */
static void divide(mo_dealing *d, const double *weights)
{
  double sum = 0, remainders[MIXTURE_MOST];
  uint32_t left = DEALING_ROUND;
  for (size_t k = 0; k < d->count; k++) sum += weights[k];
  for (size_t k = 0; k < d->count; k++) {
    const double share = DEALING_ROUND * (weights[k] / sum);
    d->dealt[k] = (uint32_t)share;
    remainders[k] = share - d->dealt[k];
    left -= d->dealt[k];
  }
  for (; left > 0; left--) {
    size_t best = 0;
    for (size_t k = 1; k < d->count; k++)
      /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) - all were written */
      if (remainders[k] > remainders[best]) best = k;
    d->dealt[best]++;
    remainders[best] = -1;
  }
}

static void deal(mo_dealing *d)
{
  uint32_t given[MIXTURE_MOST] = {0};
  for (int64_t place = 0; place < DEALING_ROUND; place++) {
    uint32_t next = 0;
    int64_t most_owed = INT64_MIN;
    for (uint32_t k = 0; k < d->count; k++) {
      const int64_t owed = d->dealt[k] * (place + 1) - (int64_t)given[k] * DEALING_ROUND;
      if (owed <= most_owed) continue;
      most_owed = owed;
      next = k;
    }
    d->turns[place] = (dealing_turn){next, given[next]++};
  }
}

mousse_status dealing_open(mo_dealing *dealing, const double *weights, size_t count,
                           size_t *culprit, mo_error *error)
{
  *dealing = (struct mo_dealing){.count = count};
  divide(dealing, weights);
  for (*culprit = 0; *culprit < count; ++*culprit)
    if (dealing->dealt[*culprit] == 0)
      return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                     "the weight %g is less than one part in %d of all weights",
                     weights[*culprit], DEALING_ROUND);
  dealing->turns = mo_allocate(NULL, DEALING_ROUND * sizeof *dealing->turns);
  if (dealing->turns == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to mix data");
  deal(dealing);
  return MOUSSE_OK;
}

void dealing_close(mo_dealing *dealing)
{
  mo_release(NULL, dealing->turns, DEALING_ROUND * sizeof *dealing->turns);
  *dealing = (struct mo_dealing){0};
}

uint32_t dealing_find(const mo_dealing *dealing, uint64_t q, uint64_t *own)
{
  const dealing_turn turn = dealing->turns[q % DEALING_ROUND];
  *own = q / DEALING_ROUND * dealing->dealt[turn.source] + turn.time;
  return turn.source;
}

uint64_t dealing_lasts(const mo_dealing *dealing, const uint64_t *sizes)
{
  uint64_t rounds = UINT64_MAX, own = 0;
  for (size_t k = 0; k < dealing->count; k++)
    if (sizes[k] / dealing->dealt[k] < rounds) rounds = sizes[k] / dealing->dealt[k];
  for (uint64_t q = rounds * DEALING_ROUND;; q++) {
    const uint32_t k = dealing_find(dealing, q, &own);
    if (own >= sizes[k]) return q;
  }
}
