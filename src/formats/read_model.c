/* read_model.c - a model's table and weights, whichever format they have. */
#include "formats/formats.h"
#include "formats/hf_config.h"
#include "formats/hf_weights.h"
#include "formats/llmc.h"

#include <stdio.h>
#include <string.h>

/* A file that we write but do not read: said, before something else is made of it. */
static mousse_status refuse_gguf(const char *path, mo_error *error)
{
  char start[4] = "";
  FILE *file = fopen(path, "rb");
  const size_t got = file != NULL ? fread(start, 1, sizeof start, file) : 0;
  if (file != NULL) fclose(file);
  if (got != sizeof start || memcmp(start, "GGUF", sizeof start) != 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: GGUF files are written, not read; give the model folder that it was made "
                 "from",
                 path);
}

mousse_status format_read_config(const model_place *place, gpt_config *config, mo_error *error)
{
  bool foreign = false;
  model_family family = FAMILY_NONE;
  MO_TRY(refuse_gguf(place->weights, error));
  if (llmc_is_checkpoint(place->weights))
    return llmc_read_config(place->weights, config, error);
  return hf_load_config(config, &foreign, &family, place->folder, error);
}

mousse_status format_read_weights(const model_place *place, gpt_params *params, mo_error *error)
{
  bool foreign = false;
  model_family family = FAMILY_NONE;
  gpt_config config;
  if (llmc_is_checkpoint(place->weights))
    return llmc_read_weights(place->weights, params, error);
  MO_TRY(hf_load_config(&config, &foreign, &family, place->folder, error));
  if (foreign) return hf_load_weights(params, family, place->weights, error);
  return gpt_load_base(params, place->weights, error);
}
