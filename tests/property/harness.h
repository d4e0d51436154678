/* harness.h - what the black-box tests share: an optimizer with its weights and gradients, made
 * reproducibly, and saved state in memory. Only the public header is used.
 *
 *     rig r;
 *     rig_start(&r, NULL);
 *     rig_add(&r, "mousse", 8, 12, "lr=0.02 sides=left");
 *     rig_prepare(&r);
 *     rig_step(&r, 1);             // gradients of step 1, then mousse_step: must be OK
 *     rig_stop(&r);
 */
#ifndef MOUSSE_TESTS_PROPERTY_HARNESS_H
#define MOUSSE_TESTS_PROPERTY_HARNESS_H

#include "check.h"

#include <mousse/mousse.h>
#include <stdbool.h>

enum { RIG_MAX_PARAMS = 16, RIG_MAX_INPUTS = 4 };

typedef struct rig_param {
  char name[24]; /* p0, p1, ... */
  int group;     /* its own */
  size_t rows, cols, count;
  float *value, *grad; /* owned by the rig */
  const char *algorithm;
  float *inputs[RIG_MAX_INPUTS];
} rig_param;

typedef struct rig {
  mousse_optimizer *opt;
  size_t count;
  rig_param params[RIG_MAX_PARAMS];
} rig;

/* Bytes in memory: what save wrote and load reads. */
typedef struct blob {
  unsigned char *data;
  size_t size, capacity, position;
  size_t fail_after; /* calls of the callback that succeed; SIZE_MAX: all */
} blob;

/* All of these assert success. */
void rig_start(rig *r, const mousse_env *env);
rig_param *rig_add(rig *r, const char *algorithm, size_t rows, size_t cols,
                   const char *options);
void rig_prepare(rig *r);
void rig_step(rig *r, uint64_t step);
void rig_stop(rig *r);
void rig_save(rig *r, blob *b); /* b is released by the caller with blob_free */
void rig_load(rig *r, blob *b);

/* One optimizer with one parameter, prepared. */
void rig_single(rig *r, const mousse_env *env, const char *algorithm, size_t rows, size_t cols,
                const char *options);

/* The next parameter with its arrays, not yet known to the optimizer. */
rig_param *rig_new_param(rig *r, size_t rows, size_t cols);

/* Adds the parameter without asserting; its arrays belong to the rig in any case. */
mousse_status rig_try_add(rig *r, const char *algorithm, size_t rows, size_t cols);

/* Each "name=value" of the text is set on the group; the first failure, or OK. */
mousse_status rig_set_all(rig *r, int group, const char *options);

/* Makes and binds every input that the algorithm takes: covariances are positive definite, the
 * rest is normal. They belong to the caller: free(). */
void bind_inputs(mousse_optimizer *opt, const char *algorithm, const char *name, size_t rows,
                 size_t cols, float *inputs[RIG_MAX_INPUTS]);

/* Random normal gradients, and inputs, that depend on (parameter, step) only, for every
 * parameter. */
void rig_gradients(rig *r, uint64_t step);
void fill_inputs(const rig_param *p, uint64_t step);
void fill_normal(float *values, size_t count, double deviation, uint64_t seed, uint64_t stream);
void fill_low_rank(float *values, size_t rows, size_t cols, size_t rank, uint64_t seed);

/* Copies of every weight in one array, and whether the weights equal it bit for bit. */
float *rig_weights(const rig *r); /* owned by the caller: free() */
bool rig_weights_are(const rig *r, const float *weights);
bool rig_weights_finite(const rig *r);
void assert_same_weights(const rig *found, const rig *expected); /* bit for bit */

/* Whether the first step only makes a basis and leaves the weights as they are. */
bool first_step_is_idle(const char *algorithm);

/* The error text is there and mentions the word. */
void assert_error_mentions(const mousse_optimizer *opt, const char *word);

blob blob_new(void);
void blob_free(blob *b);
void blob_rewind(blob *b);
int blob_write(void *user, const void *data, size_t bytes);
int blob_read(void *user, void *data, size_t bytes);

#endif
