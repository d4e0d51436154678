/* bench_cores.h - a training step on machines with more cores than this one, predicted.
 *
 * Model and optimizer are recorded on one thread (base/recorder.h) and replayed (replay.h). How
 * much a kind of work waits for memory is measured: it is recorded a second time while other
 * threads stream, on one layer of the model, and
 *
 *     share = (slower - 1) / (the same for a thread that does nothing but stream)
 */
#ifndef MOUSSE_BENCH_BENCH_CORES_H
#define MOUSSE_BENCH_BENCH_CORES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { CORES_MOST_COUNTS = 16, CORES_LIMITS = 6, CORES_PARTS = 3, CORES_MOST = 1024 };

typedef struct cores_options {
  const char *preset; /* of the model */
  int counts[CORES_MOST_COUNTS];
  size_t count;
  size_t tokens;    /* per step */
  size_t layers;    /* of the model; 0: all */
  double bandwidth; /* bytes per second of the machines predicted; 0: CORES_BYTES_PER_CORE */
  int threads;      /* of this machine, that the prediction is compared with */
  /* Told before each part of the work. May be NULL. */
  void (*progress)(void *user, const char *what, double done, double total);
  void *user;
} cores_options;

#define CORES_BYTES_PER_CORE 4e9

/* A loop of the program, and what it leaves of the cores' time: the part of the whole that they
 * wait at its end, and while one of them works alone before it. */
typedef struct cores_limit {
  char name[80];
  double waiting, serial, longest; /* longest: seconds of its longest item */
} cores_limit;

typedef struct cores_point {
  int cores;
  double seconds, speedup, efficiency;
  cores_limit limits[CORES_LIMITS]; /* the largest first; an empty name ends them */
} cores_point;

/* The model's gradient, the optimizer's step, and both. */
typedef struct cores_part {
  const char *name;
  double one_core; /* seconds */
  cores_point points[CORES_MOST_COUNTS];
  double predicted_here, measured_here; /* speed-up with this machine's threads */
} cores_part;

typedef struct cores_report {
  const char *preset;
  int threads;
  size_t tokens, micro_batches, layers, count;
  double stream_rate, stream_rate_all; /* bytes per second, of one thread and of all */
  double fork;                         /* seconds that a loop costs with all threads */
  cores_part parts[CORES_PARTS];
} cores_report;

mousse_status bench_cores(const cores_options *options, cores_report *report, mo_error *error);

#endif
