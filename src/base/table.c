/* table.c - hash tables for byte strings and for pairs of token ids. */
#include "base/table.h"

#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Of a table that is about to get its first slots. Where the system has no random bytes (early
 * at boot) the address has to do. */
static uint64_t random_seed(const void *table)
{
  uint64_t seed = (uint64_t)(uintptr_t)table;
  (void)!getrandom(&seed, sizeof seed, GRND_NONBLOCK);
  return seed;
}

static uint64_t hash_text(const char *text, size_t length, uint64_t seed)
{
  return XXH3_64bits_withSeed(text, length, seed);
}

static uint64_t hash_pair(uint32_t left, uint32_t right, uint64_t seed)
{
  const uint32_t ids[] = {left, right};
  return XXH3_64bits_withSeed(ids, sizeof ids, seed);
}

const char *mo_text_table_get(const mo_text_table *table, uint32_t number, size_t *length)
{
  *length = table->starts[number + 1] - table->starts[number];
  return table->pool + table->starts[number];
}

/* The slot that holds the string, or the free one where it belongs. */
static size_t text_slot(const mo_text_table *table, const char *text, size_t length)
{
  size_t at = hash_text(text, length, table->seed) & (table->slot_count - 1);
  for (; table->slots[at] != 0; at = (at + 1) & (table->slot_count - 1)) {
    size_t have = 0;
    const char *other = mo_text_table_get(table, table->slots[at] - 1, &have);
    if (have == length && memcmp(other, text, length) == 0) break;
  }
  return at;
}

bool mo_text_table_find(const mo_text_table *table, const char *text, size_t length,
                        uint32_t *number)
{
  if (table->slot_count == 0) return false;
  const size_t at = text_slot(table, text, length);
  if (table->slots[at] == 0) return false;
  *number = table->slots[at] - 1;
  return true;
}

static bool text_table_rehash(mo_text_table *table)
{
  const size_t wanted = table->slot_count > 0 ? 2 * table->slot_count : 1024;
  uint32_t *slots = mo_allocate(NULL, wanted * sizeof *slots);
  if (slots == NULL) return false;
  mo_release(NULL, table->slots, table->slot_count * sizeof *slots);
  if (table->slots == NULL) table->seed = random_seed(table);
  table->slots = slots;
  table->slot_count = wanted;
  for (uint32_t i = 0; i < table->count; i++) {
    size_t length = 0;
    const char *text = mo_text_table_get(table, i, &length);
    table->slots[text_slot(table, text, length)] = i + 1;
  }
  return true;
}

bool mo_text_table_add(mo_text_table *table, const char *text, size_t length, uint32_t *number,
                       bool *added)
{
  *added = false;
  if (mo_text_table_find(table, text, length, number)) return true;
  if (2 * ((size_t)table->count + 1) > table->slot_count && !text_table_rehash(table))
    return false;
  if (table->count == UINT32_MAX - 1 ||
      !mo_grow(NULL, &table->pool, &table->pool_capacity, table->pool_used + length, 1) ||
      !mo_grow(NULL, &table->starts, &table->starts_capacity, (size_t)table->count + 2,
               sizeof *table->starts))
    return false;
  table->slots[text_slot(table, text, length)] = table->count + 1;
  if (length > 0) memcpy(table->pool + table->pool_used, text, length);
  table->pool_used += length;
  table->starts[table->count + 1] = table->pool_used;
  *number = table->count++;
  *added = true;
  return true;
}

void mo_text_table_close(mo_text_table *table)
{
  mo_release(NULL, table->pool, table->pool_capacity);
  mo_release(NULL, table->starts, table->starts_capacity * sizeof *table->starts);
  mo_release(NULL, table->slots, table->slot_count * sizeof *table->slots);
  *table = (mo_text_table){0};
}

static size_t pair_slot_of(const mo_pair_table *table, uint32_t left, uint32_t right)
{
  size_t at = hash_pair(left, right, table->seed) & (table->slot_count - 1);
  while (table->slots[at].rank != MO_PAIR_FREE &&
         (table->slots[at].left != left || table->slots[at].right != right))
    at = (at + 1) & (table->slot_count - 1);
  return at;
}

const mo_pair_slot *mo_pair_table_find(const mo_pair_table *table, uint32_t left,
                                       uint32_t right)
{
  if (table->slot_count == 0) return NULL;
  const mo_pair_slot *slot = &table->slots[pair_slot_of(table, left, right)];
  return slot->rank == MO_PAIR_FREE ? NULL : slot;
}

static bool pair_table_rehash(mo_pair_table *table)
{
  mo_pair_table bigger = {.slot_count = table->slot_count > 0 ? 2 * table->slot_count : 1024,
                          .seed = table->slot_count > 0 ? table->seed : random_seed(table),
                          .count = table->count};
  bigger.slots = mo_allocate(NULL, bigger.slot_count * sizeof *bigger.slots);
  if (bigger.slots == NULL) return false;
  for (size_t i = 0; i < bigger.slot_count; i++) bigger.slots[i].rank = MO_PAIR_FREE;
  for (size_t i = 0; i < table->slot_count; i++) {
    const mo_pair_slot old = table->slots[i];
    if (old.rank != MO_PAIR_FREE)
      bigger.slots[pair_slot_of(&bigger, old.left, old.right)] = old;
  }
  mo_pair_table_close(table);
  *table = bigger;
  return true;
}

bool mo_pair_table_add(mo_pair_table *table, mo_pair_slot pair)
{
  if (2 * ((size_t)table->count + 1) > table->slot_count && !pair_table_rehash(table))
    return false;
  table->slots[pair_slot_of(table, pair.left, pair.right)] = pair;
  table->count++;
  return true;
}

void mo_pair_table_close(mo_pair_table *table)
{
  mo_release(NULL, table->slots, table->slot_count * sizeof *table->slots);
  *table = (mo_pair_table){0};
}
