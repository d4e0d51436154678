/* llmc.c - reads and writes llm.c's checkpoints. */
#include "formats/llmc.h"

#include "base/file.h"
#include "base/half.h"
#include "gpt/params.h"

#include <string.h>

enum { MAGIC = 20240326, FLOATS = 3, BRAIN_FLOATS = 5, HEADER = 256, PADDING = 128 };
static const double norm_epsilon = 1e-5; /* llm.c's own, which a file does not say */
enum { VERSION_AT = 1, CONTEXT_AT, VOCABULARY_AT, LAYERS_AT, HEADS_AT, WIDTH_AT, PADDED_AT };

typedef struct llmc_header {
  uint32_t numbers[HEADER];
} llmc_header;

static bool begins_right(const unsigned char *data, size_t size)
{
  uint32_t magic = 0;
  if (size < sizeof magic) return false;
  memcpy(&magic, data, sizeof magic);
  return magic == MAGIC;
}

bool llmc_is_checkpoint(const char *path)
{
  const uint32_t magic = MAGIC;
  return mo_file_begins(path, &magic, sizeof magic);
}

static gpt_config table_of(const llmc_header *h)
{
  gpt_config c = {0};
  (void)gpt_preset("gpt2", &c, NULL);
  c.vocab_size = h->numbers[VOCABULARY_AT];
  c.sequence_len = h->numbers[CONTEXT_AT];
  c.n_layer = h->numbers[LAYERS_AT];
  c.n_head = h->numbers[HEADS_AT];
  c.n_embd = h->numbers[WIDTH_AT];
  c.epsilon = norm_epsilon;
  return c;
}

/* A file is its header and exactly its numbers. */
static mousse_status check_size(const char *path, const llmc_header *h, const gpt_config *c,
                                size_t size, mo_error *error)
{
  const size_t padding = h->numbers[PADDED_AT] - c->vocab_size;
  const size_t number = h->numbers[VERSION_AT] == FLOATS ? 4 : 2;
  const size_t count = gpt_parameter_count(c) + padding * c->n_embd;
  if (size == sizeof *h + number * count) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: %zu bytes, expected %zu for a model of this header; cut off?", path, size,
                 sizeof *h + number * count);
}

static mousse_status read_header(const char *path, const unsigned char *data, size_t size,
                                 llmc_header *h, gpt_config *config, mo_error *error)
{
  mo_error cause = {{0}};
  if (!begins_right(data, size) || size < sizeof *h)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: not a checkpoint of llm.c", path);
  memcpy(h, data, sizeof *h);
  if (h->numbers[VERSION_AT] != FLOATS && h->numbers[VERSION_AT] != BRAIN_FLOATS)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: version %u, expected %d (float32) or %d (bfloat16)", path,
                   h->numbers[VERSION_AT], FLOATS, BRAIN_FLOATS);
  const gpt_config c = table_of(h);
  if (gpt_config_check(&c, &cause) != MOUSSE_OK)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: %s", path, cause.text);
  if (h->numbers[PADDED_AT] < c.vocab_size || h->numbers[PADDED_AT] > c.vocab_size + (1u << 20))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: the padded vocabulary is %u, which does not fit a vocabulary of %zu",
                   path, h->numbers[PADDED_AT], c.vocab_size);
  MO_TRY(check_size(path, h, &c, size, error));
  *config = c;
  return MOUSSE_OK;
}

mousse_status llmc_parse_header(const char *path, const unsigned char *data, size_t size,
                                gpt_config *config, mo_error *error)
{
  llmc_header h;
  return read_header(path, data, size, &h, config, error);
}

mousse_status llmc_read_config(const char *path, gpt_config *config, mo_error *error)
{
  mo_map map;
  MO_TRY(mo_map_open(&map, path, error));
  const mousse_status status = llmc_parse_header(path, map.data, map.size, config, error);
  mo_map_close(&map);
  return status;
}

/* The order of the file: `fields` in a row for every layer, then the next ones. */
static const size_t steps[] = {offsetof(gpt_layer, ln1_gain), offsetof(gpt_layer, ln1_bias),
                               offsetof(gpt_layer, c_q),    /* with c_k and c_v */
                               offsetof(gpt_layer, q_bias), /* with k_bias and v_bias */
                               offsetof(gpt_layer, c_proj),   offsetof(gpt_layer, c_proj_bias),
                               offsetof(gpt_layer, ln2_gain), offsetof(gpt_layer, ln2_bias),
                               offsetof(gpt_layer, fc),       offsetof(gpt_layer, fc_bias),
                               offsetof(gpt_layer, proj),     offsetof(gpt_layer, proj_bias)};
enum { STEPS = sizeof steps / sizeof *steps };

/* Numbers of ours that lie together, as the file has them together. */
typedef struct stretch {
  float *values;
  size_t count;
} stretch;

static stretch layer_stretch(const gpt_params *params, size_t step, size_t layer)
{
  const gpt_tensor *t = NULL;
  const gpt_layer *tensors = &params->parts->layers[layer];
  memcpy(&t, (const char *)tensors + steps[step], sizeof t);
  const bool three = t == tensors->c_q || t == tensors->q_bias;
  return (stretch){t->value, (three ? 3 : 1) * t->rows * t->cols};
}

static size_t size_of(const gpt_tensor *t)
{
  return t->rows * t->cols;
}

/* Calls put(user, ours, count, skipped) in the order of the file; `skipped` numbers of the file
 * behind them are not the model's. */
typedef mousse_status (*stretch_fn)(void *user, float *values, size_t count, size_t skipped,
                                    mo_error *error);

static mousse_status walk(const gpt_params *params, size_t padding, size_t more_positions,
                          stretch_fn put, void *user, mo_error *error)
{
  const gpt_model_tensors *parts = params->parts;
  const size_t C = params->config.n_embd;
  MO_TRY(put(user, parts->wte->value, size_of(parts->wte), padding * C, error));
  MO_TRY(put(user, parts->wpe->value, size_of(parts->wpe), more_positions * C, error));
  for (size_t step = 0; step < STEPS; step++)
    for (size_t layer = 0; layer < params->config.n_layer; layer++) {
      const stretch s = layer_stretch(params, step, layer);
      MO_TRY(put(user, s.values, s.count, 0, error));
    }
  MO_TRY(put(user, parts->ln_f_gain->value, C, 0, error));
  return put(user, parts->ln_f_bias->value, C, 0, error);
}

typedef struct reading {
  const unsigned char *at;
  bool brain;
} reading;

static mousse_status take(void *user, float *values, size_t count, size_t skipped,
                          mo_error *error)
{
  reading *r = user;
  (void)error;
  if (r->brain)
    for (size_t i = 0; i < count; i++)
      values[i] = mo_from_bfloat16((uint16_t)(r->at[2 * i] | r->at[2 * i + 1] << 8));
  else
    memcpy(values, r->at, count * sizeof *values);
  r->at += (count + skipped) * (r->brain ? 2 : 4);
  return MOUSSE_OK;
}

static mousse_status read_all(const char *path, const mo_map *map, gpt_params *params,
                              mo_error *error)
{
  llmc_header h;
  gpt_config file, ours = gpt_config_base(&params->config);
  MO_TRY(read_header(path, map->data, map->size, &h, &file, error));
  const size_t context = file.sequence_len;
  ours.sequence_len = context; /* the model may use a part of the positions */
  if (!gpt_config_equal(&ours, &file) || params->config.sequence_len > context)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: is not a model of these sizes", path);
  reading r = {map->data + sizeof h, h.numbers[VERSION_AT] == BRAIN_FLOATS};
  return walk(params, h.numbers[PADDED_AT] - file.vocab_size,
              context - params->config.sequence_len, take, &r, error);
}

mousse_status llmc_read_weights(const char *path, gpt_params *params, mo_error *error)
{
  mo_map map;
  MO_TRY(mo_map_open(&map, path, error));
  const mousse_status status = read_all(path, &map, params, error);
  mo_map_close(&map);
  return status;
}

typedef struct llmc_writing {
  mo_writer *writer;
  number_type type;
} llmc_writing;

enum { CHUNK = 4096 };

static mousse_status give(void *user, float *values, size_t count, size_t skipped,
                          mo_error *error)
{
  static const float zeros[CHUNK];
  const llmc_writing *w = user;
  unsigned char bytes[CHUNK * sizeof(float)];
  for (size_t done = 0, n = 0; done < count + skipped; done += n) {
    const bool ours = done < count;
    const size_t left = ours ? count - done : count + skipped - done;
    n = left < CHUNK ? left : CHUNK;
    number_encode(w->type, ours ? values + done : zeros, n, bytes);
    MO_TRY(mo_writer_write(w->writer, bytes, number_bytes(w->type, n), error));
  }
  return MOUSSE_OK;
}

static mousse_status write_all(const model_export *model, mo_writer *writer, mo_error *error)
{
  const gpt_config *c = &model->params->config;
  const size_t padded = (c->vocab_size + PADDING - 1) / PADDING * PADDING;
  const size_t sizes[] = {MAGIC,           model->type == NUMBER_F32 ? FLOATS : BRAIN_FLOATS,
                          c->sequence_len, c->vocab_size,
                          c->n_layer,      c->n_head,
                          c->n_embd,       padded};
  llmc_header h = {{0}};
  llmc_writing w = {writer, model->type};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) h.numbers[i] = (uint32_t)sizes[i];
  MO_TRY(mo_writer_write(writer, &h, sizeof h, error));
  return walk(model->params, padded - c->vocab_size, 0, give, &w, error);
}

static mousse_status check_model(const model_export *model, mo_error *error)
{
  const gpt_config *c = &model->params->config;
  if (family_of(c) != FAMILY_GPT2 || c->mlp != GPT_GELU_TANH || !c->tied ||
      c->mlp_width != 4 * c->n_embd)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "llm.c checkpoints hold only GPT-2 models, and this is not one");
  if (c->epsilon < norm_epsilon || c->epsilon > norm_epsilon)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "llm.c's norms have the epsilon %g, and this model's %g would be lost",
                   norm_epsilon, c->epsilon);
  if (model->type != NUMBER_F32 && model->type != NUMBER_BF16)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "llm.c's checkpoints hold f32 or bf16, not %s",
                   number_type_names[model->type]);
  return model_export_check(model, error);
}

mousse_status llmc_write(const model_export *model, const char *path, mo_error *error)
{
  mo_writer writer;
  MO_TRY(check_model(model, error));
  MO_TRY(mo_writer_open(&writer, path, error));
  const mousse_status status = write_all(model, &writer, error);
  if (status == MOUSSE_OK) return mo_writer_commit(&writer, error);
  mo_writer_abandon(&writer);
  return status;
}
