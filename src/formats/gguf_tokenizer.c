/* gguf_tokenizer.c - a byte-level tokenizer as llama.cpp's keys have it.
 *
 * llama.cpp knows split rules by name only, so that a tokenizer must have one of these rules.
 */
#include "data/tokenizer/alphabet.h"
#include "formats/gguf_parts.h"

#include <stdio.h>
#include <string.h>

enum { NORMAL = 1, CONTROL = 3, UNUSED = 5 };

/* The expressions as tokenizer.json of these models has them. */
static const struct {
  const char *pattern, *name;
} rules[] = {
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     "llama-bpe"},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     "qwen2"},
    /* every digit alone, then GPT-2's, in one (tokenizer_read.c) */
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+|"
     "\\s+(?![^\\s\\p{N}])|\\s+",
     "smollm"},
};

static const char *rule_name(const mo_tokenizer *t)
{
  if (t->pattern == NULL) return "gpt-2";
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcmp(t->pattern, rules[i].pattern) == 0) return rules[i].name;
  return NULL;
}

static bool is_special(const mo_tokenizer *t, const char *bytes, size_t length)
{
  uint32_t number = 0;
  return mo_text_table_find(&t->specials, bytes, length, &number);
}

/* Appends a token as it is spelled: in the byte alphabet, a special one as it is. */
static bool spell(const mo_tokenizer *t, uint32_t id, mo_buffer *out)
{
  size_t length = 0;
  const char *bytes = tokenizer_bytes(t, id, &length);
  if (is_special(t, bytes, length)) return mo_buffer_add(out, bytes, length);
  char *spelled = mo_allocate(NULL, 2 * length);
  if (spelled == NULL) return false;
  const bool added = mo_buffer_add(out, spelled, alphabet_spell(bytes, length, spelled));
  mo_release(NULL, spelled, 2 * length);
  return added;
}

/* Rows of the vocabulary that are no token's are named, and never used. */
static void add_tokens(gguf_keys *keys, const mo_tokenizer *t, size_t vocabulary)
{
  mo_buffer text = {0};
  gguf_add_array(keys, "tokenizer.ggml.tokens", GGUF_TEXT, vocabulary);
  for (uint32_t id = 0; id < vocabulary; id++) {
    char unused[32];
    text.size = 0;
    if (id < t->tokens.count && !spell(t, id, &text)) keys->no_memory = true;
    snprintf(unused, sizeof unused, "[UNUSED %u]", id);
    if (id < t->tokens.count)
      gguf_put_text(keys, text.data, text.size);
    else
      gguf_put_text(keys, unused, strlen(unused));
  }
  mo_buffer_close(&text);
}

static void add_types(gguf_keys *keys, const mo_tokenizer *t, size_t vocabulary)
{
  gguf_add_array(keys, "tokenizer.ggml.token_type", GGUF_INTEGER, vocabulary);
  for (uint32_t id = 0; id < vocabulary; id++) {
    size_t length = 0;
    const char *bytes = tokenizer_bytes(t, id, &length);
    int32_t type = UNUSED;
    if (bytes != NULL) type = is_special(t, bytes, length) ? CONTROL : NORMAL;
    gguf_put(keys, &type, sizeof type);
  }
}

static void add_merges(gguf_keys *keys, const mo_tokenizer *t)
{
  mo_buffer text = {0};
  gguf_add_array(keys, "tokenizer.ggml.merges", GGUF_TEXT, t->merge_count);
  for (size_t i = 0; i < t->merge_count; i++) {
    text.size = 0;
    if (!spell(t, t->merges[i].left, &text) || !mo_buffer_add(&text, " ", 1) ||
        !spell(t, t->merges[i].right, &text))
      keys->no_memory = true;
    gguf_put_text(keys, text.data, text.size);
  }
  mo_buffer_close(&text);
}

mousse_status gguf_add_tokenizer(gguf_keys *keys, const mo_tokenizer *t, size_t vocabulary,
                                 mo_error *error)
{
  if (t == NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "a GGUF file needs a tokenizer, and there is none beside the weights");
  if (rule_name(t) == NULL)
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "llama.cpp has no split rule '%.80s'; GPT-2's, Llama 3's, Qwen's and SmolLM's "
        "can be written as GGUF",
        t->pattern);
  if (t->tokens.count > vocabulary)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "the tokenizer has %u tokens, the model's vocabulary %zu", t->tokens.count,
                   vocabulary);
  gguf_add_text(keys, "tokenizer.ggml.model", "gpt2");
  gguf_add_text(keys, "tokenizer.ggml.pre", rule_name(t));
  add_tokens(keys, t, vocabulary);
  add_types(keys, t, vocabulary);
  add_merges(keys, t);
  if (t->end_of_text != TOKENIZER_NONE) {
    gguf_add_size(keys, "tokenizer.ggml.bos_token_id", t->end_of_text);
    gguf_add_size(keys, "tokenizer.ggml.eos_token_id", t->end_of_text);
  }
  gguf_add_switch(keys, "tokenizer.ggml.add_bos_token", false);
  return MOUSSE_OK;
}
