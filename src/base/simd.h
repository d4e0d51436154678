/* simd.h - one binary for every processor: function multi-versioning. */
#ifndef MOUSSE_BASE_SIMD_H
#define MOUSSE_BASE_SIMD_H

/* MO_CLONES(void f(float *x, size_t count)) { ... } defines a function that is compiled several
 * times, for plain x86-64, AVX2+FMA and AVX-512, and picked when the program starts: one binary
 * is fast everywhere. For hot loops on floats. The levels are chosen by what the processor can
 * do; a model name in target_clones (arch=haswell) would match Intel's only.
 *
 * clang 14 calls a function with target_clones of another file by the address of what picks it,
 * and knows no v3 there. Its cpu_specific does both right: it compiles one body for several
 * processors, whose names stand for their instructions and not for who made them. The one that
 * picks is a declaration of its own. Names must differ, static or not (tools/check-names), and a
 * function is called, not pointed at. */
#if !defined(__x86_64__) || defined(MO_NO_CLONES)
#define MO_CLONES(...) __VA_ARGS__
#elif defined(__clang__)
#define MO_LEVELS(attribute)                                                                   \
  __attribute__((attribute(generic, core_4th_gen_avx, skylake_avx512)))
#define MO_CLONES(...)                                                                         \
  MO_LEVELS(cpu_dispatch) __VA_ARGS__;                                                         \
  MO_LEVELS(cpu_specific) __VA_ARGS__
#else
#define MO_CLONES(...)                                                                         \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"))) __VA_ARGS__
#endif

#endif
