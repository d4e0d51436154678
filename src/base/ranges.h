/* ranges.h - a set of ranges of addresses that can be asked for one that overlaps another.
 *
 * A treap, ordered by where a range begins; every node also knows the highest end below it
 * ("reach"), so that adding, removing and asking take about log n steps, whatever order the
 * ranges come in. Ranges may overlap each other. Each has a number chosen by the caller, below
 * 2^32 - 1 and used once; nodes lie in one array by number, so that nothing is allocated per range.
 */
#ifndef MOUSSE_BASE_RANGES_H
#define MOUSSE_BASE_RANGES_H

#include "base/memory.h"

#include <stdint.h>

typedef struct mo_range {
  uintptr_t start, end; /* end 0: not in the set */
  uintptr_t reach;
  uint32_t left, right; /* number + 1; 0: none */
} mo_range;             /* 32 bytes: two to a cache line */

typedef struct mo_ranges {
  mo_range *nodes; /* owned */
  size_t capacity;
  uint32_t root;
} mo_ranges;

#define MO_NO_RANGE SIZE_MAX

/* Room for the numbers below `count`; false when there is no memory. */
bool mo_ranges_reserve(mo_ranges *ranges, const mo_allocator *allocator, size_t count);
void mo_ranges_release(mo_ranges *ranges, const mo_allocator *allocator);

/* From start to before end; number is reserved and not in the set. Empty ranges stay out. */
void mo_ranges_add(mo_ranges *ranges, size_t number, uintptr_t start, uintptr_t end);
void mo_ranges_remove(mo_ranges *ranges, size_t number); /* not there: nothing */

/* The number of a range that shares an address with this one, or MO_NO_RANGE. */
size_t mo_ranges_find(const mo_ranges *ranges, uintptr_t start, uintptr_t end);

#endif
