/* root.c - the root of a side from its statistics: block by block, by the way that was asked
 * for. */
#include "optim/root.h"

#include "base/team.h"
#include "linalg/blas.h"
#include "linalg/vector.h"
#include "optim/root_block.h"

#include <float.h>
#include <math.h>

const char *const mo_refresh_names[5] = {"auto", "eigh", "qr", "cholesky", NULL};

mo_refresh mo_refresh_resolve(mo_refresh method, mo_side side)
{
  if (method != MO_REFRESH_AUTO) return method;
  return side.block < 512 ? MO_REFRESH_EIGH : MO_REFRESH_CHOLESKY;
}

size_t mo_root_basis_floats(mo_refresh method, mo_side side)
{
  size_t floats = 0;
  if (mo_refresh_resolve(method, side) == MO_REFRESH_QR)
    MO_FOR_BLOCKS(side, at) floats += at.size * at.size;
  return floats;
}

size_t mo_root_work_floats(mo_refresh method, mo_side side)
{
  if (side.size == 0) return 0;
  switch (mo_refresh_resolve(method, side)) {
  case MO_REFRESH_CHOLESKY:
    return mo_root_cholesky_floats(side.block);
  case MO_REFRESH_QR:
    return mo_root_qr_floats(side.block);
  default:
    return mo_root_eigh_floats(side.block);
  }
}

void mo_root_observe(mo_root_pass *pass, mo_root_block block, double value)
{
  const double grad_scale = (double)pass->rule->grad_scale;
  if (pass->observed)
    mo_spectra_add(&pass->spectra, value, 1.0 / (block.factor * grad_scale * grad_scale));
}

double mo_root_shift(const mo_root_rule *rule)
{
  return rule->damping == MO_DAMP_ABSOLUTE ? rule->eps : 0.0;
}

/* What is added to the eigenvalues, and the least that they are then: it matters where the
 * statistics are so large that eps is below their rounding. */
static double shift_of(const mo_root_rule *rule, double lowest, double highest, double mean)
{
  switch (rule->damping) {
  case MO_DAMP_ABSOLUTE:
    return fmax(0.0, -lowest) + rule->eps;
  case MO_DAMP_RELATIVE:
    return rule->eps * fmax(highest, 0.0);
  case MO_DAMP_TRACE:
    return rule->eps * fmax(mean, 0.0);
  case MO_DAMP_FLOOR:
    return rule->eps;
  default:
    return 0.0;
  }
}

void mo_root_damp(size_t n, const mo_root_rule *rule, double *values)
{
  double lowest = values[0], highest = values[0], mean = 0.0;
  for (size_t i = 0; i < n; i++) {
    lowest = fmin(lowest, values[i]);
    highest = fmax(highest, values[i]);
    mean += values[i] / (double)n;
  }
  if (rule->damping == MO_DAMP_PSEUDO) { /* the inverse of infinity is left out */
    for (size_t i = 0; i < n; i++)
      if (values[i] <= rule->eps * highest) values[i] = INFINITY;
    return;
  }
  if (rule->damping == MO_DAMP_TRACE) /* below the rounding of float statistics: none */
    for (size_t i = 0; i < n; i++)
      if (values[i] < fmin(4.0 * (double)FLT_EPSILON, 0.2 * rule->eps) * highest)
        values[i] = 0.0;
  const double shift = shift_of(rule, lowest, highest, mean);
  const double floor = rule->damping == MO_DAMP_ABSOLUTE ? rule->eps : shift;
  for (size_t i = 0; i < n; i++) values[i] = fmax(values[i] + shift, floor);
}

void mo_root_compose(mo_root_block block, const double *values, double power, float *rows)
{
  const size_t n = block.n;
  for (size_t i = 0; i < n; i++) mo_scale(rows + i * n, n, (float)pow(values[i], -0.5 * power));
  mo_syrk(MO_UPPER, MO_TRANSPOSED, n, n, 1.0f, rows, n, 0.0f, block.pair + 1, n + 1);
}

static double trace_of(size_t n, const float *pair)
{
  double trace = 0.0;
  for (size_t i = 0; i < n; i++) trace += (double)pair[i * (n + 1) + i];
  return trace;
}

/* The factor that takes stored statistics to normalised ones. In double: with gradients of
 * 1e38 the true statistics are far beyond float. */
static double normalisation(size_t n, double trace, const mo_root_rule *rule)
{
  const double factor =
      rule->correction / ((double)rule->grad_scale * (double)rule->grad_scale);
  const double least = rule->damping == MO_DAMP_ABSOLUTE ? rule->eps : 0.0;
  return rule->trace_norm ? factor * (double)n / (factor * trace + least) : factor;
}

/* Statistics that faded in a long pause of the gradient to where floats end have lost their
 * shape. The root of before has it still; where damping is absolute it decides alone. */
static bool faded(const mo_root_rule *rule, double trace)
{
  const bool absolute = rule->damping == MO_DAMP_ABSOLUTE ||
                        (rule->damping == MO_DAMP_FLOOR && !rule->trace_norm);
  return !absolute && trace < 1e-33;
}

void mo_root_refresh(mo_side side, const mo_root_rule *rule, float *pair, float *basis,
                     float *work, mo_counts *counts, mo_telemetry *telemetry)
{
  const mo_refresh method = mo_refresh_resolve(rule->method, side);
  mo_root_pass pass = {rule, counts, telemetry != NULL, method != MO_REFRESH_QR,
                       mo_spectra_start()};
  mo_team_hurry();
  MO_FOR_BLOCKS(side, at)
  {
    const double trace = trace_of(at.size, pair + at.offset);
    const mo_root_block block = {at.size, pair + at.offset,
                                 normalisation(at.size, trace, rule)};
    if (faded(rule, trace)) continue;
    if (method == MO_REFRESH_CHOLESKY)
      mo_root_by_cholesky(&pass, block, work);
    else if (method == MO_REFRESH_QR)
      mo_root_by_qr(&pass, block, basis + side.block * at.start, work);
    else
      mo_root_by_eigh(&pass, block, work);
  }
  counts->refreshes += pass.renewed;
  mo_spectra_tell(&pass.spectra, side, telemetry);
}
