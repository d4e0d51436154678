/* kl.h - what the two algorithms on the statistics of kl.c share: all options but those of their
 * moments, and the recipe. */
#ifndef MOUSSE_OPTIM_STAGES_KL_H
#define MOUSSE_OPTIM_STAGES_KL_H

#include "optim/pipeline.h"

#define MO_KL_OPTIONS(...)                                                                     \
  {                                                                                            \
    MO_STAGE_LR(1e-4), MO_STAGE_MU(0.9), MO_STAGE_BETA(0.98), __VA_ARGS__,                     \
        MO_STAGE_FLOORS(MO_FLOORS_RELATIVE),                                                   \
        MO_STAGE_REFRESH_EVERY(10, "steps between basis updates"), MO_STAGE_REFRESH_TOL,       \
        MO_STAGE_STAGGER, MO_STAGE_WEIGHT_DECAY(0.01)                                          \
  }

#define MO_KL_RECIPE(which)                                                                    \
  {                                                                                            \
    .stages = {&mo_stage_kl, &mo_stage_step}, .set = {                                         \
      .inner = which,                                                                          \
      .refresh = MO_REFRESH_QR,                                                                \
      .shape = MO_SHAPE_NONE,                                                                  \
      .decay = MO_DECAY_AFTER                                                                  \
    }                                                                                          \
  }

#endif
