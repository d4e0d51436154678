/* freeze.c - tensors that stay as they are, by a regular expression (POSIX, extended) that is
 * looked for in their names, or because they have adapters beside them; and which tensors have
 * gradients then. */
#include "gpt/choice.h"
#include "gpt/name_pattern.h"
#include "gpt/params.h"

static size_t mark(gpt_params *params, const regex_t *expression)
{
  size_t count = 0;
  for (size_t i = 0; i < params->tensor_count; i++) {
    gpt_tensor *tensor = &params->tensors[i];
    tensor->frozen = regexec(expression, tensor->name, 0, NULL, 0) == 0;
    count += tensor->frozen;
  }
  return count;
}

mousse_status gpt_freeze(gpt_params *params, const char *pattern, mo_error *error)
{
  regex_t expression;
  for (size_t i = 0; params->config.lora_rank > 0 && i < params->base_count; i++)
    params->tensors[i].frozen = true;
  if (pattern[0] == '\0') return MOUSSE_OK;
  if (params->config.lora_rank > 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "freeze: with lora_rank all tensors but the adapters are frozen already; "
                   "lora_targets says which matrices have one");
  MO_TRY(name_pattern_open(&expression, "freeze", pattern, error));
  const size_t count = mark(params, &expression);
  regfree(&expression);
  if (count == 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "freeze: '%.100s' matches no tensor's name; names look like %s", pattern,
                   params->tensors[params->tensor_count / 2].name);
  if (count == params->tensor_count)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "freeze: '%.100s' matches every tensor's name, so nothing would be trained",
                   pattern);
  return MOUSSE_OK;
}

static bool is_trained(const gpt_tensor *first, const gpt_tensor *last)
{
  for (const gpt_tensor *t = first; t <= last; t++)
    if (!t->frozen) return true;
  return false;
}

static const gpt_tensor *last_vector(const gpt_layer *w, const gpt_tensor *first,
                                     const gpt_tensor *end)
{
  const gpt_tensor *t = first;
  while (t + 1 < end && t + 1 != w->q_gain) t++;
  return t;
}

/* Neighbours that are computed together: all have gradients when one of them is trained. */
static const gpt_tensor *last_together(const gpt_layer *w, const gpt_tensor *t,
                                       const gpt_tensor *end)
{
  if (t == w->c_q) return w->c_v;
  if (t == gpt_hidden_matrix(w)) return w->fc;
  return t == gpt_first_vector(w) ? last_vector(w, t, end) : t;
}

static float *place(gpt_tensor *first, const gpt_tensor *last, float *at)
{
  const bool trained = is_trained(first, last);
  for (gpt_tensor *t = first; t <= last; t++) {
    t->gradient = trained ? at : NULL;
    if (trained) at += t->rows * t->cols;
  }
  return at;
}

size_t gpt_place_gradients(gpt_params *params, float *gradients)
{
  const gpt_model_tensors *parts = params->parts;
  const size_t behind = parts->first_layered + params->config.n_layer * parts->per_layer;
  float *at = gradients;
  for (size_t i = 0; i < params->tensor_count;) {
    gpt_tensor *t = &params->tensors[i];
    const gpt_tensor *last = t;
    if (i >= parts->first_layered && i < behind) {
      const size_t layer = (i - parts->first_layered) / parts->per_layer;
      const size_t end = parts->first_layered + (layer + 1) * parts->per_layer;
      last = last_together(&parts->layers[layer], t, params->tensors + end);
    }
    at = place(t, last, at);
    i += (size_t)(last - t) + 1;
  }
  return (size_t)(at - gradients);
}
