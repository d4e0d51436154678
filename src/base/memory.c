/* memory.c - allocation behind one seam, and the arena that is measured before it is made. */
#include "base/memory.h"

#include "base/fence.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *default_allocate(void *user, size_t bytes)
{
  (void)user;
  return calloc(1, bytes); /* zero pages are free */
}

static void default_release(void *user, void *block, size_t bytes)
{
  (void)user;
  (void)bytes;
  free(block);
}

const mo_allocator mo_default_allocator = {default_allocate, default_release, NULL, true};

static const mo_allocator *or_default(const mo_allocator *allocator)
{
  return allocator != NULL ? allocator : &mo_default_allocator;
}

void *mo_allocate(const mo_allocator *allocator, size_t bytes)
{
  const mo_allocator *a = or_default(allocator);
  void *block = a->allocate(a->user, bytes > 0 ? bytes : 1);
  if (block != NULL && !a->zeroes) memset(block, 0, bytes);
  return block;
}

void mo_release(const mo_allocator *allocator, void *block, size_t bytes)
{
  const mo_allocator *a = or_default(allocator);
  if (block != NULL) a->release(a->user, block, bytes > 0 ? bytes : 1);
}

bool mo_grow(const mo_allocator *allocator, void *array_pointer, size_t *count, size_t wanted,
             size_t element_bytes)
{
  if (wanted <= *count) return true;
  const size_t doubled = *count <= SIZE_MAX / 2 ? 2 * *count : wanted;
  const size_t grown = doubled > wanted ? doubled : wanted;
  size_t bytes = 0;
  if (!mo_multiply(grown, element_bytes, &bytes)) return false;
  void *block = mo_allocate(allocator, bytes);
  if (block == NULL) return false;

  void *old = NULL;
  memcpy(&old, array_pointer, sizeof old); /* any object pointer, without aliasing it */
  if (old != NULL) memcpy(block, old, *count * element_bytes);
  mo_release(allocator, old, *count * element_bytes);
  memcpy(array_pointer, &block, sizeof block);
  *count = grown;
  return true;
}

bool mo_multiply(size_t a, size_t b, size_t *product)
{
  return !__builtin_mul_overflow(a, b, product);
}

bool mo_add(size_t a, size_t b, size_t *sum)
{
  return !__builtin_add_overflow(a, b, sum);
}

mo_arena mo_arena_start(const mo_allocator *allocator)
{
  return (mo_arena){.allocator = or_default(allocator)};
}

void *mo_arena_take(mo_arena *arena, size_t count, size_t element_bytes)
{
  size_t bytes = 0, padded = 0, end = 0;
  if (!mo_multiply(count, element_bytes, &bytes) || !mo_add(bytes, MO_ALIGNMENT - 1, &padded) ||
      !mo_add(arena->used, padded - padded % MO_ALIGNMENT, &end)) {
    arena->overflow = true;
    return NULL;
  }
  const size_t offset = arena->used;
  arena->used = end;
  if (arena->block == NULL) return NULL;
  if (end > arena->bytes) { /* the second lay-out must be the first one again */
    arena->overflow = true;
    return NULL;
  }
  return arena->start + offset;
}

float *mo_arena_floats(mo_arena *arena, size_t count)
{
  return mo_arena_take(arena, count, sizeof(float));
}

bool mo_arena_commit(mo_arena *arena)
{
  size_t bytes = 0;
  if (arena->overflow || !mo_add(arena->used, MO_ALIGNMENT, &bytes)) return false;
  arena->block = mo_allocate(arena->allocator, bytes);
  if (arena->block == NULL) return false;
  const size_t misaligned = (uintptr_t)arena->block % MO_ALIGNMENT;
  arena->start = arena->block + (misaligned > 0 ? MO_ALIGNMENT - misaligned : 0);
  arena->bytes = arena->used;
  arena->used = 0;
  return true;
}

void mo_arena_release(mo_arena *arena)
{
  if (arena->block != NULL) {
    mo_unfence(arena->block, arena->bytes + MO_ALIGNMENT);
    mo_release(arena->allocator, arena->block, arena->bytes + MO_ALIGNMENT);
  }
  *arena = (mo_arena){.allocator = arena->allocator};
}
