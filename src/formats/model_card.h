/* model_card.h - README.md of an exported folder. */
#ifndef MOUSSE_FORMATS_MODEL_CARD_H
#define MOUSSE_FORMATS_MODEL_CARD_H

#include "formats/formats.h"

mousse_status model_card_write(const model_export *model, const char *folder, mo_error *error);

#endif
