/* blas_core.c - see blas_core.h. */
#include "linalg/blas_core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Present in OpenBLAS only. */
extern char *openblas_get_corename(void) __attribute__((weak));

static const char *better = NULL;
static pthread_once_t found = PTHREAD_ONCE_INIT;

/* The kernels for any processor of this kind; those for the newest want what not all have. */
static const char *best_core(void)
{
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return NULL;
}

static void find(void)
{
  if (openblas_get_corename == NULL || getenv("OPENBLAS_CORETYPE") != NULL) return;
  if (strcmp(openblas_get_corename(), "Prescott") == 0) better = best_core();
}

const char *mo_blas_better_core(void)
{
  pthread_once(&found, find);
  return better;
}
