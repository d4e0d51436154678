/* inputs.c - text, or token shards. */
#include "cli/inputs.h"

#include "data/shards/shard_set.h"

#include <string.h>
#include <sys/stat.h>

bool inputs_is_shard(const char *path)
{
  const size_t length = strlen(path);
  return length > 4 && strcmp(path + length - 4, ".bin") == 0;
}

mousse_status inputs_check(const cli_invocation *call, const char *out, mo_error *error)
{
  struct stat made;
  const bool exists = stat(out, &made) == 0;
  for (size_t i = 0; i < call->argument_count; i++) {
    const char *path = call->arguments[i];
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    if (exists && made.st_dev == info.st_dev && made.st_ino == info.st_ino) continue;
    if (shard_set_exists(path, "train") || shard_set_exists(path, "val"))
      return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "%.300s: holds token shards, not text; 'mousse data' describes them, and "
                     "'mousse text' shows those that are named (.bin)",
                     path);
  }
  return MOUSSE_OK;
}
