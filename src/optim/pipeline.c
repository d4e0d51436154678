/* pipeline.c - the stages of an algorithm, one after the other. */
#include "optim/pipeline.h"

#include "base/fence.h"
#include "linalg/vector.h"
#include "optim/outline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the recipe sets, and over it what the user may have changed. */
static mo_stage_options settle(const mo_pipeline *p, const void *config)
{
  mo_stage_options o = p->recipe->set;
  for (size_t i = 0; i < p->option_count; i++) {
    const size_t offset = p->options[i].offset;
    memcpy((char *)&o + offset, (const char *)config + offset, sizeof(double));
  }
  return o;
}

/* The stages that these options leave, in order; returns how many. */
static size_t resolve(const mo_pipeline *p, const mo_stage_options *o,
                      const mo_stage *stages[MO_MAX_STAGES])
{
  size_t count = 0;
  for (size_t i = 0; i < MO_MAX_STAGES && p->recipe->stages[i] != NULL; i++) {
    const mo_stage *stage = p->recipe->stages[i];
    if (stage->pick != NULL) stage = stage->pick(o);
    if (stage != NULL) stages[count++] = stage;
  }
  return count;
}

/* first[i] is where the arrays of stage i begin; the last one is their number. */
static size_t lay_out(const mo_stage_options *o, mo_shape shape, const mo_stage *const *stages,
                      size_t count, mo_state_array arrays[MO_MAX_STATE_ARRAYS],
                      size_t first[MO_MAX_STAGES + 1])
{
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    first[i] = used;
    if (stages[i]->layout != NULL) used += stages[i]->layout(o, shape, arrays + used);
  }
  return used;
}

size_t mo_pipeline_layout(const mo_pipeline *p, const void *config, mo_shape shape,
                          mo_state_array arrays[MO_MAX_STATE_ARRAYS])
{
  const mo_stage *stages[MO_MAX_STAGES];
  size_t first[MO_MAX_STAGES + 1];
  const mo_stage_options o = settle(p, config);
  return lay_out(&o, shape, stages, resolve(p, &o, stages), arrays, first);
}

static size_t floats_of(const mo_stage *stage, const mo_stage_options *o, mo_shape shape)
{
  return stage->work_floats != NULL ? stage->work_floats(o, shape) : 0;
}

static size_t most_floats(const mo_stage_options *o, mo_shape shape,
                          const mo_stage *const *stages, size_t count)
{
  size_t most = 0;
  for (size_t i = 0; i < count; i++) most = mo_larger(most, floats_of(stages[i], o, shape));
  return most;
}

enum { BUFFERS = 3 };

/* The scaled gradient and the buffers, then what the most demanding stage wants. */
size_t mo_pipeline_work_floats(const mo_pipeline *p, const void *config, mo_shape shape)
{
  const mo_stage *stages[MO_MAX_STAGES];
  const mo_stage_options o = settle(p, config);
  const size_t count = resolve(p, &o, stages);
  return (BUFFERS + 1) * mo_scratch_floats(mo_elements(shape)) +
         most_floats(&o, shape, stages, count);
}

double mo_pipeline_flops(const mo_pipeline *p, const void *config, mo_shape shape)
{
  const mo_stage *stages[MO_MAX_STAGES];
  const mo_stage_options o = settle(p, config);
  const size_t count = resolve(p, &o, stages);
  double flops = 0.0;
  for (size_t i = 0; i < count; i++)
    flops += stages[i]->flops != NULL ? stages[i]->flops(&o, shape)
                                      : 4.0 * (double)mo_elements(shape);
  return flops;
}

static mo_step begin(const mo_stage_options *o, const mo_update *u)
{
  float *work = u->work;
  mo_step s = {.o = o,
               .u = u,
               .count = mo_elements(u->shape),
               .scale = (double)u->grad_scale,
               .factor = 1.0,
               .wanted = -1.0,
               .nuclear = 1.0};
  for (size_t i = 0; i < BUFFERS; i++) s.buffers[i] = mo_scratch_take(&work, s.count);
  s.grad = mo_scaled_gradient(u, mo_scratch_take(&work, s.count));
  s.x = s.grad;
  s.work = work;
  return s;
}

/* A stage gets the work memory that it, or the one whose operator it applies again, asked for:
 * what the others have beyond that is fenced off. */
static void call(void (*part)(mo_step *s), const mo_stage *stage, mo_step *s, size_t most)
{
  if (!MO_FENCES) {
    part(s);
    return;
  }
  size_t own = floats_of(stage, s->o, s->u->shape);
  if (s->inner != NULL) own = mo_larger(own, floats_of(s->inner, s->o, s->u->shape));
  mo_fence(s->work + own, (most - own) * sizeof *s->work);
  part(s);
  mo_unfence(s->work + own, (most - own) * sizeof *s->work);
}

void mo_pipeline_update(const mo_pipeline *p, const void *config, const mo_update *u)
{
  const mo_stage *stages[MO_MAX_STAGES];
  mo_state_array arrays[MO_MAX_STATE_ARRAYS];
  size_t first[MO_MAX_STAGES + 1];
  const mo_stage_options o = settle(p, config);
  const size_t count = resolve(p, &o, stages);
  const size_t array_count = lay_out(&o, u->shape, stages, count, arrays, first);
  const size_t most = MO_FENCES ? most_floats(&o, u->shape, stages, count) : 0;
  mo_step s = begin(&o, u);
  for (size_t i = 0; i < count && !s.skip; i++) {
    s.state = u->state + first[i];
    if (stages[i]->again != NULL) s.inner = stages[i], s.inner_state = s.state;
    call(stages[i]->apply, stages[i], &s, most);
  }
  for (size_t i = 0; i < count; i++) {
    s.state = u->state + first[i];
    if (stages[i]->finish != NULL) call(stages[i]->finish, stages[i], &s, most);
  }
  if (u->telemetry != NULL) mo_outline_tell(u, arrays, array_count);
}

float *mo_step_buffer_beside(const mo_step *s, const float *taken)
{
  size_t i = 0;
  while (s->buffers[i] == s->x || s->buffers[i] == taken) i++;
  return s->buffers[i];
}

float *mo_step_buffer(const mo_step *s)
{
  return mo_step_buffer_beside(s, NULL);
}

float *mo_step_if_own(const mo_step *s)
{
  for (size_t i = 0; i < BUFFERS; i++)
    if (s->buffers[i] == s->x) return s->buffers[i];
  return NULL;
}

float *mo_step_own(mo_step *s)
{
  float *own = mo_step_if_own(s);
  if (own != NULL) return own;
  own = mo_step_buffer(s);
  memcpy(own, s->x, s->count * sizeof *own);
  s->x = own;
  return own;
}

void mo_step_comfort(mo_step *s, double gain, int limit)
{
  /* 2^127 is the largest power of two in float: denormals stay small, and x itself must stay
   * well below it where the gain is tiny. */
  enum { FURTHEST = 120, HIGHEST = 60 };
  const double largest = (double)mo_largest(s->x, s->count);
  int product = 0, own = 0;
  frexp(largest * gain, &product);
  frexp(largest, &own);
  if (abs(product) <= limit) return;
  int exponent = -product > HIGHEST - own ? HIGHEST - own : -product;
  exponent = exponent > FURTHEST ? FURTHEST : exponent < -FURTHEST ? -FURTHEST : exponent;
  const float power = ldexpf(1.0f, exponent);
  float *scaled = mo_step_buffer(s);
  mo_copy_scaled(scaled, s->x, s->count, power);
  s->x = scaled;
  s->scale *= (double)power;
}
