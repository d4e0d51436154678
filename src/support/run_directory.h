/* run_directory.h - the directory of a run is ours, or it is not touched.
 *
 * Taken: one that is absent or empty, and one whose file `lock` begins with our line. (Runs of
 * 0.1 have an empty one beside checkpoints/step-0000000100/manifest.json.) Any other is refused,
 * and so are the root and the home directory, whatever is in them.
 */
#ifndef MOUSSE_SUPPORT_RUN_DIRECTORY_H
#define MOUSSE_SUPPORT_RUN_DIRECTORY_H

#include "base/error.h"

#include <stdbool.h>

/* Makes it, with its parents, and marks it. */
mousse_status run_directory_take(const char *directory, mo_error *error);

/* Whether nothing is there yet: no such directory, or an empty one. */
bool run_directory_is_free(const char *directory);

/* Bytes that the file system of a directory, which need not exist yet, has left for us; UINT64_MAX:
 * not known. */
unsigned long long run_directory_room(const char *directory);

#endif
