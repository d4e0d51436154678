/* telemetry.h - what one step tells an observer about one matrix.
 *
 * Updates run on several threads; each matrix notes its quantities here and the observer is
 * called afterwards, on the caller's thread, in the order of registration. Plain data, so that
 * ranks can send it to each other as it is: a quantity travels as its number, and only whoever
 * calls the observer looks up its name. There is room for each quantity once.
 */
#ifndef MOUSSE_OPTIM_TELEMETRY_H
#define MOUSSE_OPTIM_TELEMETRY_H

#include <stdint.h>

typedef enum mo_quantity {
#define MO_QUANTITY(quantity, name) MO_##quantity,
#include "optim/quantities.def"
#undef MO_QUANTITY
  MO_QUANTITY_COUNT
} mo_quantity;

typedef struct mo_telemetry {
  int64_t count;
  struct {
    double value;
    int64_t quantity;
  } notes[MO_QUANTITY_COUNT];
} mo_telemetry;

/* NULL telemetry: nothing to do. A quantity noted again replaces what was noted first. */
void mo_note(mo_telemetry *telemetry, mo_quantity quantity, double value);

/* "update_rms"; NULL for a number that is none of them. */
const char *mo_quantity_name(int64_t quantity);

#endif
