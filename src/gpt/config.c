/* config.c - the table of a model: checked, named, counted, compared. */
#include "gpt/config.h"

#include "base/text.h"
#include "gpt/name_pattern.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Far above any model that runs here, and low enough that no product of two of them wraps. */
enum { LARGEST_VOCABULARY = 1 << 24, LARGEST_LAYERS = 1 << 12, LARGEST_WIDTH = 1 << 16 };
enum {
  LARGEST_HEAD = 1024,
  LARGEST_SEQUENCE = 1 << 20,
  LARGEST_MLP = 1 << 20,
  LARGEST_RANK = 4096
};

static mousse_status check_range(const char *name, size_t value, size_t largest,
                                 mo_error *error)
{
  if (value >= 1 && value <= largest) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_OUT_OF_RANGE, "%s is %zu, expected 1 to %zu", name, value,
                 largest);
}

static mousse_status check_number(const char *name, double value, double low, double high,
                                  mo_error *error)
{
  if (value >= low && value <= high) return MOUSSE_OK; /* false for NaN */
  return mo_fail(error, MOUSSE_OUT_OF_RANGE, "%s is %g, expected %g to %g", name, value, low,
                 high);
}

static mousse_status check_heads(const gpt_config *c, mo_error *error)
{
  if (c->head_size == 0 && c->n_embd % c->n_head != 0)
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "model_dim (n_embd) is %zu, which %zu heads do not divide; choose a multiple "
        "of n_head",
        c->n_embd, c->n_head);
  const gpt_config r = gpt_config_resolved(c);
  const bool turned = r.position != GPT_LEARNED || r.qk_norm != GPT_QK_NONE;
  if ((r.head_size % 2 != 0 && turned) || r.head_size > LARGEST_HEAD)
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "model_dim (n_embd) %zu / n_head %zu gives heads of %zu numbers; the rotary embedding "
        "needs an even number of at most %d",
        r.n_embd, r.n_head, r.head_size, LARGEST_HEAD);
  if (r.n_kv_head > r.n_head || r.n_head % r.n_kv_head != 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "n_kv_head is %zu, which does not divide the %zu heads", r.n_kv_head,
                   r.n_head);
  return check_range("n_head * head_size", r.n_head * r.head_size, LARGEST_WIDTH, error);
}

static mousse_status check_rope(const gpt_config *c, mo_error *error)
{
  const gpt_config r = gpt_config_resolved(c);
  MO_TRY(check_number("rope_theta", r.rope_theta, 1, 1e15, error));
  if (r.rope_scaling == GPT_SCALING_NONE) return MOUSSE_OK;
  MO_TRY(check_number("rope_factor", r.rope_factor, 1, 1e6, error));
  if (r.rope_scaling == GPT_SCALING_LINEAR) return MOUSSE_OK;
  MO_TRY(check_number("rope_low", r.rope_low, 1e-3, 1e6, error));
  MO_TRY(check_number("rope_high", r.rope_high, r.rope_low * (1 + 1e-9), 1e6, error));
  MO_TRY(check_number("rope_context", r.rope_context, 1, LARGEST_SEQUENCE, error));
  if (r.rope_context == floor(r.rope_context)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "rope_context is %g, expected a whole number",
                 r.rope_context);
}

static mousse_status check_lora(const gpt_config *c, mo_error *error)
{
  regex_t expression;
  if (c->lora_rank == 0) return MOUSSE_OK;
  MO_TRY(check_range("lora_rank", c->lora_rank, LARGEST_RANK, error));
  MO_TRY(check_number("lora_alpha", c->lora_alpha, 0, 1e6, error));
  MO_TRY(name_pattern_open(&expression, "lora_targets", c->lora_targets, error));
  regfree(&expression);
  return MOUSSE_OK;
}

mousse_status gpt_config_check(const gpt_config *c, mo_error *error)
{
  MO_TRY(check_range("vocab_size", c->vocab_size, LARGEST_VOCABULARY, error));
  MO_TRY(check_range("n_layer", c->n_layer, LARGEST_LAYERS, error));
  MO_TRY(check_range("model_dim (n_embd)", c->n_embd, LARGEST_WIDTH, error));
  MO_TRY(check_range("n_head", c->n_head, LARGEST_WIDTH, error));
  MO_TRY(check_range("sequence_len", c->sequence_len, LARGEST_SEQUENCE, error));
  if (c->mlp_width > 0) MO_TRY(check_range("mlp_width", c->mlp_width, LARGEST_MLP, error));
  if (c->head_size > 0) MO_TRY(check_range("head_size", c->head_size, LARGEST_HEAD, error));
  MO_TRY(check_number("epsilon", c->epsilon, 0, 1, error));
  MO_TRY(check_heads(c, error));
  MO_TRY(check_lora(c, error));
  return check_rope(c, error);
}

gpt_config gpt_config_resolved(const gpt_config *config)
{
  gpt_config c = *config;
  if (c.n_kv_head == 0) c.n_kv_head = c.n_head;
  if (c.head_size == 0) c.head_size = c.n_embd / c.n_head;
  if (c.mlp_width == 0) c.mlp_width = 4 * c.n_embd;
  if (c.epsilon == 0) c.epsilon = FLT_EPSILON;
  if (c.rope_theta == 0) c.rope_theta = 10000;
  if (c.lora_alpha == 0) c.lora_alpha = 2 * (double)c.lora_rank;
  return c;
}

gpt_config gpt_config_base(const gpt_config *config)
{
  gpt_config c = *config;
  c.lora_rank = 0;
  c.lora_alpha = 0;
  memset(c.lora_targets, 0, sizeof c.lora_targets);
  return c;
}

bool gpt_config_equal(const gpt_config *left, const gpt_config *right)
{
  const gpt_config a = gpt_config_resolved(left), b = gpt_config_resolved(right);
  bool equal = true;
#define CONFIG_NEEDED(member)        equal = equal && a.member == b.member;
#define CONFIG_SIZE(member)          equal = equal && a.member == b.member;
#define CONFIG_CHOICE(member, names) equal = equal && a.member == b.member;
#define CONFIG_SWITCH(member)        equal = equal && a.member == b.member;
#define CONFIG_NUMBER(member)        equal = equal && !(a.member < b.member || a.member > b.member);
#define CONFIG_TEXT(member)          equal = equal && strcmp(a.member, b.member) == 0;
#include "gpt/config.def"
  return equal;
}

static const struct {
  const char *name;
  gpt_config config;
} presets[] = {
#define GPT_PRESET(label, vocabulary, layers, heads, width, context, ...)                      \
  {label,                                                                                      \
   {.vocab_size = vocabulary,                                                                  \
    .n_layer = layers,                                                                         \
    .n_head = heads,                                                                           \
    .n_embd = width,                                                                           \
    .sequence_len = context,                                                                   \
    __VA_ARGS__}},
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
  char names[256] = "";
  for (size_t i = 0; i < PRESET_COUNT; i++) {
    if (strcmp(name, presets[i].name) == 0) {
      *config = presets[i].config;
      return MOUSSE_OK;
    }
    mo_list_add(names, sizeof names, presets[i].name);
  }
  return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                 "there is no model preset '%s'; choose from %s, or set n_layer, n_head and "
                 "model_dim",
                 name, names);
}

double gpt_flops_per_token(const gpt_config *config, size_t sequence)
{
  const gpt_config c = gpt_config_resolved(config);
  const double width = (double)c.n_embd, layers = (double)c.n_layer;
  const double attended = (double)(c.n_head * c.head_size);
  const double shared = (double)(c.n_kv_head * c.head_size);
  const double mlp = (c.mlp == GPT_SWIGLU ? 3 : 2) * (double)c.mlp_width;
  const double products = layers * width * (2 * attended + 2 * shared + mlp);
  return 6 * (products + width * (double)c.vocab_size) +
         6 * layers * attended * (double)sequence;
}
