/* memory.h - the only place that allocates, behind a seam that callers and tests can replace.
 *
 * Small objects: mo_allocate / mo_release. Large arrays whose sizes are known together: an
 * arena that is laid out twice by the same function, first to measure, then to hand out:
 *
 *     mo_arena arena = mo_arena_start(allocator);
 *     lay_out(&arena, object);            // every mo_arena_take returns NULL and is counted
 *     if (!mo_arena_commit(&arena)) ...   // one allocation of exactly that size, zeroed
 *     lay_out(&arena, object);            // the same calls now return memory
 *
 * so the memory planned is the memory used, and releasing is one call.
 */
#ifndef MOUSSE_BASE_MEMORY_H
#define MOUSSE_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mo_allocator {
  void *(*allocate)(void *user, size_t bytes);
  void (*release)(void *user, void *block, size_t bytes);
  void *user;
  /* What it gives is 0 already. Where it comes from the system untouched, its pages then lie near
   * the thread that uses them first, not near the one that cleared them. */
  bool zeroes;
} mo_allocator;

/* malloc and free. NULL in place of an allocator means this one. */
extern const mo_allocator mo_default_allocator;

enum { MO_ALIGNMENT = 64 }; /* of every array in an arena: one cache line, one AVX-512 vector */

void *mo_allocate(const mo_allocator *allocator, size_t bytes); /* zeroed; NULL: no memory */
void mo_release(const mo_allocator *allocator, void *block, size_t bytes); /* NULL: nothing */

/* Grows an owned array of `count` elements to hold `wanted`, at least doubling; the new part is
 * zeroed. False, with the array unchanged, when there is no memory. */
bool mo_grow(const mo_allocator *allocator, void *array_pointer, size_t *count, size_t wanted,
             size_t element_bytes);

/* False when the result does not fit. */
bool mo_multiply(size_t a, size_t b, size_t *product);
bool mo_add(size_t a, size_t b, size_t *sum);

typedef struct mo_arena {
  const mo_allocator *allocator;
  unsigned char *block; /* owned; NULL while measuring */
  unsigned char *start; /* the first aligned byte of block */
  size_t bytes, used;
  /* A size did not fit into size_t: commit refuses. Or the second lay-out asked for more than
   * the first, and got NULL: a mistake of ours. */
  bool overflow;
} mo_arena;

mo_arena mo_arena_start(const mo_allocator *allocator);
void *mo_arena_take(mo_arena *arena, size_t count, size_t element_bytes);
float *mo_arena_floats(mo_arena *arena, size_t count);
bool mo_arena_commit(mo_arena *arena); /* false: no memory */
void mo_arena_release(mo_arena *arena);

#endif
