/* fuzz_watched.c - a run that is watched, from any bytes: config.yaml, metrics.jsonl, events.jsonl,
 * history.jsonl and result.json, one after the other with form feeds between. It is read in two
 * parts, as it would grow, and whatever it says can be shown. */
#include "fuzz.h"
#include "watch/watch_json.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"config.yaml", "metrics.jsonl", "events.jsonl",
                                    "history.jsonl", "result.json"};
enum { FILES = sizeof names / sizeof *names };

/* A folder in memory where the system has one; it goes with the process. */
static const char *folder(void)
{
  static char path[64];
  if (path[0] != '\0') return path;
  snprintf(path, sizeof path, "%s/fuzz-watched-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  FUZZ_CHECK(mkdtemp(path) != NULL);
  return path;
}

static void remove_files(void)
{
  const int root = open(folder(), O_RDONLY | O_DIRECTORY);
  FUZZ_CHECK(root >= 0);
  for (size_t i = 0; i < FILES; i++) unlinkat(root, names[i], 0);
  close(root);
  rmdir(folder());
}

static void append(int root, const char *name, const uint8_t *data, size_t size)
{
  const int file = openat(root, name, O_WRONLY | O_CREAT | O_APPEND, 0600);
  FUZZ_CHECK(file >= 0 && write(file, data, size) == (ssize_t)size);
  close(file);
}

/* The files begin empty; half of each, or the rest of it. */
static void write_half(int root, const uint8_t *data, size_t size, int half)
{
  for (size_t i = 0; i < FILES; i++) {
    const uint8_t *end = memchr(data, '\f', size);
    const size_t part = end != NULL && i + 1 < FILES ? (size_t)(end - data) : size;
    if (half == 0) unlinkat(root, names[i], 0);
    append(root, names[i], half == 0 ? data : data + part / 2,
           half == 0 ? part / 2 : part - part / 2);
    const size_t taken = part < size ? part + 1 : part;
    data += taken;
    size -= taken;
  }
}

static void show(const watch_model *model, watched_run *run)
{
  bool more = false;
  json_t *row = watch_row_json(model, run);
  json_t *all = watch_run_json(model, run, (series_request){0}, (series_request){0});
  char *text = all != NULL ? json_dumps(all, 0) : NULL;
  FUZZ_CHECK(row != NULL && text != NULL);
  (void)watched_run_curvature(run, model->root, 1 << 20, &more);
  free(text);
  json_decref(row);
  json_decref(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const lock_list nobody;
  static int registered;
  if (!registered++) atexit(remove_files);
  watch_model model = {.root = open(folder(), O_RDONLY | O_DIRECTORY)};
  watched_run run;
  FUZZ_CHECK(model.root >= 0 && watched_run_open(&run, "."));
  for (int half = 0; half < 2; half++) {
    bool more = true;
    write_half(model.root, size > 0 ? data : (const uint8_t *)"", size, half);
    for (int i = 0; i < 4 && more; i++)
      watched_run_read(&run, model.root, &nobody, 1 << 20, &more);
    show(&model, &run);
  }
  watched_run_close(&run);
  close(model.root);
  return 0;
}
