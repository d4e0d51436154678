/* shard_set.c - several shards, found by directory and split, by pattern, or by name; and
 * several such sources one after the other. */
#include "data/shards/shard_set.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool is_word(const char *text, size_t length, const char *word)
{
  return length == strlen(word) && strncmp(text, word, length) == 0;
}

/* The last split in a name counts: wiki_train_val_000000.bin is the validation part of a set that
 * is called wiki_train. */
static bool is_of_split(const char *path, const char *split)
{
  bool is_ours = false;
  const char *at = strrchr(path, '/');
  while (at != NULL && (at = strchr(at, '_')) != NULL) {
    const size_t length = strcspn(++at, "_.");
    if (is_word(at, length, split))
      is_ours = true;
    else if (is_word(at, length, "train") || is_word(at, length, "val"))
      is_ours = false;
  }
  return is_ours;
}

/* The files of a pattern that belong to the split come first, still sorted; returns how many. */
static size_t keep_split(const glob_t *found, const char *split)
{
  size_t count = 0;
  for (size_t i = 0; i < found->gl_pathc; i++) {
    char *path = found->gl_pathv[i];
    if (!is_of_split(path, split)) continue;
    found->gl_pathv[i] = found->gl_pathv[count];
    found->gl_pathv[count++] = path;
  }
  return count;
}

static mousse_status list_kept(const char *pattern, const char *split, glob_t *found,
                               size_t *count, mo_error *error)
{
  MO_TRY(list(pattern, found, error));
  *count = keep_split(found, split);
  if (*count > 0) return MOUSSE_OK;
  globfree(found);
  return mo_fail(error, MOUSSE_IO, "no token shard matches %s", pattern);
}

/* llm.c numbers the shards of large sets but not those of small ones
 * (tiny_shakespeare_val.bin). Where there are neither, the message names the numbered ones. */
static mousse_status list_split(const char *directory, const char *split, glob_t *found,
                                size_t *count, mo_error *error)
{
  char numbered[4096], single[4096];
  if (!split_pattern(directory, split, "_*.bin", numbered, sizeof numbered) ||
      !split_pattern(directory, split, ".bin", single, sizeof single))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: path is too long", directory);
  const mousse_status status = list_kept(numbered, split, found, count, error);
  return status == MOUSSE_IO && list_kept(single, split, found, count, NULL) == MOUSSE_OK
             ? MOUSSE_OK
             : status;
}

/* The first *count files of `found`; globfree releases all of it. */
static mousse_status find_files(const char *path, const char *split, glob_t *found,
                                size_t *count, mo_error *error)
{
  struct stat info;
  const bool exists = stat(path, &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return list_split(path, split, found, count, error);
  if (!exists && strpbrk(path, "*?[") == NULL)
    return mo_fail(error, MOUSSE_IO, "%s: there is no such directory or token shard", path);
  MO_TRY(list(path, found, error));
  *count = found->gl_pathc;
  return MOUSSE_OK;
}

/* Room for more shards at the end of the set. */
static mo_shard *extend(shard_set *set, size_t more)
{
  mo_shard *all = mo_allocate(NULL, (set->count + more) * sizeof *all);
  if (all == NULL) return NULL;
  if (set->count > 0) memcpy(all, set->shards, set->count * sizeof *all);
  mo_release(NULL, set->shards, set->count * sizeof *all);
  mo_shard *added = all + set->count;
  set->shards = all;
  set->count += more;
  return added;
}

static mousse_status add_source(shard_set *set, const char *path, const char *split,
                                double weight, uint32_t vocabulary, mo_error *error)
{
  glob_t found = {0};
  mousse_status status = MOUSSE_OK;
  size_t count = 0;
  MO_TRY(find_files(path, split, &found, &count, error));
  const size_t first = set->count;
  mo_shard *shards = extend(set, count);
  if (shards == NULL)
    status = mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %zu shards", count);
  for (size_t i = 0; i < count && status == MOUSSE_OK; i++) {
    status = shard_open(&shards[i], found.gl_pathv[i], vocabulary, error);
    set->tokens += shards[i].count;
  }
  globfree(&found);
  set->sources[set->source_count++] = (shard_source){first, count, weight};
  return status;
}

static bool is_optional(const mo_mixture *m, size_t index, const char *split)
{
  return m->count > 1 && strcmp(split, "val") == 0 &&
         access(mixture_path(m, index), F_OK) == 0 &&
         !shard_set_exists(mixture_path(m, index), split);
}

mousse_status shard_set_open(shard_set *set, const char *path, const char *split,
                             uint32_t vocabulary, mo_error *error)
{
  mo_mixture mixture;
  mousse_status status = MOUSSE_OK;
  *set = (shard_set){0};
  MO_TRY(mixture_parse(&mixture, path, error));
  for (size_t i = 0; i < mixture.count && status == MOUSSE_OK; i++)
    if (!is_optional(&mixture, i, split))
      status = add_source(set, mixture_path(&mixture, i), split, mixture.weights[i], vocabulary,
                          error);
  if (status == MOUSSE_OK && set->count == 0)
    status = mo_fail(error, MOUSSE_IO, "%s: there are no shards of '%s'", path, split);
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
  mo_mixture mixture;
  glob_t found = {0};
  size_t count = 0;
  if (mixture_parse(&mixture, path, NULL) != MOUSSE_OK) return false;
  for (size_t i = 0; i < mixture.count; i++) {
    if (find_files(mixture_path(&mixture, i), split, &found, &count, NULL) != MOUSSE_OK)
      continue;
    globfree(&found);
    return true;
  }
  return false;
}
