/* shares.h - which rank owns what: holds its state, computes its update, sends its values.
 *
 * A share is a run of a parameter's elements in memory order. An algorithm that needs its
 * matrix whole gets one share; an element-wise one may be cut at any multiple of MO_GRAIN
 * elements. Where it is cut depends on the number of ranks and changes no bit of any result:
 * the values of an element depend on that element alone.
 */
#ifndef MOUSSE_OPTIM_SHARES_H
#define MOUSSE_OPTIM_SHARES_H

#include "optim/optimizer.h"

enum { MO_GRAIN = 1 << 14 };

/* Needed only while assigning: zeros to count in, one for each rank. */
typedef struct mo_loads {
  double *flops, *bytes;
} mo_loads;

/* How many shares mo_assign_shares can make. */
size_t mo_most_shares(const mousse_optimizer *opt);

/* Owners of all parameters and their shares, in the order of registration. `cost` has every
 * parameter's flops. Every rank comes to the same result by itself. */
void mo_assign_shares(mousse_optimizer *opt, const double *cost, mo_loads loads,
                      mo_share *shares);

/* The share of `rank` in a parameter; NULL: none. */
const mo_share *mo_share_of(const mo_param *param, int rank);

/* The shape that the algorithm sees: the parameter's, or that of a vector cut out of it. */
mo_shape mo_share_shape(const mo_param *param, const mo_share *share);

/* The floats of one part of the state that belong to a share. */
size_t mo_share_floats(const mo_param *param, const mo_share *share, size_t part);

/* The algorithm's arrays as far as they are the own share's; returns how many, 0 where nothing is
 * owned. */
size_t mo_share_arrays(const mo_param *param, mo_state_array arrays[MO_MAX_ARRAYS]);

#endif
