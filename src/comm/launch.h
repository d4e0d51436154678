/* launch.h - the program as one of several processes that mpirun or srun started.
 *
 * MPI is initialised only then; a plain run never touches it. comm_mpi.c implements this over
 * MPI, comm_none.c for builds without it.
 */
#ifndef MOUSSE_COMM_LAUNCH_H
#define MOUSSE_COMM_LAUNCH_H

#include "base/error.h"
#include "comm/watchdog.h"

#include <stdbool.h>

typedef struct mo_launch {
  mousse_comm comm; /* mo_comm_self when this process is alone */
  bool started;     /* by a launcher: MPI is up */
  /* This rank's share of the processors that it may use: each counts for 1/n when n ranks of
   * this machine may use it. 0: not known. */
  double processors;
  mo_watchdog watchdog;
} mo_launch;

/* From the environment: whether a launcher started this process as one of several. */
bool mo_launch_launched(void);

/* [collective] A rank that waits for others longer than rank 0's `seconds` (0: as long as it takes)
 * calls `hung`, then the job is ended. */
mousse_status mo_launch_open(mo_launch *launch, double seconds, mo_watchdog_fn hung,
                             mo_error *error);
void mo_launch_close(mo_launch *launch); /* [collective] */

/* Ends all ranks at once: when this one cannot go on and the others do not know. */
void mo_launch_abort(mo_launch *launch, int code);

#endif
