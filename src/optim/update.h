/* update.h - one parameter's update: what the algorithm sees is made of what the caller has. */
#ifndef MOUSSE_OPTIM_UPDATE_H
#define MOUSSE_OPTIM_UPDATE_H

#include "optim/optimizer.h"

/* Most floats of workspace that updating a share takes. */
size_t mo_update_floats(const mousse_optimizer *opt, const mo_param *param,
                        const mo_share *share);

/* How many items of a parallel loop updating the own share is: element-wise algorithms are cut,
 * unless somebody watches. */
size_t mo_update_items(const mousse_optimizer *opt, const mo_param *param);
void mo_update_item(mousse_optimizer *opt, mo_param *param, size_t item, int thread);

/* mo_param's `blank` with the current step counted. */
uint64_t mo_blank_steps(const mo_param *param);

#endif
