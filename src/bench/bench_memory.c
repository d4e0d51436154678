/* bench_memory.c - see bench_memory.h. */
#include "bench/bench_memory.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "linalg/vector.h"

#include <string.h>

enum { FLOATS = 16 << 20, PASSES = 4 }; /* 64 MiB to read, as much to write */

typedef struct streams {
  float *memory;
  double seconds; /* of thread 0 */
} streams;

/* The first pass brings the pages in. */
static void stream(void *context, size_t item, int thread)
{
  streams *s = context;
  float *from = s->memory + 2 * item * FLOATS, *to = from + FLOATS;
  (void)thread;
  double start = 0;
  for (int pass = 0; pass <= PASSES; pass++) {
    if (pass == 1) start = mo_seconds();
    mo_copy_scaled(to, from, FLOATS, 0.5f);
  }
  if (item == 0) s->seconds = mo_seconds() - start;
}

double bench_stream_rate(int threads)
{
  const size_t bytes = 2 * (size_t)threads * FLOATS * sizeof(float);
  streams s = {mo_allocate(NULL, bytes), 0};
  if (s.memory == NULL) return 0;
  mo_parallel(threads, (size_t)threads, stream, &s);
  mo_release(NULL, s.memory, bytes);
  return 2.0 * threads * PASSES * FLOATS * sizeof(float) / s.seconds;
}

static void *stream_on(void *user)
{
  bench_streamers *s = user;
  const size_t bytes = 2 * (size_t)FLOATS * sizeof(float);
  float *memory = mo_allocate(NULL, bytes);
  while (memory != NULL && !atomic_load(&s->stop))
    mo_copy_scaled(memory + FLOATS, memory, FLOATS, 0.5f);
  mo_release(NULL, memory, bytes);
  return NULL;
}

mousse_status bench_streamers_start(bench_streamers *s, int count, mo_error *error)
{
  atomic_init(&s->stop, false);
  for (s->count = 0; s->count < count && s->count < BENCH_MOST_STREAMERS; s->count++)
    if (pthread_create(&s->threads[s->count], NULL, stream_on, s) != 0) {
      bench_streamers_stop(s);
      return mo_fail(error, MOUSSE_NO_MEMORY, "no thread to keep the memory busy with");
    }
  return MOUSSE_OK;
}

void bench_streamers_stop(bench_streamers *s)
{
  atomic_store(&s->stop, true);
  for (int i = 0; i < s->count; i++) pthread_join(s->threads[i], NULL);
  s->count = 0;
}

static void nothing(void *context, size_t item, int thread)
{
  (void)context, (void)item, (void)thread;
}

/* The quickest of some series: in a slow one a thread was interrupted. */
double bench_fork_seconds(int threads)
{
  enum { TIMES = 100, SERIES = 20 };
  double best = 1;
  for (int k = 0; k < SERIES; k++) {
    const double start = mo_seconds();
    for (int i = 0; i < TIMES; i++) mo_parallel(threads, (size_t)threads, nothing, NULL);
    const double one = (mo_seconds() - start) / TIMES;
    if (one < best) best = one;
  }
  return best;
}
