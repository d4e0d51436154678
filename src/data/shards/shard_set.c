/* shard_set.c - several shards, found by directory and split, by pattern, or by name. */
#include "data/shards/shard_set.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The directory part is taken literally, whatever characters it has. */
static bool split_pattern(const char *directory, const char *split, const char *ending,
                          char *pattern, size_t capacity)
{
  size_t used = 0;
  for (const char *c = directory; *c != '\0'; c++) {
    if (used + 2 >= capacity) return false;
    if (strchr("*?[\\", *c) != NULL) pattern[used++] = '\\';
    pattern[used++] = *c;
  }
  const int rest = snprintf(pattern + used, capacity - used, "/*_%s%s", split, ending);
  return rest > 0 && (size_t)rest < capacity - used;
}

static mousse_status list(const char *pattern, glob_t *found, mo_error *error)
{
  const int result = glob(pattern, 0, NULL, found); /* sorted by name */
  if (result == 0) return MOUSSE_OK;
  globfree(found);
  if (result == GLOB_NOSPACE)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to list %s", pattern);
  return mo_fail(error, MOUSSE_IO, "no token shard matches %s", pattern);
}

/* llm.c numbers the shards of large sets but not those of small ones
 * (tiny_shakespeare_val.bin). Where there are neither, the message names the numbered ones. */
static mousse_status list_split(const char *directory, const char *split, glob_t *found,
                                mo_error *error)
{
  char numbered[4096], single[4096];
  if (!split_pattern(directory, split, "_*.bin", numbered, sizeof numbered) ||
      !split_pattern(directory, split, ".bin", single, sizeof single))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: path is too long", directory);
  const mousse_status status = list(numbered, found, error);
  return status == MOUSSE_IO && list(single, found, NULL) == MOUSSE_OK ? MOUSSE_OK : status;
}

static mousse_status find_files(const char *path, const char *split, glob_t *found,
                                mo_error *error)
{
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
    return list_split(path, split, found, error);
  return list(path, found, error);
}

mousse_status shard_set_open(shard_set *set, const char *path, const char *split,
                             uint32_t vocabulary, mo_error *error)
{
  glob_t found = {0};
  mousse_status status = MOUSSE_OK;
  *set = (shard_set){0};
  MO_TRY(find_files(path, split, &found, error));
  set->shards = mo_allocate(NULL, found.gl_pathc * sizeof *set->shards);
  if (set->shards == NULL) {
    globfree(&found);
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %zu shards", found.gl_pathc);
  }
  set->count = found.gl_pathc;
  for (size_t i = 0; i < set->count && status == MOUSSE_OK; i++) {
    status = shard_open(&set->shards[i], found.gl_pathv[i], vocabulary, error);
    set->tokens += set->shards[i].count;
  }
  globfree(&found);
  if (status != MOUSSE_OK) shard_set_close(set);
  return status;
}

void shard_set_close(shard_set *set)
{
  for (size_t i = 0; i < set->count; i++) shard_close(&set->shards[i]);
  mo_release(NULL, set->shards, set->count * sizeof *set->shards);
  *set = (shard_set){0};
}

bool shard_set_exists(const char *path, const char *split)
{
  glob_t found = {0};
  if (find_files(path, split, &found, NULL) != MOUSSE_OK) return false;
  globfree(&found);
  return true;
}
