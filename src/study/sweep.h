/* sweep.h - from options with several values to a list of runs.
 *
 * A sweep is a training configuration in which any option may have several values:
 *
 *     optimizer: [mousse, muon]        or on the command line   --optimizer mousse,muon
 *     lr: [0.01, 0.02, 0.04]
 *     seed: [1, 2, 3]
 *     preset: nano                     one value: the same in all runs
 *
 * Text in a file that commas separate is several values too (lr: 0.01,0.02), but not where commas
 * may be part of it: paths, patterns and prompts are one value, or a list of them.
 *
 * The grid is every combination, the last option varying fastest. A random search draws so many
 * combinations instead; there a range stands for its numbers:
 *
 *     lr: log 0.001 0.1                evenly in the logarithm
 *     opt.alpha: uniform 0.05 0.3
 */
#ifndef MOUSSE_STUDY_SWEEP_H
#define MOUSSE_STUDY_SWEEP_H

#include "study/runs.h"

enum { SWEEP_MOST_AXES = 48, SWEEP_TEXT = 1024, SWEEP_MOST_RUNS = 100000 };

/* One option; its values one after the other, each with its NUL. */
typedef struct sweep_axis {
  char key[OPTION_TEXT_SIZE + 16], values[SWEEP_TEXT];
  size_t count;
} sweep_axis;

typedef struct sweep_axes {
  sweep_axis axes[SWEEP_MOST_AXES];
  size_t count;
} sweep_axes;

/* Sets or replaces an option's values, by whichever of its names: those that commas separate, or each as it is. */
mousse_status sweep_set(sweep_axes *axes, const char *key, const char *values, mo_error *error);
mousse_status sweep_set_each(sweep_axes *axes, const char *key, const char *const *values,
                             size_t count, mo_error *error);
mousse_status sweep_put(sweep_axes *axes, const sweep_axis *axis, mo_error *error);

/* sweep_file.c: reads a YAML file, or its text, over what is set. */
mousse_status sweep_read(sweep_axes *axes, const char *path, mo_error *error);
mousse_status sweep_parse(sweep_axes *axes, const char *path, const char *text, size_t size,
                          mo_error *error);

/* Adds all runs; every one is checked before the first is started. draws: 0 for the grid. */
mousse_status sweep_plan(const sweep_axes *axes, size_t draws, uint64_t seed, study_runs *runs,
                         mo_error *error);

#endif
