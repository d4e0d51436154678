/* program_mpi.c - a user's program of several ranks against the installed libraries. */
#include <math.h>
#include <mousse/mousse_mpi.h>
#include <stdio.h>

static int train(const mousse_comm *ranks)
{
  float value[4] = {1, 2, 3, 4}, grad[4] = {1, -1, 1, -1};
  mousse_env env = MOUSSE_ENV_INIT;
  mousse_optimizer *opt = NULL;
  int group = 0, failed = 1;
  env.comm = ranks;
  env.threads = 1;
  if (mousse_create(&env, &opt) == MOUSSE_OK &&
      mousse_add_group(opt, "muon", &group) == MOUSSE_OK &&
      mousse_add_param(opt, group, "w", 2, 2, value, grad) == MOUSSE_OK &&
      mousse_prepare(opt) == MOUSSE_OK && mousse_step(opt) == MOUSSE_OK)
    failed = !(value[0] < 1 && isfinite(value[0]));
  if (failed) fprintf(stderr, "rank %d: %s\n", ranks->rank, mousse_error(opt));
  mousse_destroy(opt);
  return failed;
}

int main(int argc, char **argv)
{
  mousse_comm ranks;
  int failed = 1;
  MPI_Init(&argc, &argv);
  if (mousse_mpi_open(MPI_COMM_WORLD, &ranks) == MOUSSE_OK) failed = train(&ranks);
  mousse_mpi_close(&ranks);
  MPI_Finalize();
  return failed;
}
