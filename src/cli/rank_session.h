/* rank_session.h - a command that several ranks run: joined before, left after. */
#ifndef MOUSSE_CLI_RANK_SESSION_H
#define MOUSSE_CLI_RANK_SESSION_H

#include "comm/launch.h"

/* [collective] Joins the other ranks, if a launcher started any, and takes a fair share of the
 * machine's threads. A rank that waits longer than rank 0's `seconds` (0: never) ends the job. */
mousse_status rank_session_open(mo_launch *cluster, double seconds, mo_error *error);

/* [collective] Leaves them. A failure is told here, once for all ranks, and taken out of error;
 * one that the others do not know of ends the job. */
void rank_session_close(mo_launch *cluster, mousse_status status, mo_error *error);

#endif
