/* hf_weights.c - reads a model's tensors from the files of a Hugging Face folder.
 *
 * Every tensor of the model must be there with its shape, and every tensor that is there must be
 * one of the model's, but for buffers that old versions stored. All of that is checked before
 * the first value is written.
 */
#include "formats/hf_weights.h"

#include "formats/hf_names.h"
#include "gpt/safetensors.h"

#include <stdlib.h>
#include <string.h>

typedef struct loading {
  gpt_params *params;
  model_family family;
  const char *path;
  safetensors *files; /* owned */
  size_t count;
  hf_placement *places;             /* owned; one for each of our tensors */
  const safetensors_entry **theirs; /* owned; likewise */
  float *buffer;                    /* owned; for those that are rearranged */
  size_t buffer_count;
} loading;

static mousse_status open_listed(loading *l, const hf_index *index, mo_error *error)
{
  char path[4096];
  l->files = mo_allocate(NULL, index->count * sizeof *l->files);
  if (l->files == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for %zu files", l->path,
                   index->count);
  l->count = index->count;
  for (size_t i = 0; i < index->count; i++) {
    MO_TRY(hf_index_file(index, l->path, i, path, sizeof path, error));
    MO_TRY(safetensors_open(&l->files[i], path, NULL, error));
  }
  return MOUSSE_OK;
}

static mousse_status open_files(loading *l, mo_error *error)
{
  hf_index index = {0};
  if (!hf_is_index(l->path)) {
    l->files = mo_allocate(NULL, sizeof *l->files);
    if (l->files == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory", l->path);
    l->count = 1;
    return safetensors_open(&l->files[0], l->path, NULL, error);
  }
  MO_TRY(hf_index_open(&index, l->path, error));
  const mousse_status status = open_listed(l, &index, error);
  hf_index_close(&index);
  return status;
}

static const safetensors_entry *find_in_all(const loading *l, const char *name)
{
  const safetensors_entry *entry = NULL;
  for (size_t i = 0; i < l->count && entry == NULL; i++)
    entry = safetensors_find(&l->files[i], name);
  return entry;
}

/* Files of the bare model have no "transformer." or "model." before their names. */
static const char *bare(const char *name)
{
  if (strncmp(name, "transformer.", 12) == 0) return name + 12;
  return strncmp(name, "model.", 6) == 0 ? name + 6 : name;
}

/* A table of positions may be longer than the model's. */
static bool fits(const safetensors_entry *e, const gpt_tensor *t, size_t rows, size_t cols)
{
  if (rows == 0) return e->rank == 1 && e->shape[0] == cols;
  const bool longer = strcmp(t->name, "transformer.wpe.weight") == 0 && e->shape[0] > rows;
  return e->rank == 2 && (e->shape[0] == rows || longer) && e->shape[1] == cols;
}

static mousse_status check_tensor(loading *l, size_t i, mo_error *error)
{
  size_t rows = 0, cols = 0;
  const gpt_tensor *tensor = &l->params->tensors[i];
  hf_placement *place = &l->places[i];
  *place = hf_place(l->family, tensor);
  const safetensors_entry *entry = find_in_all(l, place->name);
  if (entry == NULL) entry = find_in_all(l, bare(place->name));
  if (entry == NULL)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: has no tensor '%s'", l->path, place->name);
  hf_shape(place, tensor, &rows, &cols);
  if (!fits(entry, tensor, rows, cols))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: '%s' has %zu dimensions (%zu x %zu), expected %zu x %zu", l->path,
                   place->name, entry->rank, entry->rank > 0 ? entry->shape[0] : 0,
                   entry->rank > 1 ? entry->shape[1] : 0, rows, cols);
  if (!safetensors_has_floats(entry))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: '%s' is %s, expected F32, BF16 or F16",
                   l->path, place->name, entry->dtype);
  l->theirs[i] = entry;
  if ((place->transposed || place->parts > 1) && entry->count > l->buffer_count)
    l->buffer_count = entry->count;
  return MOUSSE_OK;
}

/* Masks and angles that are computed anew, and a tied head stored twice. */
static bool is_passed_over(const loading *l, const char *name)
{
  static const char *const ends[] = {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"};
  const size_t length = strlen(name);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    const size_t size = strlen(ends[i]);
    if (length > size && strcmp(name + length - size, ends[i]) == 0) return true;
  }
  return l->params->config.tied && strcmp(name, "lm_head.weight") == 0;
}

static int by_address(const void *left, const void *right)
{
  const safetensors_entry *a = NULL, *b = NULL;
  memcpy(&a, left, sizeof a);
  memcpy(&b, right, sizeof b);
  return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* With `used` the entries of our tensors, by address. */
static mousse_status check_rest(const loading *l, const safetensors_entry *const *used,
                                mo_error *error)
{
  for (size_t f = 0; f < l->count; f++)
    for (size_t e = 0; e < l->files[f].entry_count; e++) {
      const safetensors_entry *entry = &l->files[f].entries[e];
      if (!is_passed_over(l, entry->name) &&
          bsearch(&entry, used, l->params->base_count, sizeof *used, by_address) == NULL)
        return mo_fail(error, MOUSSE_BAD_FORMAT,
                       "%s: has a tensor '%.80s', which a model with this config.json does not "
                       "have, or has only once",
                       l->path, entry->name);
    }
  return MOUSSE_OK;
}

static mousse_status check_all_used(const loading *l, mo_error *error)
{
  const size_t bytes = l->params->base_count * sizeof *l->theirs;
  const safetensors_entry **used = mo_allocate(NULL, bytes);
  if (used == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for a list of tensors", l->path);
  memcpy(used, l->theirs, bytes);
  qsort(used, l->params->base_count, sizeof *used, by_address);
  const mousse_status status = check_rest(l, used, error);
  mo_release(NULL, used, bytes);
  return status;
}

static void take_all(const loading *l)
{
  for (size_t i = 0; i < l->params->base_count; i++) {
    const gpt_tensor *tensor = &l->params->tensors[i];
    safetensors_entry entry = *l->theirs[i];
    if (l->places[i].transposed || l->places[i].parts > 1) {
      safetensors_floats(&entry, l->buffer);
      hf_take(&l->places[i], tensor, l->buffer);
      continue;
    }
    const size_t wanted = tensor->rows * tensor->cols;
    entry.bytes =
        entry.bytes / entry.count * wanted; /* the first positions of a longer table */
    entry.count = wanted;
    safetensors_floats(&entry, tensor->value);
  }
}

static mousse_status load(loading *l, mo_error *error)
{
  const size_t count = l->params->base_count;
  MO_TRY(open_files(l, error));
  l->places = mo_allocate(NULL, count * sizeof *l->places);
  l->theirs = mo_allocate(NULL, count * sizeof *l->theirs);
  if (l->places == NULL || l->theirs == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for a list of tensors", l->path);
  for (size_t i = 0; i < count; i++) MO_TRY(check_tensor(l, i, error));
  MO_TRY(check_all_used(l, error));
  l->buffer = mo_allocate(NULL, l->buffer_count * sizeof *l->buffer);
  if (l->buffer == NULL && l->buffer_count > 0)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for %zu numbers", l->path,
                   l->buffer_count);
  take_all(l);
  return MOUSSE_OK;
}

mousse_status hf_load_weights(gpt_params *params, model_family family, const char *path,
                              mo_error *error)
{
  loading l = {.params = params, .family = family, .path = path};
  const size_t count = params->base_count;
  const mousse_status status = load(&l, error);
  for (size_t i = 0; i < l.count; i++) safetensors_close(&l.files[i]);
  mo_release(NULL, l.files, l.count * sizeof *l.files);
  mo_release(NULL, l.places, count * sizeof *l.places);
  mo_release(NULL, l.theirs, count * sizeof *l.theirs);
  mo_release(NULL, l.buffer, l.buffer_count * sizeof *l.buffer);
  return status;
}
