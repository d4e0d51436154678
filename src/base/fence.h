/* fence.h - what the address sanitizer cannot see by itself. In other builds all of it is nothing.
 *
 * Work memory is one block that several users share one after the other, each of which said how
 * much of it it needs. Who said too little writes into what is there for the others: between
 * mo_fence and mo_unfence that is an error. So is what lies between two arrays of state.
 *
 * BLAS and LAPACK are not compiled by us, and nobody watches where they read and write. mo_reach
 * touches the last byte of what they are given.
 */
#ifndef MOUSSE_BASE_FENCE_H
#define MOUSSE_BASE_FENCE_H

#include <stddef.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define MO_HAS_FENCES
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MO_HAS_FENCES
#endif

#ifdef MO_HAS_FENCES
#include <sanitizer/asan_interface.h>
enum { MO_FENCES = 1 };
#define mo_fence(start, bytes)   ASAN_POISON_MEMORY_REGION(start, bytes)
#define mo_unfence(start, bytes) ASAN_UNPOISON_MEMORY_REGION(start, bytes)
#else
enum { MO_FENCES = 0 };
#define mo_fence(start, bytes)   ((void)(start), (void)(bytes))
#define mo_unfence(start, bytes) ((void)(start), (void)(bytes))
#endif

static inline void mo_reach(const void *start, size_t bytes)
{
  if (MO_FENCES && bytes > 0) (void)((const volatile char *)start)[bytes - 1];
}

#endif
