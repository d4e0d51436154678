/* manifest.c - checksums of a checkpoint's files. */
#include "train/manifest.h"

#include "base/file.h"
#include "base/json_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { LARGEST_MANIFEST = 1 << 20, READ_BYTES = 1 << 16 };

typedef struct digest {
  uint64_t bytes;
  char hash[17];
} digest;

static bool digest_descriptor(int fd, digest *result)
{
  char buffer[READ_BYTES];
  XXH3_state_t state;
  ssize_t got = 1;
  XXH3_64bits_reset(&state);
  result->bytes = 0;
  while (got != 0) {
    got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno != EINTR) return false;
    if (got <= 0) continue;
    XXH3_64bits_update(&state, buffer, (size_t)got);
    result->bytes += (uint64_t)got;
  }
  snprintf(result->hash, sizeof result->hash, "%016llx",
           (unsigned long long)XXH3_64bits_digest(&state));
  return true;
}

/* Read, not mapped: a disk that fails gives an error instead of a signal. */
static mousse_status digest_file(const char *path, digest *result, mo_error *error)
{
  int fd = -1;
  size_t size = 0;
  MO_TRY(mo_file_open(path, &fd, &size, error));
  const bool done = digest_descriptor(fd, result);
  const int reason = errno;
  close(fd);
  if (!done) return mo_fail(error, MOUSSE_IO, "%s: cannot read: %s", path, strerror(reason));
  return MOUSSE_OK;
}

static json_t *start(uint64_t step)
{
  return json_pack("{s:s, s:i, s:I, s:{}}", "format", "mousse-checkpoint", "version", 1, "step",
                   (json_int_t)step, "files");
}

/* Adds the entry of one file, from what is on disk. */
static mousse_status add(json_t *manifest, const char *directory, const char *name,
                         mo_error *error)
{
  char path[4096];
  digest d;
  MO_TRY(mo_path_join(path, sizeof path, directory, name, error));
  MO_TRY(digest_file(path, &d, error));
  json_t *entry = json_pack("{s:I, s:s}", "bytes", (json_int_t)d.bytes, "xxh3", d.hash);
  if (json_object_set_new(json_object_get(manifest, "files"), name, entry) != 0)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for its manifest", directory);
  return MOUSSE_OK;
}

static char *render(const json_t *manifest)
{
  return json_dumps(manifest, JSON_INDENT(1));
}

mousse_status manifest_write(const char *directory, uint64_t step, const char *const *names,
                             size_t count, mo_error *error)
{
  char path[4096];
  json_t *manifest = start(step);
  mousse_status status = mo_path_join(path, sizeof path, directory, MANIFEST_NAME, error);
  for (size_t i = 0; i < count && status == MOUSSE_OK; i++)
    status = add(manifest, directory, names[i], error);
  char *text = status == MOUSSE_OK ? render(manifest) : NULL;
  if (status == MOUSSE_OK && text == NULL)
    status = mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  if (status == MOUSSE_OK) status = mo_file_write(path, text, strlen(text), error);
  free(text);
  json_decref(manifest);
  return status;
}

static mousse_status check_entry(const char *directory, const char *name, const json_t *stored,
                                 const json_t *found, mo_error *error)
{
  if (json_equal(stored, found)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s/%s: damaged: %lld bytes with checksum %s, expected %lld with %s",
                 directory, name,
                 (long long)json_integer_value(json_object_get(found, "bytes")),
                 json_string_value(json_object_get(found, "xxh3")),
                 (long long)json_integer_value(json_object_get(stored, "bytes")),
                 json_is_string(json_object_get(stored, "xxh3"))
                     ? json_string_value(json_object_get(stored, "xxh3"))
                     : "(nothing)");
}

/* Makes the manifest of what is on disk, file by file as the stored one names them. */
static mousse_status compare(const char *directory, uint64_t step, json_t *stored,
                             const char *text, mo_error *error)
{
  const char *name = NULL;
  json_t *entry = NULL, *files = json_object_get(stored, "files"), *found = start(step);
  mousse_status status = MOUSSE_OK;
  json_object_foreach(files, name, entry)
  {
    if (status == MOUSSE_OK) status = add(found, directory, name, error);
    if (status == MOUSSE_OK)
      status = check_entry(directory, name, entry,
                           json_object_get(json_object_get(found, "files"), name), error);
  }
  char *expected = status == MOUSSE_OK ? render(found) : NULL;
  if (status == MOUSSE_OK && (expected == NULL || strcmp(expected, text) != 0))
    status = mo_fail(error, MOUSSE_BAD_FORMAT, "%s/" MANIFEST_NAME ": damaged", directory);
  free(expected);
  json_decref(found);
  return status;
}

/* The names that a manifest must and may have. */
static mousse_status check_names(const char *directory, json_t *files,
                                 const char *(*known)(size_t), bool (*needed)(const char *),
                                 mo_error *error)
{
  size_t count = 0;
  const char *name = NULL;
  for (size_t i = 0; (name = known(i)) != NULL; i++) {
    const bool there = json_object_get(files, name) != NULL;
    count += there;
    if (!there && needed(name))
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s/" MANIFEST_NAME ": does not name %s",
                     directory, name);
  }
  if (count == json_object_size(files)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s/" MANIFEST_NAME ": names a file that checkpoints do not have", directory);
}

static mousse_status parse(json_t **manifest, const char *directory, const char *text,
                           size_t size, const char *(*known)(size_t),
                           bool (*needed)(const char *), mo_error *error)
{
  char path[4096];
  MO_TRY(mo_path_join(path, sizeof path, directory, MANIFEST_NAME, error));
  MO_TRY(mo_json_parse(manifest, path, text, size, MO_JSON_FEW, JSON_REJECT_DUPLICATES, error));
  return check_names(directory, json_object_get(*manifest, "files"), known, needed, error);
}

mousse_status manifest_check(const char *directory, const char *text, size_t size,
                             const char *(*known)(size_t index),
                             bool (*needed)(const char *name), mo_error *error)
{
  json_t *manifest = NULL;
  const mousse_status status = parse(&manifest, directory, text, size, known, needed, error);
  json_decref(manifest);
  return status;
}

mousse_status manifest_verify(const char *directory, uint64_t step,
                              const char *(*known)(size_t index),
                              bool (*needed)(const char *name), mo_error *error)
{
  char path[4096];
  char *text = NULL;
  size_t size = 0;
  json_t *stored = NULL;
  MO_TRY(mo_path_join(path, sizeof path, directory, MANIFEST_NAME, error));
  MO_TRY(mo_file_read(NULL, path, LARGEST_MANIFEST, &text, &size, error));
  mousse_status status = parse(&stored, directory, text, size, known, needed, error);
  if (status == MOUSSE_OK) status = compare(directory, step, stored, text, error);
  json_decref(stored);
  mo_release(NULL, text, size + 1);
  return status;
}
