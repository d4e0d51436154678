/* names.c - see names.h. */
#include "optim/names.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The slot of a name, or the free one where it belongs. */
static mo_name *slot_of(const mo_names *names, const char *text)
{
  size_t at = (size_t)XXH3_64bits(text, strlen(text));
  for (;; at++) {
    mo_name *slot = &names->slots[at & (names->capacity - 1)];
    if (slot->text == NULL || strcmp(slot->text, text) == 0) return slot;
  }
}

bool mo_names_reserve(mo_names *names, const mo_allocator *allocator, size_t more)
{
  size_t wanted = 0, capacity = names->capacity > 0 ? names->capacity : 16, bytes = 0;
  if (!mo_add(names->count, more, &wanted) || wanted > SIZE_MAX / 4) return false;
  while (capacity < 2 * wanted) capacity *= 2;
  if (capacity == names->capacity) return true;
  if (!mo_multiply(capacity, sizeof *names->slots, &bytes)) return false;
  mo_names larger = {mo_allocate(allocator, bytes), capacity, 0};
  if (larger.slots == NULL) return false;
  for (size_t i = 0; i < names->capacity; i++)
    if (names->slots[i].text != NULL)
      mo_names_add(&larger, names->slots[i].text, names->slots[i].number);
  mo_names_release(names, allocator);
  *names = larger;
  return true;
}

void mo_names_release(mo_names *names, const mo_allocator *allocator)
{
  mo_release(allocator, names->slots, names->capacity * sizeof *names->slots);
  *names = (mo_names){0};
}

void mo_names_add(mo_names *names, const char *text, size_t number)
{
  *slot_of(names, text) = (mo_name){text, number};
  names->count++;
}

const mo_name *mo_names_find(const mo_names *names, const char *text)
{
  if (names->count == 0 || text == NULL) return NULL;
  const mo_name *slot = slot_of(names, text);
  return slot->text != NULL ? slot : NULL;
}
