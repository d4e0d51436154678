/* parts.h - what the references of the spectral family share, in double.
 *
 * The sources write momentum as a moving average, M <- mu*M + (1-mu)*G, and so do these files;
 * against M <- mu*M + G that is a factor, which most methods do not see.
 */
#ifndef MOUSSE_TESTS_REFERENCE_PARTS_H
#define MOUSSE_TESTS_REFERENCE_PARTS_H

#include "reference/reference.h"

/* s <- beta*s + (1-beta)*x */
void ref_average(size_t count, const double *x, double beta, double *s);

/* m <- mu*m + (1-mu)*g; x = m, or (1-mu)*g + mu*m with nesterov. */
void ref_momentum(size_t count, const double *g, double mu, int nesterov, double *m, double *x);

/* mu [.95] of this step by option mu_schedule (stages.c). */
double ref_mu(const ref_optimizer *r);

double ref_dot(size_t count, const double *a, const double *b);
double ref_trace(size_t n, const double *s);
void ref_identity(size_t n, double *s);

/* u <- u * wanted/||u||, unless u is 0. */
void ref_rescale(size_t count, double wanted, double *u);

/* out = (s + damping*I)^power of a symmetric n x n matrix. Negative eigenvalues of s count as 0;
 * a damped eigenvalue of at most `cut` is left out, as in a pseudo-inverse. */
void ref_power(size_t n, const double *s, double power, double damping, double cut,
               double *out);

/* out = sum_k (max(values_k, 0) + damping)^power v_k*v_k^T, without those of at most `cut`. */
void ref_power_of(size_t n, const double *values, const double *vectors, double power,
                  double damping, double cut, double *out);

/* Eigenvalues and eigenvectors (columns) of s, in any order, by the option refresh: exactly, or with
 * qr by the basis q that is kept: ref_eigenbasis at t = 1 and while seen*min(m,n) < n, for then s has
 * not full rank; else the orthogonal factor of s*q, columns by falling diag(q^T*s*q). values are
 * diag(q^T*s*q) of the new one. */
void ref_decompose(const ref_optimizer *r, size_t n, const double *s, double *q, double *values,
                   double *vectors);

/* The same for each diagonal block of s (n x n), of at most `block` [0: n]; power is 0 elsewhere. root
 * makes one of a d x d block, which it may change, and of its basis. */
typedef void (*ref_root)(const ref_optimizer *r, size_t d, double *s, double *basis,
                         double *power);
void ref_by_blocks(const ref_optimizer *r, size_t n, const double *s, ref_root root,
                   double *basis, double *power);

/* x (m x n) <- left*x*right; NULL is the identity. */
void ref_sandwich(size_t m, size_t n, const double *left, const double *right, double *x);

/* x <- Ql^T*x*Qr, or back: Ql*x*Qr^T; NULL is the identity. */
void ref_to_basis(size_t m, size_t n, const double *ql, const double *qr, double *x);
void ref_from_basis(size_t m, size_t n, const double *ql, const double *qr, double *x);

/* q = the eigenvectors of s (n x n) by falling eigenvalue. Those whose eigenvalue is at most
 * 1e-5 of the largest span a space in which every basis is as good as another. So that two
 * programs agree, it is built from the axes: P projects on that space; the first axis j with
 * P_jj >= max/2 gives the column P_j/sqrt(P_jj), which is removed from P; and so on. */
void ref_eigenbasis(size_t n, const double *s, double *q);

/* Which sides the option `sides` names; small is the shorter one. */
enum { REF_BOTH, REF_LEFT, REF_RIGHT, REF_SMALL };
int ref_has_side(const ref_optimizer *r, size_t otherwise, int left);

/* Whether (t-1) mod refresh_every == 0. */
int ref_due(const ref_optimizer *r, double every);

/* The statistic of normuon on u (rows x cols): mean squares of the rows, or of the columns, are
 * averaged into v; u is divided by sqrt(v) + eps and keeps its norm. */
void ref_equalise(const ref_optimizer *r, int rows, double beta2, double eps, double *v,
                  double *u);

#endif
