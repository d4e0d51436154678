/* resolve.c - asks the planned optimizer what its options are. */
#include "train/resolve.h"

#include "base/text.h"
#include "comm/comm.h"
#include "train/groups.h"
#include "train/scalar_opt.h"

#include <stdio.h>
#include <string.h>

static void value_text(const mousse_option *option, double value, char text[OPTION_TEXT_SIZE])
{
  if (option->choices != NULL)
    snprintf(text, OPTION_TEXT_SIZE, "%s", option->choices[(int)value]);
  else
    mo_number_text(value, text, OPTION_TEXT_SIZE);
}

/* The row of the run's table that stands for this option of the matrix optimizer; NULL: none. */
static const mo_setting *row_of(const train_options *run, const char *name)
{
  for (size_t i = 0; i < train_settings.count; i++) {
    const char *only = NULL, *option = option_row_name(i, &only);
    if (option != NULL && strcmp(option, name) == 0 &&
        (only[0] == '\0' || strcmp(only, run->optimizer) == 0))
      return &train_settings.rows[i];
  }
  return NULL;
}

/* What the trainer itself decides for the embedding and the head. */
static bool is_given_by_groups(const char *name)
{
  return strcmp(name, "lr") == 0 || strcmp(name, "weight_decay") == 0;
}

static mousse_status resolve_option(train_options *run, const train_groups *groups, int group,
                                    const mousse_option *option, mo_error *error)
{
  char text[OPTION_TEXT_SIZE], key[OPTION_TEXT_SIZE + 8];
  double value = 0;
  const bool scalar = group != GPT_MATRIX;
  const mo_setting *row = scalar ? NULL : row_of(run, option->name);
  if (scalar && is_given_by_groups(option->name)) return MOUSSE_OK;
  const mousse_status status = mousse_get(groups->optimizer, group, option->name, &value);
  if (status != MOUSSE_OK) return groups_fail(groups, status, error);
  value_text(option, value, text);
  if (row == NULL) {
    snprintf(key, sizeof key, "%s.%s", scalar ? "scalar" : "opt", option->name);
    return options_set(run, key, text, NULL, error);
  }
  options_drop(run, option->name);
  return mo_setting_set(row, run, text, error);
}

static mousse_status resolve_group(train_options *run, const train_groups *groups, int group,
                                   mo_error *error)
{
  const mousse_option *option = NULL;
  const char *algorithm = groups_algorithm(run, (gpt_role)group);
  for (size_t i = 0; (option = mousse_algorithm_option(algorithm, i)) != NULL; i++)
    MO_TRY(resolve_option(run, groups, group, option, error));
  return MOUSSE_OK;
}

static mousse_status resolve_optimizers(train_options *run, const gpt_config *config,
                                        mo_error *error)
{
  gpt_params *outline = NULL;
  train_groups groups = {0};
  MO_TRY(gpt_params_outline(&outline, config, run->freeze, error));
  mousse_status status = groups_plan(&groups, run, outline, &mo_comm_self, NULL, error);
  if (status == MOUSSE_OK) status = resolve_group(run, &groups, GPT_MATRIX, error);
  if (status == MOUSSE_OK && !groups_are_alike(run))
    status = resolve_group(run, &groups, GPT_EMBED, error);
  groups_close(&groups);
  gpt_params_destroy(outline);
  return status;
}

static void resolve_factors(train_options *run, const gpt_config *config)
{
  if (run->embed_lr_factor == 0)
    run->embed_lr_factor = groups_lr_factor(run, GPT_EMBED, config->n_embd);
  if (run->head_lr_factor == 0)
    run->head_lr_factor = groups_lr_factor(run, GPT_HEAD, config->n_embd);
}

/* Of files from before 'auto', "lion" is what nobody has asked for. */
static void resolve_scalar(train_options *run)
{
  const char *name = options_scalar(run);
  if (groups_are_alike(run) && strcmp(name, "lion") == 0) name = run->optimizer;
  if (name != run->scalar_opt) snprintf(run->scalar_opt, sizeof run->scalar_opt, "%s", name);
}

mousse_status options_resolve(train_options *run, const gpt_config *config, mo_error *error)
{
  const int64_t micro = (int64_t)options_micro_batch(run);
  run->slices = (int64_t)options_slices(run);
  run->device_batch_size = micro;
  run->model_dim = (int64_t)config->n_embd;
  run->n_layer = (int64_t)config->n_layer;
  run->n_head = (int64_t)config->n_head;
  run->sequence_length = (int64_t)config->sequence_len;
  run->vocab_size = (int64_t)config->vocab_size;
  run->lora_alpha = gpt_config_resolved(config).lora_alpha;
  resolve_scalar(run);
  MO_TRY(resolve_optimizers(run, config, error));
  resolve_factors(run, config);
  return MOUSSE_OK;
}
