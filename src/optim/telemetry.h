/* telemetry.h - what one step tells an observer about one matrix.
 *
 * Updates run on several threads; each matrix notes its quantities here and the observer is
 * called afterwards, on the caller's thread, in the order of registration.
 */
#ifndef MOUSSE_OPTIM_TELEMETRY_H
#define MOUSSE_OPTIM_TELEMETRY_H

enum { MO_MAX_QUANTITIES = 32 };

typedef struct mo_telemetry {
  int count;
  struct {
    const char *quantity; /* borrowed: string literals */
    double value;
  } notes[MO_MAX_QUANTITIES];
} mo_telemetry;

/* NULL telemetry: nothing to do. */
static inline void mo_note(mo_telemetry *telemetry, const char *quantity, double value)
{
  if (telemetry == 0 || telemetry->count >= MO_MAX_QUANTITIES) return;
  telemetry->notes[telemetry->count].quantity = quantity;
  telemetry->notes[telemetry->count].value = value;
  telemetry->count++;
}

#endif
