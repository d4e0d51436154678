/* synthetic_text.h - English-like sentences made from a few rules, for trying things out where no
 * text is at hand. The same text every time. */
#ifndef MOUSSE_PAPER_SYNTHETIC_TEXT_H
#define MOUSSE_PAPER_SYNTHETIC_TEXT_H

#include "base/error.h"

#include <stddef.h>

mousse_status synthetic_text_write(const char *path, size_t bytes, mo_error *error);

#endif
