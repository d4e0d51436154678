/* test_comm.c - run by mpirun: the communicator over MPI, and what ranks agree on with it. Ends
 * the job with a line that names the check when one fails. */
#include "base/random.h"
#include "comm/ranks.h"
#include "train/rank_checks.h"

#include <mousse/mousse_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST_RANKS = 16, LONGEST = 5000011 };

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) fail(#condition, __LINE__);                                              \
  } while (0)

static void fail(const char *condition, int line)
{
  fprintf(stderr, "test_comm.c:%d: %s is not so\n", line, condition);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What rank r has at place i: magnitudes so different that the order of adding shows. */
static float number(int rank, size_t i)
{
  const double x = mo_random_normal(7, (uint64_t)rank, i);
  return (float)(x * (double)(1u << (mo_random_bits(8, (uint64_t)rank, i) % 20)));
}

/* The documented tree: pairs, then pairs of pairs. */
static float tree_sum(int first, int count, size_t i)
{
  if (count == 1) return number(first, i);
  int left = 1;
  while (2 * left < count) left *= 2;
  return tree_sum(first, left, i) + tree_sum(first + left, count - left, i);
}

static void check_sum(const mousse_comm *comm, float *data, size_t count)
{
  for (size_t i = 0; i < count; i++) data[i] = number(comm->rank, i);
  data[count] = 42.0f;
  CHECK(comm->sum(comm->context, data, count) == 0);
  const size_t stride = count < 5000 ? 1 : 997;
  for (size_t i = 0; i < count; i += stride) CHECK(data[i] == tree_sum(0, comm->size, i));
  for (size_t i = count > 300 ? count - 300 : 0; i < count; i++)
    CHECK(data[i] == tree_sum(0, comm->size, i));
  CHECK(data[count] == 42.0f);
}

static void check_broadcast(const mousse_comm *comm, float *data, size_t count)
{
  for (int root = 0; root < comm->size; root++) {
    for (size_t i = 0; i < count; i++) data[i] = number(comm->rank, i);
    CHECK(comm->broadcast(comm->context, data, count, root) == 0);
    for (size_t i = 0; i < count; i++) CHECK(data[i] == number(root, i));
  }
}

static void check_agreement(const mousse_comm *comm)
{
  const int last = comm->size - 1;
  mo_error error = {"nothing"};
  double largest = 0;
  uint64_t bits = comm->rank == 0 ? UINT64_C(0x7ff4000000000001) : 0; /* a signalling NaN */
  CHECK(mo_ranks_agree(comm, MOUSSE_OK, &error) == MOUSSE_OK);
  CHECK(mo_ranks_spread(comm, &bits, sizeof bits, &error) == MOUSSE_OK);
  CHECK(bits == UINT64_C(0x7ff4000000000001));
  CHECK(mo_ranks_largest(comm, 10.0 * comm->rank, &largest, &error) == MOUSSE_OK);
  CHECK(largest == 10.0 * last);
  CHECK(mo_ranks_same(comm, 5, "this is", &error) == MOUSSE_OK);
  if (comm->size == 1) return;
  const mousse_status mine =
      comm->rank == last ? mo_fail(&error, MOUSSE_IO, "disk %d is full", last) : MOUSSE_OK;
  CHECK(mo_ranks_agree(comm, mine, &error) == MOUSSE_IO);
  CHECK(strncmp(error.text, "rank ", 5) == 0 && strstr(error.text, "is full") != NULL);
  CHECK(mo_ranks_same(comm, (uint64_t)(comm->rank == last), "its age is", &error) ==
        MOUSSE_INVALID_ARGUMENT);
  CHECK(strstr(error.text, "its age is 0000000000000001 here") != NULL);
}

/* The limit on this process's memory is what it has now, and a little; or it is lifted. */
static void limit_memory(bool limited)
{
  unsigned long long pages = 0;
  struct rlimit memory;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%llu", &pages) == 1);
  fclose(file);
  CHECK(getrlimit(RLIMIT_AS, &memory) == 0);
  memory.rlim_cur = limited ? (rlim_t)(pages * 4096 + 65536) : memory.rlim_max;
  CHECK(setrlimit(RLIMIT_AS, &memory) == 0);
}

/* A rank that cannot map its program has the same build as the others. A sanitizer's own memory
 * leaves no room for such a limit. */
static void check_program(const mousse_comm *comm)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  static train_options run;
  mo_error error = {{0}};
  CHECK(options_defaults(&run, &error) == MOUSSE_OK);
  CHECK(ranks_compare_options(&run, comm, &error) == MOUSSE_OK);
  const bool limited = comm->rank == comm->size - 1;
  if (limited) limit_memory(true);
  const mousse_status status = ranks_compare_options(&run, comm, &error);
  if (limited) limit_memory(false);
  CHECK(status == MOUSSE_OK);
#else
  (void)comm, (void)limit_memory;
#endif
}

int main(int argc, char **argv)
{
  static const size_t counts[] = {0, 1, 2, 3, 255, 256, 257, 1000, 4099, LONGEST};
  mousse_comm comm;
  MPI_Init(&argc, &argv);
  CHECK(mousse_mpi_open(MPI_COMM_WORLD, &comm) == MOUSSE_OK);
  CHECK(comm.size <= MOST_RANKS);
  float *data = malloc((LONGEST + 1) * sizeof *data);
  CHECK(data != NULL);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_sum(&comm, data, counts[i]);
  check_broadcast(&comm, data, 1000);
  check_agreement(&comm);
  check_program(&comm);
  free(data);
  mousse_mpi_close(&comm);
  mousse_mpi_close(&comm);
  MPI_Finalize();
  return 0;
}
