/* covariance.c - second moments of what enters and leaves the hidden matrices.
 *
 * The sampled tokens are rows of the arrays that backward has at hand anyway, equally far apart,
 * so that a covariance is one symmetric product of those rows with a longer stride. Each is an
 * item of its own in backward's loops: its bits do not depend on the threads.
 */
#include "gpt/covariance.h"

#include "linalg/blas.h"

#include <stdint.h>

/* Tensors of a layer with one input: a NULL ends the list. */
enum { MOST_ALIKE = 3, INPUTS = 4 };
typedef struct input_group {
  const gpt_tensor *tensors[MOST_ALIKE];
} input_group;

static void groups_of(const gpt_layer *w, input_group groups[INPUTS])
{
  const input_group list[INPUTS] = {
      {{w->c_q, w->c_k, w->c_v}}, {{w->c_proj}}, {{w->fc, w->gate}}, {{w->proj}}};
  for (size_t i = 0; i < INPUTS; i++) groups[i] = list[i];
}

static float *take(gpt_covariances *c, size_t side)
{
  float *array = c->values != NULL ? c->values + c->value_count : NULL;
  c->value_count += side * side;
  return array;
}

/* Once to count, and once more with memory to give it out. */
static void lay_out(gpt_covariances *c, const gpt_params *params, bool inputs, bool outputs)
{
  c->value_count = 0;
  for (size_t layer = 0; layer < params->config.n_layer; layer++) {
    const gpt_layer w = gpt_params_layer(params, layer);
    input_group groups[INPUTS];
    groups_of(&w, groups);
    for (size_t i = 0; i < INPUTS; i++) {
      float *shared = inputs ? take(c, groups[i].tensors[0]->cols) : NULL;
      for (size_t k = 0; k < MOST_ALIKE && groups[i].tensors[k] != NULL; k++) {
        const gpt_tensor *t = groups[i].tensors[k];
        float *own = outputs ? take(c, t->rows) : NULL;
        if (c->values == NULL) continue;
        c->inputs[t - params->tensors] = shared;
        c->outputs[t - params->tensors] = own;
      }
    }
  }
}

size_t gpt_covariances_bytes(const gpt_params *params, bool inputs, bool outputs)
{
  gpt_covariances measured = {0};
  lay_out(&measured, params, inputs, outputs);
  return measured.value_count * sizeof(float);
}

mousse_status gpt_covariances_create(gpt_covariances **out, const gpt_params *params,
                                     bool inputs, bool outputs, size_t samples, mo_error *error)
{
  *out = NULL;
  const size_t bytes = gpt_covariances_bytes(params, inputs, outputs);
  gpt_covariances *c = mo_allocate(NULL, sizeof *c);
  if (c != NULL) {
    c->samples = samples;
    c->tensor_count = params->tensor_count;
    c->inputs = mo_allocate(NULL, c->tensor_count * sizeof *c->inputs);
    c->outputs = mo_allocate(NULL, c->tensor_count * sizeof *c->outputs);
    c->value_count = bytes / sizeof(float);
    c->values = mo_allocate(NULL, bytes);
  }
  if (c == NULL || c->inputs == NULL || c->outputs == NULL || c->values == NULL) {
    gpt_covariances_destroy(c);
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for covariances: %zu bytes", bytes);
  }
  lay_out(c, params, inputs, outputs);
  *out = c;
  return MOUSSE_OK;
}

void gpt_covariances_destroy(gpt_covariances *c)
{
  if (c == NULL) return;
  mo_release(NULL, c->inputs, c->tensor_count * sizeof *c->inputs);
  mo_release(NULL, c->outputs, c->tensor_count * sizeof *c->outputs);
  mo_release(NULL, c->values, c->value_count * sizeof(float));
  mo_release(NULL, c, sizeof *c);
}

void gpt_pass_sample(gpt_pass *pass, gpt_covariances *covariances, uint64_t phase)
{
  pass->covariances = covariances;
  pass->phase = phase;
}

/* Rows of an array of `width` columns: some of its columns, from `column` on. */
static void add(gpt_samples *list, float *covariance, const float *x, size_t width,
                size_t column, size_t count, double factor)
{
  if (covariance == NULL) return;
  list->items[list->count++] = (gpt_sample_rows){
      x + list->first * width + column, list->every * width, count, factor, covariance};
}

size_t gpt_sample_distance(size_t tokens, size_t rows, size_t widest)
{
  const size_t even = tokens / rows, most = INT32_MAX / widest;
  return even < most ? even : most;
}

static gpt_samples start(const gpt_step *s)
{
  const gpt_covariances *c = s->pass->covariances;
  const size_t widths[] = {s->C, s->W, s->F, s->A, s->S};
  size_t widest = 1;
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    if (widths[i] > widest) widest = widths[i];
  const size_t rows = c->samples < s->N ? c->samples : s->N;
  const size_t every = gpt_sample_distance(s->N, rows, widest);
  return (gpt_samples){
      .rows = rows, .every = every, .first = (size_t)(s->pass->phase % (uint64_t)every)};
}

/* d is that of factor times the mean over all that count: this takes it to the token's own loss. */
static double output_factor(const gpt_step *s)
{
  if (s->counted == 0 || s->factor <= 0) return 0;
  const double whole = (double)s->counted / (double)s->factor;
  return whole * whole;
}

static float *output_of(const gpt_step *s, const gpt_tensor *t)
{
  return t->frozen ? NULL : s->pass->covariances->outputs[t - s->pass->params->tensors];
}

static float *input_of(const gpt_step *s, const gpt_tensor *t, bool frozen)
{
  return frozen ? NULL : s->pass->covariances->inputs[t - s->pass->params->tensors];
}

static void run_sample(void *context, size_t item, int thread)
{
  (void)thread;
  const gpt_samples *list = context;
  const gpt_sample_rows *one = &list->items[item];
  mo_syrk(MO_LOWER, MO_TRANSPOSED, one->count, list->rows,
          (float)(one->factor / (double)list->rows), one->x, one->stride, 0.0f, one->covariance,
          one->count);
  mo_mirror(one->count, one->covariance, one->count);
}

static mo_task task_of(gpt_samples *list)
{
  return (mo_task){list->count, run_sample, list, "covariance"};
}

mo_task gpt_sample_upper(const gpt_step *s, size_t layer, gpt_samples *list)
{
  *list = (gpt_samples){0};
  if (s->pass->covariances == NULL) return task_of(list);
  const gpt_layer w = gpt_params_layer(s->pass->params, layer);
  const gpt_activations *k = &s->pass->kept[layer];
  const gpt_gradient_space *g = &s->pass->gradient;
  const double d = output_factor(s);
  *list = start(s);
  add(list, input_of(s, w.proj, w.proj->frozen), k->active, s->W, 0, s->W, 1.0);
  add(list, output_of(s, w.proj), g->d_x, s->C, 0, s->C, d);
  add(list, input_of(s, w.fc, gpt_hidden_frozen(&w)), k->input2, s->C, 0, s->C, 1.0);
  if (w.gate != NULL) add(list, output_of(s, w.gate), g->d_hidden, s->F, 0, w.gate->rows, d);
  add(list, output_of(s, w.fc), g->d_hidden, s->F, s->F - w.fc->rows, w.fc->rows, d);
  add(list, input_of(s, w.c_proj, w.c_proj->frozen), k->attended, s->A, 0, s->A, 1.0);
  add(list, output_of(s, w.c_proj), g->d_middle, s->C, 0, s->C, d);
  return task_of(list);
}

mo_task gpt_sample_lower(const gpt_step *s, size_t layer, gpt_samples *list)
{
  *list = (gpt_samples){0};
  if (s->pass->covariances == NULL) return task_of(list);
  const gpt_layer w = gpt_params_layer(s->pass->params, layer);
  const float *d_qkv = s->pass->gradient.d_qkv;
  const double d = output_factor(s);
  *list = start(s);
  add(list, input_of(s, w.c_q, gpt_qkv_frozen(&w)), s->pass->kept[layer].input1, s->C, 0, s->C,
      1.0);
  add(list, output_of(s, w.c_q), d_qkv, s->S, 0, w.c_q->rows, d);
  add(list, output_of(s, w.c_k), d_qkv, s->S, w.c_q->rows, w.c_k->rows, d);
  add(list, output_of(s, w.c_v), d_qkv, s->S, w.c_q->rows + w.c_k->rows, w.c_v->rows, d);
  return task_of(list);
}
