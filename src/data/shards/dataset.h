/* dataset.h - a directory of token shards, with or without the manifest that we write.
 *
 *     NAME_train_000000.bin ...  NAME_val_000000.bin ...   shards (shard.h)
 *     NAME_train_000000.targets ...                        which tokens are to be learned, if not all
 *     tokenizer.json                                       what made the tokens
 *     manifest.json                                        written last
 *
 * manifest.json: {"format": "mousse-dataset", "version": 1, "name", "vocabulary",
 * "end_of_text", "text_bytes", "train": {"tokens", "documents", "shards"}, "val": {the same},
 * "recipe": {what it was made from}}. Each document starts with the end-of-text token.
 */
#ifndef MOUSSE_DATA_SHARDS_DATASET_H
#define MOUSSE_DATA_SHARDS_DATASET_H

#include "data/shards/shard_set.h"
#include "data/tokenizer/chat.h"

#define DATASET_MANIFEST "manifest.json"

typedef struct dataset_split {
  uint64_t tokens, documents, shards;
} dataset_split;

typedef struct mo_dataset {
  bool has_manifest;
  uint32_t vocabulary; /* 0: not known */
  uint32_t end_of_text;
  uint64_t text_bytes;
  dataset_split train, val;
  char name[256];
  bool has_checksum;           /* of the tokenizer, in the recipe */
  uint64_t tokenizer_checksum; /* tokenizer_checksum of what made the tokens */
  uint64_t found_tokens;       /* how many added tokens that one found in text */
} mo_dataset;

/* Reads the manifest. Without one, has_manifest is false, and vocabulary and end_of_text are
 * those of the tokenizer in the directory; vocabulary 0 when that is missing, too. */
mousse_status dataset_open(mo_dataset *dataset, const char *directory, mo_error *error);

/* Do the tokens come from another tokenizer than this, as far as the manifest knows? They do, too,
 * when it finds tokens in text for which a version of mousse before them did not look. */
bool dataset_is_of_another(const mo_dataset *dataset, const mo_tokenizer *tokenizer);

/* The manifest's text; path is what messages call it. */
mousse_status dataset_parse(mo_dataset *dataset, const char *path, const char *data,
                            size_t size, mo_error *error);

struct json_t; /* of Jansson */

/* Writes the manifest; recipe, what the data was made from, is a JSON object and stays the
 * caller's. */
mousse_status dataset_write(const mo_dataset *dataset, const char *directory,
                            struct json_t *recipe, mo_error *error);

typedef struct dataset_options {
  const char *const *inputs;
  size_t input_count;
  const char *tokenizer; /* as tokenizer_open, or "train:4096" */
  const char *out, *name;
  double val_fraction;
  uint64_t shard_tokens;
  const char *field, *separator;     /* as in corpus.h */
  const char *completion, *messages; /* likewise; both NULL: all tokens are to be learned */
  chat_form chat;                    /* of messages */
  int threads;
  /* Called now and then: how much of the inputs' bytes is done. May be NULL. */
  void (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
  /* A sentence about the inputs that the user should know. May be NULL. */
  void (*notice)(void *user, const char *text);
  void *user;
} dataset_options;

/* build.c: tokenizes inputs into a new directory `out`, complete or absent: everything is made
 * in `out`.partial, which is renamed at the end; one left behind by a run that was killed is
 * cleared. When `out` was made from the same recipe already, *existed is set and nothing done.
 *
 * Validation: text is taken in units, documents or, of longer ones, pieces of 1 to 64 KiB (a
 * quarter of what is wanted for validation), cut where the tokenizer's rule permits it best
 * (split_cut). A unit goes to validation when half of it or more fits into val_fraction of the
 * text so far minus what has gone there already. Where the text of a document changes sides, it
 * starts anew with an end-of-text token. A split without any token is an error. */
mousse_status dataset_build(const dataset_options *options, mo_dataset *dataset, bool *existed,
                            mo_error *error);

#endif
