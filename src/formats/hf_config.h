/* hf_config.h - config.json as transformers has it, for the architectures that the table of
 * layers covers. */
#ifndef MOUSSE_FORMATS_HF_CONFIG_H
#define MOUSSE_FORMATS_HF_CONFIG_H

#include "formats/formats.h"

/* Whether the text is a config.json of another program: it names an architecture. path is for
 * messages. *family is FAMILY_NONE for one that has our own members. */
mousse_status hf_parse_config(gpt_config *config, bool *foreign, model_family *family,
                              const char *path, const char *text, size_t size, mo_error *error);
/* config.json of a folder, of either kind. */
mousse_status hf_load_config(gpt_config *config, bool *foreign, model_family *family,
                             const char *folder, mo_error *error);
/* As an object of Jansson's (json_t), owned by the caller; NULL: no memory. */
void *hf_config_json(const gpt_config *config, number_type type, const mo_tokenizer *tokenizer);
const char *hf_architecture(model_family family);

#endif
