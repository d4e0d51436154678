/* random.h - counter-based random numbers: value = f(seed, stream, index).
 *
 * There is no generator to advance, save or share between threads: a number is addressed, not
 * drawn, so any part of a stream can be made anywhere, in any order, with the same bits.
 */
#ifndef MOUSSE_BASE_RANDOM_H
#define MOUSSE_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

uint64_t mo_random_bits(uint64_t seed, uint64_t stream, uint64_t index);
uint64_t mo_random_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t limit);
double mo_random_uniform(uint64_t seed, uint64_t stream, uint64_t index); /* in [0, 1) */
double mo_random_normal(uint64_t seed, uint64_t stream, uint64_t index);  /* N(0, 1) */

/* values[i] = deviation * normal(seed, stream, i) */
void mo_random_fill(float *values, size_t count, double deviation, uint64_t seed,
                    uint64_t stream);

#endif
