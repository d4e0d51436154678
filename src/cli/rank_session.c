/* rank_session.c - joining and leaving the other ranks. */
#include "cli/rank_session.h"

#include "base/parallel.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>

static void on_hung(int rank, double seconds)
{
  fprintf(stderr,
          "mousse: rank %d: waited %.0f s for the other ranks (--rank-timeout); one hangs or "
          "its machine is gone. The job ends; the newest checkpoint is intact\n",
          rank, seconds);
}

/* Ranks that may use the same processors divide them, unless the user has said it. */
static void share_threads(double processors)
{
  const int share = processors >= 1 ? (int)(processors + 1e-6) : 1;
  if (processors > 0 && getenv("OMP_NUM_THREADS") == NULL && share < mo_threads_available())
    mo_threads_limit(share);
}

static void tell(int rank, const char *text)
{
  char line[sizeof((mo_error *)0)->text + 32];
  snprintf(line, sizeof line, "rank %d: %s", rank, text);
  terminal_error(line);
}

/* A failure that all ranks know of is told by one. */
static void tell_failure(mo_launch *cluster, mousse_status status, mo_error *error)
{
  if (!cluster->started || status == MOUSSE_OK) return;
  if (status == MOUSSE_COMM)
    tell(cluster->comm.rank, error->text);
  else if (cluster->comm.rank == 0)
    terminal_error(error->text);
  if (status == MOUSSE_COMM) mo_launch_abort(cluster, EXIT_FAILURE);
  error->text[0] = '\0';
}

mousse_status rank_session_open(mo_launch *cluster, double seconds, mo_error *error)
{
  MO_TRY(mo_launch_open(cluster, seconds, on_hung, error));
  share_threads(cluster->processors);
  return MOUSSE_OK;
}

void rank_session_close(mo_launch *cluster, mousse_status status, mo_error *error)
{
  tell_failure(cluster, status, error);
  mo_launch_close(cluster);
}
