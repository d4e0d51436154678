/* state_stream.h - bytes between a caller's callback and all ranks, with a running checksum.
 *
 * Rank 0 alone calls the callback. Every rank makes the same calls in the same order; the first
 * failure sticks, and after it the calls only keep the ranks in step.
 */
#ifndef MOUSSE_OPTIM_STATE_STREAM_H
#define MOUSSE_OPTIM_STATE_STREAM_H

#include "optim/optimizer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct mo_state_stream {
  mousse_optimizer *opt;
  mousse_write_fn write;
  mousse_read_fn read;
  void *user;
  XXH3_state_t hash;
  mousse_status status; /* the first failure */
} mo_state_stream;

void mo_state_stream_start(mo_state_stream *s, mousse_optimizer *opt, mousse_write_fn write,
                           mousse_read_fn read, void *user);

/* Notes a failure with its sentence, unless there was one before. */
void mo_state_stream_fail(mo_state_stream *s, mousse_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes bytes that every rank has. */
void mo_state_stream_put(mo_state_stream *s, const void *data, size_t bytes);

/* Writes bytes that only `owner` has; elsewhere data is not looked at. */
void mo_state_stream_put_from(mo_state_stream *s, int owner, const void *data, size_t bytes);

/* Reads a number or a text, not longer than the exchange buffer, for every rank. */
void mo_state_stream_get(mo_state_stream *s, void *data, size_t bytes);

/* Floats, which must be finite; the largest magnitude among them. data NULL: they are only
 * checked. */
float mo_state_stream_get_floats(mo_state_stream *s, float *data, uint64_t count);

/* Gives every rank rank 0's verdict. */
void mo_state_stream_agree(mo_state_stream *s);

uint64_t mo_state_stream_checksum(const mo_state_stream *s);

#endif
