/* storage.h - a parameter's numbers in the caller's memory: of 32 or 16 bits, in rows or in
 * columns, with or without gaps. The rest of the library sees floats in row-major order.
 *
 * Element (r, c) lies at  row_step r + col_step c  from the first one, counted in elements. */
#ifndef MOUSSE_OPTIM_STORAGE_H
#define MOUSSE_OPTIM_STORAGE_H

#include "optim/side.h"

#include <mousse/mousse.h>

typedef struct mo_storage {
  void *value;      /* borrowed; NULL: none yet */
  const void *grad; /* borrowed; NULL: none in this step */
  mousse_type value_type, grad_type;
  size_t row_step, col_step;
} mo_storage;

size_t mo_type_bytes(mousse_type type); /* 0: no such type */

/* Row-major without gaps. */
bool mo_storage_packed(const mo_storage *s, mo_shape shape);

/* Floats without gaps: they need not be read and written, but can be used where they are. */
bool mo_value_plain(const mo_storage *s, mo_shape shape);
bool mo_grad_plain(const mo_storage *s, mo_shape shape);

/* `count` elements from number `first` on, in row-major order, to and from floats. Writing
 * rounds to the nearest; what is too large for 16 bits becomes the largest number they have. */
void mo_read_value(const mo_storage *s, mo_shape shape, size_t first, size_t count, float *to);
void mo_read_grad(const mo_storage *s, mo_shape shape, size_t first, size_t count, float *to);
void mo_write_value(const mo_storage *s, mo_shape shape, size_t first, size_t count,
                    const float *from);

/* master = value, where the value is not the master rounded: somebody else wrote it. */
void mo_take_over(const mo_storage *s, mo_shape shape, size_t first, size_t count,
                  float *master);

#endif
