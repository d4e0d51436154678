/* read_model.c - a model's table and weights, whichever format they have. */
#include "base/file.h"
#include "formats/formats.h"
#include "formats/hf_config.h"
#include "formats/hf_weights.h"
#include "formats/llmc.h"

#include <unistd.h>

/* A file that we write but do not read: said, before something else is made of it. */
static mousse_status refuse_gguf(const char *path, mo_error *error)
{
  if (!mo_file_begins(path, "GGUF", 4)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: mousse writes GGUF files but does not read them; give the model folder "
                 "that it was made from",
                 path);
}

/* Some other file, or weights without their table. */
static mousse_status refuse_file(const model_place *place, mo_error *error)
{
  char path[4096];
  MO_TRY(mo_path_join(path, sizeof path, place->folder, "config.json", error));
  if (access(path, F_OK) == 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO,
                 "%s: is not a model: there is no config.json next to it; expected a run, a "
                 "checkpoint, a model folder, or a safetensors file with its config.json",
                 place->weights);
}

mousse_status format_read_config(const model_place *place, gpt_config *config, mo_error *error)
{
  bool foreign = false;
  model_family family = FAMILY_NONE;
  MO_TRY(refuse_gguf(place->weights, error));
  if (llmc_is_checkpoint(place->weights))
    return llmc_read_config(place->weights, config, error);
  MO_TRY(refuse_file(place, error));
  return hf_load_config(config, &foreign, &family, place->folder, error);
}

static mousse_status add_bytes(const char *path, uint64_t *bytes, mo_error *error)
{
  int descriptor = -1;
  size_t size = 0;
  MO_TRY(mo_file_open(path, &descriptor, &size, error));
  close(descriptor);
  *bytes += size;
  return MOUSSE_OK;
}

mousse_status format_weights_bytes(const model_place *place, uint64_t *bytes, mo_error *error)
{
  char path[4096];
  hf_index index = {0};
  mousse_status status = MOUSSE_OK;
  *bytes = 0;
  if (!hf_is_index(place->weights)) return add_bytes(place->weights, bytes, error);
  MO_TRY(hf_index_open(&index, place->weights, error));
  for (size_t i = 0; i < index.count && status == MOUSSE_OK; i++) {
    status = hf_index_file(&index, place->weights, i, path, sizeof path, error);
    if (status == MOUSSE_OK) status = add_bytes(path, bytes, error);
  }
  hf_index_close(&index);
  return status;
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
