/* outer.c - the outer factor: the inner preconditioner's operator once more, after the
 * orthogonaliser, which brings the update back from the whitened space. */
#include "optim/stages/options.h"

static void apply(mo_step *s)
{
  if (s->o->outer != 0.0 && s->inner != NULL) s->inner->again(s);
}

const mo_stage mo_stage_outer = {.apply = apply};
