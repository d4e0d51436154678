/* metrics_line.h - one line of metrics.jsonl (train/metrics.h), read: the only reader of it.
 *
 * Values that were not finite are null in the file and NaN here, and so is one that an older
 * file does not have (val_bits_per_byte).
 */
#ifndef MOUSSE_STUDY_METRICS_LINE_H
#define MOUSSE_STUDY_METRICS_LINE_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum metrics_kind { METRICS_STEP, METRICS_VALIDATION, METRICS_TELEMETRY } metrics_kind;

typedef struct metrics_line {
  metrics_kind kind;
  uint64_t step, tokens;         /* tokens: not of telemetry */
  double loss;                   /* of the batch, or of the validation */
  double lr, grad_norm, seconds; /* of a step */
  double memory;                 /* bytes, of a step; NaN: not known */
  bool skipped;
  double bits_per_byte; /* of a validation; NaN: not known */
  const char *matrix;   /* of telemetry; borrowed from object, like its quantities */
  json_t *object;       /* owned: release it with metrics_line_release; NULL: of a step */
} metrics_line;

/* The sentence says what is wrong, without the file and the line's number. After a failure
 * there is nothing to release. BAD_FORMAT: not what a run writes; NO_MEMORY. */
mousse_status metrics_line_read(metrics_line *line, const char *text, size_t size,
                                mo_error *error);
void metrics_line_release(metrics_line *line);

/* metrics_scan.c: the same without a tree, of a step in the form that a run writes. False: it
 * has another one. */
bool metrics_scan(metrics_line *line, const char *text, size_t size);

/* Whether it is telemetry in the form that a run writes: many lines, which most readers need not
 * take apart. */
bool metrics_is_telemetry(const char *text, size_t size);

/* A member that must be a number or null. False: it is neither. */
bool metrics_number(const json_t *object, const char *key, double *value);

#endif
