/* table.h - tables that fit the terminal: columns as wide as what is in them; where that is too
 * wide, first gaps become narrower, then the text that may be cut loses its beginning, and
 * last of all columns that can be spared are left out, which is told below the table. Where
 * there is no terminal and COLUMNS is not set, tables are complete, for grep and other programs.
 *
 *     cli_table table = {.columns = columns, .column_count = 3};
 *     table_cell(&table, "%s", name);         cell by cell, row by row
 *     MO_TRY(table_print(&table, error));     prints to standard output and frees
 */
#ifndef MOUSSE_CLI_TABLE_H
#define MOUSSE_CLI_TABLE_H

#include "base/buffer.h"
#include "base/error.h"

enum { TABLE_MOST_COLUMNS = 12, TABLE_CELL = 512 };

typedef struct table_column {
  const char *title;
  bool is_text; /* to the left; numbers stand to the right */
  bool is_cut;  /* may be shortened: its end tells rows apart */
  int spare;    /* 0: always shown; otherwise the largest is left out first */
} table_column;

typedef struct cli_table {
  const table_column *columns; /* borrowed */
  size_t column_count;
  mo_buffer cells; /* texts with their ends, one after the other */
  size_t cell_count;
  bool failed; /* no memory */
} cli_table;

/* The next cell; control characters in it are replaced. */
void table_cell(cli_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
mousse_status table_print(cli_table *table, mo_error *error);

/* A number for a cell: 0.0123, 4.56, 789, 12,345; no exponents from 0.0001 on. */
const char *table_number(char text[32], double value);
#define TABLE_NUMBER(value) table_number((char[32]){0}, value)

#endif
