/* comm_none.c - a build without MPI: a process is alone, or told that it cannot be one of
 * several. */
#include "comm/comm.h"
#include "comm/launch.h"

mousse_status mo_cluster_open(mo_cluster *cluster, double seconds, mo_watchdog_fn hung,
                              mo_error *error)
{
  (void)seconds, (void)hung;
  *cluster = (mo_cluster){.comm = mo_comm_self};
  if (!mo_cluster_launched()) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_COMM,
                 "this mousse was built without MPI and cannot be one of several processes; "
                 "start it without mpirun, or build it with -DMOUSSE_MPI=ON");
}

void mo_cluster_close(mo_cluster *cluster)
{
  (void)cluster;
}

void mo_cluster_abort(mo_cluster *cluster, int code)
{
  (void)cluster, (void)code;
}
