/* synthetic_text.h - English-like sentences made from a few rules, for trying things out where no
 * text is at hand, of two kinds: tales, and questions with their answers. The same text every
 * time. */
#ifndef MOUSSE_PAPER_SYNTHETIC_TEXT_H
#define MOUSSE_PAPER_SYNTHETIC_TEXT_H

#include "base/error.h"

#include <stddef.h>

typedef enum text_kind { TEXT_TALES, TEXT_QUESTIONS } text_kind;

mousse_status synthetic_text_write(const char *path, text_kind kind, size_t bytes,
                                   mo_error *error);

#endif
