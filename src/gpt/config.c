/* config.c - the size of a model: checked, named, counted. */
#include "base/text.h"
#include "gpt/gpt.h"

#include <string.h>

/* Far above any model that runs here, and low enough that no product of two of them wraps. */
enum { LARGEST_VOCABULARY = 1 << 24, LARGEST_LAYERS = 1 << 12, LARGEST_WIDTH = 1 << 16 };
enum { LARGEST_HEAD = 1024, LARGEST_SEQUENCE = 1 << 20 };

static mousse_status check_range(const char *name, size_t value, size_t largest,
                                 mo_error *error)
{
  if (value >= 1 && value <= largest) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_OUT_OF_RANGE, "%s is %zu, expected 1 to %zu", name, value,
                 largest);
}

mousse_status gpt_config_check(const gpt_config *config, mo_error *error)
{
  MO_TRY(check_range("vocab_size", config->vocab_size, LARGEST_VOCABULARY, error));
  MO_TRY(check_range("n_layer", config->n_layer, LARGEST_LAYERS, error));
  MO_TRY(check_range("model_dim (n_embd)", config->n_embd, LARGEST_WIDTH, error));
  MO_TRY(check_range("n_head", config->n_head, config->n_embd, error));
  MO_TRY(check_range("sequence_len", config->sequence_len, LARGEST_SEQUENCE, error));
  if (config->n_embd % config->n_head != 0)
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "model_dim (n_embd) is %zu, which %zu heads do not divide; choose a multiple of "
        "n_head",
        config->n_embd, config->n_head);
  const size_t head = config->n_embd / config->n_head;
  if (head % 2 != 0 || head > LARGEST_HEAD)
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "model_dim (n_embd) %zu / n_head %zu gives heads of %zu numbers; the rotary embedding "
        "needs an even number of at most %d",
        config->n_embd, config->n_head, head, LARGEST_HEAD);
  return MOUSSE_OK;
}

static const struct {
  const char *name;
  gpt_config config;
} presets[] = {
#define GPT_PRESET(name, vocabulary, layers, heads, width, context)                            \
  {name, {vocabulary, layers, heads, width, context}},
#include "gpt/presets.def"
#undef GPT_PRESET
};

enum { PRESET_COUNT = sizeof presets / sizeof *presets };

const char *gpt_preset_name(size_t index)
{
  return index < PRESET_COUNT ? presets[index].name : NULL;
}

mousse_status gpt_preset(const char *name, gpt_config *config, mo_error *error)
{
  mo_suggestion suggestion = mo_suggest(name);
  for (size_t i = 0; i < PRESET_COUNT; i++) {
    if (strcmp(name, presets[i].name) == 0) {
      *config = presets[i].config;
      return MOUSSE_OK;
    }
    mo_suggest_from(&suggestion, presets[i].name);
  }
  const char *nearest = suggestion.best != NULL ? suggestion.best : presets[0].name;
  return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                 "there is no model preset '%s'; did you mean '%s'?", name, nearest);
}

size_t gpt_parameter_count(const gpt_config *config)
{
  const size_t width = config->n_embd;
  return 2 * config->vocab_size * width + 12 * config->n_layer * width * width;
}

double gpt_flops_per_token(const gpt_config *config, size_t sequence)
{
  const double width = (double)config->n_embd, layers = (double)config->n_layer;
  const double products = 12 * layers * width * width + width * (double)config->vocab_size;
  return 6 * products + 6 * layers * width * (double)sequence;
}
