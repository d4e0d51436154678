/* loss_watch.h - when a run is given up: its last ten losses are on average more than 1 nat
 * above its very first, or as many steps in a row as the run's own limit had no finite
 * gradient.
 *
 * The rule looks at every line of metrics.jsonl in order, so whether a run has diverged does
 * not depend on when it is looked at.
 */
#ifndef MOUSSE_STUDY_LOSS_WATCH_H
#define MOUSSE_STUDY_LOSS_WATCH_H

#include "study/runs.h"

/* Forgets what was read. */
void loss_watch_start(loss_watch *watch);

/* Reads the lines added to DIRECTORY/metrics.jsonl since the last call; an unfinished last line
 * is left for the next. True: diverged. */
bool loss_watch_follow(loss_watch *watch, const char *directory, uint64_t most_skipped);

#endif
