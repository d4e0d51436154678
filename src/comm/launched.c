/* launched.c - who started this process, from the variables that launchers set. */
#include "base/text.h"
#include "comm/launch.h"

#include <stdlib.h>

/* Open MPI's mpirun; MPICH's and Intel's mpiexec; srun, whose step may be a single process. */
static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                     "SLURM_STEP_NUM_TASKS"};

bool mo_launch_launched(void)
{
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    const char *text = getenv(counts[i]);
    int64_t count = 0;
    if (text != NULL && mo_parse_integer(text, &count) && count > 1) return true;
  }
  return false;
}
