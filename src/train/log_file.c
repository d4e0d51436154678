/* log_file.c - see log_file.h. */
#include "train/log_file.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_WAITING = 1 << 20 };

void log_file_drop(log_file *file, const char *reason, const run_notices *notices)
{
  run_notify(notices, "%s; the run goes on without it", reason);
  if (file->descriptor >= 0) close(file->descriptor);
  file->descriptor = -1;
  mo_buffer_close(&file->waiting);
}

void log_file_give_up(log_file *file, const char *action, const run_notices *notices)
{
  mo_error reason;
  mo_fail(&reason, MOUSSE_IO, "%s: cannot %s: %s", file->path, action, strerror(errno));
  log_file_drop(file, reason.text, notices);
}

void log_file_open(log_file *file, const char *directory, const char *name,
                   const run_notices *notices)
{
  struct stat info;
  *file = (log_file){.descriptor = -1};
  if (mo_path_join(file->path, sizeof file->path, directory, name, NULL) != MOUSSE_OK) return;
  /* A link may name a file of the user's, and a FIFO would make us wait. */
  file->descriptor =
      open(file->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (file->descriptor < 0 || fstat(file->descriptor, &info) != 0) {
    log_file_give_up(file, errno == ELOOP ? "open (it is a link)" : "open", notices);
  } else if (!S_ISREG(info.st_mode)) {
    errno = EINVAL;
    log_file_give_up(file, "open (it is not a file)", notices);
  }
}

static bool is_full(int reason)
{
  return reason == ENOSPC || reason == EDQUOT;
}

/* How many of the bytes were taken; errno says why not all. */
static size_t put(int descriptor, const char *data, size_t bytes)
{
  size_t done = 0;
  while (done < bytes) {
    const ssize_t took = write(descriptor, data + done, bytes - done);
    if (took < 0 && errno == EINTR) continue;
    if (took == 0) errno = EIO; /* it would never end */
    if (took <= 0) break;
    done += (size_t)took;
  }
  return done;
}

bool log_file_flush(log_file *file, const run_notices *notices)
{
  mo_buffer *waiting = &file->waiting;
  if (file->descriptor < 0) return false;
  if (waiting->size == 0) return true;
  const size_t done = put(file->descriptor, waiting->data, waiting->size);
  waiting->size -= done;
  memmove(waiting->data, waiting->data + done, waiting->size);
  if (waiting->size > 0 && !is_full(errno)) log_file_give_up(file, "write", notices);
  return file->descriptor >= 0 && waiting->size == 0;
}

static void keep(log_file *file, const char *data, size_t bytes, const run_notices *notices)
{
  const int reason = errno;
  const bool is_first = file->waiting.size == 0;
  if (is_full(reason) && file->waiting.size + bytes <= MOST_WAITING &&
      mo_buffer_add(&file->waiting, data, bytes)) {
    if (is_first)
      run_notify(notices, "%s: cannot write: %s; what is to be in it waits in memory for room",
                 file->path, strerror(reason));
    return;
  }
  errno = reason;
  log_file_give_up(file, "write", notices);
}

void log_file_add(log_file *file, const void *data, size_t bytes, const run_notices *notices)
{
  const char *from = data;
  const size_t done = log_file_flush(file, notices) ? put(file->descriptor, from, bytes) : 0;
  if (file->descriptor >= 0 && done < bytes) keep(file, from + done, bytes - done, notices);
}

void log_file_close(log_file *file, const run_notices *notices)
{
  if (!log_file_flush(file, notices) && file->descriptor >= 0)
    run_notify(notices, "%s: cannot write: %s; its end is lost", file->path, strerror(errno));
  if (file->descriptor >= 0) close(file->descriptor);
  file->descriptor = -1;
  mo_buffer_close(&file->waiting);
}
