/* dealing.h - sequences dealt out to several sources by weight, as a pure function.
 *
 * Sequence numbers q = 0, 1, 2, ... come in rounds of D = 10,000. Source k gets d_k places of a
 * round: its share of the weights, rounded so that sum d_k = D. Each place goes to the source
 * that is furthest behind its share, so the sources are spread evenly. If place q mod D is
 * source k's for the t-th time (from 0) in a round, q is sequence floor(q / D) d_k + t of k.
 */
#ifndef MOUSSE_DATA_SHARDS_DEALING_H
#define MOUSSE_DATA_SHARDS_DEALING_H

#include "data/shards/mixture.h"

#include <stdint.h>

enum { DEALING_ROUND = 10000 };

typedef struct dealing_turn {
  uint32_t source;
  uint32_t time; /* t above */
} dealing_turn;

typedef struct mo_dealing {
  size_t count;
  uint32_t dealt[MIXTURE_MOST]; /* d_k */
  dealing_turn *turns;          /* owned: one round; NULL: there is only one source */
} mo_dealing;

/* Fails when a source would get no place of a round; *culprit is its number then. */
mousse_status dealing_open(mo_dealing *dealing, const double *weights, size_t count,
                           size_t *culprit, mo_error *error);
void dealing_close(mo_dealing *dealing); /* accepts a zeroed or closed one */

/* Whose sequence q is, and which of its own. */
uint32_t dealing_find(const mo_dealing *dealing, uint64_t q, uint64_t *own);

/* How many q there are from 0 on before a source k is asked for more than sizes[k]. */
uint64_t dealing_lasts(const mo_dealing *dealing, const uint64_t *sizes);

#endif
