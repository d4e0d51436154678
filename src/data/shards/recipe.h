/* recipe.h - what a data set was made from, in its manifest: equal recipes give equal data.
 *
 *     name, tokenizer, val_fraction, shard_tokens, field, separator   the options
 *     completion, messages, chat_template                             likewise, where they are given
 *     tokenizer_xxh3   checksum of the tokenizer's contents; absent: learned from the text
 *     found_tokens     how many of its tokens are found in text; absent: none
 *     inputs           [{"path", "bytes", "modified_ns"}, ...], or for very many of them
 *                      {"count", "bytes", "xxh3": of the list}
 *
 * Older recipes have no tokenizer_xxh3, and times in seconds ("modified").
 */
#ifndef MOUSSE_DATA_SHARDS_RECIPE_H
#define MOUSSE_DATA_SHARDS_RECIPE_H

#include "data/shards/dataset.h"
#include "data/text/file_list.h"

#include <jansson.h>

/* tokenizer: NULL, it is going to be learned. The recipe is the caller's. */
mousse_status recipe_make(json_t **recipe, const dataset_options *options,
                          const file_list *files, const mo_tokenizer *tokenizer,
                          mo_error *error);

/* Was the data of a recipe in a manifest, of any age or NULL, made as this one says? */
bool recipe_is_same(const json_t *written, json_t *recipe);

#endif
