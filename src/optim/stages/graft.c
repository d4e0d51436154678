/* graft.c - the update keeps its direction and gets the norm that a stage before asked for:
 * that of the orthogonal factor, of Adam's step (moments.c), ... */
#include "linalg/vector.h"
#include "optim/stages/options.h"

#include <math.h>

static void apply(mo_step *s)
{
  if (s->wanted < 0.0) return;
  const double norm = sqrt(mo_sum_squares(s->x, s->count));
  s->scale = 1.0;
  s->factor *= norm > 0.0 ? s->wanted / norm : 0.0;
}

const mo_stage mo_stage_graft = {.apply = apply};
