/* blas_core.h - whether OpenBLAS knows this processor.
 *
 * OpenBLAS chooses its kernels by the model of the processor when it is loaded. A model newer than
 * the library gets those of 2004, without AVX, from versions before 0.3.22 (Debian 12's among them):
 * a quarter of the speed and less. Only the environment variable OPENBLAS_CORETYPE, set before the
 * library is loaded, changes that.
 */
#ifndef MOUSSE_LINALG_BLAS_CORE_H
#define MOUSSE_LINALG_BLAS_CORE_H

/* What OPENBLAS_CORETYPE should be, or NULL: OpenBLAS chose well, the variable is set, or this is
 * another BLAS. */
const char *mo_blas_better_core(void);

#endif
