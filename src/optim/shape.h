/* shape.h - rows and columns of a matrix. */
#ifndef MOUSSE_OPTIM_SHAPE_H
#define MOUSSE_OPTIM_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mo_shape {
  size_t rows, cols;
} mo_shape;

static inline size_t mo_elements(mo_shape shape)
{
  return shape.rows * shape.cols;
}

static inline bool mo_is_wide(mo_shape shape) /* or square */
{
  return shape.rows <= shape.cols;
}

static inline size_t mo_shorter(mo_shape shape)
{
  return mo_is_wide(shape) ? shape.rows : shape.cols;
}

static inline size_t mo_longer(mo_shape shape)
{
  return mo_is_wide(shape) ? shape.cols : shape.rows;
}

#endif
