/* names.h - names of tensors and parameters to their numbers: a hash table with open addressing,
 * a power of two of slots, at most half full. */
#ifndef MOUSSE_OPTIM_NAMES_H
#define MOUSSE_OPTIM_NAMES_H

#include "base/memory.h"

typedef struct mo_name {
  const char *text; /* borrowed; NULL: free */
  size_t number;
} mo_name;

typedef struct mo_names {
  mo_name *slots; /* owned */
  size_t capacity, count;
} mo_names;

/* Room for `more` names; false when there is no memory. */
bool mo_names_reserve(mo_names *names, const mo_allocator *allocator, size_t more);
void mo_names_release(mo_names *names, const mo_allocator *allocator);

/* Of a name that is not there yet, with room reserved; text must outlive the table. */
void mo_names_add(mo_names *names, const char *text, size_t number);

const mo_name *mo_names_find(const mo_names *names, const char *text); /* NULL: not there */

#endif
