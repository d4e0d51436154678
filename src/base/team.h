/* team.h - a parallel loop whose items can be divided further.
 *
 *     mo_team_run(threads, matrices, update_one, ...)        // as mo_parallel
 *     ... in update_one:  mo_team_divide(tiles, tile, ...)   // as a loop, and others may help
 *
 * Items are handed out first. A thread that finds none left does not wait for the end: it takes
 * parts of the loops that the items still at work have open. So few large items use all
 * threads, and many small ones never wait for each other. How work is divided is up to its
 * shape, here too; who does which part is not seen in the result.
 *
 * An item can be in a hurry: one that takes much longer than the others sets the pace. As long as
 * that are few (a quarter of the threads), whoever takes a piece of work takes a part of theirs
 * first, before new items and before parts of its own.
 */
#ifndef MOUSSE_BASE_TEAM_H
#define MOUSSE_BASE_TEAM_H

#include "base/parallel.h"

#include <stdbool.h>

#define mo_team_run(threads, count, body, context)                                             \
  mo_team_run_at(MO_FILE, #body, threads, count, body, context)

/* For an item of a team; elsewhere, and in parts themselves, a plain loop. `thread` of a part
 * is the thread that runs it, whose scratch may be in use by an item. Returns when all parts
 * are done. */
#define mo_team_divide(count, body, context)                                                   \
  mo_team_divide_at(MO_FILE, #body, count, body, context)

/* Whether this is an item of a team: then work worth dividing is divided, whatever the number
 * of threads. */
bool mo_team_inside(void);

/* This item is in a hurry from now on; elsewhere, nothing. */
void mo_team_hurry(void);

void mo_team_run_at(const char *file, const char *name, int threads, size_t count, mo_body body,
                    void *context);
void mo_team_divide_at(const char *file, const char *name, size_t count, mo_body body,
                       void *context);

#endif
