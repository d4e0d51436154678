/* old_text.c - what a checkpoint says of validation data that it was not trained on last. */
#include "paper/fine_tuning.h"
#include "train/evaluate.h"
#include "train/model_files.h"

enum { WINDOWS_AT_A_TIME = 16 };

static mousse_status score(gpt_params *params, const shard_set *set, uint64_t tokens,
                           double *loss, mo_error *error)
{
  const size_t length = params->config.sequence_len;
  const gpt_shape shape = {WINDOWS_AT_A_TIME, length, 0, false, false};
  mo_loader loader = {0};
  gpt_pass *pass = NULL;
  evaluation result = {0};
  MO_TRY(loader_open(&loader, set, length, 1, LOADER_SEQUENTIAL, 0, error));
  mousse_status status = gpt_pass_create(&pass, params, &shape, NULL, error);
  if (status == MOUSSE_OK)
    status = evaluate(&loader, pass, NULL, WINDOWS_AT_A_TIME,
                      evaluation_windows(&loader, tokens), NULL, NULL, NULL, &result, error);
  *loss = result.loss;
  gpt_pass_destroy(pass);
  loader_close(&loader);
  return status;
}

mousse_status old_text_loss(const char *model, const char *data_dir, uint64_t tokens,
                            double *loss, mo_error *error)
{
  model_files files;
  gpt_params *params = NULL;
  shard_set set = {0};
  MO_TRY(model_files_find(&files, model, NULL, error));
  MO_TRY(model_files_load(&files, &params, error));
  mousse_status status =
      shard_set_open(&set, data_dir, "val", (uint32_t)params->config.vocab_size, error);
  if (status == MOUSSE_OK) status = score(params, &set, tokens, loss, error);
  shard_set_close(&set);
  gpt_params_destroy(params);
  return status;
}
