/* linear_vector.c - y = W x for one row x: every weight is read once, so memory bounds it.
 *
 * Rows of W are read one after the other, as one stream that a processor can fetch ahead of its
 * use. Four vectors of sums: one alone would wait for its own additions, not for memory. The
 * sums' order is a function of the row's length alone.
 */
#include "base/q8.h"
#include "base/simd.h"
#include "gpt/layers/layers.h"

enum { LANES = 8, STEP = 4 * LANES, AHEAD = 2048 /* bytes */ };

/* One vector of AVX2; wider ones would lie in memory there. By macro, as a function's vectors
 * would be part of its interface. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
#define LOAD(x) (*(const lanes *)(x))

static inline float sum_of(const float *v)
{
  float sum = 0.0f;
  /* cppcheck-suppress objectIndex - v has LANES numbers, which it takes for one */
  for (size_t i = 0; i < LANES; i++) sum += v[i];
  return sum;
}

static inline __attribute__((always_inline)) float dot(const float *x, const float *row,
                                                       size_t count)
{
  lanes a = {0}, b = {0}, c = {0}, d = {0};
  size_t i = 0;
  for (; i + STEP <= count; i += STEP) {
    for (size_t line = 0; line < STEP * sizeof(float); line += 64)
      __builtin_prefetch((const char *)(row + i) + AHEAD + line);
    a += LOAD(x + i) * LOAD(row + i);
    b += LOAD(x + i + LANES) * LOAD(row + i + LANES);
    c += LOAD(x + i + 2 * LANES) * LOAD(row + i + 2 * LANES);
    d += LOAD(x + i + 3 * LANES) * LOAD(row + i + 3 * LANES);
  }
  for (; i + LANES <= count; i += LANES) a += LOAD(x + i) * LOAD(row + i);
  a = (a + b) + (c + d);
  float sum = sum_of((const float *)&a);
  for (; i < count; i++) sum += x[i] * row[i];
  return sum;
}

MO_CLONES(void linear_vector(float *y, const float *x, const float *weight, size_t inputs,
                             size_t first, size_t last, int add))
{
  for (size_t j = first; j < last; j++) {
    const float sum = dot(x, weight + j * inputs, inputs);
    y[j] = add ? y[j] + sum : sum;
  }
}

typedef int32_t words
    __attribute__((vector_size(LANES * sizeof(int32_t)), aligned(4), may_alias));
/* One of the four numbers of each word, from its lowest byte on, with its sign.
 * gcc-suppress shift-count-overflow - a shift of 32-bit lanes; gcc 12 counts the lanes instead */
#define NUMBERS(w, byte) __builtin_convertvector(((w) << (24 - 8 * (byte))) >> 24, lanes)
#define PART(x, w, byte) (LOAD((x) + (byte)*LANES) * NUMBERS(w, byte))

/* A block is a vector of words; its scale comes in once for all of its numbers. */
static inline __attribute__((always_inline)) float
dot_q8(const float *x, const uint32_t *blocks, const float *scales, size_t count)
{
  lanes sums = {0};
  for (size_t i = 0; i < count; i++, x += MO_Q8_BLOCK) {
    const words w = *(const words *)(const void *)(blocks + i * LANES);
    __builtin_prefetch((const char *)(blocks + i * LANES) + AHEAD);
    sums += scales[i] * ((PART(x, w, 0) + PART(x, w, 1)) + (PART(x, w, 2) + PART(x, w, 3)));
  }
  return sum_of((const float *)&sums);
}

MO_CLONES(void linear_vector_q8(float *y, const float *x, const uint32_t *blocks,
                                const float *scales, size_t inputs, size_t first, size_t last,
                                int add))
{
  const size_t count = inputs / MO_Q8_BLOCK;
  for (size_t j = first; j < last; j++) {
    const float sum = dot_q8(x, blocks + j * count * LANES, scales + j * count, count);
    y[j] = add ? y[j] + sum : sum;
  }
}

void linear_pack_q8(const int8_t *numbers, uint32_t *block)
{
  for (size_t i = 0; i < LANES; i++) {
    block[i] = 0;
    for (size_t byte = 0; byte < 4; byte++)
      block[i] |= (uint32_t)(uint8_t)numbers[byte * LANES + i] << 8 * byte;
  }
}
