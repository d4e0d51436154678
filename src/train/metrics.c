/* metrics.c - the files that a run writes about itself. */
#include "train/metrics.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/utf8.h"
#include "support/json_lines.h"
#include "train/tensorboard.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define METRICS_NAME "metrics.jsonl"

static void append(train_metrics *m, log_file *file, const void *data, size_t bytes)
{
  log_file_add(file, data, bytes, &m->notices);
}

static void open_file(train_metrics *m, log_file *file, const char *directory, const char *name)
{
  log_file_open(file, directory, name, &m->notices);
}

/* The whole lines of steps up to `step`, from the first on. Every line starts with {"step": N. */
typedef struct kept_lines {
  uint64_t step;
  size_t bytes;
  bool over; /* another line has come */
} kept_lines;

static mousse_status keep_line(void *context, const char *line, size_t size, mo_error *error)
{
  static const char start[] = "{\"step\": ";
  const size_t length = strlen(start);
  kept_lines *kept = context;
  kept->over = size <= length || line[size - 1] != '\n' || memcmp(line, start, length) != 0 ||
               !isdigit((unsigned char)line[length]) ||
               strtoull(line + length, NULL, 10) > kept->step;
  if (kept->over) return mo_fail(error, MOUSSE_OUT_OF_RANGE, "not kept");
  kept->bytes += size;
  return MOUSSE_OK;
}

/* Read in parts: there may be more lines than memory. */
static void cut_back(train_metrics *m, log_file *file, uint64_t step)
{
  kept_lines kept = {.step = step};
  mo_error error = {{0}};
  if (file->descriptor < 0) return;
  if (step > 0 && mo_lines_read(file->path, keep_line, &kept, &error) != MOUSSE_OK &&
      !kept.over) {
    log_file_drop(file, error.text, &m->notices);
    return;
  }
  if (ftruncate(file->descriptor, (off_t)kept.bytes) != 0)
    log_file_give_up(file, "cut back", &m->notices);
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
  open_file(m, &m->lines, directory, METRICS_NAME);
  open_file(m, &m->log, directory, "log.txt");
  open_file(m, &m->happened, directory, "events.jsonl");
  cut_back(m, &m->lines, step);
  cut_back(m, &m->happened, step);
  if (tensorboard) open_events(m, directory, step);
}

void metrics_none(train_metrics *m)
{
  *m = (train_metrics){.lines.descriptor = -1,
                       .log.descriptor = -1,
                       .events.descriptor = -1,
                       .happened.descriptor = -1};
}

void metrics_close(train_metrics *m)
{
  log_file *const files[] = {&m->lines, &m->log, &m->events, &m->happened};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    log_file_close(files[i], &m->notices);
}

void metrics_sync(train_metrics *m)
{
  log_file_flush(&m->lines, &m->notices);
  if (m->lines.descriptor >= 0 && fdatasync(m->lines.descriptor) != 0)
    log_file_give_up(&m->lines, "sync", &m->notices);
}

int metrics_descriptor(train_metrics *m)
{
  log_file_flush(&m->lines, &m->notices);
  return m->lines.descriptor >= 0 ? fcntl(m->lines.descriptor, F_DUPFD_CLOEXEC, 3) : -1;
}

void metrics_not_synced(train_metrics *m, int reason)
{
  if (m->lines.descriptor < 0) return;
  errno = reason;
  log_file_give_up(&m->lines, "sync", &m->notices);
}

static void append_line(train_metrics *m, log_file *file, char *line)
{
  if (line != NULL) append(m, file, line, strlen(line));
  free(line);
}

double metrics_memory(void)
{
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL) return 0;
  /* NOLINTNEXTLINE(cert-err34-c) - the kernel's own numbers fit */
  if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

void metrics_event(train_metrics *m, uint64_t step, const char *name, json_t *members)
{
  char when[32] = "";
  const time_t now = time(NULL);
  struct tm parts;
  if (gmtime_r(&now, &parts) != NULL) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
  json_t *line =
      json_pack("{s:I, s:s, s:s}", "step", (json_int_t)step, "time", when, "event", name);
  if (members != NULL) json_object_update(line, members);
  json_decref(members);
  if (m->happened.descriptor >= 0)
    append_line(m, &m->happened, json_line(line));
  else
    json_decref(line);
}

/* Bytes that are no character of UTF-8, as samples may begin and end with, become '?'. */
void metrics_tell(train_metrics *m, uint64_t step, const char *name, const char *text,
                  size_t length)
{
  char *copy = mo_allocate(NULL, length + 1);
  if (copy == NULL) return;
  memcpy(copy, text, length);
  mo_utf8_repair(copy, length);
  metrics_event(m, step, name, json_pack("{s:s%}", "text", copy, length));
  mo_release(NULL, copy, length + 1);
}

char *metrics_step_line(const step_report *r)
{
  json_t *line =
      json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "step", (json_int_t)r->step, "tokens",
                (json_int_t)r->tokens, "loss", json_finite(r->loss), "lr", json_finite(r->lr),
                "grad_norm", json_finite(r->grad_norm), "seconds", json_finite(r->seconds));
  if (isfinite(r->bits_per_byte))
    json_object_set_new(line, "bits_per_byte", json_finite(r->bits_per_byte));
  if (r->memory > 0) json_object_set_new(line, "memory", json_integer((json_int_t)r->memory));
  if (r->skipped) json_object_set_new(line, "skipped", json_true());
  return json_line(line);
}

char *metrics_validation_line(const validation_report *r)
{
  json_t *line = json_pack("{s:I, s:I, s:o}", "step", (json_int_t)r->step, "tokens",
                           (json_int_t)r->tokens, "val_loss", json_finite(r->loss));
  if (isfinite(r->bits_per_byte))
    json_object_set_new(line, "val_bits_per_byte", json_finite(r->bits_per_byte));
  return json_line(line);
}

void metrics_step(train_metrics *m, const step_report *r)
{
  append_line(m, &m->lines, metrics_step_line(r));
  event(m, r->step, "loss", r->loss);
  event(m, r->step, "lr", r->lr);
  event(m, r->step, "grad_norm", r->grad_norm);
  if (isfinite(r->bits_per_byte)) event(m, r->step, "bits_per_byte", r->bits_per_byte);
}

void metrics_validation(train_metrics *m, const validation_report *r)
{
  append_line(m, &m->lines, metrics_validation_line(r));
  event(m, r->step, "val_loss", r->loss);
  if (isfinite(r->bits_per_byte)) event(m, r->step, "val_bits_per_byte", r->bits_per_byte);
}

void metrics_note(train_metrics *m, const char *text)
{
  char when[32], head[64];
  const time_t now = time(NULL);
  struct tm parts;
  if (localtime_r(&now, &parts) == NULL ||
      strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &parts) == 0)
    when[0] = '\0';
  snprintf(head, sizeof head, "%s %9.3f  ", when, mo_seconds() - m->started);
  append(m, &m->log, head, strlen(head));
  append(m, &m->log, text, strlen(text));
  append(m, &m->log, "\n", 1);
}

void metrics_telemetry_begin(train_metrics *m, uint64_t step)
{
  m->telemetry_step = step;
  m->matrix[0] = '\0';
}

void metrics_telemetry_end(train_metrics *m)
{
  if (m->telemetry != NULL) append_line(m, &m->lines, json_line(m->telemetry));
  m->telemetry = NULL;
}

void metrics_observe(void *metrics, const char *matrix, const char *quantity, double value)
{
  train_metrics *m = metrics;
  if (strcmp(m->matrix, matrix) != 0) metrics_telemetry_end(m);
  snprintf(m->matrix, sizeof m->matrix, "%s", matrix);
  if (m->telemetry == NULL)
    m->telemetry =
        json_pack("{s:I, s:s}", "step", (json_int_t)m->telemetry_step, "matrix", m->matrix);
  json_object_set_new(m->telemetry, quantity, json_finite(value));
}

mousse_status metrics_copy(const char *from, const char *to, uint64_t step, mo_error *error)
{
  char source[4096], target[4096];
  kept_lines kept = {.step = step};
  mo_map map;
  MO_TRY(mo_path_join(source, sizeof source, from, METRICS_NAME, error));
  MO_TRY(mo_path_join(target, sizeof target, to, METRICS_NAME, error));
  if (access(source, F_OK) != 0) return MOUSSE_OK;
  MO_TRY(mo_map_open(&map, source, error));
  (void)mo_lines_take(source, (const char *)map.data, map.size, keep_line, &kept, NULL);
  const mousse_status status = mo_file_write(target, map.data, kept.bytes, error);
  mo_map_close(&map);
  return status;
}
