/* driver.c - runs a fuzz target without libFuzzer: every seed as it is, then mutations of the
 * seeds, the same ones every time.
 *
 * usage: fuzz_NAME RUNS SEED_FOLDER      finds nothing: exit 0; a finding ends the process
 */
#include "base/file.h"
#include "base/random.h"
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SEEDS = 64, LARGEST_SEED = 1 << 20, GROWTH = 64 };

typedef struct seed {
  char *data;
  size_t size;
} seed;

static int by_name(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

static size_t load_seeds(const char *folder, seed *seeds)
{
  struct dirent **names = NULL;
  size_t count = 0;
  const int found = scandir(folder, &names, NULL, by_name); /* in the same order everywhere */
  for (int i = 0; i < found; i++) {
    char path[4096];
    mo_error error;
    if (names[i]->d_name[0] != '.' && count < MOST_SEEDS &&
        mo_path_join(path, sizeof path, folder, names[i]->d_name, &error) == MOUSSE_OK &&
        mo_file_read(NULL, path, LARGEST_SEED, &seeds[count].data, &seeds[count].size,
                     &error) == MOUSSE_OK)
      count++;
    free(names[i]);
  }
  free(names);
  return count;
}

/* One change: flip a bit, set a byte, cut, drop, double or overwrite a part. */
static size_t change(uint8_t *data, size_t size, size_t room, uint64_t run, uint64_t *draw)
{
  static const uint8_t special[] = {0,    1,   0x7f, 0x80, 0xff, '"',
                                    '\\', '{', '}',  '\n', ' ',  ','};
#define BELOW(limit) mo_random_below(1, run, (*draw)++, (limit) > 0 ? (limit) : 1)
  const size_t at = BELOW(size), part = 1 + BELOW(16);
  const size_t length = at + part <= size ? part : size - at;
  switch (size > 0 ? BELOW(6) : 6) {
  case 0:
    data[at] ^= (uint8_t)(1u << BELOW(8));
    return size;
  case 1:
    data[at] = special[BELOW(sizeof special)];
    return size;
  case 2:
    return at;
  case 3:
    memmove(data + at, data + at + length, size - at - length);
    return size - length;
  case 4:
    if (size + length > room) return size;
    memmove(data + at + length, data + at, size - at);
    return size + length;
  case 5:
    for (size_t i = 0; i < length; i++) data[at + i] = (uint8_t)BELOW(256);
    return size;
  default:
    return size;
  }
#undef BELOW
}

/* A copy of exactly its size, so that the sanitizer sees the first byte read beyond it. */
static void run_one(const uint8_t *data, size_t size)
{
  uint8_t *copy = mo_allocate(NULL, size);
  FUZZ_CHECK(copy != NULL);
  memcpy(copy, data, size);
  LLVMFuzzerTestOneInput(copy, size);
  mo_release(NULL, copy, size);
}

int main(int argc, char **argv)
{
  static seed seeds[MOST_SEEDS];
  const size_t count = argc == 3 ? load_seeds(argv[2], seeds) : 0;
  const uint64_t runs = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
  if (count == 0) {
    fprintf(stderr, "usage: fuzz_NAME RUNS SEED_FOLDER (with at least one file)\n");
    return 2;
  }
  for (size_t i = 0; i < count; i++) run_one((uint8_t *)seeds[i].data, seeds[i].size);
  for (uint64_t run = 0; run < runs; run++) {
    const seed *from = &seeds[run % count];
    const size_t room = from->size + GROWTH;
    uint8_t *data = mo_allocate(NULL, room);
    uint64_t draw = 0;
    FUZZ_CHECK(data != NULL);
    memcpy(data, from->data, from->size);
    size_t size = from->size;
    for (uint64_t i = 0; i <= run % 4; i++) size = change(data, size, room, run, &draw);
    run_one(data, size);
    mo_release(NULL, data, room);
  }
  for (size_t i = 0; i < count; i++) mo_release(NULL, seeds[i].data, seeds[i].size + 1);
  printf("%llu runs over %zu seeds\n", (unsigned long long)runs, count);
  return 0;
}
