/* run_data.h - the data of a run: its shards, its batches and its tokenizer. */
#ifndef MOUSSE_TRAIN_RUN_DATA_H
#define MOUSSE_TRAIN_RUN_DATA_H

#include "data/shards/dataset.h"
#include "data/shards/loader.h"
#include "data/tokenizer/tokenizer.h"
#include "train/options.h"

typedef struct run_data {
  shard_set train_set, val_set;
  mo_loader train, val; /* val has no windows when there is no validation data */
  mo_tokenizer tokenizer;
  bool has_tokenizer;
  bool is_of_another;     /* the manifest says that another tokenizer made the shards */
  uint32_t *byte_lengths; /* owned: bytes of text of every id; NULL without a tokenizer */
  size_t vocabulary;      /* ids that byte_lengths has room for */
  uint64_t train_checksum, val_checksum, tokenizer_checksum; /* 0: there is none */
} run_data;

/* How many tokens the data's tokenizer has; 0 when the directory does not say. */
mousse_status run_data_vocabulary(const char *data_dir, size_t *vocabulary, mo_error *error);

/* Refuses data without validation shards, by whose loss `who` compares runs. */
mousse_status run_data_has_validation(const char *data_dir, const char *who, mo_error *error);

/* The directory whose tokenizer counts: the first of several. */
mousse_status run_data_first(const char *data_dir, char *path, size_t capacity,
                             mo_error *error);

/* The token that documents start with: that of their tokenizer (NULL: there is none), else the one
 * that the directory was made with. An error where neither is known. */
mousse_status run_data_document_token(const char *data_dir, const mo_tokenizer *tokenizer,
                                      uint32_t *token, mo_error *error);

mousse_status run_data_open(run_data *data, const train_options *run, const gpt_config *config,
                            mo_error *error);
void run_data_close(run_data *data); /* accepts a zeroed or closed one */

/* The checksums of what a data directory has; 0: there is none. */
typedef struct data_checksums {
  uint64_t train, val;
} data_checksums;
mousse_status run_data_checksums(const char *data_dir, data_checksums *checksums,
                                 mo_error *error);

/* Names, lengths and first tokens of all shards, and the weights of several sources, in one
 * number, as checkpoints of 0.1 have it; the checksums above are over every token. */
uint64_t run_data_fingerprint(const shard_set *set);

#endif
