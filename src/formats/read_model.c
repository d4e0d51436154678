/* read_model.c - a model's table and weights, whichever format they have. */
#include "formats/formats.h"
#include "formats/hf_config.h"
#include "formats/hf_weights.h"
#include "formats/llmc.h"

mousse_status format_read_config(const model_place *place, gpt_config *config, mo_error *error)
{
  bool foreign = false;
  model_family family = FAMILY_NONE;
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
  return gpt_load_weights(params, place->weights, error);
}
