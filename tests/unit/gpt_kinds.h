/* gpt_kinds.h - one small model of every kind, and what tests of them need. */
#ifndef TESTS_UNIT_GPT_KINDS_H
#define TESTS_UNIT_GPT_KINDS_H

#include "base/random.h"
#include "check.h"
#include "gpt/gpt.h"

#include <stdlib.h>

/* Odd in every way: heads of 10 numbers, vocabulary and rows that no tile divides. */
#define ODD_SIZES .vocab_size = 53, .n_layer = 2, .n_head = 3, .n_embd = 30, .sequence_len = 150
/* The paper's model, then one of every family, and one without tensors behind its layers. */
static const gpt_config kinds[] = {
    {ODD_SIZES},
    {ODD_SIZES, .norm = GPT_LAYER_NORM, .position = GPT_LEARNED, .qk_norm = GPT_QK_NONE,
     .mlp = GPT_GELU_TANH, .qkv_bias = true, .proj_bias = true, .mlp_bias = true, .tied = true},
    {ODD_SIZES, .norm = GPT_RMS_GAIN, .position = GPT_ROPE_LLAMA, .qk_norm = GPT_QK_NONE,
     .mlp = GPT_SWIGLU, .mlp_width = 77, .n_kv_head = 1},
    {ODD_SIZES, .norm = GPT_RMS_GAIN, .position = GPT_ROPE_LLAMA, .qk_norm = GPT_QK_GAIN,
     .mlp = GPT_SWIGLU, .head_size = 14, .tied = true},
    {ODD_SIZES, .tied = true, .mlp = GPT_GELU, .qkv_bias = true},
};
static gpt_config odd = {ODD_SIZES}; /* the one that is tested */

static inline uint32_t *make_tokens(size_t count, size_t vocabulary, uint64_t seed)
{
  uint32_t *tokens = malloc(count * sizeof *tokens);
  assert_non_null(tokens);
  for (size_t i = 0; i < count; i++)
    tokens[i] = (uint32_t)mo_random_below(seed, 0, i, vocabulary);
  return tokens;
}

static inline gpt_params *make_params(const gpt_config *config, bool gradients)
{
  mo_error error = {{0}};
  gpt_params *params = NULL;
  assert_int_equal(gpt_params_create(&params, config, gradients, NULL, &error), MOUSSE_OK);
  gpt_params_initialise(params, 42, 2);
  return params;
}

static inline gpt_pass *make_pass(gpt_params *params, gpt_shape shape)
{
  mo_error error = {{0}};
  gpt_pass *pass = NULL;
  assert_int_equal(gpt_pass_create(&pass, params, &shape, NULL, &error), MOUSSE_OK);
  return pass;
}

#endif
