/* mousse_mpi.h - a mousse_comm from an MPI communicator; in libmousse_mpi.
 *
 *     mousse_comm ranks;
 *     if (mousse_mpi_open(MPI_COMM_WORLD, &ranks) != MOUSSE_OK) ...
 *     mousse_env env = {.struct_size = sizeof env, .comm = &ranks};
 *
 * The sum over ranks is taken in a binary tree whose shape depends on nothing but the number of
 * ranks: neighbours in pairs, then neighbouring pairs, and so on; an odd one out moves up
 * unchanged. So it repeats bit for bit, and 2^k partial sums on each of R ranks add up to the
 * bits of R 2^k partial sums in one process that uses the same tree. (MPI_Allreduce promises
 * neither.)
 */
#ifndef MOUSSE_MOUSSE_MPI_H
#define MOUSSE_MOUSSE_MPI_H

#include <mousse/mousse.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* [collective] Between MPI_Init and MPI_Finalize. Works on a duplicate of communicator, so no
 * messages of the caller's are in the way. Allocates up to 16 MB and 4 ranks^2 bytes. */
MOUSSE_API mousse_status mousse_mpi_open(MPI_Comm communicator, mousse_comm *comm);

/* [collective] After every optimizer that uses it is destroyed. Accepts a zeroed one. */
MOUSSE_API void mousse_mpi_close(mousse_comm *comm);

#ifdef __cplusplus
}
#endif
#endif
