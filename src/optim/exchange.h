/* exchange.h - what ranks tell each other in a step. All are [collective]; in a single process
 * none says anything. */
#ifndef MOUSSE_OPTIM_EXCHANGE_H
#define MOUSSE_OPTIM_EXCHANGE_H

#include "optim/optimizer.h"

/* The failure of any of them: this rank no longer knows what the others have. */
mousse_status mo_come_apart(mousse_optimizer *opt, const char *could_not);

/* Before the updates: chooses new units (grad_scale.h) where a gradient has left the old ones. */
mousse_status mo_exchange_grad_scales(mousse_optimizer *opt);

/* After them: every rank's values to all. */
mousse_status mo_exchange_values(mousse_optimizer *opt);

/* What was noted about a parameter, to all. */
mousse_status mo_exchange_telemetry(mousse_optimizer *opt, mo_param *param);

#endif
