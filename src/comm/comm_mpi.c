/* comm_mpi.c - ranks over MPI; the only file that knows it.
 *
 * The sum of a long vector, R ranks, segments of n floats:
 *
 *     all to all    rank r gets everybody's segment r                     R n floats
 *     tree          it adds the R segments pairwise: 0+1, 2+3, ..., then (0+1)+(2+3), ...
 *     all gather    everybody gets everybody's sum
 *
 * MPI only copies, in whatever order it likes; who adds what to what is ours, and each number
 * is added by one rank, so all have the same bits. Each rank sends 2 (R-1)/R of the vector, the
 * least possible. Short vectors are gathered whole and added by everybody.
 */
#include <mousse/mousse_mpi.h>
#include <mpi.h>

#include "base/memory.h"
#include "base/simd.h"
#include "comm/comm.h"
#include "comm/launch.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { WORK_FLOATS = 1 << 22, LONGEST_MESSAGE = 1 << 28 };

typedef struct mpi_ranks {
  MPI_Comm communicator;
  int rank, size;
  size_t segment; /* the longest */
  float *work;    /* size * segment */
  mo_watchdog *watchdog;
} mpi_ranks;

MO_CLONES(static void add(float *restrict to, const float *restrict from, size_t count))
{
  for (size_t i = 0; i < count; i++) to[i] += from[i];
}

/* Adds all vectors of `count` floats in work to the first. */
static void add_in_tree(const mpi_ranks *m, size_t count)
{
  const size_t size = (size_t)m->size;
  for (size_t reach = 1; reach < size; reach *= 2)
    for (size_t i = 0; i + reach < size; i += 2 * reach)
      add(m->work + i * count, m->work + (i + reach) * count, count);
}

/* count is at most the segment's. */
static int sum_short(const mpi_ranks *m, float *data, size_t count)
{
  if (MPI_Allgather(data, (int)count, MPI_FLOAT, m->work, (int)count, MPI_FLOAT,
                    m->communicator) != MPI_SUCCESS)
    return -1;
  add_in_tree(m, count);
  memcpy(data, m->work, count * sizeof *data);
  return 0;
}

/* size * count floats. */
static int sum_segments(const mpi_ranks *m, float *data, size_t count)
{
  const int n = (int)count;
  if (MPI_Alltoall(data, n, MPI_FLOAT, m->work, n, MPI_FLOAT, m->communicator) != MPI_SUCCESS)
    return -1;
  add_in_tree(m, count);
  return MPI_Allgather(m->work, n, MPI_FLOAT, data, n, MPI_FLOAT, m->communicator) ==
                 MPI_SUCCESS
             ? 0
             : -1;
}

static int sum_all(const mpi_ranks *m, float *data, size_t count)
{
  const size_t size = (size_t)m->size, short_count = size < 256 ? 256 : size;
  while (count > short_count) {
    const size_t share = count / size, segment = share < m->segment ? share : m->segment;
    if (sum_segments(m, data, segment) != 0) return -1;
    data += size * segment;
    count -= size * segment;
  }
  return count > 0 ? sum_short(m, data, count) : 0;
}

static int mpi_sum(void *context, float *data, size_t count)
{
  const mpi_ranks *m = context;
  mo_watchdog_begin(m->watchdog);
  const int result = sum_all(m, data, count);
  mo_watchdog_finish(m->watchdog);
  return result;
}

static int mpi_broadcast(void *context, float *data, size_t count, int root)
{
  const mpi_ranks *m = context;
  int result = MPI_SUCCESS;
  mo_watchdog_begin(m->watchdog);
  while (count > 0 && result == MPI_SUCCESS) {
    const size_t part = count < LONGEST_MESSAGE ? count : LONGEST_MESSAGE;
    result = MPI_Bcast(data, (int)part, MPI_FLOAT, root, m->communicator);
    data += part;
    count -= part;
  }
  mo_watchdog_finish(m->watchdog);
  return result == MPI_SUCCESS ? 0 : -1;
}

static size_t segment_floats(int size)
{
  const size_t ranks = (size_t)size, share = WORK_FLOATS / ranks, least = ranks + 256;
  return share > least ? share : least;
}

static void release(mpi_ranks *m)
{
  if (m == NULL) return;
  mo_release(NULL, m->work, (size_t)m->size * m->segment * sizeof *m->work);
  mo_release(NULL, m, sizeof *m);
}

/* NULL: no memory. */
static mpi_ranks *take(int rank, int size)
{
  mpi_ranks *m = mo_allocate(NULL, sizeof *m);
  if (m == NULL) return NULL;
  m->rank = rank;
  m->size = size;
  m->segment = segment_floats(size);
  m->work = mo_allocate(NULL, (size_t)size * m->segment * sizeof *m->work);
  if (m->work != NULL) return m;
  mo_release(NULL, m, sizeof *m);
  return NULL;
}

/* A rank without memory must tell the others, which wait for it in the duplication; all of them
 * then report what it lacks. */
static mousse_status duplicate(MPI_Comm communicator, MPI_Comm *copy, int have)
{
  int all_have = 0;
  if (MPI_Allreduce(&have, &all_have, 1, MPI_INT, MPI_MIN, communicator) != MPI_SUCCESS)
    return MOUSSE_COMM;
  if (!all_have || copy == NULL) return MOUSSE_NO_MEMORY;
  if (MPI_Comm_dup(communicator, copy) != MPI_SUCCESS) return MOUSSE_COMM;
  if (MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN) == MPI_SUCCESS) return MOUSSE_OK;
  MPI_Comm_free(copy);
  return MOUSSE_COMM;
}

mousse_status mousse_mpi_open(MPI_Comm communicator, mousse_comm *comm)
{
  int rank = 0, size = 1;
  if (comm == NULL) return MOUSSE_INVALID_ARGUMENT;
  *comm = mo_comm_self;
  if (MPI_Comm_rank(communicator, &rank) != MPI_SUCCESS ||
      MPI_Comm_size(communicator, &size) != MPI_SUCCESS)
    return MOUSSE_COMM;
  mpi_ranks *m = take(rank, size);
  const mousse_status status =
      duplicate(communicator, m != NULL ? &m->communicator : NULL, m != NULL);
  if (status != MOUSSE_OK) {
    release(m);
    return status;
  }
  *comm = (mousse_comm){rank, size, mpi_sum, mpi_broadcast, m};
  return MOUSSE_OK;
}

void mousse_mpi_close(mousse_comm *comm)
{
  if (comm == NULL || comm->context == NULL) return;
  mpi_ranks *m = comm->context;
  MPI_Comm_free(&m->communicator);
  release(m);
  *comm = (mousse_comm){.size = 1};
}

/* The process that a launcher started. */

static bool any_thread_may_call; /* what MPI said when it was started */

/* On the watchdog's thread, while another is inside MPI. Where that is not allowed, the launcher
 * ends the others when it sees this process gone. */
static void end_job(void)
{
  if (any_thread_may_call) MPI_Abort(MPI_COMM_WORLD, 1);
  _Exit(1);
}

/* 0: not known. */
static double share_processors(void)
{
  MPI_Comm machine;
  cpu_set_t mine;
  int users[CPU_SETSIZE] = {0};
  double share = 0;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) CPU_ZERO(&mine);
  for (size_t i = 0; i < CPU_SETSIZE; i++) users[i] = CPU_ISSET(i, &mine) != 0;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) !=
      MPI_SUCCESS)
    return 0;
  MPI_Allreduce(MPI_IN_PLACE, users, CPU_SETSIZE, MPI_INT, MPI_SUM, machine);
  MPI_Comm_free(&machine);
  for (size_t i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &mine)) share += 1.0 / users[i];
  return share;
}

mousse_status mo_launch_open(mo_launch *launch, double seconds, mo_watchdog_fn hung,
                             mo_error *error)
{
  int provided = 0;
  *launch = (mo_launch){.comm = mo_comm_self};
  if (!mo_launch_launched()) return MOUSSE_OK;
  /* The watchdog's thread calls MPI_Abort while this one is inside another call. */
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
    return mo_fail(error, MOUSSE_COMM, "MPI did not start");
  launch->started = true;
  any_thread_may_call = provided >= MPI_THREAD_MULTIPLE;
  if (provided < MPI_THREAD_SERIALIZED) /* the sum of gradients has a thread of its own */
    return mo_fail(error, MOUSSE_COMM,
                   "this MPI allows calls from the main thread only (level %d); mousse needs "
                   "MPI_THREAD_SERIALIZED (level %d)",
                   provided, MPI_THREAD_SERIALIZED);
  launch->processors = share_processors();
  const mousse_status status = mousse_mpi_open(MPI_COMM_WORLD, &launch->comm);
  if (status != MOUSSE_OK)
    return mo_fail(error, status, "could not set up communication with the other ranks: %s",
                   mousse_status_text(status));
  /* That of a run's config.yaml, which only rank 0 need have. */
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (seconds > 0 &&
      mo_watchdog_start(&launch->watchdog, launch->comm.rank, seconds, hung, end_job))
    ((mpi_ranks *)launch->comm.context)->watchdog = &launch->watchdog;
  return MOUSSE_OK;
}

void mo_launch_close(mo_launch *launch)
{
  if (!launch->started) return;
  mousse_mpi_close(&launch->comm);
  mo_watchdog_stop(&launch->watchdog);
  MPI_Finalize();
  launch->started = false;
}

void mo_launch_abort(mo_launch *launch, int code)
{
  if (launch->started) MPI_Abort(MPI_COMM_WORLD, code);
}
