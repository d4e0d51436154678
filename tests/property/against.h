/* against.h - the library against the float64 references, step by step on the same gradients.
 *
 * error = |W - W_ref| / |W_ref - W_0| in the Frobenius norm after 25 steps.
 */
#ifndef MOUSSE_TESTS_PROPERTY_AGAINST_H
#define MOUSSE_TESTS_PROPERTY_AGAINST_H

#include "property/harness.h"
#include "reference/reference.h"

enum { STEPS = 25, FULL = 0 }; /* of gradients: FULL or their rank */

double *to_double(const float *values, size_t count); /* owned by the caller: free() */
double distance(const double *a, const double *b, size_t count);

/* Random gradients of this rank, the same for every algorithm. */
void gradient(rig_param *p, size_t rank, uint64_t step);

/* New inputs of the step for the parameter, and the same for the reference; inputs[] begins as
 * NULLs and is the caller's to free. */
void give_inputs(const rig_param *p, uint64_t step, ref_optimizer *reference,
                 double *inputs[REF_INPUTS]);

/* The error after so many steps of library and reference; fill makes the gradient of a step. */
typedef void (*gradient_rule)(rig_param *p, const void *context, uint64_t step);
double error_against(const char *algorithm, const size_t shape[2], const char *options,
                     uint64_t steps, gradient_rule fill, const void *context);

/* The same against the reference of another algorithm, with options of its own. */
typedef struct against {
  const char *algorithm, *options, *reference, *reference_options;
} against;
double error_of(const against *pair, const size_t shape[2], uint64_t steps, gradient_rule fill,
                const void *context);

/* 1 and a line of text when the error is not below the tolerance, else 0. */
size_t check(const char *algorithm, const size_t shape[2], const char *options, size_t rank,
             double tolerance);

#endif
