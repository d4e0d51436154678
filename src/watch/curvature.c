/* curvature.c - telemetry in a grid of matrices, quantities and columns of steps. */
#include "watch/curvature.h"

#include "base/memory.h"
#include "study/metrics_line.h"
#include "support/json_lines.h"

#include <math.h>
#include <string.h>

enum { CELLS_OF_MATRIX = CURVATURE_QUANTITIES * CURVATURE_COLUMNS };

static curvature_cell *cells_of(const curvature_map *m, size_t matrix, size_t quantity)
{
  return m->cells + matrix * CELLS_OF_MATRIX + quantity * CURVATURE_COLUMNS;
}

/* The place of a name in a list, or `count` when it is not there. */
static size_t find_name(char (*names)[CURVATURE_NAME], size_t count, const char *name)
{
  size_t i = 0;
  while (i < count && strcmp(names[i], name) != 0) i++;
  return i;
}

/* The same, added where there is room; `most` where there is none. */
static size_t take_name(char (*names)[CURVATURE_NAME], size_t *count, size_t most,
                        const char *name)
{
  const size_t at = find_name(names, *count, name);
  if (at < *count) return at;
  if (*count == most || strlen(name) >= CURVATURE_NAME) return most;
  memcpy(names[*count], name, strlen(name) + 1);
  return (*count)++;
}

static void join_columns(curvature_cell *cells, size_t columns)
{
  for (size_t c = 0; c < columns; c++) {
    const bool pair = 2 * c + 1 < CURVATURE_COLUMNS;
    const curvature_cell a = cells[2 * c], b = pair ? cells[2 * c + 1] : (curvature_cell){0};
    cells[c] = (curvature_cell){a.sum + b.sum, a.count + b.count};
  }
  memset(cells + columns, 0, (CURVATURE_COLUMNS - columns) * sizeof *cells);
}

static void halve(curvature_map *m)
{
  const size_t columns = CURVATURE_COLUMNS / 2;
  for (size_t i = 0; i < m->matrix_count; i++)
    for (size_t q = 0; q < m->quantity_count; q++) join_columns(cells_of(m, i, q), columns);
  for (size_t c = 0; c < columns; c++) m->steps[c] = m->steps[2 * c + 1];
  m->columns = columns;
  m->width *= 2;
  m->filled = m->width;
}

/* The column of a step, which is not before the last one. */
static void take_step(curvature_map *m, uint64_t step)
{
  if (m->columns > 0 && m->steps[m->columns - 1] == step) return;
  if (m->columns == 0 || m->filled >= m->width) {
    if (m->columns == CURVATURE_COLUMNS) halve(m);
    m->columns++;
    m->filled = 0;
  }
  m->filled++;
  m->steps[m->columns - 1] = step;
}

static void take_value(curvature_map *m, size_t matrix, const char *name, double value)
{
  const size_t quantity =
      take_name(m->quantities, &m->quantity_count, CURVATURE_QUANTITIES, name);
  if (quantity == CURVATURE_QUANTITIES || !isfinite(value)) return;
  curvature_cell *cell = cells_of(m, matrix, quantity) + m->columns - 1;
  cell->sum += (float)value;
  cell->count++;
}

static void take_line(curvature_map *m, const metrics_line *l)
{
  const char *key = NULL;
  json_t *member = NULL;
  if (m->columns > 0 && l->step < m->steps[m->columns - 1]) return;
  const size_t matrix = take_name(m->matrices, &m->matrix_count, CURVATURE_MATRICES, l->matrix);
  if (matrix == CURVATURE_MATRICES) return;
  if (matrix >= m->capacity &&
      !mo_grow(NULL, &m->cells, &m->capacity, matrix + 1, CELLS_OF_MATRIX * sizeof *m->cells)) {
    m->matrix_count--;
    return;
  }
  take_step(m, l->step);
  json_object_foreach(l->object, key, member)
  {
    if (strcmp(key, "step") != 0 && strcmp(key, "matrix") != 0 && json_is_number(member))
      take_value(m, matrix, key, json_number_value(member));
  }
}

static void take_text(void *map, const char *text, size_t size)
{
  metrics_line line;
  if (size < 20 || memmem(text, size < 40 ? size : 40, "\"matrix\"", 8) == NULL) return;
  if (metrics_line_read(&line, text, size, NULL) != MOUSSE_OK) return;
  if (line.kind == METRICS_TELEMETRY) take_line(map, &line);
  metrics_line_release(&line);
}

static void forget(void *map)
{
  curvature_map *m = map;
  if (m->cells != NULL) memset(m->cells, 0, m->capacity * CELLS_OF_MATRIX * sizeof *m->cells);
  m->matrix_count = m->quantity_count = m->columns = 0;
  m->width = 1;
}

bool curvature_read(curvature_map *m, int directory, size_t most)
{
  const tail_reader reader = {take_text, forget, m};
  if (m->width == 0) m->width = 1;
  return tail_read(&m->tail, directory, "metrics.jsonl", most, &reader) == TAIL_MORE;
}

void curvature_release(curvature_map *m)
{
  mo_release(NULL, m->cells, m->capacity * CELLS_OF_MATRIX * sizeof *m->cells);
  *m = (curvature_map){.width = 1};
}

static json_t *values_json(const curvature_map *m, size_t matrix, size_t quantity)
{
  json_t *values = json_array();
  const curvature_cell *cells = cells_of(m, matrix, quantity);
  for (size_t c = 0; c < m->columns; c++)
    json_array_append_new(
        values, json_finite(cells[c].count > 0 ? (double)cells[c].sum / cells[c].count : NAN));
  return values;
}

static json_t *names_json(char (*names)[CURVATURE_NAME], size_t count)
{
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(list, json_string(names[i]));
  return list;
}

static void add_rows(json_t *all, curvature_map *m, const char *name)
{
  json_t *rows = json_array();
  const size_t quantity = find_name(m->quantities, m->quantity_count, name);
  for (size_t i = 0; quantity < m->quantity_count && i < m->matrix_count; i++)
    json_array_append_new(rows, values_json(m, i, quantity));
  json_object_set_new(all, "rows", rows);
}

static void add_curves(json_t *all, curvature_map *m, const char *name)
{
  json_t *curves = json_object();
  const size_t matrix = find_name(m->matrices, m->matrix_count, name);
  for (size_t q = 0; matrix < m->matrix_count && q < m->quantity_count; q++)
    json_object_set_new(curves, m->quantities[q], values_json(m, matrix, q));
  json_object_set_new(all, "curves", curves);
}

json_t *curvature_json(curvature_map *m, const char *quantity, const char *matrix)
{
  json_t *all = json_object(), *steps = json_array();
  for (size_t c = 0; c < m->columns; c++)
    json_array_append_new(steps, json_integer((json_int_t)m->steps[c]));
  json_object_set_new(all, "steps", steps);
  json_object_set_new(all, "matrices", names_json(m->matrices, m->matrix_count));
  json_object_set_new(all, "quantities", names_json(m->quantities, m->quantity_count));
  if (quantity != NULL) add_rows(all, m, quantity);
  if (matrix != NULL) add_curves(all, m, matrix);
  return all;
}
