/* comm.h - how ranks talk, seen from inside: one process is a communicator of size 1. */
#ifndef MOUSSE_COMM_COMM_H
#define MOUSSE_COMM_COMM_H

#include <mousse/mousse.h>

/* The communicator of a single process: every operation succeeds and has nothing to do. */
extern const mousse_comm mo_comm_self;

#endif
