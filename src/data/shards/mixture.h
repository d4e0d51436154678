/* mixture.h - the notation for data: one directory, or several with weights.
 *
 *     data/web                          one (or a file or pattern of shards, see shard_set.h)
 *     data/web:0.7,data/books:0.3       seven sequences of ten from the first, three from the
 *                                       second; without :WEIGHT a weight is 1
 *
 * A text that is the name of something that exists is that one thing, whatever characters are
 * in it.
 */
#ifndef MOUSSE_DATA_SHARDS_MIXTURE_H
#define MOUSSE_DATA_SHARDS_MIXTURE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { MIXTURE_MOST = 16, MIXTURE_TEXT = 4096 };

typedef struct mo_mixture {
  size_t count;
  double weights[MIXTURE_MOST];
  size_t starts[MIXTURE_MOST]; /* of the paths, in text */
  char text[MIXTURE_TEXT];
} mo_mixture;

mousse_status mixture_parse(mo_mixture *mixture, const char *text, mo_error *error);
const char *mixture_path(const mo_mixture *mixture, size_t index);

/* Is everything there that the text names? */
bool mixture_exists(const char *text);

#endif
