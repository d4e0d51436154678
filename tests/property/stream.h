/* stream.h - saved state taken apart and put together by hand, from docs/state-format.md alone:
 * for streams of other versions, and for forged ones whose checksum is right. */
#ifndef MOUSSE_TESTS_PROPERTY_STREAM_H
#define MOUSSE_TESTS_PROPERTY_STREAM_H

#include "property/harness.h"

/* The checksum at the end made right again. */
void stream_seal(blob *b);

/* Where a parameter's numbers begin: scale exponent, stagger offset, steps, weight sum, ... (8 bytes
 * each). */
size_t stream_record(const blob *b, const char *name, const char *algorithm);

/* Where the floats of the n-th array of this name begin. */
size_t stream_array(const blob *b, const char *name, size_t n);

/* The same state in format version 1, which had no options and no steps of parameters, 2, which had
 * no weight sums, 3, which had no flags, or 4, which had no blank steps. */
blob stream_version(const blob *b, uint32_t version);

#endif
