/* spectrum.c - what an observer is told of the eigenvalues of one side. */
#include "optim/spectrum.h"

#include <math.h>

mo_spectra mo_spectra_start(void)
{
  const mo_spectrum empty = {INFINITY, -INFINITY, 0.0};
  return (mo_spectra){empty, empty};
}

static void gather(mo_spectrum *s, double value)
{
  s->lowest = fmin(s->lowest, value);
  s->highest = fmax(s->highest, value);
  s->squares += value * value;
}

void mo_spectra_add(mo_spectra *spectra, double value, double raw_factor)
{
  gather(&spectra->normalised, value);
  gather(&spectra->raw, value * raw_factor);
}

typedef struct side_quantities {
  mo_quantity rms, min, max, condition;
} side_quantities;

static const side_quantities raw_of[2] = {
    {MO_LEFT_RMS, MO_LEFT_MIN, MO_LEFT_MAX, MO_LEFT_CONDITION},
    {MO_RIGHT_RMS, MO_RIGHT_MIN, MO_RIGHT_MAX, MO_RIGHT_CONDITION}};
static const side_quantities normalised_of[2] = {
    {MO_LEFT_NORMALISED_RMS, MO_LEFT_NORMALISED_MIN, MO_LEFT_NORMALISED_MAX,
     MO_LEFT_NORMALISED_CONDITION},
    {MO_RIGHT_NORMALISED_RMS, MO_RIGHT_NORMALISED_MIN, MO_RIGHT_NORMALISED_MAX,
     MO_RIGHT_NORMALISED_CONDITION}};

/* The RMS is that of the matrix's entries: ||A||_F / n, and ||A||_F^2 is the sum of the squared
 * eigenvalues. A condition that rounding hides is told as the largest that can be seen. */
static void tell(mo_telemetry *telemetry, const side_quantities *of, const mo_spectrum *s,
                 size_t n)
{
  const double visible = fmax(s->lowest, 1e-16 * s->highest);
  mo_note(telemetry, of->rms, sqrt(s->squares) / (double)n);
  mo_note(telemetry, of->min, s->lowest);
  mo_note(telemetry, of->max, s->highest);
  mo_note(telemetry, of->condition, visible > 0.0 ? s->highest / visible : 1.0);
}

void mo_spectra_tell(const mo_spectra *spectra, mo_side side, mo_telemetry *telemetry)
{
  if (spectra->raw.highest < spectra->raw.lowest) return;
  tell(telemetry, &raw_of[side.right], &spectra->raw, side.size);
  tell(telemetry, &normalised_of[side.right], &spectra->normalised, side.size);
}
