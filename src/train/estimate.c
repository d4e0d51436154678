/* estimate.c - memory and time of a run. The layers of a model are alike, so the optimizer's
 * memory is measured on a model of one layer and counted for each. */
#include "train/estimate.h"

#include "base/clock.h"
#include "linalg/gemm_grid.h"
#include "train/session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

mousse_status estimate_model(const train_options *run, const run_notices *notices,
                             gpt_config *config, mo_error *error)
{
  MO_TRY(options_check(run, error));
  if (access(run->data_dir, F_OK) == 0) return session_model(run, NULL, notices, config, error);
  if (run->data_dir[0] != '\0')
    run_notify(notices, "data_dir '%s' does not exist (yet): using the preset's vocabulary",
               run->data_dir);
  return options_model(run, NULL, 0, config, error);
}

static const char first_layer[] = "transformer.h.0.";

static bool is_layered(const gpt_tensor *t)
{
  return strncmp(t->name, first_layer, strlen(first_layer)) == 0;
}

static mousse_status describe(estimate_tensor *row, const gpt_tensor *t, size_t layer,
                              const train_options *run, const train_groups *groups,
                              mo_error *error)
{
  double decay = 0;
  const mousse_status status =
      mousse_get(groups->optimizer, (int)t->role, "weight_decay", &decay);
  if (status != MOUSSE_OK) return groups_fail(groups, status, error);
  *row = (estimate_tensor){
      .rows = t->rows,
      .cols = t->cols,
      .role = t->role,
      .algorithm = groups_algorithm(run, t->role),
      .lr = groups->lr[t->role],
      .weight_decay = decay,
      .state_bytes = mousse_param_state_bytes(groups->optimizer, t->name),
  };
  if (is_layered(t))
    snprintf(row->name, sizeof row->name, "transformer.h.%zu.%.40s", layer,
             t->name + strlen(first_layer));
  else
    snprintf(row->name, sizeof row->name, "%s", t->name);
  return MOUSSE_OK;
}

/* The tensors before the layers, each layer's, and those after. */
static mousse_status list_tensors(train_estimate *e, const train_options *run,
                                  const gpt_params *one, const train_groups *groups,
                                  mo_error *error)
{
  size_t first = 0, end = 0, count = 0;
  while (first < one->tensor_count && !is_layered(&one->tensors[first])) first++;
  for (end = first; end < one->tensor_count && is_layered(&one->tensors[end]);) end++;
  const size_t layered = end - first;
  e->tensor_count = one->tensor_count - layered + layered * e->config.n_layer;
  e->tensors = mo_allocate(NULL, e->tensor_count * sizeof *e->tensors);
  if (e->tensors == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a list");
  for (size_t i = 0; i < e->tensor_count; i++) {
    const size_t inside = i >= first && i < first + layered * e->config.n_layer;
    const size_t source = inside      ? first + (i - first) % layered
                          : i < first ? i
                                      : i - layered * e->config.n_layer + layered;
    const size_t layer = inside ? (i - first) / layered : 0;
    MO_TRY(describe(&e->tensors[count++], &one->tensors[source], layer, run, groups, error));
  }
  return MOUSSE_OK;
}

static size_t one_layer_state(const gpt_params *one, const train_groups *groups)
{
  size_t bytes = 0;
  for (size_t i = 0; i < one->tensor_count; i++)
    bytes += mousse_param_state_bytes(groups->optimizer, one->tensors[i].name);
  return bytes;
}

static mousse_status fill(train_estimate *e, const train_options *run,
                          const run_notices *notices, mo_error *error)
{
  gpt_params *one = NULL;
  train_groups groups = {0};
  gpt_config config = e->config;
  config.n_layer = 1;
  MO_TRY(gpt_params_create(&one, &config, true, NULL, error));
  mousse_status status = groups_open(&groups, run, one, NULL, notices, error);
  if (status == MOUSSE_OK) {
    status = list_tensors(e, run, one, &groups, error);
    e->optimizer_bytes = mousse_bytes_held(groups.optimizer) - one_layer_state(one, &groups);
    for (size_t i = 0; status == MOUSSE_OK && i < e->tensor_count; i++)
      e->optimizer_bytes += e->tensors[i].state_bytes;
  }
  groups_close(&groups);
  gpt_params_destroy(one);
  return status;
}

mousse_status estimate_open(train_estimate *e, const train_options *run,
                            const gpt_config *config, const run_notices *notices,
                            mo_error *error)
{
  const gpt_shape shape = {options_micro_batch(run), config->sequence_len, options_threads(run),
                           true};
  *e = (train_estimate){.config = *config,
                        .parameters = gpt_parameter_count(config),
                        .model_bytes = gpt_plan_bytes(config, &shape)};
  e->flops_per_step = gpt_flops_per_token(config, config->sequence_len) *
                      (double)config->sequence_len * (double)run->batch_size;
  const mousse_status status = fill(e, run, notices, error);
  if (status != MOUSSE_OK) estimate_close(e);
  return status;
}

void estimate_close(train_estimate *e)
{
  mo_release(NULL, e->tensors, e->tensor_count * sizeof *e->tensors);
  *e = (train_estimate){0};
}

double estimate_speed(int threads)
{
  enum { SIZE = 512 };
  const size_t bytes = 3 * (size_t)SIZE * SIZE * sizeof(float);
  float *memory = mo_allocate(NULL, bytes);
  if (memory == NULL) return 0;
  mo_product p = {.rows = SIZE,
                  .cols = SIZE,
                  .inner = SIZE,
                  .alpha = 1,
                  .a = memory,
                  .b = memory + SIZE * SIZE,
                  .c = memory + 2 * SIZE * SIZE,
                  .a_stride = SIZE,
                  .b_stride = SIZE,
                  .c_stride = SIZE};
  const mo_task job = mo_product_plan(&p);
  double best = 0, started = mo_seconds();
  mo_blas_enter();
  while (mo_seconds() - started < 0.2) {
    const double before = mo_seconds();
    mo_parallel_tasks(threads, &job, 1);
    const double speed = 2.0 * SIZE * SIZE * SIZE / (mo_seconds() - before);
    if (speed > best) best = speed;
  }
  mo_blas_leave();
  mo_release(NULL, memory, bytes);
  return best;
}
