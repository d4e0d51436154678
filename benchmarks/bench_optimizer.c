/* bench_optimizer.c - times steps of one optimizer on equal matrices; driven by
 * benchmarks/compare.
 *
 *     bench_optimizer ALGORITHM ROWS COLS COPIES
 *
 * Answers each line "step" on standard input with the seconds of a step without a refresh of
 * preconditioners, and "refresh" with those of a step with one.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "bench/bench_set.h"

#include <mousse/mousse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(mousse_status status, const mousse_optimizer *opt)
{
  if (status == MOUSSE_OK) return;
  fprintf(stderr, "bench_optimizer: %s\n", mousse_error(opt));
  exit(1);
}

typedef struct matrices {
  size_t rows, cols, copies;
  float *values, *gradients; /* of all copies */
} matrices;

static double time_step(mousse_optimizer *opt, const matrices *m, uint64_t *stream)
{
  for (size_t i = 0; i < m->copies; i++)
    bench_gradient(m->rows, m->cols, ++*stream, m->gradients + i * m->rows * m->cols);
  const double start = mo_seconds();
  check(mousse_step(opt), opt);
  return mo_seconds() - start;
}

int main(int argc, char **argv)
{
  mousse_optimizer *opt = NULL;
  int group = 0;
  uint64_t stream = 0;
  double period = 0.0;
  if (argc != 5) return 2;
  matrices m = {.rows = strtoul(argv[2], NULL, 10),
                .cols = strtoul(argv[3], NULL, 10),
                .copies = strtoul(argv[4], NULL, 10)};
  const size_t each = m.rows * m.cols, bytes = 2 * each * m.copies * sizeof(float);
  m.values = mo_allocate(NULL, bytes);
  if (m.values == NULL || mousse_create(NULL, &opt) != MOUSSE_OK) return 1;
  m.gradients = m.values + each * m.copies;
  check(mousse_add_group(opt, argv[1], &group), opt);
  for (size_t i = 0; i < m.copies; i++) {
    char name[32];
    snprintf(name, sizeof name, "matrix %zu", i);
    check(mousse_add_param(opt, group, name, m.rows, m.cols, m.values + i * each,
                           m.gradients + i * each),
          opt);
  }
  const int refreshes = mousse_get(opt, group, "refresh_every", &period) == MOUSSE_OK;
  check(mousse_prepare(opt), opt);
  time_step(opt, &m, &stream); /* makes the first preconditioners */

  char line[32];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const int refresh = strcmp(line, "refresh\n") == 0;
    if (refreshes) check(mousse_set(opt, group, "refresh_every", refresh ? 1 : 1e9), opt);
    printf("%.6g\n", time_step(opt, &m, &stream));
    fflush(stdout);
  }
  mousse_destroy(opt);
  mo_release(NULL, m.values, bytes);
  return 0;
}
