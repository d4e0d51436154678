/* run_data.c - opens what a run reads. */
#include "train/run_data.h"

#include "base/file.h"
#include "train/tokenizers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SAMPLED_TOKENS = 4096 }; /* of each shard, in the fingerprint */

static mousse_status parse_names(mo_mixture *names, const char *data_dir, mo_error *error)
{
  if (data_dir[0] == '\0')
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "no data: give --data-dir DIRECTORY; 'mousse tokenize' makes one from text");
  MO_TRY(mixture_parse(names, data_dir, error));
  for (size_t i = 0; i < names->count; i++)
    if (access(mixture_path(names, i), F_OK) != 0)
      return mo_fail(
          error, MOUSSE_IO,
          "%s: there is no such data directory; 'mousse tokenize' makes one from text",
          mixture_path(names, i));
  return MOUSSE_OK;
}

mousse_status run_data_vocabulary(const char *data_dir, size_t *vocabulary, mo_error *error)
{
  mo_mixture names;
  *vocabulary = 0;
  MO_TRY(parse_names(&names, data_dir, error));
  for (size_t i = 0; i < names.count; i++) {
    mo_dataset info;
    MO_TRY(dataset_open(&info, mixture_path(&names, i), error));
    if (info.vocabulary > *vocabulary) *vocabulary = info.vocabulary;
  }
  return MOUSSE_OK;
}

mousse_status run_data_has_validation(const char *data_dir, const char *who, mo_error *error)
{
  mo_mixture names;
  MO_TRY(parse_names(&names, data_dir, error));
  if (shard_set_exists(data_dir, "val")) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: has no validation shards, and %s compares validation losses; 'mousse "
                 "tokenize --val-fraction 0.01' makes some",
                 data_dir, who);
}

mousse_status run_data_first(const char *data_dir, char *path, size_t capacity, mo_error *error)
{
  mo_mixture names;
  MO_TRY(parse_names(&names, data_dir, error));
  snprintf(path, capacity, "%s", mixture_path(&names, 0));
  return MOUSSE_OK;
}

/* Tokens of different tokenizers have nothing to do with each other. */
static mousse_status compare_tokenizer(const mo_tokenizer *tokenizer, const char *first,
                                       const char *path, mo_error *error)
{
  mo_tokenizer other;
  if (!tokenizer_exists(path))
    return mo_fail(error, MOUSSE_IO,
                   "%s: no tokenizer here, so mousse cannot check that its tokens are those of "
                   "%s; put its tokenizer.json there",
                   path, first);
  MO_TRY(tokenizer_open(&other, path, error));
  const bool same = tokenizer_checksum(&other) == tokenizer_checksum(tokenizer);
  tokenizer_close(&other);
  if (same) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s and %s were made with different tokenizers and cannot be mixed; tokenize "
                 "one of them again with --tokenizer and the other's directory",
                 first, path);
}

/* Was a directory made with another tokenizer than the one that is in it? */
static mousse_status compare_recipe(run_data *data, const char *path, bool mixed,
                                    mo_error *error)
{
  mo_dataset info;
  MO_TRY(dataset_open(&info, path, error));
  data->is_of_another = dataset_is_of_another(&info, &data->tokenizer);
  if (!data->is_of_another || !mixed) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%s: its shards were made with another tokenizer than the tokenizer.json in "
                 "it, or by a version of mousse that did not look for its added tokens in "
                 "text, and cannot be mixed; tokenize the text again into a new directory",
                 path);
}

/* A directory without a tokenizer (downloaded shards) can be trained on, not talked to. */
static mousse_status open_tokenizer(run_data *data, const char *data_dir, mo_error *error)
{
  mo_mixture names;
  MO_TRY(parse_names(&names, data_dir, error));
  const char *first = mixture_path(&names, 0);
  data->has_tokenizer = tokenizer_exists(first);
  if (data->has_tokenizer) {
    MO_TRY(tokenizer_open(&data->tokenizer, first, error));
    data->tokenizer_checksum = tokenizer_checksum(&data->tokenizer);
    data->byte_lengths = tokenizer_byte_lengths(&data->tokenizer, data->vocabulary);
    if (data->byte_lengths == NULL)
      return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for its tokenizer", first);
    MO_TRY(compare_recipe(data, first, names.count > 1, error));
  } else if (names.count > 1) {
    return mo_fail(error, MOUSSE_IO, "%s: no tokenizer here; mixing data needs one", first);
  }
  for (size_t i = 1; i < names.count; i++) {
    MO_TRY(compare_tokenizer(&data->tokenizer, first, mixture_path(&names, i), error));
    MO_TRY(compare_recipe(data, mixture_path(&names, i), true, error));
  }
  return MOUSSE_OK;
}

/* Names, lengths and up to so many tokens of every shard, and the weights of sources. */
static uint64_t hash_set(const shard_set *set, uint64_t most)
{
  XXH64_hash_t hash = 0;
  for (size_t i = 0; i < set->count; i++) {
    const char *name = mo_path_name(set->shards[i].path);
    const uint64_t count = set->shards[i].count;
    hash = XXH3_64bits_withSeed(name, strlen(name), hash);
    hash = XXH3_64bits_withSeed(&count, sizeof count, hash);
    const size_t tokens = (size_t)(count < most ? count : most);
    hash = XXH3_64bits_withSeed(set->shards[i].tokens, tokens * set->shards[i].width, hash);
    if (set->shards[i].targets != NULL)
      hash = XXH3_64bits_withSeed(set->shards[i].targets, (tokens + 7) / 8, hash);
  }
  for (size_t k = 0; set->source_count > 1 && k < set->source_count; k++)
    hash = XXH3_64bits_withSeed(&set->sources[k].weight, sizeof(double), hash);
  return hash;
}

uint64_t run_data_fingerprint(const shard_set *set)
{
  return hash_set(set, SAMPLED_TOKENS);
}

static mousse_status hash_split(const char *data_dir, const char *split, uint64_t *checksum,
                                mo_error *error)
{
  shard_set set;
  *checksum = 0;
  if (!shard_set_exists(data_dir, split)) return MOUSSE_OK;
  MO_TRY(shard_set_open(&set, data_dir, split, 0, error));
  *checksum = hash_set(&set, UINT64_MAX);
  shard_set_close(&set);
  return MOUSSE_OK;
}

mousse_status run_data_checksums(const char *data_dir, data_checksums *checksums,
                                 mo_error *error)
{
  MO_TRY(hash_split(data_dir, "train", &checksums->train, error));
  return hash_split(data_dir, "val", &checksums->val, error);
}

mousse_status run_data_document_token(const char *data_dir, const mo_tokenizer *tokenizer,
                                      uint32_t *token, mo_error *error)
{
  mo_dataset info;
  char first[4096];
  *token = tokenizer != NULL ? tokenizer->end_of_text : TOKENIZER_NONE;
  MO_TRY(run_data_first(data_dir, first, sizeof first, error));
  MO_TRY(dataset_open(&info, first, error));
  if (*token == TOKENIZER_NONE && info.vocabulary > 0) *token = info.end_of_text;
  if (*token != TOKENIZER_NONE) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "separate_documents: %s has no tokenizer with an end-of-text token, so it is "
                 "not known where documents start",
                 first);
}

/* Both loaders tell documents apart by the token that they start with. */
static mousse_status separate_documents(run_data *data, const char *data_dir, mo_error *error)
{
  const mo_tokenizer *tokenizer = data->has_tokenizer ? &data->tokenizer : NULL;
  MO_TRY(run_data_document_token(data_dir, tokenizer, &data->train.document_token, error));
  data->val.document_token = data->train.document_token;
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
  data->train_checksum = hash_set(&data->train_set, UINT64_MAX);
  data->val_checksum = hash_set(&data->val_set, UINT64_MAX);
  data->vocabulary = config->vocab_size;
  MO_TRY(open_tokenizer(data, run->data_dir, error));
  return run->separate_documents ? separate_documents(data, run->data_dir, error) : MOUSSE_OK;
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
  mo_release(NULL, data->byte_lengths, data->vocabulary * sizeof *data->byte_lengths);
  *data = (run_data){0};
}
