/* run_paths.h - the paths in the options of a run, wherever it is looked at from.
 *
 * A run keeps data_dir and init as they were given: relative paths begin in the folder in which its
 * command ran. Its own `out` tells which one that was: a run that keeps "runs/book" and is found as
 * ../runs/book began in the folder "..".
 */
#ifndef MOUSSE_TRAIN_RUN_PATHS_H
#define MOUSSE_TRAIN_RUN_PATHS_H

#include "train/options.h"

/* Names data_dir and init of the run in `directory` as they are found from here. A path stays as it is
 * where the folder that it begins in is not known, or has nothing of that name while this one has. */
void run_paths_from_here(train_options *run, const char *directory);

/* Whether a path that a run keeps and one that is given now name the same weights or data, however they are
 * written. What is kept and cannot be found from here is compared by its name. */
bool run_paths_same_weights(const char *kept, const char *given);
bool run_paths_same_data(const char *kept, const char *given);

/* The same for the row of the table called `name`; any other is compared as text. */
bool run_paths_same_option(const char *name, const char *kept, const char *given);

#endif
