/* covariance.h - second moments of what enters and leaves the hidden matrices, for optimizers
 * that ask for them (gpt.h says what they are): the part that backward uses. */
#ifndef MOUSSE_GPT_COVARIANCE_H
#define MOUSSE_GPT_COVARIANCE_H

#include "base/parallel.h"
#include "gpt/pass.h"

/* The covariances of some columns of an array, by rows `stride` floats apart. */
typedef struct gpt_sample_rows {
  const float *x;
  size_t stride, count;
  double factor;
  float *covariance;
} gpt_sample_rows;

enum { GPT_MOST_SAMPLES = 8 };
typedef struct gpt_samples {
  size_t rows, every, first; /* rows first, first + every, ... */
  gpt_sample_rows items[GPT_MOST_SAMPLES];
  size_t count;
} gpt_samples;

/* Tokens from one sample to the next: evenly over all, unless the BLAS, which counts in ints, could not
 * step so far over an array of the widest kind. */
size_t gpt_sample_distance(size_t tokens, size_t rows, size_t widest);

/* What a layer's MLP and c_proj ask for, and its q, k and v; nothing when nobody asked. The list
 * must last as long as the task. */
mo_task gpt_sample_upper(const gpt_step *step, size_t layer, gpt_samples *list);
mo_task gpt_sample_lower(const gpt_step *step, size_t layer, gpt_samples *list);

#endif
