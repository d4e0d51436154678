/* run_data.c - opens what a run reads. */
#include "train/run_data.h"

#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SAMPLED_TOKENS = 4096 }; /* of each shard, in the fingerprint */

mousse_status run_data_vocabulary(const char *data_dir, size_t *vocabulary, mo_error *error)
{
  mo_dataset info;
  *vocabulary = 0;
  if (data_dir[0] == '\0')
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "data_dir is not set: give a directory made by 'mousse tokenize'");
  if (access(data_dir, F_OK) != 0)
    return mo_fail(error, MOUSSE_IO,
                   "%s: there is no such data directory; 'mousse tokenize' makes one from text",
                   data_dir);
  MO_TRY(dataset_open(&info, data_dir, error));
  *vocabulary = info.vocabulary;
  return MOUSSE_OK;
}

/* A directory without a tokenizer (downloaded shards) can be trained on, not talked to. */
static mousse_status open_tokenizer(run_data *data, const char *data_dir, mo_error *error)
{
  static const char *const files[] = {"tokenizer.json", "vocab.json", "encoder.json"};
  data->end_of_text = TOKENIZER_NONE;
  for (size_t i = 0; i < sizeof files / sizeof *files && !data->has_tokenizer; i++) {
    char path[4096];
    MO_TRY(mo_path_join(path, sizeof path, data_dir, files[i], error));
    if (access(path, F_OK) != 0) continue;
    MO_TRY(tokenizer_open(&data->tokenizer, data_dir, error));
    data->has_tokenizer = true;
    data->end_of_text = data->tokenizer.end_of_text;
  }
  return MOUSSE_OK;
}

static mousse_status open_all(run_data *data, const train_options *run,
                              const gpt_config *config, mo_error *error)
{
  const uint32_t vocabulary = (uint32_t)config->vocab_size;
  const loader_order order = run->shuffle ? LOADER_SHUFFLED : LOADER_SEQUENTIAL;
  MO_TRY(shard_set_open(&data->train_set, run->data_dir, "train", vocabulary, error));
  MO_TRY(loader_open(&data->train, &data->train_set, config->sequence_len,
                     (uint64_t)run->batch_size, order, (uint64_t)run->seed, error));
  if (shard_set_exists(run->data_dir, "val")) {
    MO_TRY(shard_set_open(&data->val_set, run->data_dir, "val", vocabulary, error));
    MO_TRY(loader_open(&data->val, &data->val_set, config->sequence_len, 1, LOADER_SEQUENTIAL,
                       0, error));
  }
  return open_tokenizer(data, run->data_dir, error);
}

mousse_status run_data_open(run_data *data, const train_options *run, const gpt_config *config,
                            mo_error *error)
{
  *data = (run_data){0};
  const mousse_status status = open_all(data, run, config, error);
  if (status != MOUSSE_OK) run_data_close(data);
  return status;
}

void run_data_close(run_data *data)
{
  loader_close(&data->train);
  loader_close(&data->val);
  shard_set_close(&data->train_set);
  shard_set_close(&data->val_set);
  tokenizer_close(&data->tokenizer);
  *data = (run_data){0};
}

uint64_t run_data_fingerprint(const shard_set *set)
{
  XXH64_hash_t hash = 0;
  for (size_t i = 0; i < set->count; i++) {
    const char *name = mo_path_name(set->shards[i].path);
    const uint64_t count = set->shards[i].count;
    hash = XXH3_64bits_withSeed(name, strlen(name), hash);
    hash = XXH3_64bits_withSeed(&count, sizeof count, hash);
    const size_t start = count < SAMPLED_TOKENS ? (size_t)count : SAMPLED_TOKENS;
    hash = XXH3_64bits_withSeed(set->shards[i].tokens, start * set->shards[i].width, hash);
  }
  return hash;
}
