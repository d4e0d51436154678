/* fuzz_sweep.c - a sweep from any bytes: what is read can be planned or is refused, and every run
 * that is planned has a name of its own that is one component of a path. */
#include "fuzz.h"
#include "study/sweep.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  enum { FEW = 4, SELDOM = 32 };
  static sweep_axes axes;
  study_runs runs = {.directory = "somewhere"};
  mo_error error;
  axes.count = 0;
  if (sweep_parse(&axes, "input", (const char *)data, size, &error) != MOUSSE_OK) return 0;
  FUZZ_CHECK(axes.count <= SWEEP_MOST_AXES);
  if (size % SELDOM != 0) return 0; /* a plan makes the runs' optimizers, which takes long */
  (void)sweep_plan(&axes, FEW, 1, &runs, &error);
  for (size_t i = 0; i < runs.count; i++) {
    FUZZ_CHECK(strchr(runs.runs[i].name, '/') == NULL && runs.runs[i].name[0] != '\0');
    for (size_t k = 0; k < i; k++)
      FUZZ_CHECK(strcmp(runs.runs[i].name, runs.runs[k].name) != 0);
  }
  study_release(&runs);
  return 0;
}
