/* storage.c - see storage.h. */
#include "optim/storage.h"

#include "optim/saturate.h"

size_t mo_type_bytes(mousse_type type)
{
  return type == MOUSSE_FLOAT32 ? 4 : type == MOUSSE_BFLOAT16 || type == MOUSSE_FLOAT16 ? 2 : 0;
}

bool mo_storage_packed(const mo_storage *s, mo_shape shape)
{
  return (s->col_step == 1 || shape.cols == 1) &&
         (s->row_step == shape.cols || shape.rows == 1);
}

bool mo_value_plain(const mo_storage *s, mo_shape shape)
{
  return s->value_type == MOUSSE_FLOAT32 && mo_storage_packed(s, shape);
}

bool mo_grad_plain(const mo_storage *s, mo_shape shape)
{
  return s->grad_type == MOUSSE_FLOAT32 && mo_storage_packed(s, shape);
}

/* `count` elements, `step` apart, starting with number `at`. */
static void read_run(mousse_type type, const void *data, size_t at, size_t step, size_t count,
                     float *to)
{
  const float *f = data;
  const uint16_t *h = data;
  if (type == MOUSSE_FLOAT32)
    for (size_t i = 0; i < count; i++) to[i] = f[at + i * step];
  else if (type == MOUSSE_BFLOAT16)
    for (size_t i = 0; i < count; i++) to[i] = mo_from_bfloat16(h[at + i * step]);
  else
    for (size_t i = 0; i < count; i++) to[i] = mo_from_float16(h[at + i * step]);
}

static void write_run(mousse_type type, void *data, size_t at, size_t step, size_t count,
                      const float *from)
{
  float *f = data;
  uint16_t *h = data;
  if (type == MOUSSE_FLOAT32)
    for (size_t i = 0; i < count; i++) f[at + i * step] = from[i];
  else if (type == MOUSSE_BFLOAT16)
    for (size_t i = 0; i < count; i++) h[at + i * step] = mo_saturate_bfloat16(from[i]);
  else
    for (size_t i = 0; i < count; i++) h[at + i * step] = mo_saturate_float16(from[i]);
}

static void take_over_run(mousse_type type, const void *data, size_t at, size_t step,
                          size_t count, float *master)
{
  const uint16_t *h = data;
  if (type == MOUSSE_BFLOAT16)
    for (size_t i = 0; i < count; i++) {
      const uint16_t x = h[at + i * step];
      if (mo_saturate_bfloat16(master[i]) != x) master[i] = mo_from_bfloat16(x);
    }
  else if (type == MOUSSE_FLOAT16)
    for (size_t i = 0; i < count; i++) {
      const uint16_t x = h[at + i * step];
      if (mo_saturate_float16(master[i]) != x) master[i] = mo_from_float16(x);
    }
}

/* Elements first .. first + count as runs along rows; one run where memory has no gaps. */
typedef struct run {
  size_t at, count, done; /* at: in memory; done: elements before it */
} run;

static bool next_run(const mo_storage *s, mo_shape shape, size_t first, size_t count, run *r)
{
  const bool packed = mo_storage_packed(s, shape);
  r->done += r->count;
  if (r->done >= count) return false;
  const size_t place = first + r->done, row = place / shape.cols, col = place % shape.cols;
  const size_t left = count - r->done, in_row = packed ? left : shape.cols - col;
  r->count = left < in_row ? left : in_row;
  r->at = packed ? place : row * s->row_step + col * s->col_step;
  return true;
}

/* Whole matrices that lie in memory by columns, in tiles of rows: a column's cache line is used
 * up before it leaves the cache. */
enum { TILE = 16 };

static bool by_columns(const mo_storage *s, mo_shape shape, size_t first, size_t count)
{
  return first == 0 && count == mo_elements(shape) && s->row_step == 1 && shape.rows > 1 &&
         shape.cols > 1;
}

static void read_columns(mousse_type type, const void *data, const mo_storage *s,
                         mo_shape shape, float *to)
{
  float tile[TILE];
  for (size_t row = 0; row < shape.rows; row += TILE) {
    const size_t rows = shape.rows - row < TILE ? shape.rows - row : TILE;
    for (size_t col = 0; col < shape.cols; col++) {
      read_run(type, data, row + col * s->col_step, 1, rows, tile);
      for (size_t i = 0; i < rows; i++) to[(row + i) * shape.cols + col] = tile[i];
    }
  }
}

static void write_columns(const mo_storage *s, mo_shape shape, const float *from)
{
  float tile[TILE];
  for (size_t row = 0; row < shape.rows; row += TILE) {
    const size_t rows = shape.rows - row < TILE ? shape.rows - row : TILE;
    for (size_t col = 0; col < shape.cols; col++) {
      for (size_t i = 0; i < rows; i++) tile[i] = from[(row + i) * shape.cols + col];
      write_run(s->value_type, s->value, row + col * s->col_step, 1, rows, tile);
    }
  }
}

static void read_elements(mousse_type type, const void *data, const mo_storage *s,
                          mo_shape shape, size_t first, size_t count, float *to)
{
  if (by_columns(s, shape, first, count)) {
    read_columns(type, data, s, shape, to);
    return;
  }
  const size_t step = mo_storage_packed(s, shape) ? 1 : s->col_step;
  for (run r = {0}; next_run(s, shape, first, count, &r);)
    read_run(type, data, r.at, step, r.count, to + r.done);
}

void mo_read_value(const mo_storage *s, mo_shape shape, size_t first, size_t count, float *to)
{
  read_elements(s->value_type, s->value, s, shape, first, count, to);
}

void mo_read_grad(const mo_storage *s, mo_shape shape, size_t first, size_t count, float *to)
{
  read_elements(s->grad_type, s->grad, s, shape, first, count, to);
}

void mo_write_value(const mo_storage *s, mo_shape shape, size_t first, size_t count,
                    const float *from)
{
  if (by_columns(s, shape, first, count)) {
    write_columns(s, shape, from);
    return;
  }
  const size_t step = mo_storage_packed(s, shape) ? 1 : s->col_step;
  for (run r = {0}; next_run(s, shape, first, count, &r);)
    write_run(s->value_type, s->value, r.at, step, r.count, from + r.done);
}

void mo_take_over(const mo_storage *s, mo_shape shape, size_t first, size_t count,
                  float *master)
{
  const size_t step = mo_storage_packed(s, shape) ? 1 : s->col_step;
  for (run r = {0}; next_run(s, shape, first, count, &r);)
    take_over_run(s->value_type, s->value, r.at, step, r.count, master + r.done);
}
