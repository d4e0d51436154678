/* table.h - two hash tables: byte strings to numbers in order of arrival, and pairs of token
 * ids to their merge. Open addressing, powers of two, at most half full; XXH3 with a random seed
 * of each table, so that nobody can write a file whose entries all meet in one slot. Numbers do
 * not depend on the seed. */
#ifndef MOUSSE_BASE_TABLE_H
#define MOUSSE_BASE_TABLE_H

#include "base/memory.h"

#include <stdint.h>

/* A set of byte strings numbered 0, 1, 2, ... as they were added; the strings are owned. */
typedef struct mo_text_table {
  char *pool;
  size_t pool_used, pool_capacity;
  size_t *starts; /* string i is pool[starts[i]] .. pool[starts[i + 1]] */
  size_t starts_capacity;
  uint32_t *slots; /* 0: free, otherwise 1 + number */
  size_t slot_count;
  uint64_t seed;
  uint32_t count;
} mo_text_table;

/* Finds or adds; false when there is no memory. *added tells which it was. */
bool mo_text_table_add(mo_text_table *table, const char *text, size_t length, uint32_t *number,
                       bool *added);
bool mo_text_table_find(const mo_text_table *table, const char *text, size_t length,
                        uint32_t *number);
const char *mo_text_table_get(const mo_text_table *table, uint32_t number, size_t *length);
void mo_text_table_close(mo_text_table *table);

/* What two neighbouring tokens become, and how early: low ranks merge first. */
typedef struct mo_pair_slot {
  uint32_t left, right, rank, result;
} mo_pair_slot;

typedef struct mo_pair_table {
  mo_pair_slot *slots; /* rank MO_PAIR_FREE: free */
  size_t slot_count;
  uint64_t seed;
  uint32_t count;
} mo_pair_table;

#define MO_PAIR_FREE UINT32_MAX

/* The slot of a pair, or NULL. */
const mo_pair_slot *mo_pair_table_find(const mo_pair_table *table, uint32_t left,
                                       uint32_t right);
/* Adds a pair that is not there yet; false when there is no memory. */
bool mo_pair_table_add(mo_pair_table *table, mo_pair_slot pair);
void mo_pair_table_close(mo_pair_table *table);

#endif
