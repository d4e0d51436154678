/* outline.h - what an observer is told, at every step that is observed, of the spectra of the
 * statistics and of the momentum's Gram matrix: an outline by Lanczos' iteration (lanczos.h),
 * some vectors' worth of work.
 *
 * What a refresh in the same step told exactly (spectrum.h) stays.
 */
#ifndef MOUSSE_OPTIM_OUTLINE_H
#define MOUSSE_OPTIM_OUTLINE_H

#include "optim/algorithm.h"

/* arrays: as laid out for u->state. u->work is used: the update has been made. */
void mo_outline_tell(const mo_update *u, const mo_state_array *arrays, size_t count);

#endif
