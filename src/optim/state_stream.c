/* state_stream.c - bytes between a caller's callback and all ranks. */
#include "optim/state_stream.h"

#include "linalg/vector.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = MO_EXCHANGE_FLOATS * sizeof(float) };

void mo_state_stream_start(mo_state_stream *s, mousse_optimizer *opt, mousse_write_fn write,
                           mousse_read_fn read, void *user)
{
  *s = (mo_state_stream){.opt = opt, .write = write, .read = read, .user = user};
  XXH3_64bits_reset(&s->hash);
}

void mo_state_stream_fail(mo_state_stream *s, mousse_status status, const char *format, ...)
{
  if (s->status != MOUSSE_OK) return;
  char text[sizeof s->opt->error.text];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  s->status = mo_fail(&s->opt->error, status, "%s", text);
}

static bool is_first(const mo_state_stream *s)
{
  return s->opt->comm.rank == 0;
}

/* The exchange buffer from root to every rank. Bits are copied, never added, so any data may
 * pass as floats. */
static void spread(mo_state_stream *s, size_t bytes, int root)
{
  const mousse_comm *comm = &s->opt->comm;
  const size_t floats = (bytes + sizeof(float) - 1) / sizeof(float);
  if (s->opt->phase == MO_BROKEN) return;
  if (comm->broadcast(comm->context, s->opt->exchange, floats, root) == 0) return;
  s->opt->phase = MO_BROKEN;
  s->status = MOUSSE_OK; /* this failure is the one that matters */
  mo_state_stream_fail(s, MOUSSE_COMM, "could not exchange saved state with the other ranks");
}

void mo_state_stream_agree(mo_state_stream *s)
{
  if (s->opt->comm.size == 1) return;
  int32_t code = s->status;
  memcpy(s->opt->exchange, &code, sizeof code);
  spread(s, sizeof code, 0);
  memcpy(&code, s->opt->exchange, sizeof code);
  if (code != MOUSSE_OK)
    mo_state_stream_fail(s, (mousse_status)code, "rank 0 could not save or restore the state");
}

void mo_state_stream_put(mo_state_stream *s, const void *data, size_t bytes)
{
  if (s->status != MOUSSE_OK || !is_first(s) || bytes == 0) return;
  XXH3_64bits_update(&s->hash, data, bytes);
  if (s->write(s->user, data, bytes) != 0)
    mo_state_stream_fail(s, MOUSSE_IO, "the callback could not write the optimizer's state");
}

void mo_state_stream_put_from(mo_state_stream *s, int owner, const void *data, size_t bytes)
{
  if (s->opt->comm.size == 1) {
    mo_state_stream_put(s, data, bytes);
    return;
  }
  for (size_t done = 0; done < bytes; done += CHUNK) {
    const size_t chunk = bytes - done < CHUNK ? bytes - done : CHUNK;
    if (s->opt->comm.rank == owner) memcpy(s->opt->exchange, (const char *)data + done, chunk);
    spread(s, chunk, owner);
    mo_state_stream_put(s, s->opt->exchange, chunk);
  }
}

static void read_first(mo_state_stream *s, void *data, size_t bytes)
{
  if (s->status == MOUSSE_OK && s->read(s->user, data, bytes) != 0)
    mo_state_stream_fail(s, MOUSSE_IO,
                         "the callback could not read the optimizer's state; is it cut short?");
}

/* A chunk to `place` on every rank: where it is wanted, or the exchange buffer. */
static void get_chunk(mo_state_stream *s, void *place, size_t bytes)
{
  if (is_first(s)) read_first(s, place, bytes);
  if (s->opt->comm.size > 1) {
    /* The verdict travels first, through the same buffer. */
    char kept[sizeof(int32_t)];
    memcpy(kept, place, sizeof kept);
    mo_state_stream_agree(s);
    memcpy(place, kept, sizeof kept);
    if (s->status == MOUSSE_OK) spread(s, bytes, 0);
  }
  if (s->status == MOUSSE_OK) XXH3_64bits_update(&s->hash, place, bytes);
}

void mo_state_stream_get(mo_state_stream *s, void *data, size_t bytes)
{
  void *place = s->opt->comm.size == 1 ? data : (void *)s->opt->exchange;
  assert(bytes <= CHUNK);
  if (s->status != MOUSSE_OK || bytes == 0) return;
  get_chunk(s, place, bytes);
  if (place != data && s->status == MOUSSE_OK) memcpy(data, place, bytes);
}

float mo_state_stream_get_floats(mo_state_stream *s, float *data, uint64_t count)
{
  enum { SPARE = 1024 };
  float spare[SPARE], largest = 0.0f;
  const bool alone = s->opt->comm.size == 1;
  const size_t most = !alone || data != NULL ? MO_EXCHANGE_FLOATS : SPARE;
  for (uint64_t done = 0; s->status == MOUSSE_OK && done < count; done += most) {
    const size_t some = count - done < most ? (size_t)(count - done) : most;
    float *place = !alone ? s->opt->exchange : data != NULL ? data + done : spare;
    get_chunk(s, place, some * sizeof(float));
    const float found = s->status == MOUSSE_OK ? mo_largest(place, some) : 0.0f;
    if (found < 0.0f)
      mo_state_stream_fail(
          s, MOUSSE_BAD_FORMAT,
          "saved state: a number in it is infinite or NaN; the data is damaged");
    if (!alone && data != NULL && s->status == MOUSSE_OK)
      memcpy(data + done, place, some * sizeof(float));
    largest = found > largest ? found : largest;
  }
  return largest;
}

uint64_t mo_state_stream_checksum(const mo_state_stream *s)
{
  return XXH3_64bits_digest(&s->hash);
}
