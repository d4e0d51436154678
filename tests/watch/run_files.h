/* run_files.h - the files of a run, made up for a test. */
#ifndef MOUSSE_TESTS_WATCH_RUN_FILES_H
#define MOUSSE_TESTS_WATCH_RUN_FILES_H

#include "scratch.h"

#include <string.h>

static inline void append(void **state, const char *name, const char *text)
{
  FILE *file = fopen(scratch_path(state, name), "a");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

#define STEP(step, loss)                                                                       \
  "{\"step\": " #step ", \"tokens\": " #step "00, \"loss\": " #loss                            \
  ", \"lr\": 0.01, \"grad_norm\": 1, \"seconds\": 0.5}\n"

static inline void make_run(void **state, const char *name, const char *config,
                            const char *metrics)
{
  char path[64];
  mo_error error;
  assert_int_equal(mo_make_directories(scratch_path(state, name), &error), MOUSSE_OK);
  snprintf(path, sizeof path, "%s/config.yaml", name);
  scratch_write(state, path, config, strlen(config));
  snprintf(path, sizeof path, "%s/metrics.jsonl", name);
  scratch_write(state, path, metrics, strlen(metrics));
}

#define STARTED(step) "{\"step\": " #step ", \"time\": 1, \"event\": \"started\"}\n"
#define ENDED(step, text)                                                                      \
  "{\"step\": " #step ", \"time\": 1, \"event\": \"ended\", \"text\": \"" text "\"}\n"

#endif
