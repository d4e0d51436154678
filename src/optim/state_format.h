/* state_format.h - the stream of saved state, version 5. Little-endian, no padding; text is a u32
 * length and that many bytes (docs/state-format.md):
 *
 *     "MOUSSEST"  u32 version = 5  u32 parameters  u64 steps
 *     options of the object
 *     per parameter:  text name  text algorithm  u64 rows  u64 cols
 *                     i64 scale_exponent  f64 stagger_offset  u64 steps  f64 weight_sum
 *                     u64 refreshes  u64 retries  u64 fallbacks  u64 flags  u64 blank
 *                     options of its group   options of its own
 *                     u32 arrays
 *         per array:  text name  u64 count  count floats
 *     u64 XXH3 of everything before it
 *
 *     options:        u32 count, then for each:  text name  f64 value  text choice
 *                                                u32 scheduled
 *
 * Still read are version 4, which has no blank steps, version 3, which has no flags either,
 * version 2, which has no weight_sum, and version 1, which has no options and no steps of a
 * parameter's own.
 */
#ifndef MOUSSE_OPTIM_STATE_FORMAT_H
#define MOUSSE_OPTIM_STATE_FORMAT_H

#include "optim/state_stream.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "saved state is little-endian; this machine would need byte swaps"
#endif

#define MO_STATE_MAGIC "MOUSSEST"
enum { MO_STATE_MAGIC_BYTES = 8, MO_STATE_VERSION = 5 };

/* Flags of a parameter: mo_param's begun, wrapped and column_order. */
enum { MO_STATE_BEGUN = 1, MO_STATE_WRAPPED = 2, MO_STATE_COLUMNS = 4, MO_STATE_FLAGS = 7 };

/* The flag that an array with numbers in it is a sign of: it is among what a first step makes for
 * the algorithm, or for the wrapper; 0: neither. */
uint64_t mo_state_sign(const mo_param *param, size_t array);

/* What is kept about a parameter besides its arrays; the layout is that of the stream. */
typedef struct mo_state_record {
  int64_t scale_exponent;
  double stagger_offset;
  uint64_t steps;
  double weight_sum; /* negative: it was not saved */
  uint64_t refreshes, retries, fallbacks, flags, blank;
} mo_state_record;

#endif
