/* registry.c - the algorithms of algorithms.def, and what they share. */
#include "base/fence.h"
#include "linalg/vector.h"
#include "optim/algorithm.h"

#include <string.h>

#define MO_ALGORITHM(name) extern const mo_algorithm mo_algorithm_##name;
#include "optim/algorithms.def"
#undef MO_ALGORITHM

static const mo_algorithm *const algorithms[] = {
#define MO_ALGORITHM(name) &mo_algorithm_##name,
#include "optim/algorithms.def"
#undef MO_ALGORITHM
};

const char *const mo_off_on[3] = {"off", "on", NULL};

size_t mo_algorithm_count(void)
{
  return sizeof algorithms / sizeof *algorithms;
}

const mo_algorithm *mo_algorithm_at(size_t index)
{
  return index < mo_algorithm_count() ? algorithms[index] : NULL;
}

const mo_algorithm *mo_algorithm_find(const char *name)
{
  for (size_t i = 0; name != NULL && i < mo_algorithm_count(); i++)
    if (strcmp(algorithms[i]->name, name) == 0) return algorithms[i];
  return NULL;
}

const char *mo_refuse_vectors(mo_shape shape)
{
  if (shape.rows > 1 && shape.cols > 1) return NULL;
  return "it needs a matrix with more than one row and column; use adamw or lion for vectors";
}

bool mo_due(const mo_update *u, double every, bool stagger)
{
  const uint64_t period = (uint64_t)every;
  const uint64_t late = stagger ? (uint64_t)(u->stagger_offset * every) : 0;
  return mo_first(u) || (u->step - 1) % period == late % period;
}

size_t mo_scratch_floats(size_t count)
{
  return (count + 15) / 16 * 16;
}

float *mo_scratch_take(float **work, size_t count)
{
  float *taken = *work;
  *work += mo_scratch_floats(count);
  mo_reach(taken, count * sizeof *taken);
  return taken;
}

const float *mo_scaled_gradient(const mo_update *u, float *spare)
{
  if (u->grad_scale == 1.0f) return u->grad;
  mo_copy_scaled(spare, u->grad, mo_elements(u->shape), u->grad_scale);
  return spare;
}
