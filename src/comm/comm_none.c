/* comm_none.c - a build without MPI: a process is alone, or told that it cannot be one of
 * several. */
#include "comm/comm.h"
#include "comm/launch.h"

mousse_status mo_launch_open(mo_launch *launch, double seconds, mo_watchdog_fn hung,
                             mo_error *error)
{
  (void)seconds, (void)hung;
  *launch = (mo_launch){.comm = mo_comm_self};
  if (!mo_launch_launched()) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_COMM,
                 "this mousse was built without MPI and cannot be one of several processes; "
                 "start it without mpirun, or build it with -DMOUSSE_MPI=ON");
}

void mo_launch_close(mo_launch *launch)
{
  (void)launch;
}

void mo_launch_abort(mo_launch *launch, int code)
{
  (void)launch, (void)code;
}
