/* loss_watch.h - when a run is stopped before its end.
 *
 *     diverged   its last ten losses are on average more than 1 nat above its very first, or as
 *                many steps in a row as the run's own limit had no finite gradient
 *     hopeless   a validation is above the limit that was set for its step (study_run.rule)
 *
 * The rule looks at every line of metrics.jsonl in order, so what it says does not depend on
 * when it is asked.
 */
#ifndef MOUSSE_STUDY_LOSS_WATCH_H
#define MOUSSE_STUDY_LOSS_WATCH_H

#include "study/runs.h"

/* Forgets what was read. */
void loss_watch_start(loss_watch *watch);

typedef enum loss_verdict { LOSS_FINE, LOSS_DIVERGED, LOSS_HOPELESS } loss_verdict;

/* Reads the lines added to DIRECTORY/metrics.jsonl since the last call; an unfinished last line
 * is left for the next. */
loss_verdict loss_watch_follow(loss_watch *watch, const char *directory, const loss_rule *rule);

/* All of a metrics.jsonl in memory, whatever the losses are. */
void loss_watch_read(loss_watch *watch, const char *text);

#endif
