/* bench_runner.c - one model on random tokens, with or without an optimizer. */
#include "bench/bench_runner.h"

#include "base/clock.h"
#include "base/random.h"

/* The sentence is the optimizer's own. */
static mousse_status with_sentence(mousse_status status, const mousse_optimizer *optimizer,
                                   mo_error *error)
{
  if (status == MOUSSE_OK) return status;
  return mo_fail(error, status, "%s",
                 optimizer != NULL ? mousse_error(optimizer) : mousse_status_text(status));
}

static mousse_status build_optimizer(bench_runner *r, const char *name)
{
  const mousse_env env = {.struct_size = sizeof env, .threads = r->shape.threads};
  int matrices = 0, others = 0;
  MO_TRY(mousse_create(&env, &r->optimizer));
  MO_TRY(mousse_add_group(r->optimizer, name, &matrices));
  MO_TRY(mousse_add_group(r->optimizer, "adamw", &others));
  for (size_t i = 0; i < r->params->tensor_count; i++) {
    const gpt_tensor *t = &r->params->tensors[i];
    MO_TRY(mousse_add_param(r->optimizer, t->role == GPT_MATRIX ? matrices : others, t->name,
                            t->rows, t->cols, t->value, t->gradient));
  }
  return mousse_prepare(r->optimizer);
}

mousse_status bench_runner_create(bench_runner *r, const gpt_config *config,
                                  const gpt_shape *shape, const char *optimizer,
                                  mo_error *error)
{
  const size_t count = 2 * shape->batch * shape->sequence;
  *r = (bench_runner){.shape = *shape};
  MO_TRY(gpt_params_create(&r->params, config, true, NULL, error));
  gpt_params_initialise(r->params, 1, shape->threads);
  MO_TRY(gpt_pass_create(&r->pass, r->params, shape, NULL, error));
  r->tokens = mo_allocate(NULL, count * sizeof *r->tokens);
  if (r->tokens == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for tokens");
  for (size_t i = 0; i < count; i++)
    r->tokens[i] = (uint32_t)mo_random_below(1, 0, i, config->vocab_size);
  if (optimizer == NULL) return MOUSSE_OK;
  return with_sentence(build_optimizer(r, optimizer), r->optimizer, error);
}

void bench_runner_release(bench_runner *r)
{
  mousse_destroy(r->optimizer);
  mo_release(NULL, r->tokens, 2 * r->shape.batch * r->shape.sequence * sizeof *r->tokens);
  gpt_pass_destroy(r->pass);
  gpt_params_destroy(r->params);
  *r = (bench_runner){0};
}

mousse_status bench_runner_model(bench_runner *r, size_t batch, size_t sequence,
                                 mo_error *error)
{
  const gpt_batch tokens = {r->tokens, r->tokens + r->shape.batch * r->shape.sequence, batch,
                            sequence, NULL};
  float loss = 0;
  return gpt_gradients(r->pass, &tokens, 1.0f, false, &loss, error);
}

mousse_status bench_runner_optimizer(bench_runner *r, mo_error *error)
{
  return with_sentence(mousse_step(r->optimizer), r->optimizer, error);
}

mousse_status bench_runner_restart(bench_runner *r, const char *optimizer, double refresh_every,
                                   mo_error *error)
{
  mousse_destroy(r->optimizer);
  r->optimizer = NULL;
  MO_TRY(with_sentence(build_optimizer(r, optimizer), r->optimizer, error));
  MO_TRY(with_sentence(mousse_set(r->optimizer, 0, "refresh_every", refresh_every),
                       r->optimizer, error));
  return with_sentence(mousse_set(r->optimizer, 0, "stagger", 1.0), r->optimizer, error);
}

mousse_status bench_runner_step(bench_runner *r, size_t sequence, double *seconds,
                                mo_error *error)
{
  const double start = mo_seconds();
  MO_TRY(bench_runner_model(r, r->shape.batch, sequence, error));
  if (r->optimizer != NULL) MO_TRY(bench_runner_optimizer(r, error));
  *seconds = mo_seconds() - start;
  return MOUSSE_OK;
}
