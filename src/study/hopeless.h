/* hopeless.h - when a run of a search need not go on.
 *
 * After a third of its steps, a validation more than 0.25 nats above that of the search's first
 * run at the same step: differences between settings worth having are a tenth of that. What is
 * stopped depends on these two runs alone, not on what else has ended.
 */
#ifndef MOUSSE_STUDY_HOPELESS_H
#define MOUSSE_STUDY_HOPELESS_H

#include "study/runs.h"

/* The limits of a run by the first one of its search; none when that did not end well. */
mousse_status hopeless_limits(study_run *run, const study_run *first, mo_error *error);

#endif
