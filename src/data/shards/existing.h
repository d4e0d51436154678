/* existing.h - what an earlier call left where a data set is to be made. */
#ifndef MOUSSE_DATA_SHARDS_EXISTING_H
#define MOUSSE_DATA_SHARDS_EXISTING_H

#include "data/shards/recipe.h"

/* Is there a finished directory, and was it made by this recipe? Then *existed is set, and
 * *dataset describes it. One that was made otherwise, or has lost a shard, is an error; an empty one
 * is removed. */
mousse_status existing_check(const char *out, json_t *recipe, mo_dataset *dataset,
                             bool *existed, mo_error *error);

/* Is this the name of a file of a data set, in a directory that is being made? */
bool existing_is_ours(const char *name);

#endif
