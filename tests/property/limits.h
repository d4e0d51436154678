/* limits.h - steps whose state is looked at and written in between, for tests of what an algorithm
 * becomes in limits that no option reaches. Of the only parameter of a rig. */
#ifndef MOUSSE_TESTS_PROPERTY_LIMITS_H
#define MOUSSE_TESTS_PROPERTY_LIMITS_H

#include "property/against.h"

enum { LIMIT_SHAPES = 3 };
extern const size_t limit_shapes[LIMIT_SHAPES][2]; /* square, wide, tall */

void limit_step(rig *r); /* must succeed */

/* Arrays of the state; what is read is owned by the caller: free(). */
float *limit_read(rig *r, const char *name, size_t *count);
void limit_write(rig *r, const char *name, const float *data, size_t count);
void limit_fill(rig *r, const char *name, float value);
void limit_no_basis(rig *r); /* both bases are the identity */

/* Owned by the caller: free(). The statistics of one side as a whole n x n matrix; and for the rows
 * q_i of the basis, q_i S q_i^T. */
double *limit_statistics(rig *r, const char *name, size_t n);
double *limit_eigenvalues(rig *r, const char *statistics_name, const char *basis_name,
                          size_t n);

/* Takes a step and returns where it went, with the norm 1; owned by the caller. */
double *limit_direction(rig *r);
/* A step of each; they go the same way. `what` is said when they do not. */
void limit_assert_direction(rig *a, rig *b, double tolerance, const char *what);

/* |W - expected| relative to |expected - start| is below the tolerance. */
void limit_assert_near(const rig *r, const double *expected, const double *start,
                       double tolerance, const char *what);

#endif
