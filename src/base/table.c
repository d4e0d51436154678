/* table.c - hash tables for byte strings and for pairs of token ids. */
#include "base/table.h"

#include <string.h>

static uint64_t hash_text(const char *text, size_t length)
{
  uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ length;
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, text + i, length - i < 8 ? length - i : 8);
    hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= hash >> 29;
  }
  return hash ^ hash >> 32;
}

static uint64_t hash_pair(uint32_t left, uint32_t right)
{
  const uint64_t hash = ((uint64_t)left << 32 | right) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

const char *text_table_get(const text_table *table, uint32_t number, size_t *length)
{
  *length = table->starts[number + 1] - table->starts[number];
  return table->pool + table->starts[number];
}

/* The slot that holds the string, or the free one where it belongs. */
static size_t text_slot(const text_table *table, const char *text, size_t length)
{
  size_t at = hash_text(text, length) & (table->slot_count - 1);
  for (; table->slots[at] != 0; at = (at + 1) & (table->slot_count - 1)) {
    size_t have = 0;
    const char *other = text_table_get(table, table->slots[at] - 1, &have);
    if (have == length && memcmp(other, text, length) == 0) break;
  }
  return at;
}

bool text_table_find(const text_table *table, const char *text, size_t length, uint32_t *number)
{
  if (table->slot_count == 0) return false;
  const size_t at = text_slot(table, text, length);
  if (table->slots[at] == 0) return false;
  *number = table->slots[at] - 1;
  return true;
}

static bool text_table_rehash(text_table *table)
{
  const size_t wanted = table->slot_count > 0 ? 2 * table->slot_count : 1024;
  uint32_t *slots = mo_allocate(NULL, wanted * sizeof *slots);
  if (slots == NULL) return false;
  mo_release(NULL, table->slots, table->slot_count * sizeof *slots);
  table->slots = slots;
  table->slot_count = wanted;
  for (uint32_t i = 0; i < table->count; i++) {
    size_t length = 0;
    const char *text = text_table_get(table, i, &length);
    table->slots[text_slot(table, text, length)] = i + 1;
  }
  return true;
}

bool text_table_add(text_table *table, const char *text, size_t length, uint32_t *number,
                    bool *added)
{
  *added = false;
  if (text_table_find(table, text, length, number)) return true;
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

void text_table_close(text_table *table)
{
  mo_release(NULL, table->pool, table->pool_capacity);
  mo_release(NULL, table->starts, table->starts_capacity * sizeof *table->starts);
  mo_release(NULL, table->slots, table->slot_count * sizeof *table->slots);
  *table = (text_table){0};
}

static size_t pair_slot_of(const pair_table *table, uint32_t left, uint32_t right)
{
  size_t at = hash_pair(left, right) & (table->slot_count - 1);
  while (table->slots[at].rank != PAIR_FREE &&
         (table->slots[at].left != left || table->slots[at].right != right))
    at = (at + 1) & (table->slot_count - 1);
  return at;
}

const pair_slot *pair_table_find(const pair_table *table, uint32_t left, uint32_t right)
{
  if (table->slot_count == 0) return NULL;
  const pair_slot *slot = &table->slots[pair_slot_of(table, left, right)];
  return slot->rank == PAIR_FREE ? NULL : slot;
}

static bool pair_table_rehash(pair_table *table)
{
  pair_table bigger = {.slot_count = table->slot_count > 0 ? 2 * table->slot_count : 1024,
                       .count = table->count};
  bigger.slots = mo_allocate(NULL, bigger.slot_count * sizeof *bigger.slots);
  if (bigger.slots == NULL) return false;
  for (size_t i = 0; i < bigger.slot_count; i++) bigger.slots[i].rank = PAIR_FREE;
  for (size_t i = 0; i < table->slot_count; i++) {
    const pair_slot old = table->slots[i];
    if (old.rank != PAIR_FREE) bigger.slots[pair_slot_of(&bigger, old.left, old.right)] = old;
  }
  pair_table_close(table);
  *table = bigger;
  return true;
}

bool pair_table_add(pair_table *table, pair_slot pair)
{
  if (2 * ((size_t)table->count + 1) > table->slot_count && !pair_table_rehash(table))
    return false;
  table->slots[pair_slot_of(table, pair.left, pair.right)] = pair;
  table->count++;
  return true;
}

void pair_table_close(pair_table *table)
{
  mo_release(NULL, table->slots, table->slot_count * sizeof *table->slots);
  *table = (pair_table){0};
}
