/* step_inputs.c - see step_inputs.h. */
#include "train/step_inputs.h"

#include "comm/ranks.h"
#include "linalg/vector.h"
#include "train/row_blocks.h"

#include <string.h>

static mousse_status note_demand(const train_options *run, gpt_role role, const char *name,
                                 step_demand *demand, mo_error *error)
{
  const char *algorithm = groups_algorithm(run, role);
  const bool covariance =
      strcmp(name, "input_covariance") == 0 || strcmp(name, "output_covariance") == 0;
  if (covariance && role != GPT_MATRIX)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "scalar_opt: %s needs covariances, which only hidden matrices have; choose "
                   "lion or adamw",
                   algorithm);
  if (covariance && run->lora_rank > 0)
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "lora_rank: %s needs covariances, which adapters do not have; choose another "
        "optimizer",
        algorithm);
  if (strcmp(name, "input_covariance") == 0)
    demand->input_covariance = true;
  else if (strcmp(name, "output_covariance") == 0)
    demand->output_covariance = true;
  else if (strcmp(name, "previous_gradient") == 0)
    demand->previous_gradient = true;
  else
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "optimizer: %s needs the input '%s', which training does not provide",
                   algorithm, name);
  return MOUSSE_OK;
}

mousse_status step_demand_find(const train_options *run, step_demand *demand, mo_error *error)
{
  *demand = (step_demand){0};
  for (int role = 0; role < GPT_ROLES; role++) {
    const mousse_input *input = NULL;
    const char *algorithm = groups_algorithm(run, (gpt_role)role);
    for (size_t i = 0; (input = mousse_algorithm_input(algorithm, i)) != NULL; i++)
      MO_TRY(note_demand(run, (gpt_role)role, input->name, demand, error));
  }
  return MOUSSE_OK;
}

size_t step_inputs_bytes(const step_demand *demand, const gpt_params *params)
{
  const size_t both = params->value_count + params->gradient_count;
  const size_t copies = demand->previous_gradient ? both : 0;
  return copies * sizeof(float) +
         gpt_covariances_bytes(params, demand->input_covariance, demand->output_covariance);
}

/* The array that is bound to input `name` of a block of tensor number i, from row `first` on; only
 * tensors without covariances have several blocks. */
static const float *array_for(const step_inputs *in, const char *name, size_t i, size_t first)
{
  const gpt_tensor *t = &in->params->tensors[i];
  if (strcmp(name, "input_covariance") == 0) return in->covariances->inputs[i];
  if (strcmp(name, "output_covariance") == 0) return in->covariances->outputs[i];
  return in->other + (t->gradient - in->params->gradients) + first * t->cols;
}

static mousse_status bind_tensor(const step_inputs *in, const train_groups *groups,
                                 const char *input, size_t i)
{
  const gpt_tensor *t = &in->params->tensors[i];
  const size_t count = row_block_count(groups->optimizer, t);
  mousse_status status = MOUSSE_OK;
  for (size_t k = 0; k < count && status == MOUSSE_OK; k++) {
    const row_block block = row_block_at(t, count, k);
    status = mousse_bind_input(groups->optimizer, block.name, input,
                               array_for(in, input, i, block.first));
  }
  return status;
}

static mousse_status bind(const step_inputs *in, const train_options *run,
                          const train_groups *groups, mo_error *error)
{
  for (size_t i = 0; i < in->params->tensor_count; i++) {
    const gpt_tensor *t = &in->params->tensors[i];
    const mousse_input *input = NULL;
    const char *algorithm = groups_algorithm(run, t->role);
    if (t->frozen) continue;
    for (size_t k = 0; (input = mousse_algorithm_input(algorithm, k)) != NULL; k++) {
      const mousse_status status = bind_tensor(in, groups, input->name, i);
      if (status != MOUSSE_OK) return groups_fail(groups, status, error);
    }
  }
  return MOUSSE_OK;
}

static mousse_status make(step_inputs *in, const train_options *run, mo_error *error)
{
  step_demand demand;
  MO_TRY(step_demand_find(run, &demand, error));
  if (demand.input_covariance || demand.output_covariance)
    MO_TRY(gpt_covariances_create(&in->covariances, in->params, demand.input_covariance,
                                  demand.output_covariance, (size_t)run->covariance_tokens,
                                  error));
  if (!demand.previous_gradient) return MOUSSE_OK;
  MO_TRY(average_open(&in->previous, in->params, 0.5, options_threads(run), error));
  in->other = mo_allocate(NULL, in->params->gradient_count * sizeof(float));
  if (in->other != NULL) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a second gradient");
}

mousse_status step_inputs_open(step_inputs *in, const train_options *run,
                               const train_groups *groups, gpt_params *params,
                               const mousse_comm *comm, mo_error *error)
{
  *in = (step_inputs){.params = params, .comm = comm};
  mousse_status status = make(in, run, error);
  if (status == MOUSSE_OK) status = bind(in, run, groups, error);
  if (status != MOUSSE_OK) step_inputs_close(in);
  return status;
}

void step_inputs_close(step_inputs *in)
{
  gpt_covariances_destroy(in->covariances);
  average_close(&in->previous);
  if (in->other != NULL)
    mo_release(NULL, in->other, in->params->gradient_count * sizeof(float));
  *in = (step_inputs){0};
}

gpt_covariances *step_inputs_sampled(const step_inputs *in, size_t micro)
{
  return micro == 0 ? in->covariances : NULL;
}

mousse_status step_inputs_share(step_inputs *in, mo_error *error)
{
  const gpt_covariances *c = in->covariances;
  if (c == NULL) return MOUSSE_OK;
  return mo_ranks_spread(in->comm, c->values, c->value_count * sizeof(float), error);
}

void step_inputs_take(step_inputs *in)
{
  memcpy(in->other, in->params->gradients, in->params->gradient_count * sizeof(float));
}

void step_inputs_scale(step_inputs *in, double factor)
{
  if (in->other != NULL && factor != 1.0)
    mo_scale(in->other, in->params->gradient_count, (float)factor);
}

void step_inputs_remember(step_inputs *in)
{
  average_restart(&in->previous);
}
