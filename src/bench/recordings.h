/* recordings.h - what was recorded, without the noise of a machine that others use, too.
 *
 * A replay takes an item that was interrupted for a long one, and on many cores all others wait for
 * it. So the same work is recorded several times where that is quick, and a layer's items are
 * compared with those of the other layers. Sums are kept: only what differs at random goes.
 */
#ifndef MOUSSE_BENCH_RECORDINGS_H
#define MOUSSE_BENCH_RECORDINGS_H

#include "base/error.h"
#include "base/recorder.h"

enum { RECORDINGS_MOST = 5 };

/* Seconds of a recording on one core. */
double recording_seconds(const mo_recording *recording);

/* recordings[0] becomes the median of `count` recordings of the same work: each of its times,
 * scaled so that their sum is the median of the sums. */
mousse_status recordings_merge(mo_recording *recordings, size_t count, mo_error *error);

/* Loops are alike that stand at one place and have the same kinds of items. Items of one kind in
 * a loop share the time they took in all as the items at their places do in loops alike, by
 * the median. */
mousse_status recording_even_out(mo_recording *recording, mo_error *error);

#endif
