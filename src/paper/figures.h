/* figures.h - the figures by name. */
#ifndef MOUSSE_PAPER_FIGURES_H
#define MOUSSE_PAPER_FIGURES_H

#include "base/error.h"

#include <stddef.h>

typedef enum figure_id {
#define FIGURE(name, id, title, paper) FIGURE_##name,
#include "paper/figures.def"
  FIGURE_COUNT
} figure_id;

#define FIGURE_BIT(name) (1u << FIGURE_##name)
enum { ALL_FIGURES = (1u << FIGURE_COUNT) - 1 };

typedef struct figure_row {
  const char *id, *title, *paper;
} figure_row;

extern const figure_row figure_rows[FIGURE_COUNT];

/* The figure of a name as a bit, added to *figures. */
mousse_status figures_add(unsigned *figures, const char *name, mo_error *error);

#endif
