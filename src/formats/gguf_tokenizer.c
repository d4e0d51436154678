/* gguf_tokenizer.c - a tokenizer as llama.cpp's keys have it.
 *
 *     "gpt2"    byte-level: tokens in the byte alphabet and merges. llama.cpp knows split rules by
 *               name only, so that a tokenizer must have one of these rules. The name also says
 *               whether words that are tokens are merged.
 *     "llama"   SentencePiece's kind: no merges but scores, minus the rank of a token's first
 *               merge. llama.cpp joins any two neighbours that are a token together, so the
 *               merges must be all that there can be, as those of SentencePiece's files are.
 */
#include "base/utf8.h"
#include "data/tokenizer/alphabet.h"
#include "data/tokenizer/chat.h"
#include "data/tokenizer/sentencepiece.h"
#include "formats/gguf_parts.h"

#include <stdio.h>
#include <string.h>

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5, BYTE = 6 };
enum { MOST_COMPARED = 100000000, LONGEST_CHECKED = 4096 };

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

/* Appends a token as it is spelled: in the byte alphabet, SentencePiece's and special ones as
 * they are. */
static bool spell(const mo_tokenizer *t, uint32_t id, mo_buffer *out)
{
  size_t length = 0;
  const char *bytes = mo_text_table_get(&t->tokens, id, &length);
  if (t->sentencepiece || tokenizer_is_special(t, id)) return mo_buffer_add(out, bytes, length);
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

static bool find_unknown(const mo_tokenizer *t, uint32_t *id)
{
  return mo_text_table_find(&t->tokens, "<unk>", strlen("<unk>"), id);
}

/* llama.cpp finds user-defined tokens in any text, and control tokens only where it is told to. */
static int32_t type_of(const mo_tokenizer *t, uint32_t id)
{
  size_t length = 0;
  uint32_t unknown = TOKENIZER_NONE;
  if (id >= t->tokens.count) return UNUSED;
  const char *text = mo_text_table_get(&t->tokens, id, &length);
  if (t->sentencepiece && find_unknown(t, &unknown) && id == unknown) return UNKNOWN;
  if (tokenizer_is_special(t, id)) return tokenizer_is_found(t, id) ? USER_DEFINED : CONTROL;
  return t->sentencepiece && sentencepiece_byte(text, length) >= 0 ? BYTE : NORMAL;
}

static void add_types(gguf_keys *keys, const mo_tokenizer *t, size_t vocabulary)
{
  gguf_add_array(keys, "tokenizer.ggml.token_type", GGUF_INTEGER, vocabulary);
  for (uint32_t id = 0; id < vocabulary; id++) {
    const int32_t type = type_of(t, id);
    gguf_put(keys, &type, sizeof type);
  }
}

/* Minus the rank of the first merge that makes a token; other tokens come after all merges. */
static void add_scores(gguf_keys *keys, const mo_tokenizer *t, size_t vocabulary)
{
  float *scores = mo_allocate(NULL, vocabulary * sizeof *scores);
  if (scores == NULL) {
    keys->no_memory = true;
    return;
  }
  for (size_t id = 0; id < vocabulary; id++) scores[id] = -(float)t->merge_count;
  for (size_t rank = t->merge_count; rank-- > 0;) {
    const tokenizer_merge m = t->merges[rank];
    scores[mo_pair_table_find(&t->pairs, m.left, m.right)->result] = -(float)rank;
  }
  gguf_add_array(keys, "tokenizer.ggml.scores", GGUF_NUMBER, vocabulary);
  gguf_put(keys, scores, vocabulary * sizeof *scores);
  mo_release(NULL, scores, vocabulary * sizeof *scores);
}

/* Is every way to put a token together from two others a merge? Takes the square of its length. */
static bool has_all_merges(const mo_tokenizer *t, uint32_t id)
{
  size_t length = 0;
  const char *text = mo_text_table_get(&t->tokens, id, &length);
  for (size_t at = 1; at < length; at++) {
    uint32_t left = 0, right = 0;
    if (mo_utf8_continues(text[at]) || !mo_text_table_find(&t->tokens, text, at, &left) ||
        !mo_text_table_find(&t->tokens, text + at, length - at, &right))
      continue;
    if (mo_pair_table_find(&t->pairs, left, right) == NULL) return false;
  }
  return true;
}

/* Special tokens, too: llama.cpp joins neighbours to any token that there is. Only those that are
 * found in text have been cut out of it before. */
static mousse_status check_merges(const mo_tokenizer *t, mo_error *error)
{
  for (uint32_t id = 0; id < t->tokens.count; id++) {
    size_t length = 0;
    const char *text = mo_text_table_get(&t->tokens, id, &length);
    if (tokenizer_is_found(t, id)) continue;
    if (length > LONGEST_CHECKED)
      return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "token %u, '%.80s...', has %zu bytes, too many to see whether llama.cpp "
                     "puts it together by the tokenizer's merges only (at most %d); this "
                     "tokenizer cannot be written as GGUF",
                     id, text, length, LONGEST_CHECKED);
    if (has_all_merges(t, id)) continue;
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "token %u, '%.*s', can be put together in a way that is not among the "
                   "tokenizer's merges; llama.cpp takes every way and would give text other "
                   "ids, so this tokenizer cannot be written as GGUF",
                   id, length < 80 ? (int)length : 80, text);
  }
  if (!t->each_space) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "the tokenizer cuts text at every space (Metaspace's split), which llama.cpp "
                 "cannot do, so it cannot be written as GGUF");
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

static mousse_status count_piece(void *user, const char *piece, size_t length)
{
  size_t *count = user;
  (void)piece;
  (void)length;
  ++*count;
  return MOUSSE_OK;
}

/* Is the token a piece of the rule that its own merges do not make? */
static mousse_status find_unmade(const mo_tokenizer *t, uint32_t id, split_scratch *scratch,
                                 mo_encoder *encoder, bool *unmade, mo_error *error)
{
  size_t length = 0, pieces = 0;
  mo_id_list ids = {0};
  const char *text = mo_text_table_get(&t->tokens, id, &length);
  *unmade = false;
  if (type_of(t, id) != NORMAL || mo_utf8_prefix(text, length) != length) return MOUSSE_OK;
  MO_TRY(split_text(t->rule, scratch, text, length, count_piece, &pieces, error));
  if (pieces != 1) return MOUSSE_OK;
  const mousse_status status = encoder_encode(encoder, text, length, &ids, error);
  *unmade = status == MOUSSE_OK && ids.count != 1;
  mo_id_list_close(&ids);
  return status;
}

static mousse_status find_all_unmade(const mo_tokenizer *t, split_scratch *scratch,
                                     mo_encoder *encoder, mo_error *error)
{
  for (uint32_t id = 0; id < t->tokens.count; id++) {
    bool unmade = false;
    size_t length = 0;
    MO_TRY(find_unmade(t, id, scratch, encoder, &unmade, error));
    if (!unmade) continue;
    const char *text = mo_text_table_get(&t->tokens, id, &length);
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "token %u, '%.*s', is not what its merges make of it, and with this split "
                   "rule llama.cpp %s (ignore_merges is %s in the tokenizer), so text would "
                   "have other ids; this tokenizer cannot be written as GGUF",
                   id, length < 80 ? (int)length : 80, text,
                   t->whole_words ? "merges such words" : "takes such words as they are",
                   t->whole_words ? "true" : "false");
  }
  return MOUSSE_OK;
}

/* llama.cpp takes a word that is a token as it is with Llama 3's rule, and merges it with any
 * other. Where the tokenizer has that the other way round, both must come to the same. */
static mousse_status check_whole_words(const mo_tokenizer *t, const char *rule, mo_error *error)
{
  split_scratch *scratch = NULL;
  mo_encoder *encoder = NULL;
  mo_tokenizer merging = *t; /* borrows all of it */
  merging.whole_words = merging.nfc = false;
  merging.found = merging.found_late = (added_tokens){0};
  if (t->rule == NULL || t->whole_words == (strcmp(rule, "llama-bpe") == 0)) return MOUSSE_OK;
  mousse_status status = split_scratch_open(&scratch, t->rule, error);
  if (status == MOUSSE_OK) status = encoder_open(&encoder, &merging, error);
  if (status == MOUSSE_OK) status = find_all_unmade(t, scratch, encoder, error);
  encoder_close(encoder);
  split_scratch_close(scratch);
  return status;
}

/* Is `longer`, where it begins inside of `first`, not what is found in the text they make? */
static bool hides(const added_tokens *tokens, const added_token *first, size_t at,
                  const added_token *longer)
{
  char text[2 * ADDED_LONGEST];
  size_t start = 0;
  memcpy(text, first->text, at);
  memcpy(text + at, longer->text, longer->length);
  const added_token *found = added_tokens_find(tokens, text, at + longer->length, &start);
  return found != NULL && found != longer && found->length <= longer->length;
}

/* A longer token that begins with the end of `first` and is hidden by it; NULL: none. *left: how
 * many more may be compared, for files that are made to take forever. */
static const added_token *find_hidden(const added_tokens *tokens, const added_token *first,
                                      size_t *left)
{
  for (size_t at = 1; at < first->length; at++) {
    const unsigned char byte = (unsigned char)first->text[at];
    for (size_t i = tokens->first[byte]; i < tokens->first[byte + 1] && *left > 0; i++) {
      --*left;
      const added_token *longer = &tokens->sorted[i];
      if (longer->length > first->length &&
          memcmp(first->text + at, longer->text, first->length - at) == 0 &&
          hides(tokens, first, at, longer))
        return longer;
    }
  }
  return NULL;
}

/* llama.cpp looks for the longest token in all of a text, then for the next, and so on; we take
 * what comes first in the text, as Hugging Face's libraries do. */
static mousse_status check_order(const added_tokens *tokens, mo_error *error)
{
  size_t left = MOST_COMPARED;
  for (size_t i = 0; i < tokens->count && left > 0; i++) {
    const added_token *first = &tokens->sorted[i], *hidden = find_hidden(tokens, first, &left);
    if (hidden == NULL) continue;
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "the added tokens '%.*s' and '%.*s' can overlap in a text, where the first "
                   "one is found, but llama.cpp finds the longer one; this tokenizer cannot be "
                   "written as GGUF",
                   (int)first->length, first->text, (int)hidden->length, hidden->text);
  }
  if (left > 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "the tokenizer has %zu added tokens that are not special, too many to see "
                 "whether llama.cpp finds the same ones; it cannot be written as GGUF",
                 tokens->count);
}

static mousse_status check_found(const mo_tokenizer *t, mo_error *error)
{
  if (t->found.count + t->found_late.count > 0 && t->prefix == TOKENIZER_PREFIX_FIRST)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "the tokenizer puts no space behind added tokens that are not special "
                   "(prepend_scheme first), and llama.cpp does, so text would have other ids; "
                   "this tokenizer cannot be written as GGUF");
  MO_TRY(check_order(&t->found, error));
  return check_order(&t->found_late, error);
}

static mousse_status check(const mo_tokenizer *t, size_t vocabulary, mo_error *error)
{
  if (t == NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "a GGUF file needs a tokenizer, and there is none beside the weights");
  if (t->tokens.count > vocabulary)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "the tokenizer has %u tokens, the model's vocabulary %zu", t->tokens.count,
                   vocabulary);
  MO_TRY(check_found(t, error));
  if (t->sentencepiece) return check_merges(t, error);
  const char *rule = rule_name(t);
  if (rule != NULL) return check_whole_words(t, rule, error);
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "llama.cpp has no split rule '%.80s'; GPT-2's, Llama 3's, Qwen's and SmolLM's "
                 "can be written as GGUF",
                 t->pattern);
}

static void add_sentencepiece(gguf_keys *keys, const mo_tokenizer *t, size_t vocabulary)
{
  uint32_t unknown = 0;
  gguf_add_text(keys, "tokenizer.ggml.model", "llama");
  gguf_add_text(keys, "tokenizer.ggml.pre", "default");
  add_tokens(keys, t, vocabulary);
  add_types(keys, t, vocabulary);
  add_scores(keys, t, vocabulary);
  gguf_add_switch(keys, "tokenizer.ggml.add_space_prefix", t->prefix != TOKENIZER_PREFIX_NONE);
  if (find_unknown(t, &unknown))
    gguf_add_size(keys, "tokenizer.ggml.unknown_token_id", unknown);
}

static void add_byte_level(gguf_keys *keys, const mo_tokenizer *t, size_t vocabulary)
{
  gguf_add_text(keys, "tokenizer.ggml.model", "gpt2");
  gguf_add_text(keys, "tokenizer.ggml.pre", rule_name(t));
  add_tokens(keys, t, vocabulary);
  add_types(keys, t, vocabulary);
  add_merges(keys, t);
}

static void add_chat_template(gguf_keys *keys, const mo_tokenizer *t)
{
  chat_template chat;
  if (chat_template_open(&chat, t, CHAT_AUTO, NULL) != MOUSSE_OK) return;
  const char *jinja = chat_template_jinja(&chat);
  if (jinja != NULL) gguf_add_text(keys, "tokenizer.chat_template", jinja);
  if (chat.end != t->end_of_text) gguf_add_size(keys, "tokenizer.ggml.eot_token_id", chat.end);
}

mousse_status gguf_add_tokenizer(gguf_keys *keys, const mo_tokenizer *t, size_t vocabulary,
                                 mo_error *error)
{
  MO_TRY(check(t, vocabulary, error));
  (t->sentencepiece ? add_sentencepiece : add_byte_level)(keys, t, vocabulary);
  const uint32_t first = tokenizer_first(t);
  if (first != TOKENIZER_NONE) gguf_add_size(keys, "tokenizer.ggml.bos_token_id", first);
  if (t->end_of_text != TOKENIZER_NONE)
    gguf_add_size(keys, "tokenizer.ggml.eos_token_id", t->end_of_text);
  gguf_add_switch(keys, "tokenizer.ggml.add_bos_token", t->start_of_text != TOKENIZER_NONE);
  gguf_add_switch(keys, "tokenizer.ggml.add_eos_token", false);
  add_chat_template(keys, t);
  return MOUSSE_OK;
}
