/* heap.h - a binary heap of pairs of numbers: the smallest comes out first, by `first`, of
 * equals by `second`. Inline, as the encoder spends its time here; zeroed is empty. */
#ifndef MOUSSE_BASE_HEAP_H
#define MOUSSE_BASE_HEAP_H

#include "base/memory.h"

#include <stdint.h>

typedef struct mo_heap_entry {
  uint64_t first, second;
} mo_heap_entry;

typedef struct mo_heap {
  mo_heap_entry *entries; /* owned */
  size_t count, capacity;
} mo_heap;

static inline bool mo_heap_before(mo_heap_entry a, mo_heap_entry b)
{
  return a.first != b.first ? a.first < b.first : a.second < b.second;
}

static inline bool mo_heap_push(mo_heap *heap, mo_heap_entry entry) /* false: no memory */
{
  if (!mo_grow(NULL, &heap->entries, &heap->capacity, heap->count + 1, sizeof entry))
    return false;
  mo_heap_entry *e = heap->entries;
  size_t at = heap->count++;
  for (; at > 0 && mo_heap_before(entry, e[(at - 1) / 2]); at = (at - 1) / 2)
    e[at] = e[(at - 1) / 2];
  e[at] = entry;
  return true;
}

static inline mo_heap_entry mo_heap_pop(mo_heap *heap) /* of one that is not empty */
{
  mo_heap_entry *e = heap->entries;
  const mo_heap_entry top = e[0], last = e[--heap->count];
  size_t at = 0;
  for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
    if (child + 1 < heap->count && mo_heap_before(e[child + 1], e[child])) child++;
    if (!mo_heap_before(e[child], last)) break;
    e[at] = e[child];
    at = child;
  }
  e[at] = last;
  return top;
}

static inline void mo_heap_close(mo_heap *heap)
{
  mo_release(NULL, heap->entries, heap->capacity * sizeof *heap->entries);
  *heap = (mo_heap){0};
}

#endif
