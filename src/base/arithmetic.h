/* arithmetic.h - floating point as C has it by default: rounded to the nearest, with denormal numbers.
 *
 * A host may have set its threads otherwise (torch.set_flush_denormal, fesetround), and some of
 * them only: results would depend on which thread gets which item.
 *
 *     {
 *       MO_OWN_ARITHMETIC; first in a block; at its end the thread is again as the host has set it
 *       ...
 *     }
 */
#ifndef MOUSSE_BASE_ARITHMETIC_H
#define MOUSSE_BASE_ARITHMETIC_H

#include <fenv.h>

static inline fenv_t mo_arithmetic_start(void)
{
  fenv_t host;
  fegetenv(&host);
  fesetenv(FE_DFL_ENV);
  return host;
}

static inline void mo_arithmetic_end(const fenv_t *host)
{
  fesetenv(host);
}

#define MO_OWN_ARITHMETIC                                                                      \
  const fenv_t mo_host __attribute__((cleanup(mo_arithmetic_end), unused)) =                   \
      mo_arithmetic_start()

#endif
