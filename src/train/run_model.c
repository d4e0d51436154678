/* run_model.c - preset, weights, data and options into one configuration. */
#include "train/run_model.h"

#include "base/file.h"
#include "base/wording.h"
#include "train/checkpoint.h"
#include "train/model_files.h"
#include "train/run_data.h"

#include <string.h>
#include <unistd.h>

static void override(size_t *member, int64_t value)
{
  if (value > 0) *member = (size_t)value;
}

/* Given weights have a shape. Another number of heads would even fit it, and mean something else.
 */
static mousse_status keep(const char *option, int64_t value, size_t of_weights, mo_error *error)
{
  if (value <= 0 || (size_t)value == of_weights) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s is %lld, but the model that the run starts from has %zu; leave %s out",
                 option, (long long)value, of_weights, option);
}

static mousse_status keep_shape(const train_options *run, const gpt_config *base,
                                mo_error *error)
{
  MO_TRY(keep("model_dim", run->model_dim, base->n_embd, error));
  MO_TRY(keep("n_layer", run->n_layer, base->n_layer, error));
  MO_TRY(keep("n_head", run->n_head, base->n_head, error));
  return keep("vocab_size", run->vocab_size, base->vocab_size, error);
}

/* --model is taken for --preset; with other trainers it is a path to weights. A folder may have
 * the name of a preset: then the preset is meant. */
static mousse_status find_preset(const char *name, gpt_config *config, mo_error *error)
{
  const mousse_status status = gpt_preset(name, config, error);
  if (status != MOUSSE_OK && (strchr(name, '/') != NULL || access(name, F_OK) == 0))
    return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                   "there is no model preset '%s'; --init %s begins with the weights there",
                   name, name);
  return status;
}

mousse_status run_model_from(const train_options *run, const gpt_config *base,
                             size_t data_vocabulary, gpt_config *config, mo_error *error)
{
  MO_TRY(find_preset(run->preset, config, error));
  override(&config->vocab_size, (int64_t)data_vocabulary);
  if (base != NULL) {
    MO_TRY(keep_shape(run, base, error));
    *config = *base;
  }
  override(&config->n_embd, run->model_dim);
  override(&config->n_layer, run->n_layer);
  override(&config->n_head, run->n_head);
  override(&config->sequence_len, run->sequence_length);
  override(&config->vocab_size, run->vocab_size);
  *config = gpt_config_base(config); /* other adapters are merged where they are read */
  if (run->lora_rank > 0) {
    config->lora_rank = (size_t)run->lora_rank;
    config->lora_alpha = run->lora_alpha;
    memcpy(config->lora_targets, run->lora_targets, sizeof run->lora_targets);
  }
  if (config->vocab_size < data_vocabulary)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "vocab_size is %zu, but the data's tokenizer has %zu tokens",
                   config->vocab_size, data_vocabulary);
  return gpt_config_check(config, error);
}

/* vocabulary: that of the data, or 0. */
static mousse_status find(const train_options *run, const char *checkpoint, size_t vocabulary,
                          const run_notices *notices, gpt_config *config, mo_error *error)
{
  model_files files;
  gpt_config base = {0};
  if (run->init[0] == '\0') return run_model_from(run, NULL, vocabulary, config, error);
  if (checkpoint != NULL) notices = NULL; /* its configuration is looked at, not its weights */
  MO_TRY(model_files_find(&files, checkpoint != NULL ? checkpoint : run->init, notices, error));
  MO_TRY(model_files_config(&files, &base, error));
  if (checkpoint == NULL && strcmp(run->preset, "tiny") != 0)
    run_notify(notices, "preset '%s' is ignored: the model is that of %s", run->preset,
               files.folder);
  return run_model_from(run, &base, vocabulary, config, error);
}

mousse_status run_model_find(const train_options *run, const char *checkpoint,
                             const run_notices *notices, gpt_config *config, mo_error *error)
{
  size_t vocabulary = 0;
  MO_TRY(run_data_vocabulary(run->data_dir, &vocabulary, error));
  return find(run, checkpoint, vocabulary, notices, config, error);
}

/* The checkpoint that a run which is named would continue from; where there is none, folder stays. */
static mousse_status find_own_checkpoint(const train_options *run, const run_notices *notices,
                                         char *folder, size_t capacity, mo_error *error)
{
  char directory[4096], root[4096];
  uint64_t step = 0;
  bool found = false;
  if (run->out[0] == '\0' && run->checkpoint_dir[0] == '\0') return MOUSSE_OK;
  MO_TRY(options_directory(run, directory, sizeof directory, error));
  MO_TRY(mo_path_join(root, sizeof root, directory, CHECKPOINT_FOLDER, error));
  MO_TRY(checkpoint_newest(root, notices, &step, &found, error));
  if (!found) return MOUSSE_OK;
  return checkpoint_path(folder, capacity, root, step, CHECKPOINT_FINAL, error);
}

mousse_status run_model_expect(const train_options *run, const run_notices *notices,
                               gpt_config *config, mo_error *error)
{
  char folder[4096] = "";
  size_t vocabulary = 0;
  MO_TRY(options_check(run, error));
  if (run->init[0] != '\0') /* which it needed to begin */
    MO_TRY(find_own_checkpoint(run, notices, folder, sizeof folder, error));
  if (mixture_exists(run->data_dir))
    MO_TRY(run_data_vocabulary(run->data_dir, &vocabulary, error));
  else if (run->data_dir[0] != '\0')
    run_notify(notices, "data_dir '%s' does not exist yet: the %s's vocabulary is used",
               run->data_dir, run->init[0] != '\0' ? "model" : "preset");
  return find(run, folder[0] != '\0' ? folder : NULL, vocabulary, notices, config, error);
}

mousse_status run_model_compare(const char *checkpoint, const gpt_config *wanted,
                                mo_error *error)
{
  char path[4096];
  gpt_config c = {0};
  MO_TRY(mo_path_join(path, sizeof path, checkpoint, "config.json", error));
  MO_TRY(gpt_load_config(&c, path, error));
  if (gpt_config_equal(&c, wanted)) return MOUSSE_OK;
  const gpt_config base = gpt_config_base(&c), wanted_base = gpt_config_base(wanted);
  if (gpt_config_equal(&base, &wanted_base))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%s: the checkpoint has adapters of rank %zu, alpha %g, for '%s'; the run "
                   "asks for %zu, %g, '%s'; start a new one with another --out",
                   path, c.lora_rank, c.lora_alpha, c.lora_targets, wanted->lora_rank,
                   wanted->lora_alpha, wanted->lora_targets);
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: the checkpoint has width %zu, %s, %s, context %zu, vocabulary %zu; the "
                 "run asks for %zu, %zu, %zu, %zu, %zu; start a new one with another --out",
                 path, c.n_embd, MO_COUNT(c.n_layer, "layer"), MO_COUNT(c.n_head, "head"),
                 c.sequence_len, c.vocab_size, wanted->n_embd, wanted->n_layer, wanted->n_head,
                 wanted->sequence_len, wanted->vocab_size);
}
