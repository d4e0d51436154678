/* cmd_version.c - mousse version: what was built, and what it runs on. */
#include "base/parallel.h"
#include "cli/next_step.h"
#include "cli/terminal.h"
#include "linalg/blas.h"

#include <stdio.h>

static const char *instruction_set(void)
{
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "AVX2, FMA";
#endif
#if defined(__aarch64__)
  return "NEON";
#endif
  return "baseline";
}

static const char *compiler(void)
{
#if defined(__clang__)
  return ""; /* its version starts with its name */
#elif defined(__GNUC__)
  return "GCC";
#else
  return "unknown";
#endif
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  (void)error;
  printf("mousse %s\ncompiler: %s %s\nBLAS: %s\nthreads: %d\ninstruction set: %s\n",
         MOUSSE_VERSION_TEXT, compiler(), __VERSION__, mo_blas_description(),
         mo_threads_available(), instruction_set());
  if (terminal_is(stdout)) next_step(call, "help"); /* scripts ask for versions, too */
  return MOUSSE_OK;
}

const cli_command command_version = {
    .name = "version",
    .summary = "Show version, compiler, BLAS, threads and instruction set",
    .arguments = "",
    .details = "",
    .run = run,
};
