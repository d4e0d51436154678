/* simd.h - one binary for every processor: function multi-versioning. */
#ifndef MOUSSE_BASE_SIMD_H
#define MOUSSE_BASE_SIMD_H

/* A function compiled several times, for plain x86-64, AVX2+FMA and AVX-512, and picked when
 * the program starts: one binary is fast everywhere. For hot loops on floats. The levels are
 * chosen by what the processor can do; a model name (arch=haswell) would match Intel's only. */
#if defined(__x86_64__) && !defined(MO_NO_CLONES) && defined(__GNUC__) && !defined(__clang__)
#define MO_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define MO_CLONES
#endif

#endif
