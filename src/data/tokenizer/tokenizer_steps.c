/* tokenizer_steps.c - normalizer, pre_tokenizer, post_processor and decoder of tokenizer.json.
 *
 *     byte-level     no normalizer or NFC; ByteLevel alone, after a Split or after Digits
 *     SentencePiece  model.byte_fallback; spaces become U+2581 by a normalizer (Prepend and
 *                    Replace) or by the pre_tokenizer Metaspace
 *     any            TemplateProcessing puts a token before every text; what adds others is refused
 */
#include "data/tokenizer/tokenizer_steps.h"

#include "data/tokenizer/sentencepiece.h"

#include <string.h>

static const char gpt2_split[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|"
                                 " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* Every digit alone, then GPT-2's rule, as one expression: what ends at a digit ends there. */
static const char digits_split[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+|\\p{N}|"
                                   " ?[^\\s\\p{L}\\p{N}]+|\\s+(?![^\\s\\p{N}])|\\s+";

static bool is_type(const json_t *object, const char *type)
{
  const char *text = json_string_value(json_object_get(object, "type"));
  return text != NULL && strcmp(text, type) == 0;
}

static bool is_text(const json_t *value, const char *text)
{
  return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

static bool is_absent(const json_t *value)
{
  return value == NULL || json_is_null(value);
}

/* GPT-2's ByteLevel alone, Split by an expression followed by ByteLevel without one, or single
 * Digits followed by GPT-2's. */
static mousse_status read_pattern(const json_t *pre, const char *name, const char **pattern,
                                  mo_error *error)
{
  const json_t *steps = json_object_get(pre, "pretokenizers");
  const json_t *split = json_array_get(steps, 0), *bytes = pre;
  *pattern = NULL;
  if (is_type(pre, "Sequence") && json_array_size(steps) == 2 && is_type(split, "Split")) {
    bytes = json_array_get(steps, 1);
    *pattern = json_string_value(json_object_get(json_object_get(split, "pattern"), "Regex"));
    const char *behavior = json_string_value(json_object_get(split, "behavior"));
    const bool usable = *pattern != NULL && behavior != NULL &&
                        strcmp(behavior, "Isolated") == 0 &&
                        !json_is_true(json_object_get(split, "invert")) &&
                        json_is_false(json_object_get(bytes, "use_regex"));
    if (!usable) bytes = NULL;
    if (usable && strcmp(*pattern, gpt2_split) == 0) *pattern = NULL;
  } else if (is_type(pre, "Sequence") && json_array_size(steps) == 2 &&
             is_type(split, "Digits")) {
    bytes = json_array_get(steps, 1);
    *pattern = digits_split;
    if (!json_is_true(json_object_get(split, "individual_digits")) ||
        json_is_false(json_object_get(bytes, "use_regex")))
      bytes = NULL;
  } else if (json_is_false(json_object_get(bytes, "use_regex"))) {
    bytes = NULL; /* text that is not split at all */
  }
  if (!is_type(bytes, "ByteLevel") || json_is_true(json_object_get(bytes, "add_prefix_space")))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: pre_tokenizer is not supported; expected ByteLevel without "
                   "add_prefix_space, alone or after Digits (with use_regex), or after one "
                   "Split (Regex, Isolated; without use_regex)",
                   name);
  return MOUSSE_OK;
}

static bool replaces_spaces(const json_t *step)
{
  const json_t *pattern = json_object_get(json_object_get(step, "pattern"), "String");
  return is_type(step, "Replace") && is_text(pattern, " ") &&
         is_text(json_object_get(step, "content"), SENTENCEPIECE_SPACE);
}

static bool prepends_space(const json_t *step)
{
  return is_type(step, "Prepend") &&
         is_text(json_object_get(step, "prepend"), SENTENCEPIECE_SPACE);
}

/* Replace, or Prepend and Replace. */
static bool read_spelling(mo_tokenizer *tokenizer, const json_t *normalizer)
{
  const json_t *steps = json_object_get(normalizer, "normalizers");
  const json_t *last = normalizer;
  size_t count = 1;
  if (is_type(normalizer, "Sequence")) {
    count = json_array_size(steps);
    last = count > 0 ? json_array_get(steps, count - 1) : NULL;
  }
  if (count == 2) tokenizer->prefix = TOKENIZER_PREFIX_ALWAYS;
  return replaces_spaces(last) &&
         (count == 1 || (count == 2 && prepends_space(json_array_get(steps, 0))));
}

/* Old files say add_prefix_space, new ones prepend_scheme and split; the defaults are the
 * library's. */
static bool read_metaspace(mo_tokenizer *tokenizer, const json_t *pre)
{
  const json_t *scheme = json_object_get(pre, "prepend_scheme");
  const bool never =
      is_text(scheme, "never") ||
      (scheme == NULL && json_is_false(json_object_get(pre, "add_prefix_space")));
  if (!never)
    tokenizer->prefix =
        is_text(scheme, "first") ? TOKENIZER_PREFIX_FIRST : TOKENIZER_PREFIX_UNLESS_SPACE;
  tokenizer->each_space = !json_is_false(json_object_get(pre, "split"));
  return is_type(pre, "Metaspace") &&
         is_text(json_object_get(pre, "replacement"), SENTENCEPIECE_SPACE) &&
         (scheme == NULL || never || is_text(scheme, "first") || is_text(scheme, "always"));
}

static mousse_status read_spaces(mo_tokenizer *tokenizer, const json_t *root, const char *name,
                                 mo_error *error)
{
  const json_t *normalizer = json_object_get(root, "normalizer");
  const json_t *pre = json_object_get(root, "pre_tokenizer");
  if (tokenizer->whole_words)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: model.ignore_merges together with model.byte_fallback is not supported",
                   name);
  if (is_absent(pre) ? read_spelling(tokenizer, normalizer)
                     : is_absent(normalizer) && read_metaspace(tokenizer, pre))
    return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: with model.byte_fallback, spaces must become U+2581 by the normalizer "
                 "(Replace, or Prepend and Replace) without a pre_tokenizer, or by the "
                 "pre_tokenizer Metaspace without a normalizer",
                 name);
}

static mousse_status check_model(const json_t *model, const char *name, mo_error *error)
{
  static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
  const json_t *type = json_object_get(model, "type");
  if (!json_is_object(model) || (type != NULL && !is_type(model, "BPE")))
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: model.type is not BPE", name);
  for (size_t i = 0; i < 2; i++) {
    const json_t *affix = json_object_get(model, affixes[i]);
    if (!is_absent(affix) && !is_text(affix, ""))
      return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: model.%s is not supported", name,
                     affixes[i]);
  }
  return MOUSSE_OK;
}

mousse_status tokenizer_read_steps(mo_tokenizer *tokenizer, const json_t *root,
                                   const char *name, const char **pattern, mo_error *error)
{
  const json_t *model = json_object_get(root, "model");
  const json_t *normalizer = json_object_get(root, "normalizer");
  MO_TRY(check_model(model, name, error));
  tokenizer->whole_words = json_is_true(json_object_get(model, "ignore_merges"));
  tokenizer->sentencepiece = json_is_true(json_object_get(model, "byte_fallback"));
  if (tokenizer->sentencepiece) return read_spaces(tokenizer, root, name, error);
  tokenizer->nfc = is_type(normalizer, "NFC");
  if (!is_absent(normalizer) && !tokenizer->nfc)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: its normalizer is not supported; byte-level BPE has none or NFC, and "
                   "SentencePiece tokenizers set model.byte_fallback",
                   name);
  return read_pattern(json_object_get(root, "pre_tokenizer"), name, pattern, error);
}

/* Is `single` the text alone, or one token and the text? *start: that token's name, or NULL. */
static bool read_single(const json_t *template, const json_t **start)
{
  const json_t *single = json_object_get(template, "single");
  const size_t count = json_array_size(single);
  const json_t *text = json_array_get(single, count == 2 ? 1 : 0);
  const json_t *first = json_object_get(json_array_get(single, 0), "SpecialToken");
  if (count != 1 && count != 2) return false;
  if (!is_text(json_object_get(json_object_get(text, "Sequence"), "id"), "A")) return false;
  *start = count == 2 ? json_object_get(first, "id") : NULL;
  if (count == 1) return true;
  const json_t *tokens = json_object_get(template, "special_tokens");
  const json_t *described = json_object_get(tokens, json_string_value(*start));
  return json_is_string(*start) &&
         (described == NULL || json_array_size(json_object_get(described, "ids")) == 1);
}

/* One step: ByteLevel, which changes no ids, or the template. */
static mousse_status read_post(const json_t *step, const char *name, const json_t **start,
                               mo_error *error)
{
  const json_t *found = NULL;
  const char *type = json_string_value(json_object_get(step, "type"));
  if (is_type(step, "ByteLevel")) return MOUSSE_OK;
  if (!is_type(step, "TemplateProcessing"))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: post_processor of type '%.80s' is not supported; expected ByteLevel, "
                   "TemplateProcessing, or a Sequence of these",
                   name, type != NULL ? type : "(none)");
  if (read_single(step, &found) && (found == NULL || *start == NULL)) {
    if (found != NULL) *start = found;
    return MOUSSE_OK;
  }
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: post_processor: TemplateProcessing puts other tokens around a text than "
                 "one before it, which is not supported; its 'single' may be the Sequence A, "
                 "alone or behind one SpecialToken",
                 name);
}

/* *start: what is put before every text; NULL: nothing. */
static mousse_status read_post_processor(const json_t *post, const char *name,
                                         const json_t **start, mo_error *error)
{
  const json_t *step = NULL;
  size_t index = 0;
  if (is_absent(post)) return MOUSSE_OK;
  if (!is_type(post, "Sequence")) return read_post(post, name, start, error);
  json_array_foreach(json_object_get(post, "processors"), index, step)
      MO_TRY(read_post(step, name, start, error));
  return MOUSSE_OK;
}

mousse_status tokenizer_read_start(mo_tokenizer *tokenizer, const json_t *root,
                                   const char *name, mo_error *error)
{
  const json_t *token = NULL;
  uint32_t id = 0;
  MO_TRY(read_post_processor(json_object_get(root, "post_processor"), name, &token, error));
  if (token == NULL) return MOUSSE_OK;
  if (!mo_text_table_find(&tokenizer->specials, json_string_value(token),
                          json_string_length(token), &id) ||
      !mo_text_table_find(&tokenizer->tokens, json_string_value(token),
                          json_string_length(token), &id))
    return mo_fail(
        error, MOUSSE_BAD_FORMAT,
        "%s: post_processor puts '%.80s' before every text, which is not an added token", name,
        json_string_value(token));
  tokenizer->start_of_text = id;
  return MOUSSE_OK;
}

static json_t *byte_level_json(bool use_regex)
{
  return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                   "trim_offsets", 1, "use_regex", use_regex);
}

static json_t *replace_json(const char *from, const char *to)
{
  return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "String", from,
                   "content", to);
}

/* Metaspace's way is written as Metaspace, that of a normalizer as one. */
static bool uses_metaspace(const mo_tokenizer *t)
{
  return t->sentencepiece && (t->each_space || t->prefix == TOKENIZER_PREFIX_FIRST ||
                              t->prefix == TOKENIZER_PREFIX_UNLESS_SPACE);
}

static const char *scheme_of(const mo_tokenizer *t)
{
  if (t->prefix == TOKENIZER_PREFIX_NONE) return "never";
  return t->prefix == TOKENIZER_PREFIX_FIRST ? "first" : "always";
}

static json_t *normalizer_json(const mo_tokenizer *t)
{
  if (t->nfc) return json_pack("{s:s}", "type", "NFC");
  if (!t->sentencepiece || uses_metaspace(t)) return json_null();
  if (t->prefix == TOKENIZER_PREFIX_NONE) return replace_json(" ", SENTENCEPIECE_SPACE);
  return json_pack("{s:s, s:[{s:s, s:s}, o]}", "type", "Sequence", "normalizers", "type",
                   "Prepend", "prepend", SENTENCEPIECE_SPACE,
                   replace_json(" ", SENTENCEPIECE_SPACE));
}

static json_t *pre_tokenizer_json(const mo_tokenizer *t)
{
  if (uses_metaspace(t))
    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement",
                     SENTENCEPIECE_SPACE, "prepend_scheme", scheme_of(t), "split",
                     t->each_space);
  if (t->sentencepiece) return json_null();
  if (t->pattern == NULL) return byte_level_json(true);
  return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence",
                   "pretokenizers", "type", "Split", "pattern", "Regex", t->pattern, "behavior",
                   "Isolated", "invert", 0, byte_level_json(false));
}

static json_t *sequence_json(const char *name)
{
  return json_pack("{s:{s:s, s:i}}", "Sequence", "id", name, "type_id", 0);
}

static json_t *post_processor_json(const mo_tokenizer *t)
{
  size_t length = 0;
  if (t->start_of_text == TOKENIZER_NONE)
    return t->sentencepiece ? json_null() : byte_level_json(true);
  const char *token = mo_text_table_get(&t->tokens, t->start_of_text, &length);
  json_t *start =
      json_pack("{s:{s:s%, s:i}}", "SpecialToken", "id", token, length, "type_id", 0);
  json_t *described = json_pack("{s:s%, s:[i], s:[s%]}", "id", token, length, "ids",
                                (int)t->start_of_text, "tokens", token, length);
  json_t *specials = json_object();
  json_object_setn_new(specials, token, length, described);
  return json_pack("{s:s, s:[O, o], s:[O, o, o, o], s:o}", "type", "TemplateProcessing",
                   "single", start, sequence_json("A"), "pair", start, sequence_json("A"),
                   start, sequence_json("B"), "special_tokens", specials);
}

static json_t *decoder_json(const mo_tokenizer *t)
{
  if (!t->sentencepiece) return byte_level_json(true);
  json_t *steps = json_pack("[o, {s:s}, {s:s}]", replace_json(SENTENCEPIECE_SPACE, " "), "type",
                            "ByteFallback", "type", "Fuse");
  if (t->prefix != TOKENIZER_PREFIX_NONE)
    json_array_append_new(steps, json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip", "content",
                                           " ", "start", 1, "stop", 0));
  return json_pack("{s:s, s:o}", "type", "Sequence", "decoders", steps);
}

bool tokenizer_write_steps(const mo_tokenizer *t, json_t *root)
{
  return json_object_set_new(root, "normalizer", normalizer_json(t)) == 0 &&
         json_object_set_new(root, "pre_tokenizer", pre_tokenizer_json(t)) == 0 &&
         json_object_set_new(root, "post_processor", post_processor_json(t)) == 0 &&
         json_object_set_new(root, "decoder", decoder_json(t)) == 0;
}
