/* existing.c - what an earlier call left where a data set is to be made. */
#include "data/shards/existing.h"

#include "base/json_text.h"
#include "base/staging.h"
#include "data/shards/shard.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_MANIFEST = 1 << 26 };

/* NAME_train_000000.bin and NAME_val_000000.bin of any NAME and their targets, also while they are
 * written. */
static bool is_shard(const char *name)
{
  static const char *const splits[] = {"_train_", "_val_"};
  for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
    for (const char *at = strstr(name, splits[i]); at != NULL; at = strstr(at + 1, splits[i])) {
      const char *digits = at + strlen(splits[i]);
      const char *rest = digits + strspn(digits, "0123456789");
      if (at > name && rest - digits >= 6 &&
          (mo_is_file_of(rest, ".bin") || mo_is_file_of(rest, ".targets")))
        return true;
    }
  return false;
}

bool existing_is_ours(const char *name)
{
  return is_shard(name) || mo_is_file_of(name, "tokenizer.json") ||
         mo_is_file_of(name, DATASET_MANIFEST);
}

static mousse_status missing(const char *out, const char *reason, mo_error *error)
{
  return mo_fail(error, MOUSSE_IO,
                 "%s: its manifest says that it is complete, but %s; remove the directory and "
                 "run the command again",
                 out, reason);
}

/* Every shard that the manifest counts, with its size and, where there must be, its targets. */
static mousse_status check_shards(const char *out, const char *name, const char *split,
                                  const dataset_split *part, bool targets, mo_error *error)
{
  uint64_t tokens = 0;
  for (uint64_t i = 0; i < part->shards; i++) {
    char path[4096];
    mo_shard shard;
    mo_error reason = {{0}};
    const int length = snprintf(path, sizeof path, "%s/%s_%s_%06llu.bin", out, name, split,
                                (unsigned long long)i);
    if (length < 0 || (size_t)length >= sizeof path)
      return missing(out, "its path is too long", error);
    if (shard_open(&shard, path, 0, &reason) != MOUSSE_OK)
      return missing(out, reason.text, error);
    tokens += shard.count;
    const bool has_targets = shard.targets != NULL;
    shard_close(&shard);
    if (targets && !has_targets) return missing(out, "targets of a shard are missing", error);
  }
  if (tokens == part->tokens) return MOUSSE_OK;
  return missing(out, "its shards have another number of tokens", error);
}

/* A manifest alone is no data set. */
static mousse_status check_complete(const char *out, const json_t *recipe,
                                    const mo_dataset *made, mo_error *error)
{
  const bool targets = json_object_get(recipe, "completion") != NULL ||
                       json_object_get(recipe, "messages") != NULL;
  MO_TRY(check_shards(out, made->name, "train", &made->train, targets, error));
  MO_TRY(check_shards(out, made->name, "val", &made->val, targets, error));
  return tokenizer_exists(out) ? MOUSSE_OK : missing(out, "it has no tokenizer", error);
}

mousse_status existing_check(const char *out, json_t *recipe, mo_dataset *dataset,
                             bool *existed, mo_error *error)
{
  char path[4096];
  char *text = NULL;
  size_t size = 0;
  *existed = false;
  MO_TRY(mo_path_join(path, sizeof path, out, DATASET_MANIFEST, error));
  if (access(out, F_OK) != 0 || rmdir(out) == 0) return MOUSSE_OK; /* absent, or was empty */
  if (access(path, F_OK) != 0) /* nothing that one should be told to remove */
    return mo_fail(error, MOUSSE_IO,
                   "%s: exists, and is no data set of mousse; give another --out", out);
  if (mo_file_read(NULL, path, LARGEST_MANIFEST, &text, &size, NULL) == MOUSSE_OK) {
    json_t *manifest = NULL;
    (void)mo_json_parse(&manifest, path, text, size, 1 << 21, 0, NULL);
    *existed = manifest != NULL && recipe_is_same(json_object_get(manifest, "recipe"), recipe);
    json_decref(manifest);
    mo_release(NULL, text, size + 1);
  }
  if (*existed) {
    MO_TRY(dataset_open(dataset, out, error));
    return check_complete(out, recipe, dataset, error);
  }
  return mo_fail(error, MOUSSE_IO,
                 "%s: exists, and was not made from these inputs and options and this "
                 "tokenizer; remove it or give another --out",
                 out);
}
