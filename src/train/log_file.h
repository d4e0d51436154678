/* log_file.h - a file to which a run adds what it tells about itself.
 *
 * What a full disk has no room for waits in memory, up to 1 MB, and is written when there is room
 * again. A file that cannot be written for any other reason is given up with a notice: logs never
 * stop training.
 */
#ifndef MOUSSE_TRAIN_LOG_FILE_H
#define MOUSSE_TRAIN_LOG_FILE_H

#include "base/buffer.h"
#include "train/options.h"

typedef struct log_file {
  int descriptor; /* -1: not written */
  char path[4096];
  mo_buffer waiting;
} log_file;

void log_file_open(log_file *file, const char *directory, const char *name,
                   const run_notices *notices);
void log_file_add(log_file *file, const void *data, size_t bytes, const run_notices *notices);
/* Tries once more to write what waits; false: some of it still does, or the file was given up. */
bool log_file_flush(log_file *file, const run_notices *notices);
void log_file_close(log_file *file, const run_notices *notices);

/* For the reason in errno, or for one in words. */
void log_file_give_up(log_file *file, const char *action, const run_notices *notices);
void log_file_drop(log_file *file, const char *reason, const run_notices *notices);

#endif
