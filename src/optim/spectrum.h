/* spectrum.h - what an observer is told of the eigenvalues of one side, over all its blocks. */
#ifndef MOUSSE_OPTIM_SPECTRUM_H
#define MOUSSE_OPTIM_SPECTRUM_H

#include "optim/side.h"
#include "optim/telemetry.h"

typedef struct mo_spectrum {
  double lowest, highest, squares;
} mo_spectrum;

typedef struct mo_spectra {
  mo_spectrum raw, normalised;
} mo_spectra;

mo_spectra mo_spectra_start(void);

/* One eigenvalue of the normalised statistics, before damping; raw_factor takes it back to the
 * statistics of the true gradients. */
void mo_spectra_add(mo_spectra *spectra, double value, double raw_factor);

/* Nothing is told when nothing was added. */
void mo_spectra_tell(const mo_spectra *spectra, mo_side side, mo_telemetry *telemetry);

#endif
