/* exchange.h - what ranks tell each other in a step. All are [collective]; in a single process
 * none says anything. Whether a rank enters one of them depends on nothing that it alone knows. */
#ifndef MOUSSE_OPTIM_EXCHANGE_H
#define MOUSSE_OPTIM_EXCHANGE_H

#include "optim/optimizer.h"

/* The failure of any of them: this rank no longer knows what the others have. */
mousse_status mo_come_apart(mousse_optimizer *opt, const char *could_not);

/* Before the updates, in one sum over ranks: on how many of them something is so.
 *
 *     [refused] [observer]  then for each parameter  [no gradient] [outgrown]
 */
typedef struct mo_verdict {
  bool refused; /* a gradient or an input is bad */
  bool observer;
} mo_verdict;

size_t mo_verdict_count(const mousse_optimizer *opt); /* floats */

/* Takes this rank's findings and gives back those of any rank. Parameters are skipped, and get
 * new units (grad_scale.h), where all ranks do it; a gradient that only some ranks have is
 * refused on all of them. */
mousse_status mo_exchange_verdicts(mousse_optimizer *opt, mo_verdict *verdict);

/* The norm of all gradients as rank 0 sees it. */
mousse_status mo_exchange_norm(mousse_optimizer *opt);

/* Before the updates: chooses new units where a gradient has left the old ones. */
mousse_status mo_exchange_grad_scales(mousse_optimizer *opt);

/* After them: the values of a share from its owner to all; 0, or it failed. */
int mo_exchange_share(mousse_optimizer *opt, const mo_param *param, const mo_share *share);

/* What was noted about a parameter, to all. */
mousse_status mo_exchange_telemetry(mousse_optimizer *opt, mo_param *param);

/* Quantities over `before` elements and over `more` become those over all of them: the root of
 * the mean of their squares. */
void mo_telemetry_merge(mo_telemetry *all, const mo_telemetry *next, size_t before,
                        size_t more);

#endif
