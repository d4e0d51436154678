/* hf_write.c - a folder as transformers has it: config.json, generation_config.json,
 * model.safetensors, tokenizer.json, tokenizer_config.json and a model card; for a model that
 * transformers does not know, mousse_model.py runs it. */
#include "base/directory.h"
#include "base/file.h"
#include "data/tokenizer/chat.h"
#include "formats/formats.h"
#include "formats/hf_config.h"
#include "formats/hf_names.h"
#include "formats/model_card.h"
#include "formats/pytorch_file.h"
#include "gpt/params.h"
#include "gpt/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const file_names[] = {
    "config.json",    "generation_config.json", "model.safetensors", "mousse_model.py",
    "tokenizer.json", "tokenizer_config.json",  "README.md"};

bool hf_is_file(const char *name)
{
  for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++)
    if (mo_is_file_of(name, file_names[i])) return true;
  return false;
}

static mousse_status write_json(json_t *object, const char *folder, const char *name,
                                mo_error *error)
{
  char path[4096];
  char *text = object != NULL ? json_dumps(object, JSON_INDENT(2)) : NULL;
  json_decref(object);
  if (text == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s/%s: no memory to write it", folder, name);
  mousse_status status = mo_path_join(path, sizeof path, folder, name, error);
  if (status == MOUSSE_OK) status = mo_file_write(path, text, strlen(text), error);
  free(text);
  return status;
}

static mousse_status write_text(const char *text, size_t size, const char *folder,
                                const char *name, mo_error *error)
{
  char path[4096];
  MO_TRY(mo_path_join(path, sizeof path, folder, name, error));
  return mo_file_write(path, text, size, error);
}

/* Their tensors in order: those of ours that are one of theirs follow each other. */
typedef struct hf_writing {
  const model_export *model;
  model_family family;
  hf_placement *places;       /* owned; one for each of their tensors */
  safetensors_matrix *shapes; /* owned; likewise */
  size_t *firsts;             /* owned; the first of ours that belongs to it */
  size_t count;
  float *gathered;        /* owned; the largest of their tensors */
  unsigned char *encoded; /* owned; likewise */
  size_t largest;
} hf_writing;

static size_t shape_count(const safetensors_matrix *m)
{
  return (m->rows > 0 ? m->rows : 1) * m->cols;
}

static void list_theirs(hf_writing *w)
{
  const gpt_params *params = w->model->params;
  for (size_t i = 0; i < params->tensor_count; i++) {
    const hf_placement place = hf_place(w->family, &params->tensors[i]);
    if (place.part > 0) continue; /* belongs to the last one */
    safetensors_matrix *shape = &w->shapes[w->count];
    w->places[w->count] = place;
    w->firsts[w->count] = i;
    shape->name = w->places[w->count].name;
    hf_shape(&place, &params->tensors[i], &shape->rows, &shape->cols);
    if (shape_count(shape) > w->largest) w->largest = shape_count(shape);
    w->count++;
  }
}

static const void *encode(void *user, size_t theirs)
{
  const hf_writing *w = user;
  const gpt_params *params = w->model->params;
  const size_t parts = w->places[theirs].parts;
  for (size_t i = 0; i < parts; i++) {
    const gpt_tensor *tensor = &params->tensors[w->firsts[theirs] + i];
    const hf_placement place = hf_place(w->family, tensor);
    hf_give(&place, tensor, w->gathered);
  }
  number_encode(w->model->type, w->gathered, shape_count(&w->shapes[theirs]), w->encoded);
  return w->encoded;
}

static mousse_status write_tensors(hf_writing *w, const char *folder, mo_error *error)
{
  static const char *const dtypes[] = {"F32", "F16", "BF16"};
  char path[4096];
  const size_t ours = w->model->params->tensor_count;
  const safetensors_numbers numbers = {.dtype = dtypes[w->model->type],
                                       .note = "pt",
                                       .bytes = number_bytes(w->model->type, 1),
                                       .get = encode,
                                       .user = w};
  w->places = mo_allocate(NULL, ours * sizeof *w->places);
  w->shapes = mo_allocate(NULL, ours * sizeof *w->shapes);
  w->firsts = mo_allocate(NULL, ours * sizeof *w->firsts);
  if (w->places == NULL || w->shapes == NULL || w->firsts == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for a list of tensors", folder);
  list_theirs(w);
  w->gathered = mo_allocate(NULL, w->largest * sizeof *w->gathered);
  w->encoded = mo_allocate(NULL, w->largest * sizeof(float));
  if (w->gathered == NULL || w->encoded == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for %zu numbers", folder,
                   w->largest);
  MO_TRY(mo_path_join(path, sizeof path, folder, "model.safetensors", error));
  return safetensors_write_as(path, w->shapes, w->count, &numbers, error);
}

static mousse_status write_weights(const model_export *model, const char *folder,
                                   mo_error *error)
{
  const size_t ours = model->params->tensor_count;
  hf_writing w = {.model = model, .family = family_of(&model->params->config)};
  const mousse_status status = write_tensors(&w, folder, error);
  mo_release(NULL, w.places, ours * sizeof *w.places);
  mo_release(NULL, w.shapes, ours * sizeof *w.shapes);
  mo_release(NULL, w.firsts, ours * sizeof *w.firsts);
  mo_release(NULL, w.gathered, w.largest * sizeof *w.gathered);
  mo_release(NULL, w.encoded, w.largest * sizeof(float));
  return status;
}

static void name_token(json_t *object, const char *role, const mo_tokenizer *t, uint32_t id)
{
  size_t length = 0;
  if (object == NULL || !tokenizer_is_special(t, id)) return;
  /* As tokenizer.json spells it, which is not what SentencePiece's tokens stand for. */
  const char *token = mo_text_table_get(&t->tokens, id, &length);
  json_object_set_new(object, role, json_stringn(token, length));
}

static void add_chat_template(json_t *object, const mo_tokenizer *t)
{
  chat_template chat;
  if (object == NULL || chat_template_open(&chat, t, CHAT_AUTO, NULL) != MOUSSE_OK) return;
  const char *jinja = chat_template_jinja(&chat);
  if (jinja != NULL) json_object_set_new(object, "chat_template", json_string(jinja));
}

static mousse_status write_tokenizer(const model_export *model, const char *folder,
                                     mo_error *error)
{
  char path[4096];
  uint32_t unknown = 0;
  const mo_tokenizer *t = model->tokenizer;
  if (t == NULL) return MOUSSE_OK;
  MO_TRY(mo_path_join(path, sizeof path, folder, "tokenizer.json", error));
  MO_TRY(tokenizer_save(t, path, error));
  json_t *object = json_pack("{s:s, s:I, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                             "model_max_length", (json_int_t)model->params->config.sequence_len,
                             "clean_up_tokenization_spaces", 0);
  name_token(object, "eos_token", t, t->end_of_text);
  name_token(object, "bos_token", t, tokenizer_first(t));
  if (t->sentencepiece && mo_text_table_find(&t->tokens, "<unk>", 5, &unknown))
    name_token(object, "unk_token", t, unknown);
  add_chat_template(object, t);
  return write_json(object, folder, "tokenizer_config.json", error);
}

/* What ends a text, and what ends an answer where the tokenizer has a token for that. */
static json_t *end_tokens(const mo_tokenizer *t)
{
  chat_template chat;
  const bool answers =
      chat_template_open(&chat, t, CHAT_AUTO, NULL) == MOUSSE_OK && chat.end != t->end_of_text;
  return answers ? json_pack("[I, I]", (json_int_t)chat.end, (json_int_t)t->end_of_text)
                 : json_integer((json_int_t)t->end_of_text);
}

static mousse_status write_generation(const model_export *model, const char *folder,
                                      mo_error *error)
{
  const mo_tokenizer *t = model->tokenizer;
  if (t == NULL || t->end_of_text == TOKENIZER_NONE) return MOUSSE_OK;
  return write_json(json_pack("{s:I, s:o}", "bos_token_id", (json_int_t)tokenizer_first(t),
                              "eos_token_id", end_tokens(t)),
                    folder, "generation_config.json", error);
}

mousse_status hf_write(const model_export *model, const char *folder, mo_error *error)
{
  const gpt_config *c = &model->params->config;
  if (model->type == NUMBER_Q8_0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "q8_0 is a type of GGUF; a Hugging Face folder holds f32, f16 or bf16");
  MO_TRY(model_export_check(model, error));
  MO_TRY(write_weights(model, folder, error));
  MO_TRY(write_json(hf_config_json(c, model->type, model->tokenizer), folder, "config.json",
                    error));
  MO_TRY(write_generation(model, folder, error));
  MO_TRY(write_tokenizer(model, folder, error));
  if (family_of(c) == FAMILY_NONE)
    MO_TRY(write_text((const char *)mousse_model_py, mousse_model_py_size, folder,
                      "mousse_model.py", error));
  return model_card_write(model, folder, error);
}
