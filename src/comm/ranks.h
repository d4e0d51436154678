/* ranks.h - what several ranks decide together, over any mousse_comm. All are [collective], and
 * in a single process none costs anything.
 */
#ifndef MOUSSE_COMM_RANKS_H
#define MOUSSE_COMM_RANKS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* One outcome for all: OK when it is OK on every rank; otherwise the status of the lowest rank
 * that failed, with its sentence, on every rank. Those that did not fail read whose it is. */
mousse_status mo_ranks_agree(const mousse_comm *comm, mousse_status status, mo_error *error);

/* The lowest rank whose number is not 0, and that number; -1: none. */
mousse_status mo_ranks_first(const mousse_comm *comm, float mine, int *rank, float *theirs,
                             mo_error *error);

/* For what rank 0 alone does: its outcome is everybody's. */
#define MO_FIRST_RANK(comm, call, error)                                                       \
  mo_ranks_agree(comm, (comm)->rank == 0 ? (call) : MOUSSE_OK, error)

/* Refuses a rank whose number differs from rank 0's; `what` names it in the sentence. */
mousse_status mo_ranks_same(const mousse_comm *comm, uint64_t mine, const char *what,
                            mo_error *error);

/* Rank 0's bytes (a multiple of 4) to all. */
mousse_status mo_ranks_spread(const mousse_comm *comm, void *data, size_t bytes,
                              mo_error *error);

/* The sum over ranks, float by float. */
mousse_status mo_ranks_sum(const mousse_comm *comm, float *data, size_t count, mo_error *error);

/* The largest of the ranks' numbers (from 0 on, to float precision). */
mousse_status mo_ranks_largest(const mousse_comm *comm, double mine, double *largest,
                               mo_error *error);

#endif
