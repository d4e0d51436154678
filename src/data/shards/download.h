/* download.h - published token shards and their tokenizer over HTTP(S); download.c is the only
 * file that uses libcurl.
 *
 * A file is fetched as NAME.part and renamed to NAME when it is complete and right: of the size
 * and SHA-256 that are known for it, or that the server names (Hugging Face's X-Linked-ETag);
 * shards also of the size that their header says, which is the most that is written. A .part
 * left behind is continued (HTTP Range), or begun again when the server cannot do that.
 * Failures are tried again after 1, 2, 4, ... s.
 */
#ifndef MOUSSE_DATA_SHARDS_DOWNLOAD_H
#define MOUSSE_DATA_SHARDS_DOWNLOAD_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* A file of which everything is known. */
typedef struct published_file {
  const char *name;
  uint64_t bytes;
  const char *sha256;
} published_file;

/* A published set of shards: BASE/PREFIX_val_000000.bin and BASE/PREFIX_train_000001.bin on; and
 * the files of their tokenizer below another address. */
typedef struct published_set {
  const char *name, *base, *prefix;
  unsigned train_shards;
  uint32_t vocabulary;
  const char *description;
  const char *tokenizer_name, *tokenizer_base;
  published_file tokenizer[2];
} published_set;

const published_set *published_set_at(unsigned index); /* NULL past the last */

/* Called while a file comes in: bytes of it so far and in all (0: not known). */
typedef void (*download_progress)(void *user, uint64_t done, uint64_t total);

typedef struct download_options {
  int retries;                /* after the first failure */
  double first_pause;         /* seconds before the first of them */
  download_progress progress; /* may be NULL */
  void *user;
} download_options;

/* What the file has to be. */
typedef struct download_expected {
  uint32_t vocabulary; /* above 0: a shard of tokens below it */
  uint64_t most_bytes; /* of other files; of a shard its header says it */
  uint64_t bytes;      /* 0: not known */
  const char *sha256;  /* NULL: not known, unless the server says it */
} download_expected;

/* Fetches url to path; *existed: it was there, complete, already. */
mousse_status download_file(const char *url, const char *path,
                            const download_expected *expected, const download_options *options,
                            bool *existed, mo_error *error);

/* BASE/NAME; slashes at the end of base do not count. */
mousse_status download_url(char *url, size_t capacity, const char *base, const char *name,
                           mo_error *error);

#endif
