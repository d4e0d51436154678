/* table.c - tables that fit the terminal, or are complete where there is none. */
#include "cli/table.h"

#include "base/text.h"
#include "base/wording.h"
#include "cli/terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WIDE_GAP = 2, NARROW_GAP = 1, SHORTEST_CUT = 23 };

/* How the columns are shown: their widths, 0 for those left out. */
typedef struct layout {
  size_t widths[TABLE_MOST_COLUMNS];
  size_t gap;
  char left_out[128]; /* titles */
} layout;

void table_cell(cli_table *table, const char *format, ...)
{
  char text[TABLE_CELL];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  mo_clean_line(text);
  if (!mo_buffer_add(&table->cells, text, strlen(text) + 1)) table->failed = true;
  table->cell_count++;
}

static layout measure(const cli_table *table)
{
  layout l = {.gap = WIDE_GAP};
  for (size_t c = 0; c < table->column_count; c++)
    l.widths[c] = mo_columns(table->columns[c].title);
  const char *cell = table->cells.data;
  for (size_t i = 0; i < table->cell_count; i++, cell += strlen(cell) + 1) {
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero) - every table has a column */
    const size_t wide = mo_columns(cell), c = i % table->column_count;
    if (wide > l.widths[c]) l.widths[c] = wide;
  }
  return l;
}

static size_t whole_width(const cli_table *table, const layout *l)
{
  size_t sum = 0, shown = 0;
  for (size_t c = 0; c < table->column_count; c++) {
    sum += l->widths[c];
    shown += l->widths[c] > 0;
  }
  return sum + (shown > 0 ? (shown - 1) * l->gap : 0);
}

/* Takes up to `excess` columns from the text that may be cut. */
static void cut(const cli_table *table, layout *l, size_t excess)
{
  for (size_t c = 0; c < table->column_count; c++) {
    if (!table->columns[c].is_cut || l->widths[c] <= SHORTEST_CUT) continue;
    const size_t most = l->widths[c] - SHORTEST_CUT;
    l->widths[c] -= excess < most ? excess : most;
    return;
  }
}

/* false: every column is needed. */
static bool leave_out(const cli_table *table, layout *l)
{
  size_t worst = table->column_count;
  for (size_t c = 0; c < table->column_count; c++)
    if (l->widths[c] > 0 && table->columns[c].spare > 0 &&
        (worst == table->column_count || table->columns[c].spare > table->columns[worst].spare))
      worst = c;
  if (worst == table->column_count) return false;
  l->widths[worst] = 0;
  mo_list_add(l->left_out, sizeof l->left_out, table->columns[worst].title);
  return true;
}

static layout fit(const cli_table *table)
{
  const size_t columns = terminal_columns(stdout);
  const size_t room = terminal_is(stdout) && columns > 1 ? columns - 1 : columns;
  const layout whole = measure(table);
  layout l = whole;
  if (!terminal_has_columns(stdout)) return whole;
  if (whole_width(table, &l) > room) l.gap = NARROW_GAP;
  while (whole_width(table, &l) > room) {
    cut(table, &l, whole_width(table, &l) - room);
    if (whole_width(table, &l) <= room || !leave_out(table, &l)) break;
    for (size_t c = 0; c < table->column_count; c++) /* there may be room for it again */
      if (table->columns[c].is_cut && l.widths[c] > 0) l.widths[c] = whole.widths[c];
  }
  return l;
}

/* The last so many columns of a text. */
static const char *end_of(const char *text, size_t width)
{
  while (mo_columns(text) > width) text += mo_character_bytes(text);
  return text;
}

static void print_cell(const table_column *column, const char *text, size_t width, bool last)
{
  const bool fits = mo_columns(text) <= width;
  const char *shown = fits ? text : end_of(text, width - 1);
  const size_t used = mo_columns(shown) + !fits;
  const int pad = (int)(width - used);
  if (!column->is_text) printf("%*s", pad, "");
  printf("%s%s", fits ? "" : "~", shown);
  if (column->is_text && !last) printf("%*s", pad, "");
}

static void print_rows(const cli_table *table, const layout *l)
{
  const char *cell = table->cells.data;
  size_t last = 0;
  for (size_t c = 0; c < table->column_count; c++)
    if (l->widths[c] > 0) last = c;
  const size_t all = table->cell_count + table->column_count; /* with the titles */
  for (size_t i = 0; i < all; i++) {
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero) - every table has a column */
    const size_t c = i % table->column_count;
    const bool title = i < table->column_count;
    const char *text = title ? table->columns[c].title : cell;
    if (l->widths[c] > 0) {
      if (c > 0) printf("%*s", (int)l->gap, "");
      print_cell(&table->columns[c], text, l->widths[c], c == last);
    }
    if (c == table->column_count - 1) printf("\n");
    if (!title) cell += strlen(cell) + 1;
  }
  if (l->left_out[0] != '\0') printf("(left out to fit: %s)\n", l->left_out);
}

mousse_status table_print(cli_table *table, mo_error *error)
{
  const bool failed = table->failed;
  if (!failed) {
    const layout l = fit(table);
    print_rows(table, &l);
  }
  mo_buffer_close(&table->cells);
  table->cell_count = 0;
  return failed ? mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a table") : MOUSSE_OK;
}

const char *table_number(char text[32], double value)
{
  if (value >= 1000)
    snprintf(text, 32, "%s", MO_NUMBER(value + 0.5));
  else
    snprintf(text, 32, "%.3g", value);
  return text;
}
