/* metrics.c - the files that a run writes about itself. */
#include "train/metrics.h"

#include "base/clock.h"
#include "base/file.h"
#include "train/tensorboard.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void give_up(train_metrics *m, metrics_file *file, const char *action)
{
  run_notify(&m->notices, "%s: cannot %s: %s; the run goes on without it", file->path, action,
             strerror(errno));
  if (file->descriptor >= 0) close(file->descriptor);
  file->descriptor = -1;
}

static void append(train_metrics *m, metrics_file *file, const void *data, size_t bytes)
{
  const char *from = data;
  while (file->descriptor >= 0 && bytes > 0) {
    const ssize_t put = write(file->descriptor, from, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      give_up(m, file, "write");
    } else {
      from += put;
      bytes -= (size_t)put;
    }
  }
}

__attribute__((format(printf, 3, 4))) static void print(train_metrics *m, metrics_file *file,
                                                        const char *format, ...)
{
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  append(m, file, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static void open_file(train_metrics *m, metrics_file *file, const char *directory,
                      const char *name)
{
  file->descriptor = -1;
  if (mo_path_join(file->path, sizeof file->path, directory, name, NULL) != MOUSSE_OK) return;
  file->descriptor = open(file->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file->descriptor < 0) give_up(m, file, "open");
}

/* How much of the text consists of whole lines of steps up to `step`. Every line starts with
 * {"step": N. */
static size_t lines_up_to(const char *text, size_t size, uint64_t step)
{
  static const char start[] = "{\"step\": ";
  size_t kept = 0;
  while (kept < size) {
    const char *line = text + kept, *end = memchr(line, '\n', size - kept);
    if (end == NULL || strncmp(line, start, strlen(start)) != 0) break;
    if (strtoull(line + strlen(start), NULL, 10) > step) break;
    kept = (size_t)(end + 1 - text);
  }
  return kept;
}

static void cut_back(train_metrics *m, uint64_t step)
{
  char *text = NULL;
  size_t size = 0;
  if (m->lines.descriptor < 0) return;
  if (mo_file_read(NULL, m->lines.path, SIZE_MAX / 2, &text, &size, NULL) != MOUSSE_OK) {
    give_up(m, &m->lines, "read");
    return;
  }
  const size_t kept = step > 0 ? lines_up_to(text, size, step) : 0;
  mo_release(NULL, text, size + 1);
  if (ftruncate(m->lines.descriptor, (off_t)kept) != 0) give_up(m, &m->lines, "cut back");
}

static double wall_time(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void open_events(train_metrics *m, const char *directory, uint64_t step)
{
  char name[96];
  unsigned char record[TENSORBOARD_MOST];
  snprintf(name, sizeof name, "events.out.tfevents.%010ld.mousse.%ld", (long)time(NULL),
           (long)getpid());
  open_file(m, &m->events, directory, name);
  append(m, &m->events, record, tensorboard_version(record, wall_time()));
  append(m, &m->events, record, tensorboard_restart(record, wall_time(), step + 1));
}

static void event(train_metrics *m, uint64_t step, const char *tag, double value)
{
  unsigned char record[TENSORBOARD_MOST];
  if (m->events.descriptor < 0) return;
  append(m, &m->events, record,
         tensorboard_scalar(record, wall_time(), step, tag, (float)value));
}

void metrics_open(train_metrics *m, const char *directory, uint64_t step, bool tensorboard,
                  const run_notices *notices)
{
  *m = (train_metrics){.notices = *notices, .started = mo_seconds(), .events.descriptor = -1};
  open_file(m, &m->lines, directory, "metrics.jsonl");
  open_file(m, &m->log, directory, "log.txt");
  cut_back(m, step);
  if (tensorboard) open_events(m, directory, step);
}

void metrics_close(train_metrics *m)
{
  metrics_file *const files[] = {&m->lines, &m->log, &m->events};
  for (size_t i = 0; i < 3; i++) {
    if (files[i]->descriptor >= 0) close(files[i]->descriptor);
    files[i]->descriptor = -1;
  }
}

void metrics_sync(train_metrics *m)
{
  if (m->lines.descriptor >= 0 && fdatasync(m->lines.descriptor) != 0)
    give_up(m, &m->lines, "sync");
}

/* JSON has no NaN. */
static const char *number(double value, char text[32])
{
  if (isfinite(value))
    snprintf(text, 32, "%.9g", value);
  else
    snprintf(text, 32, "null");
  return text;
}

void metrics_format_step(const step_report *r, char line[METRICS_LINE])
{
  char loss[32], lr[32], norm[32], seconds[32];
  snprintf(line, METRICS_LINE,
           "{\"step\": %llu, \"tokens\": %llu, \"loss\": %s, \"lr\": %s, "
           "\"grad_norm\": %s, \"seconds\": %s%s}\n",
           (unsigned long long)r->step, (unsigned long long)r->tokens, number(r->loss, loss),
           number(r->lr, lr), number(r->grad_norm, norm), number(r->seconds, seconds),
           r->skipped ? ", \"skipped\": true" : "");
}

void metrics_step(train_metrics *m, const step_report *r)
{
  char line[METRICS_LINE];
  metrics_format_step(r, line);
  append(m, &m->lines, line, strlen(line));
  event(m, r->step, "loss", r->loss);
  event(m, r->step, "lr", r->lr);
  event(m, r->step, "grad_norm", r->grad_norm);
}

void metrics_validation(train_metrics *m, uint64_t step, uint64_t tokens, double loss)
{
  char text[32];
  print(m, &m->lines, "{\"step\": %llu, \"tokens\": %llu, \"val_loss\": %s}\n",
        (unsigned long long)step, (unsigned long long)tokens, number(loss, text));
  event(m, step, "val_loss", loss);
}

void metrics_note(train_metrics *m, const char *text)
{
  char when[32];
  const time_t now = time(NULL);
  struct tm parts;
  if (localtime_r(&now, &parts) == NULL ||
      strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &parts) == 0)
    when[0] = '\0';
  print(m, &m->log, "%s %9.3f  %s\n", when, mo_seconds() - m->started, text);
}

void metrics_telemetry_begin(train_metrics *m, uint64_t step)
{
  m->telemetry_step = step;
  m->telemetry_length = 0;
  m->matrix[0] = '\0';
}

void metrics_telemetry_end(train_metrics *m)
{
  if (m->telemetry_length > 0)
    print(m, &m->lines, "{\"step\": %llu, \"matrix\": \"%s\"%s}\n",
          (unsigned long long)m->telemetry_step, m->matrix, m->telemetry);
  m->telemetry_length = 0;
}

void metrics_observe(void *metrics, const char *matrix, const char *quantity, double value)
{
  train_metrics *m = metrics;
  char text[32];
  if (strcmp(m->matrix, matrix) != 0) metrics_telemetry_end(m);
  snprintf(m->matrix, sizeof m->matrix, "%s", matrix);
  const size_t left = sizeof m->telemetry - m->telemetry_length;
  const int length = snprintf(m->telemetry + m->telemetry_length, left, ", \"%s\": %s",
                              quantity, number(value, text));
  if (length > 0 && (size_t)length < left) m->telemetry_length += (size_t)length;
  m->telemetry[m->telemetry_length] = '\0'; /* a quantity that does not fit is left out */
}
