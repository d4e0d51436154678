/* text_screen.h - the runs as a screen of text, for a terminal at the other end of an ssh: a line
 * for each, those that run first, with its loss as a curve of small bars. */
#ifndef MOUSSE_WATCH_TEXT_SCREEN_H
#define MOUSSE_WATCH_TEXT_SCREEN_H

#include "watch/watch_model.h"

typedef struct screen_size {
  size_t columns, rows; /* 0: as many as it takes */
  bool unicode;         /* bars; otherwise digits */
} screen_size;

/* Lines that end in '\n', none longer than the screen is wide. False: no memory. Takes the
 * model's lock. */
bool text_screen(watch_model *model, screen_size size, mo_buffer *text);

#endif
