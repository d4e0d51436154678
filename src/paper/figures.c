/* figures.c - the figures by name. */
#include "paper/figures.h"

#include "base/text.h"

#include <string.h>

const figure_row figure_rows[FIGURE_COUNT] = {
#define FIGURE(name, id, title, paper) {id, title, paper},
#include "paper/figures.def"
};

mousse_status figures_add(unsigned *figures, const char *name, mo_error *error)
{
  mo_suggestion near = mo_suggest(name);
  for (size_t i = 0; i < FIGURE_COUNT; i++) {
    if (strcmp(figure_rows[i].id, name) == 0) {
      *figures |= 1u << i;
      return MOUSSE_OK;
    }
    mo_suggest_from(&near, figure_rows[i].id);
  }
  if (near.best != NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no figure '%s'; did you mean '%s'?",
                   name, near.best);
  return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                 "there is no figure '%s'; 'mousse reproduce --help' lists them", name);
}
