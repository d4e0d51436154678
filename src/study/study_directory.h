/* study_directory.h - the directory of a search or a reproduction: reports and settings in it, run
 * directories in DIR/runs. */
#ifndef MOUSSE_STUDY_STUDY_DIRECTORY_H
#define MOUSSE_STUDY_STUDY_DIRECTORY_H

#include "base/error.h"

/* Makes it, or takes one that is a study: it has runs/lock. Any other one with files in it is
 * refused, as a report or a configuration of the user's could be among them. */
mousse_status study_directory_take(const char *directory, mo_error *error);

#endif
