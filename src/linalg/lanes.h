/* lanes.h - eight floats at a time, by the compiler's vector types: AVX registers where a
 * function is compiled for them, pairs of smaller ones elsewhere. */
#ifndef MOUSSE_LINALG_LANES_H
#define MOUSSE_LINALG_LANES_H

#include <string.h>

enum { MO_LANES = 8 };

typedef float mo_lanes __attribute__((vector_size(32)));

#define MO_INLINE static inline __attribute__((always_inline))

/* By pointer, not by value: a function that is not compiled for AVX could not take them. */
MO_INLINE void mo_lanes_load(mo_lanes *to, const float *from)
{
  memcpy(to, from, sizeof *to);
}

MO_INLINE void mo_lanes_store(float *to, const mo_lanes *from)
{
  memcpy(to, from, sizeof *from);
}

/* Rows become columns: pairs of floats are interleaved, then pairs of pairs, then halves. */
MO_INLINE void mo_lanes_transpose(mo_lanes r[MO_LANES])
{
  mo_lanes t[MO_LANES], u[MO_LANES];
  for (int i = 0; i < MO_LANES; i += 2) {
    t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < MO_LANES; i += 4)
    for (int k = 0; k < 2; k++) {
      u[i + 2 * k] = __builtin_shufflevector(t[i + k], t[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      u[i + 2 * k + 1] =
          __builtin_shufflevector(t[i + k], t[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int i = 0; i < 4; i++) {
    r[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

#endif
