/* random.c - counter-based random numbers from a strong 64-bit mixing function. */
#include "base/random.h"

#include <math.h>

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014; constants by Stafford): every input bit
 * changes every output bit with probability near one half. */
static uint64_t mix(uint64_t x)
{
  x ^= x >> 30;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  x ^= x >> 27;
  x *= UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

uint64_t mo_random_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
  const uint64_t key = mix(mix(seed + odd) + odd * (stream + 1));
  return mix(mix(key + odd * index) ^ key);
}

uint64_t mo_random_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t limit)
{
  /* The high half of a 128-bit product: bias below limit / 2^64. */
  __extension__ typedef unsigned __int128 wide;
  return (uint64_t)(((wide)mo_random_bits(seed, stream, index) * limit) >> 64);
}

double mo_random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
  return (double)(mo_random_bits(seed, stream, index) >> 11) * 0x1p-53;
}

double mo_random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
  /* Box-Muller; 1 - u keeps the logarithm's argument above 0. */
  const double u = mo_random_uniform(seed, stream, 2 * index);
  const double v = mo_random_uniform(seed, stream, 2 * index + 1);
  return sqrt(-2.0 * log(1.0 - u)) * cos(6.283185307179586 * v);
}

void mo_random_fill(float *values, size_t count, double deviation, uint64_t seed,
                    uint64_t stream)
{
  for (size_t i = 0; i < count; i++)
    values[i] = (float)(deviation * mo_random_normal(seed, stream, i));
}
