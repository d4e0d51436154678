/* ranks.c - agreement among ranks, made of sums and broadcasts. A vector with one place per
 * rank, summed over ranks that each fill in their own, tells everybody everything. */
#include "comm/ranks.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static mousse_status unreachable(mo_error *error)
{
  return mo_fail(error, MOUSSE_COMM, "could not reach the other ranks");
}

/* all[r] = mine on rank r. */
static mousse_status gather(const mousse_comm *comm, float mine, float *all, mo_error *error)
{
  all[comm->rank] = mine;
  return mo_ranks_sum(comm, all, (size_t)comm->size, error);
}

static mousse_status gather_all(const mousse_comm *comm, float mine, float **all,
                                mo_error *error)
{
  *all = mo_allocate(NULL, (size_t)comm->size * sizeof **all);
  if (*all == NULL)
    return mo_fail(error, MOUSSE_COMM, "no memory to communicate with the other ranks");
  return gather(comm, mine, *all, error);
}

static void release(const mousse_comm *comm, float *all)
{
  mo_release(NULL, all, (size_t)comm->size * sizeof *all);
}

/* The sentence of one rank for all. */
static mousse_status share_sentence(const mousse_comm *comm, int from, mousse_status status,
                                    mo_error *error)
{
  _Alignas(float) mo_error shared = {{0}};
  if (comm->rank == from && error != NULL) shared = *error;
  if (comm->broadcast(comm->context, (float *)(void *)shared.text,
                      sizeof shared.text / sizeof(float), from) != 0)
    return unreachable(error);
  if (from == 0) return mo_fail(error, status, "%s", shared.text);
  return mo_fail(error, status, "rank %d: %s", from, shared.text);
}

mousse_status mo_ranks_agree(const mousse_comm *comm, mousse_status status, mo_error *error)
{
  if (comm->size == 1) return status;
  float *codes = NULL;
  int failed = 0;
  const mousse_status reached = gather_all(comm, (float)status, &codes, error);
  while (reached == MOUSSE_OK && failed < comm->size && codes[failed] == 0.0f) failed++;
  const int code = reached == MOUSSE_OK && failed < comm->size ? (int)codes[failed] : 0;
  release(comm, codes);
  if (reached != MOUSSE_OK) return reached;
  return code == 0 ? MOUSSE_OK : share_sentence(comm, failed, (mousse_status)code, error);
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
  float *all = NULL;
  *largest = mine;
  if (comm->size == 1) return MOUSSE_OK;
  const mousse_status status = gather_all(comm, (float)mine, &all, error);
  for (int rank = 0; status == MOUSSE_OK && rank < comm->size; rank++)
    if ((double)all[rank] > *largest) *largest = (double)all[rank];
  release(comm, all);
  return status;
}
