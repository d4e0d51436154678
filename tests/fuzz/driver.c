/* driver.c - runs a fuzz target without libFuzzer: on every file of a corpus folder, then on
 * inputs mutated from those with a fixed seed.
 *
 *     fuzz_NAME RUNS FOLDER
 */
#include "base/file.h"
#include "base/random.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { MOST_FILES = 256, LARGEST_INPUT = 1 << 16 };

typedef struct corpus {
  char *data[MOST_FILES];
  size_t size[MOST_FILES], count;
} corpus;

static int by_name(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_corpus(corpus *files, const char *folder)
{
  struct dirent **names = NULL;
  mo_error error = {{0}};
  const int found = scandir(folder, &names, NULL, by_name); /* in the same order everywhere */
  for (int i = 0; i < found; i++) {
    char path[4096];
    const size_t at = files->count;
    if (names[i]->d_name[0] != '.' && at < MOST_FILES &&
        mo_path_join(path, sizeof path, folder, names[i]->d_name, &error) == MOUSSE_OK &&
        mo_file_read(NULL, path, LARGEST_INPUT, &files->data[at], &files->size[at], &error) ==
            MOUSSE_OK)
      files->count++;
    free(names[i]);
  }
  free(names);
  return files->count > 0;
}

/* One to four changes: a bit flipped, a byte set, a piece cut out or doubled. */
static size_t mutate(unsigned char *data, size_t size, uint64_t run)
{
  const uint64_t changes = 1 + mo_random_below(1, run, 0, 4);
  for (uint64_t i = 1; i <= changes && size > 0; i++) {
    const uint64_t kind = mo_random_below(1, run, 4 * i, 4);
    const size_t at = (size_t)mo_random_below(1, run, 4 * i + 1, size);
    const size_t length = (size_t)mo_random_below(1, run, 4 * i + 2, size - at) + 1;
    const uint64_t value = mo_random_bits(1, run, 4 * i + 3);
    if (kind == 0) {
      data[at] ^= (unsigned char)(1u << (value % 8));
    } else if (kind == 1) {
      data[at] = (unsigned char)value;
    } else if (kind == 2) {
      memmove(data + at, data + at + length, size - at - length);
      size -= length;
    } else if (size + length <= 2 * LARGEST_INPUT) {
      memmove(data + at + length, data + at, size - at);
      size += length;
    }
  }
  return size;
}

/* In a block of exactly its size, so that the sanitizer sees a read past its end. */
static void run_input(const void *data, size_t size)
{
  unsigned char *copy = malloc(size > 0 ? size : 1);
  if (copy == NULL) exit(1);
  if (size > 0) memcpy(copy, data, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}

int main(int argc, char **argv)
{
  static corpus files;
  static unsigned char buffer[2 * LARGEST_INPUT];
  if (argc != 3 || !read_corpus(&files, argv[2])) {
    fprintf(stderr, "usage: %s RUNS FOLDER, a folder with files\n", argv[0]);
    return 2;
  }
  for (size_t i = 0; i < files.count; i++) run_input(files.data[i], files.size[i]);
  const unsigned long runs = strtoul(argv[1], NULL, 10);
  for (uint64_t run = 0; run < runs; run++) {
    const size_t chosen = (size_t)mo_random_below(2, 0, run, files.count);
    memcpy(buffer, files.data[chosen], files.size[chosen]);
    run_input(buffer, mutate(buffer, files.size[chosen], run));
  }
  for (size_t i = 0; i < files.count; i++) mo_release(NULL, files.data[i], files.size[i] + 1);
  printf("%lu runs from %zu files\n", runs, files.count);
  return 0;
}
