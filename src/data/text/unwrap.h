/* unwrap.h - paragraphs from hard-wrapped lines: the lines of a paragraph, without space at
 * their ends, are joined by one space; paragraphs are separated by one empty line. Lines may have
 * any length; more than 64 KiB of space in a row count as text. */
#ifndef MOUSSE_DATA_TEXT_UNWRAP_H
#define MOUSSE_DATA_TEXT_UNWRAP_H

#include "base/buffer.h"

/* Zeroed: at the start of a document. */
typedef struct mo_unwrap {
  mo_buffer space; /* of the line being read: dropped unless text follows in it */
  bool inside;     /* there is text in this line */
  bool wrote;      /* or anywhere before */
  bool blank;      /* and an empty line after it */
} mo_unwrap;

/* Appends what text becomes to out; false when there is no memory. */
bool unwrap_add(mo_unwrap *state, const char *text, size_t length, mo_buffer *out);
/* The end of the document, and a line end; ready for the next document. */
bool unwrap_finish(mo_unwrap *state, mo_buffer *out);
void unwrap_close(mo_unwrap *state);

#endif
