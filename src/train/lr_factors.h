/* lr_factors.h - learning rates of single tensors: --lr-factor PATTERN=FACTOR|PATTERN=FACTOR...
 *
 * A pattern is a regular expression (POSIX, extended) that is looked for in the tensors' names,
 * as that of --freeze; it ends at its '=', so '|' may be part of it: 'wte|wpe=0.1|h\.0\.=0.5'.
 * The first one that a name has in it counts; the other tensors have the factor 1.
 */
#ifndef MOUSSE_TRAIN_LR_FACTORS_H
#define MOUSSE_TRAIN_LR_FACTORS_H

#include "gpt/gpt.h"

/* One factor for every tensor. A pattern that concerns no tensor that is trained is refused. */
mousse_status lr_factors_find(const char *text, const gpt_params *params, double *factors,
                              mo_error *error);

#endif
