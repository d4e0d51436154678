/* telemetry.h - what one step tells an observer about one matrix.
 *
 * Updates run on several threads; each matrix notes its quantities here and the observer is
 * called afterwards, on the caller's thread, in the order of registration. Plain data, so that
 * ranks can send it to each other as it is.
 */
#ifndef MOUSSE_OPTIM_TELEMETRY_H
#define MOUSSE_OPTIM_TELEMETRY_H

#include <stdint.h>
#include <stdio.h>

enum { MO_MAX_QUANTITIES = 32, MO_QUANTITY_NAME = 24 };

typedef struct mo_telemetry {
  int64_t count;
  struct {
    double value;
    char quantity[MO_QUANTITY_NAME];
  } notes[MO_MAX_QUANTITIES];
} mo_telemetry;

/* NULL telemetry: nothing to do. */
static inline void mo_note(mo_telemetry *telemetry, const char *quantity, double value)
{
  if (telemetry == 0 || telemetry->count >= MO_MAX_QUANTITIES) return;
  snprintf(telemetry->notes[telemetry->count].quantity, MO_QUANTITY_NAME, "%s", quantity);
  telemetry->notes[telemetry->count].value = value;
  telemetry->count++;
}

#endif
