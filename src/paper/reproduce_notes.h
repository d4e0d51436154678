/* reproduce_notes.h - what a report says of how its runs were made. */
#ifndef MOUSSE_PAPER_REPRODUCE_NOTES_H
#define MOUSSE_PAPER_REPRODUCE_NOTES_H

#include "paper/reproduce.h"

bool reproduce_fine_tunes(const reproduction *what);
void reproduce_notes(const reproduction *what, json_t *results);

#endif
