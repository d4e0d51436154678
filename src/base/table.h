/* table.h - two hash tables: byte strings to numbers in order of arrival, and pairs of token
 * ids to their merge. Open addressing, powers of two, at most half full. */
#ifndef MOUSSE_BASE_TABLE_H
#define MOUSSE_BASE_TABLE_H

#include "base/memory.h"

#include <stdint.h>

/* A set of byte strings numbered 0, 1, 2, ... as they were added; the strings are owned. */
typedef struct text_table {
  char *pool;
  size_t pool_used, pool_capacity;
  size_t *starts; /* string i is pool[starts[i]] .. pool[starts[i + 1]] */
  size_t starts_capacity;
  uint32_t *slots; /* 0: free, otherwise 1 + number */
  size_t slot_count;
  uint32_t count;
} text_table;

/* Finds or adds; false when there is no memory. *added tells which it was. */
bool text_table_add(text_table *table, const char *text, size_t length, uint32_t *number,
                    bool *added);
bool text_table_find(const text_table *table, const char *text, size_t length,
                     uint32_t *number);
const char *text_table_get(const text_table *table, uint32_t number, size_t *length);
void text_table_close(text_table *table);

/* What two neighbouring tokens become, and how early: low ranks merge first. */
typedef struct pair_slot {
  uint32_t left, right, rank, result;
} pair_slot;

typedef struct pair_table {
  pair_slot *slots; /* rank PAIR_FREE: free */
  size_t slot_count;
  uint32_t count;
} pair_table;

#define PAIR_FREE UINT32_MAX

/* The slot of a pair, or NULL. */
const pair_slot *pair_table_find(const pair_table *table, uint32_t left, uint32_t right);
/* Adds a pair that is not there yet; false when there is no memory. */
bool pair_table_add(pair_table *table, pair_slot pair);
void pair_table_close(pair_table *table);

#endif
