/* study_directory.c - whose directory it is. */
#include "study/study_directory.h"

#include "base/directory.h"
#include "base/file.h"
#include "support/run_directory.h"
#include "support/run_lock.h"

#include <unistd.h>

mousse_status study_directory_take(const char *directory, mo_error *error)
{
  char runs[4096], path[4096];
  run_lock lock;
  MO_TRY(mo_path_join(runs, sizeof runs, directory, "runs", error));
  MO_TRY(mo_path_join(path, sizeof path, runs, MO_LOCK_NAME, error));
  if (access(path, F_OK) == 0) return MOUSSE_OK;
  if (!run_directory_is_free(directory))
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "%s: has files in it and is not a study of mousse; nothing was changed; choose "
        "another --out",
        directory);
  MO_TRY(mo_make_directories(runs, error));
  MO_TRY(run_lock_take(&lock, runs, error));
  run_lock_release(&lock);
  return MOUSSE_OK;
}
