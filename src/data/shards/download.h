/* download.h - published token shards over HTTP(S); the only file that uses libcurl.
 *
 * A file is fetched as NAME.part and renamed to NAME when it is complete: as long as the server
 * said, and a valid shard of that length. A .part left behind is continued (HTTP Range), or
 * begun again when the server cannot do that. Failures are tried again after 1, 2, 4, ... s.
 */
#ifndef MOUSSE_DATA_SHARDS_DOWNLOAD_H
#define MOUSSE_DATA_SHARDS_DOWNLOAD_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* A published set of shards: BASE/PREFIX_val_000000.bin and BASE/PREFIX_train_000001.bin on. */
typedef struct published_set {
  const char *name, *base, *prefix;
  unsigned train_shards;
  uint32_t vocabulary;
  const char *description;
} published_set;

const published_set *published_set_at(unsigned index); /* NULL past the last */

/* Called while a file comes in: bytes of it so far and in all (0: not known). */
typedef void (*download_progress)(void *user, uint64_t done, uint64_t total);

typedef struct download_options {
  int retries;                /* after the first failure */
  double first_pause;         /* seconds before the first of them */
  uint32_t vocabulary;        /* tokens are below it */
  download_progress progress; /* may be NULL */
  void *user;
} download_options;

/* Fetches url to path; *existed: it was there, complete, already. */
mousse_status download_shard(const char *url, const char *path, const download_options *options,
                             bool *existed, mo_error *error);

#endif
