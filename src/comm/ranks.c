/* ranks.c - agreement among ranks, made of sums and broadcasts. A vector with one place per
 * rank, summed over ranks that each fill in their own, tells everybody everything. */
#include "comm/ranks.h"

#include <stdio.h>
#include <string.h>

static mousse_status unreachable(mo_error *error)
{
  return mo_fail(error, MOUSSE_COMM, "could not reach the other ranks");
}

/* Ranks that tell each other a number at once; the numbers of more are passed round in turns,
 * so that nothing is allocated and nobody can fall out. */
enum { WINDOW = 256 };

/* numbers[i] = mine of rank first + i. */
static mousse_status gather(const mousse_comm *comm, float mine, int first,
                            float numbers[WINDOW], mo_error *error)
{
  const int count = comm->size - first < WINDOW ? comm->size - first : WINDOW;
  memset(numbers, 0, WINDOW * sizeof *numbers);
  if (comm->rank >= first && comm->rank < first + count) numbers[comm->rank - first] = mine;
  return mo_ranks_sum(comm, numbers, (size_t)count, error);
}

mousse_status mo_ranks_first(const mousse_comm *comm, float mine, int *rank, float *theirs,
                             mo_error *error)
{
  *rank = -1;
  *theirs = 0;
  for (int first = 0; first < comm->size; first += WINDOW) {
    float numbers[WINDOW];
    MO_TRY(gather(comm, mine, first, numbers, error));
    for (int i = 0; i < WINDOW && *rank < 0; i++)
      if (numbers[i] != 0.0f) {
        *rank = first + i;
        *theirs = numbers[i];
      }
  }
  return MOUSSE_OK;
}

/* The sentence of one rank for all. That of rank 0 is told as it is to those that failed, too: it
 * may be one that they have agreed on before. */
static mousse_status share_sentence(const mousse_comm *comm, int from, mousse_status status,
                                    bool failed_here, mo_error *error)
{
  _Alignas(float) mo_error shared = {{0}};
  if (comm->rank == from && error != NULL) shared = *error;
  if (comm->broadcast(comm->context, (float *)(void *)shared.text,
                      sizeof shared.text / sizeof(float), from) != 0)
    return unreachable(error);
  if (from == 0 && failed_here) return mo_fail(error, status, "%s", shared.text);
  return mo_fail(error, status, "rank %d: %s", from, shared.text);
}

mousse_status mo_ranks_agree(const mousse_comm *comm, mousse_status status, mo_error *error)
{
  int failed = -1;
  float code = 0;
  if (comm->size == 1) return status;
  MO_TRY(mo_ranks_first(comm, (float)status, &failed, &code, error));
  if (failed < 0) return MOUSSE_OK;
  return share_sentence(comm, failed, (mousse_status)(int)code, status != MOUSSE_OK, error);
}

mousse_status mo_ranks_same(const mousse_comm *comm, uint64_t mine, const char *what,
                            mo_error *error)
{
  uint64_t first = mine;
  mousse_status status = MOUSSE_OK;
  MO_TRY(mo_ranks_spread(comm, &first, sizeof first, error));
  if (first != mine)
    status = mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s %016llx here and %016llx on rank 0",
                     what, (unsigned long long)mine, (unsigned long long)first);
  return mo_ranks_agree(comm, status, error);
}

mousse_status mo_ranks_spread(const mousse_comm *comm, void *data, size_t bytes,
                              mo_error *error)
{
  if (comm->size == 1) return MOUSSE_OK;
  if (comm->broadcast(comm->context, data, bytes / sizeof(float), 0) == 0) return MOUSSE_OK;
  return unreachable(error);
}

mousse_status mo_ranks_sum(const mousse_comm *comm, float *data, size_t count, mo_error *error)
{
  if (comm->size == 1 || comm->sum(comm->context, data, count) == 0) return MOUSSE_OK;
  return unreachable(error);
}

mousse_status mo_ranks_largest(const mousse_comm *comm, double mine, double *largest,
                               mo_error *error)
{
  *largest = mine;
  for (int first = 0; comm->size > 1 && first < comm->size; first += WINDOW) {
    float numbers[WINDOW];
    MO_TRY(gather(comm, (float)mine, first, numbers, error));
    for (int i = 0; i < WINDOW; i++)
      if ((double)numbers[i] > *largest) *largest = (double)numbers[i];
  }
  return MOUSSE_OK;
}
