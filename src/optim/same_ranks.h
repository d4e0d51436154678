/* same_ranks.h - whether all ranks registered the same tensors under the same options. */
#ifndef MOUSSE_OPTIM_SAME_RANKS_H
#define MOUSSE_OPTIM_SAME_RANKS_H

#include "optim/optimizer.h"

/* [collective] After the memory is taken. Names the first difference on every rank. */
mousse_status mo_same_on_all_ranks(mousse_optimizer *opt);

#endif
