/* telemetry.c - notes of one step, and their names. */
#include "optim/telemetry.h"

#include <stddef.h>

static const char *const names[MO_QUANTITY_COUNT] = {
#define MO_QUANTITY(quantity, name) [MO_##quantity] = name,
#include "optim/quantities.def"
#undef MO_QUANTITY
};

void mo_note(mo_telemetry *telemetry, mo_quantity quantity, double value)
{
  if (telemetry == NULL) return;
  int64_t at = 0;
  while (at < telemetry->count && telemetry->notes[at].quantity != (int64_t)quantity) at++;
  telemetry->notes[at].quantity = (int64_t)quantity;
  telemetry->notes[at].value = value;
  if (at == telemetry->count) telemetry->count++;
}

const char *mo_quantity_name(int64_t quantity)
{
  return quantity >= 0 && quantity < MO_QUANTITY_COUNT ? names[quantity] : NULL;
}
