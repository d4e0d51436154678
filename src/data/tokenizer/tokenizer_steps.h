/* tokenizer_steps.h - what a tokenizer.json does before and after its model, read and written. */
#ifndef MOUSSE_DATA_TOKENIZER_TOKENIZER_STEPS_H
#define MOUSSE_DATA_TOKENIZER_TOKENIZER_STEPS_H

#include "data/tokenizer/tokenizer.h"

#include <jansson.h>

/* Fills what the file says about text before merging: normal form, kind, spaces, split rule
 * (*pattern, borrowed from the JSON or static; NULL for GPT-2's). Refuses the rest. */
mousse_status tokenizer_read_steps(mo_tokenizer *tokenizer, const json_t *root,
                                   const char *name, const char **pattern, mo_error *error);

/* The token that the file puts before every text; the tokenizer has all its tokens. */
mousse_status tokenizer_read_start(mo_tokenizer *tokenizer, const json_t *root,
                                   const char *name, mo_error *error);

/* tokenizer_added.c: which added tokens are found in text, and how. Refuses, by name, those that
 * cannot be found without a change to the text around them. All else has been read. */
mousse_status tokenizer_read_added(mo_tokenizer *tokenizer, const json_t *root,
                                   const char *name, mo_error *error);

/* Adds normalizer, pre_tokenizer, post_processor and decoder to root; false: no memory. */
bool tokenizer_write_steps(const mo_tokenizer *tokenizer, json_t *root);

#endif
