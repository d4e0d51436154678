/* bench_subjects.h - the rows of the table of optimizers: an algorithm, its sides, its options. */
#ifndef MOUSSE_BENCH_BENCH_SUBJECTS_H
#define MOUSSE_BENCH_BENCH_SUBJECTS_H

#include "bench/bench.h"

#include <mousse/mousse.h>

typedef struct bench_subject {
  const char *algorithm, *sides;    /* sides: as the table shows them */
  char options[BENCH_OPTIONS_TEXT]; /* besides sides: "name=value:name=value" */
  bool chooses_sides, refreshes, has_root, orthogonalises;
  bool spares_long; /* refreshes long sides more rarely than others */
} bench_subject;

/* The rows that `options` ask for, at most BENCH_MOST_OPTIMIZERS. Names and values of options are
 * checked: what is listed can be built. */
mousse_status bench_list_subjects(const bench_options *options, bench_subject *list,
                                  size_t *count, mo_error *error);

/* An optimizer with one group, 0, set as the subject says. */
mousse_status bench_subject_create(const bench_subject *subject, int threads,
                                   mousse_optimizer **optimizer, mo_error *error);

#endif
