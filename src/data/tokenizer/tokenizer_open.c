/* tokenizer_open.c - finds the files of a tokenizer under a path and reads them. */
#include "data/tokenizer/tokenizer.h"

#include "base/file.h"

#include <string.h>
#include <unistd.h>

enum { LARGEST_FILE = 1 << 27, PATH_BYTES = 4096 };

static const struct file_pair {
  const char *vocabulary, *merges;
} file_pairs[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

static mousse_status open_json(mo_tokenizer *tokenizer, const char *path, mo_error *error)
{
  char *data = NULL;
  size_t size = 0;
  MO_TRY(mo_file_read(NULL, path, LARGEST_FILE, &data, &size, error));
  const mousse_status status = tokenizer_parse_json(tokenizer, path, data, size, error);
  mo_release(NULL, data, size + 1);
  return status;
}

static mousse_status open_pair(mo_tokenizer *tokenizer, const char *vocabulary_path,
                               const char *merges_path, mo_error *error)
{
  char *vocabulary = NULL, *merges = NULL;
  size_t vocabulary_size = 0, merges_size = 0;
  MO_TRY(
      mo_file_read(NULL, vocabulary_path, LARGEST_FILE, &vocabulary, &vocabulary_size, error));
  mousse_status status =
      mo_file_read(NULL, merges_path, LARGEST_FILE, &merges, &merges_size, error);
  if (status == MOUSSE_OK) {
    status = tokenizer_parse_pair(tokenizer, vocabulary_path, vocabulary, vocabulary_size,
                                  merges_path, merges, merges_size, error);
    mo_release(NULL, merges, merges_size + 1);
  }
  mo_release(NULL, vocabulary, vocabulary_size + 1);
  return status;
}

static mousse_status open_pair_in(mo_tokenizer *tokenizer, const char *directory,
                                  const struct file_pair *names, mo_error *error)
{
  char vocabulary[PATH_BYTES], merges[PATH_BYTES];
  MO_TRY(mo_path_join(vocabulary, sizeof vocabulary, directory, names->vocabulary, error));
  MO_TRY(mo_path_join(merges, sizeof merges, directory, names->merges, error));
  return open_pair(tokenizer, vocabulary, merges, error);
}

static bool holds(const char *directory, const char *name)
{
  char path[PATH_BYTES];
  return mo_path_join(path, sizeof path, directory, name, NULL) == MOUSSE_OK &&
         access(path, F_OK) == 0;
}

bool tokenizer_exists(const char *directory)
{
  bool found = holds(directory, "tokenizer.json");
  for (size_t i = 0; i < sizeof file_pairs / sizeof *file_pairs; i++)
    found = found || holds(directory, file_pairs[i].vocabulary);
  return found;
}

static mousse_status open_directory(mo_tokenizer *tokenizer, const char *path, mo_error *error)
{
  char file[PATH_BYTES];
  if (holds(path, "tokenizer.json")) {
    MO_TRY(mo_path_join(file, sizeof file, path, "tokenizer.json", error));
    return open_json(tokenizer, file, error);
  }
  for (size_t i = 0; i < sizeof file_pairs / sizeof *file_pairs; i++)
    if (holds(path, file_pairs[i].vocabulary))
      return open_pair_in(tokenizer, path, &file_pairs[i], error);
  return mo_fail(error, MOUSSE_IO,
                 "%s: no tokenizer here; expected tokenizer.json, or vocab.json and merges.txt",
                 path);
}

/* One file of a pair stands for both. */
static mousse_status open_file(mo_tokenizer *tokenizer, const char *path, mo_error *error)
{
  char directory[PATH_BYTES];
  const char *name = mo_path_name(path);
  MO_TRY(mo_path_parent(directory, sizeof directory, path, error));
  for (size_t i = 0; i < sizeof file_pairs / sizeof *file_pairs; i++)
    if (strcmp(name, file_pairs[i].vocabulary) == 0 || strcmp(name, file_pairs[i].merges) == 0)
      return open_pair_in(tokenizer, directory, &file_pairs[i], error);
  return open_json(tokenizer, path, error);
}

mousse_status tokenizer_open(mo_tokenizer *tokenizer, const char *path, mo_error *error)
{
  *tokenizer = (struct mo_tokenizer){0};
  if (strcmp(path, "bytes") == 0) return tokenizer_make_bytes(tokenizer, error);
  if (holds(path, ".")) return open_directory(tokenizer, path, error);
  return open_file(tokenizer, path, error);
}
