/* test_formats.c - files of other programs: what is refused, by name, and how numbers are
 * rounded. That what is read is right is the business of tests/parity. */
#include "base/half.h"
#include "formats/gguf_parts.h"
#include "formats/hf_config.h"
#include "formats/hf_weights.h"
#include "formats/llmc.h"
#include "scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LLAMA                                                                                  \
  "\"architectures\":[\"LlamaForCausalLM\"],\"vocab_size\":5,\"hidden_size\":8,"               \
  "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"intermediate_size\":6"
#define GPT2 "\"model_type\":\"gpt2\",\"vocab_size\":5,\"n_embd\":8,\"n_layer\":1,\"n_head\":2"

static mousse_status parse(const char *text, gpt_config *config, mo_error *error)
{
  bool foreign = false;
  model_family family = FAMILY_NONE;
  return hf_parse_config(config, &foreign, &family, "config.json", text, strlen(text), error);
}

static void test_configurations_that_are_refused(void **state)
{
  (void)state;
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"{\"architectures\":[\"GemmaForCausalLM\"]}", "'GemmaForCausalLM' is not supported"},
      {"{\"model_type\":\"mamba\"}", "'mamba' is not supported"},
      {"{\"architectures\":[3]}", "(not text)"},
      {"{\"architectures\":\"LlamaForCausalLM\"}", "is not supported"},
      {"{" LLAMA ",\"quantization_config\":{\"bits\":4}}", "has quantization_config"},
      {"{" LLAMA ",\"attn_logit_softcapping\":50.0}", "has attn_logit_softcapping"},
      {"{" LLAMA ",\"num_local_experts\":8}", "has num_local_experts"},
      {"{" LLAMA ",\"rope_interleaved\":true}", "rope_interleaved is true"},
      {"{" LLAMA ",\"partial_rotary_factor\":0.5}", "partial_rotary_factor is 0.5"},
      {"{" LLAMA ",\"layer_types\":[\"full_attention\",\"sliding_attention\"]}",
       "layer_types has 'sliding_attention'"},
      {"{" LLAMA ",\"layer_types\":3}", "layer_types is not a list"},
      {"{" LLAMA ",\"hidden_act\":\"gelu\"}", "hidden_act 'gelu' is not supported"},
      {"{" LLAMA ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4}}", "'yarn'"},
      {"{" LLAMA ",\"rope_scaling\":{\"rope_type\":7}}", "(not text)"},
      {"{" LLAMA ",\"rope_scaling\":{\"type\":\"linear\"}}", "rope_factor is 0"},
      {"{" LLAMA ",\"rope_scaling\":4}", "rope_scaling"},
      {"{" LLAMA ",\"num_key_value_heads\":3}", "n_kv_head is 3"},
      {"{" LLAMA ",\"num_key_value_heads\":-1}", "num_key_value_heads is not a whole number"},
      {"{" LLAMA ",\"head_dim\":3}", "heads of 3 numbers"},
      {"{" LLAMA ",\"rms_norm_eps\":\"small\"}", "rms_norm_eps is not a number"},
      {"{" LLAMA ",\"rms_norm_eps\":0}", "rms_norm_eps is 0, expected a number above 0"},
      {"{" LLAMA ",\"rope_theta\":0}", "rope_theta is 0, expected a number above 0"},
      {"{" LLAMA ",\"rope_parameters\":{\"rope_theta\":0}}", "rope_theta is 0"},
      {"{" GPT2 ",\"layer_norm_epsilon\":0.0}", "layer_norm_epsilon is 0"},
      {"{" LLAMA ",\"tie_word_embeddings\":1}", "tie_word_embeddings is not true or false"},
      {"{" LLAMA ",\"max_position_embeddings\":100000000000}", "sequence_len"},
      {"{" GPT2 ",\"activation_function\":\"relu\"}", "activation_function 'relu'"},
      {"{" GPT2 ",\"scale_attn_by_inverse_layer_idx\":true}",
       "scale_attn_by_inverse_layer_idx"},
      {"{" GPT2 ",\"scale_attn_weights\":false}", "scale_attn_weights is false"},
      {"{" GPT2 ",\"add_cross_attention\":true}", "add_cross_attention is true"},
      {"{\"model_type\":\"gpt2\",\"vocab_size\":5}", "n_embd is missing"},
      {"{\"model_type\":\"qwen3\",\"use_sliding_window\":true,\"vocab_size\":5,"
       "\"hidden_size\":8,\"num_hidden_layers\":1,\"num_attention_heads\":2,"
       "\"intermediate_size\":6}",
       "use_sliding_window is true"},
      {"{\"model_type\":\"mousse\"}", "vocab_size is missing"},
      {"[]", "expected an object"},
      {"{", "line 1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_error error = {{0}};
    gpt_config config = {0};
    assert_int_equal(parse(cases[i].text, &config, &error), MOUSSE_BAD_FORMAT);
    if (strstr(error.text, cases[i].expected) == NULL || config.vocab_size != 0)
      fail_msg("%s: '%s', expected '%s'", cases[i].text, error.text, cases[i].expected);
  }
}

static void test_configurations_that_are_read(void **state)
{
  (void)state;
  mo_error error = {{0}};
  gpt_config c = {0};
  assert_int_equal(parse("{" GPT2 "}", &c, &error), MOUSSE_OK);
  assert_int_equal(family_of(&c), FAMILY_GPT2);
  assert_true(c.tied && c.sequence_len == 1024 && c.mlp_width == 32);
  assert_int_equal(parse("{" LLAMA ",\"rope_parameters\":{\"rope_theta\":500.0,"
                         "\"rope_type\":\"default\"}}",
                         &c, &error),
                   MOUSSE_OK);
  assert_int_equal(family_of(&c), FAMILY_LLAMA);
  assert_true(c.rope_theta == 500.0 && c.rope_scaling == GPT_SCALING_NONE && !c.tied);
}

/* Within its window a Mistral attends to everything. */
static void test_windows_of_mistral(void **state)
{
  (void)state;
  static const struct {
    const char *more;
    size_t context;
  } cases[] = {{",\"sliding_window\":16", 16}, {",\"sliding_window\":null", 32768}, {"", 4096}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[400];
    mo_error error = {{0}};
    gpt_config c = {0};
    snprintf(text, sizeof text,
             "{\"model_type\":\"mistral\",\"vocab_size\":5,\"hidden_size\":8,"
             "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"intermediate_size\":6,"
             "\"max_position_embeddings\":32768%s}",
             cases[i].more);
    assert_int_equal(parse(text, &c, &error), MOUSSE_OK);
    assert_int_equal(c.sequence_len, cases[i].context);
  }
}

/* Layers of Mistral, Qwen2 and Qwen3 do not look at the keys of biases that others have. */
static void test_biases_of_families(void **state)
{
  (void)state;
  static const struct {
    const char *type;
    bool qkv, proj, mlp;
    model_family family;
  } cases[] = {{"llama", true, true, true, FAMILY_LLAMA},
               {"mistral", false, false, false, FAMILY_LLAMA},
               {"qwen2", true, false, false, FAMILY_QWEN2},
               {"qwen3", true, true, false, FAMILY_QWEN3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[400];
    mo_error error = {{0}};
    gpt_config c = {0};
    snprintf(text, sizeof text,
             "{\"model_type\":\"%s\",\"vocab_size\":5,\"hidden_size\":8,"
             "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"intermediate_size\":6,"
             "\"attention_bias\":true,\"mlp_bias\":true}",
             cases[i].type);
    assert_int_equal(parse(text, &c, &error), MOUSSE_OK);
    assert_int_equal(c.qkv_bias, cases[i].qkv);
    assert_int_equal(c.proj_bias, cases[i].proj);
    assert_int_equal(c.mlp_bias, cases[i].mlp);
    assert_int_equal(family_of(&c), cases[i].family);
  }
}

/* A table that no family has is none's, however near it is. */
static void test_biases_of_no_family(void **state)
{
  (void)state;
  mo_error error = {{0}};
  gpt_config c = {0};
  assert_int_equal(parse("{" LLAMA "}", &c, &error), MOUSSE_OK);
  c.proj_bias = true;
  assert_int_equal(family_of(&c), FAMILY_NONE);
  c.qkv_bias = true;
  assert_int_equal(family_of(&c), FAMILY_LLAMA);
  c.proj_bias = false;
  assert_int_equal(family_of(&c), FAMILY_QWEN2);
}

/* Presets of public models are what their published config.json says. */
static void test_presets(void **state)
{
  (void)state;
#define PUBLISHED_GPT2(width, layers, heads)                                                   \
  "{\"activation_function\":\"gelu_new\",\"architectures\":[\"GPT2LMHeadModel\"],"             \
  "\"attn_pdrop\":0.1,\"bos_token_id\":50256,\"embd_pdrop\":0.1,\"eos_token_id\":50256,"       \
  "\"initializer_range\":0.02,\"layer_norm_epsilon\":1e-05,\"model_type\":\"gpt2\","           \
  "\"n_ctx\":1024,\"n_embd\":" #width ",\"n_head\":" #heads ",\"n_layer\":" #layers            \
  ",\"n_positions\":1024,\"resid_pdrop\":0.1,\"vocab_size\":50257}"
#define PUBLISHED_LLAMA(width, layers, heads, kv, mlp, context, theta, tied, vocabulary)       \
  "{\"architectures\":[\"LlamaForCausalLM\"],\"attention_bias\":false,"                        \
  "\"hidden_act\":\"silu\",\"hidden_size\":" #width ",\"intermediate_size\":" #mlp             \
  ",\"max_position_embeddings\":" #context ",\"model_type\":\"llama\","                        \
  "\"num_attention_heads\":" #heads ",\"num_hidden_layers\":" #layers                          \
  ",\"num_key_value_heads\":" #kv ",\"pretraining_tp\":1,\"rms_norm_eps\":1e-05,"              \
  "\"rope_scaling\":null,\"rope_theta\":" #theta ",\"tie_word_embeddings\":" #tied             \
  ",\"torch_dtype\":\"bfloat16\",\"use_cache\":true,\"vocab_size\":" #vocabulary "}"
  static const struct {
    const char *name, *text;
    size_t parameters; /* as published */
  } published[] = {
      {"gpt2", PUBLISHED_GPT2(768, 12, 12), 124439808},
      {"gpt2-medium", PUBLISHED_GPT2(1024, 24, 16), 354823168},
      {"SmolLM2-135M", PUBLISHED_LLAMA(576, 30, 9, 3, 1536, 8192, 100000, true, 49152),
       134515008},
      {"SmolLM2-360M", PUBLISHED_LLAMA(960, 32, 15, 5, 2560, 8192, 100000, true, 49152),
       361821120},
      {"TinyLlama-1.1B", PUBLISHED_LLAMA(2048, 22, 32, 4, 5632, 2048, 10000.0, false, 32000),
       1100048384},
      {"Qwen3-0.6B",
       "{\"architectures\":[\"Qwen3ForCausalLM\"],\"attention_bias\":false,\"head_dim\":128,"
       "\"hidden_act\":\"silu\",\"hidden_size\":1024,\"intermediate_size\":3072,"
       "\"max_position_embeddings\":40960,\"max_window_layers\":28,\"model_type\":\"qwen3\","
       "\"num_attention_heads\":16,\"num_hidden_layers\":28,\"num_key_value_heads\":8,"
       "\"rms_norm_eps\":1e-06,\"rope_scaling\":null,\"rope_theta\":1000000,"
       "\"sliding_window\":null,\"tie_word_embeddings\":true,\"use_sliding_window\":false,"
       "\"vocab_size\":151936}",
       596049920},
  };
  for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
    mo_error error = {{0}};
    gpt_config read = {0}, preset = {0};
    if (parse(published[i].text, &read, &error) != MOUSSE_OK) fail_msg("%s", error.text);
    assert_int_equal(gpt_preset(published[i].name, &preset, &error), MOUSSE_OK);
    if (!gpt_config_equal(&read, &preset)) fail_msg("%s differs", published[i].name);
    assert_int_equal(gpt_parameter_count(&preset), published[i].parameters);
  }
}

static void test_index(void **state)
{
  (void)state;
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"{\"weight_map\":{\"a\":\"../other.safetensors\"}}", "in the same folder"},
      {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "in the same folder"},
      {"{\"weight_map\":{\"a\":\"\"}}", "in the same folder"},
      {"{\"weight_map\":{\"a\":1}}", "(not text)"},
      {"{\"weight_map\":[]}", "weight_map is not an object"},
      {"{\"weight_map\":{}}", "weight_map is not an object"},
      {"{}", "weight_map"},
      {"", "line"},
  };
  hf_index index;
  mo_error error = {{0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(
        hf_index_parse(&index, "index", cases[i].text, strlen(cases[i].text), &error),
        MOUSSE_BAD_FORMAT);
    if (strstr(error.text, cases[i].expected) == NULL) fail_msg("'%s'", error.text);
  }
  const char *good = "{\"weight_map\":{\"a\":\"x.st\",\"b\":\"y.st\",\"c\":\"x.st\"}}";
  assert_int_equal(hf_index_parse(&index, "index", good, strlen(good), &error), MOUSSE_OK);
  assert_int_equal(index.count, 2);
  hf_index_close(&index);
}

/* The sizes of one file, and of all that an index names. */
static void test_sizes_of_weights(void **state)
{
  static const char index[] = "{\"weight_map\":{\"a\":\"x.st\",\"b\":\"y.st\",\"c\":\"x.st\"}}";
  uint64_t bytes = 0;
  mo_error error = {{0}};
  const model_place one = {*state, scratch_write(state, "x.st", "12345", 5)};
  const model_place all = {*state, scratch_write(state, "i.json", index, strlen(index))};
  assert_int_equal(format_weights_bytes(&one, &bytes, &error), MOUSSE_OK);
  assert_int_equal(bytes, 5);
  assert_int_equal(format_weights_bytes(&all, &bytes, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "/y.st: cannot open"));
  scratch_write(state, "y.st", "123", 3);
  assert_int_equal(format_weights_bytes(&all, &bytes, &error), MOUSSE_OK);
  assert_int_equal(bytes, 8);
}

/* What a file of llm.c cannot say is not lost in silence. */
static void test_llmc_epsilon(void **state)
{
  (void)state;
  mo_error error = {{0}};
  gpt_config c = {0};
  gpt_params *params = NULL;
  assert_int_equal(parse("{" GPT2 ",\"layer_norm_epsilon\":1e-6}", &c, &error), MOUSSE_OK);
  assert_int_equal(gpt_params_create(&params, &c, false, NULL, &error), MOUSSE_OK);
  const model_export model = {params, NULL, NUMBER_F32, "tiny"};
  assert_int_equal(llmc_write(&model, "/nowhere/model.bin", &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "1e-06"));
  gpt_params_destroy(params);
}

/* A tiny GPT-2, its checkpoint of llm.c, and what damage to that says. */
static void test_llmc(void **state)
{
  (void)state;
  char path[] = "/tmp/mousse_llmcXXXXXX";
  mo_error error = {{0}};
  gpt_config c = {0}, read;
  gpt_params *params = NULL, *again = NULL;
  char *data = NULL;
  size_t size = 0;
  assert_int_equal(parse("{" GPT2 ",\"n_positions\":6}", &c, &error), MOUSSE_OK);
  assert_int_equal(gpt_params_create(&params, &c, false, NULL, &error), MOUSSE_OK);
  gpt_params_initialise(params, 3, 1);
  const int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  const model_export model = {params, NULL, NUMBER_F32, "tiny"};
  assert_int_equal(llmc_write(&model, path, &error), MOUSSE_OK);
  assert_true(llmc_is_checkpoint(path));
  assert_int_equal(llmc_read_config(path, &read, &error), MOUSSE_OK);
  assert_true(gpt_config_equal(&read, &c));
  read.sequence_len = 4; /* the first positions of a longer table */
  assert_int_equal(gpt_params_create(&again, &read, false, NULL, &error), MOUSSE_OK);
  assert_int_equal(llmc_read_weights(path, again, &error), MOUSSE_OK);
  assert_memory_equal(again->values, params->values, (5 + 4) * 8 * sizeof(float));
  assert_memory_equal(again->values + 9 * 8, params->values + 11 * 8,
                      (params->value_count - 88) * sizeof(float));
  assert_int_equal(mo_file_read(NULL, path, 1 << 20, &data, &size, &error), MOUSSE_OK);
  unsigned char *bytes = (unsigned char *)data;
  assert_int_equal(llmc_parse_header("f", bytes, size - 4, &read, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "cut off"));
  assert_int_equal(llmc_parse_header("f", bytes, 100, &read, &error), MOUSSE_BAD_FORMAT);
  bytes[4] = 1; /* version */
  assert_int_equal(llmc_parse_header("f", bytes, size, &read, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "version 1"));
  mo_release(NULL, data, size + 1);
  gpt_params_destroy(params);
  gpt_params_destroy(again);
  unlink(path);
}

/* Every half comes back as it was; what lies between two goes to the nearer, ties to even. */
static void test_half_precision(void **state)
{
  (void)state;
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    const uint16_t half = (uint16_t)bits;
    const float value = mo_from_float16(half), brain = mo_from_bfloat16(half);
    if (!isnan(value)) assert_int_equal(mo_to_float16(value), half);
    if (!isnan(brain)) assert_int_equal(mo_to_bfloat16(brain), half);
    if (isnan(value)) assert_true(isnan(mo_from_float16(mo_to_float16(value))));
    if (isnan(brain)) assert_true(isnan(mo_from_bfloat16(mo_to_bfloat16(brain))));
  }
  for (uint16_t half = 0; half < 0x7bff; half++) {
    const float low = mo_from_float16(half), high = mo_from_float16((uint16_t)(half + 1));
    const float middle = low + (high - low) / 2;
    assert_int_equal(mo_to_float16(middle), half + (half & 1));
    assert_int_equal(mo_to_float16(nextafterf(middle, high)), half + 1);
    assert_int_equal(mo_to_float16(nextafterf(-middle, 0)), half | 0x8000);
  }
  assert_int_equal(mo_to_float16(65520.0f), 0x7c00);
  assert_int_equal(mo_to_float16(65519.996f), 0x7bff);
  assert_int_equal(mo_to_bfloat16(1.0f + 0x1p-8f), 0x3f80);
  assert_int_equal(mo_to_bfloat16(1.0f + 0x1.8p-7f), 0x3f82);
}

static void test_blocks_of_eight_bits(void **state)
{
  (void)state;
  float x[Q8_BLOCK] = {0};
  unsigned char bytes[Q8_BYTES];
  number_encode(NUMBER_Q8_0, x, Q8_BLOCK, bytes);
  for (size_t i = 0; i < Q8_BYTES; i++) assert_int_equal(bytes[i], 0);
  for (int i = 0; i < Q8_BLOCK; i++) x[i] = (float)(i - 16) / 16;
  number_encode(NUMBER_Q8_0, x, Q8_BLOCK, bytes);
  const float step = mo_from_float16((uint16_t)(bytes[0] | bytes[1] << 8));
  for (int i = 0; i < Q8_BLOCK; i++)
    assert_true(fabsf(step * (float)(signed char)bytes[2 + i] - x[i]) < 0.005f);
  assert_int_equal((signed char)bytes[2], -127);
  assert_int_equal(number_bytes(NUMBER_Q8_0, 64), 68);
}

/* Numbers that a type would turn into others are refused; NaN and infinities stay what they are
 * where there are such. */
static void test_numbers_that_types_hold(void **state)
{
  (void)state;
  static const struct {
    float value;
    bool f16, bf16, q8;
  } cases[] = {
      {0, true, true, true},         {1e-44f, true, true, true},
      {65519, true, true, true},     {-65520, false, true, true},
      {8.4e6f, false, true, false},  {3.4e38f, false, false, false},
      {INFINITY, true, true, false}, {NAN, true, true, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const float x[] = {1, cases[i].value};
    const mousse_status no = MOUSSE_OUT_OF_RANGE;
    mo_error error = {{0}};
    assert_int_equal(number_check(NUMBER_F32, "w", x, 2, &error), MOUSSE_OK);
    assert_int_equal(number_check(NUMBER_F16, "w", x, 2, &error), cases[i].f16 ? 0 : no);
    assert_int_equal(number_check(NUMBER_BF16, "w", x, 2, &error), cases[i].bf16 ? 0 : no);
    assert_int_equal(number_check(NUMBER_Q8_0, "w", x, 2, &error), cases[i].q8 ? 0 : no);
    if (!cases[i].q8) assert_non_null(strstr(error.text, "'w' has the number"));
  }
}

/* Nothing is left of a model that its type cannot hold, whatever the format. */
static void test_models_that_types_hold(void **state)
{
  (void)state;
  mo_error error = {{0}};
  gpt_config c = {0};
  gpt_params *params = NULL;
  assert_int_equal(parse("{" GPT2 "}", &c, &error), MOUSSE_OK);
  assert_int_equal(gpt_params_create(&params, &c, false, NULL, &error), MOUSSE_OK);
  params->values[3] = 3.4e38f;
  const model_export model = {params, NULL, NUMBER_BF16, "tiny"};
  assert_int_equal(llmc_write(&model, "/nowhere/model.bin", &error), MOUSSE_OUT_OF_RANGE);
  assert_int_equal(hf_write(&model, "/nowhere", &error), MOUSSE_OUT_OF_RANGE);
  assert_non_null(strstr(error.text, "'transformer.wte.weight' has the number 3.4e+38"));
  gpt_params_destroy(params);
}

/* What a killed export leaves is ours to remove, also where a file was just being written. */
static void test_names_of_files(void **state)
{
  (void)state;
  assert_true(hf_is_file("generation_config.json"));
  assert_true(hf_is_file("generation_config.json.123.tmp"));
  assert_false(hf_is_file("generation_config.json.tmp"));
  assert_false(hf_is_file("notes.txt"));
}

/* llama.cpp finds user-defined tokens in text; control tokens are those that text does not have. */
static void test_kinds_of_tokens_in_gguf(void **state)
{
  static const char key[] = "tokenizer.ggml.token_type";
  enum { BEHIND_KEY = 4 + 4 + 8, BYTE = 'a', FOUND = 256, SHOWN, END };
  mo_tokenizer t = {0};
  mo_error error = {{0}};
  gguf_keys keys = {0};
  int32_t types[END + 2];
  uint32_t number = 0;
  bool added = false;
  (void)state;
  for (unsigned i = 0; i < 256; i++)
    assert_int_equal(tokenizer_add_token(&t, &(char){(char)i}, 1, false, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_token(&t, "<think>", 7, true, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_token(&t, "<|im_end|>", 10, true, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_token(&t, "<|endoftext|>", 13, true, &error), MOUSSE_OK);
  assert_true(mo_text_table_add(&t.shown, "<think>", 7, &number, &added));
  assert_true(mo_text_table_add(&t.shown, "<|im_end|>", 10, &number, &added));
  assert_true(added_tokens_add(&t.found, (added_token){"<think>", 7, FOUND}));
  added_tokens_sort(&t.found);
  assert_int_equal(tokenizer_finish(&t, "t", NULL, &error), MOUSSE_OK);
  assert_int_equal(gguf_add_tokenizer(&keys, &t, END + 2, &error), MOUSSE_OK);
  const char *found = memmem(keys.bytes.data, keys.bytes.size, key, strlen(key));
  assert_non_null(found);
  memcpy(types, found + strlen(key) + BEHIND_KEY, sizeof types);
  assert_int_equal(types[BYTE], 1);
  assert_int_equal(types[FOUND], 4);
  assert_int_equal(types[SHOWN], 3); /* not special in its file, and never found in text */
  assert_int_equal(types[END], 3);
  assert_int_equal(types[END + 1], 5); /* a row that is no token's */
  mo_buffer_close(&keys.bytes);
  tokenizer_close(&t);
}

/* The tokens for bytes of SentencePiece's kind. */
static void add_bytes(mo_tokenizer *t)
{
  mo_error error = {{0}};
  *t = (mo_tokenizer){.sentencepiece = true};
  for (unsigned k = 0; k < 256; k++) {
    char text[8];
    snprintf(text, sizeof text, "<0x%02X>", k);
    assert_int_equal(tokenizer_add_token(t, text, 6, false, &error), MOUSSE_OK);
  }
}

/* SentencePiece's kind: llama.cpp joins any two neighbours that are a token, also a special one. */
static void test_joined_tokens_in_gguf(void **state)
{
  static const struct {
    const char *pieces[2], *word; /* word NULL: fine */
  } cases[] = {{{"<x", "y>"}, NULL}, {{"</", "s>"}, "'</s>', can be put together"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_tokenizer t;
    mo_error error = {{0}};
    gguf_keys keys = {0};
    add_bytes(&t);
    for (size_t k = 0; k < 2; k++)
      assert_int_equal(tokenizer_add_token(&t, cases[i].pieces[k], 2, false, &error),
                       MOUSSE_OK);
    assert_int_equal(tokenizer_add_token(&t, "\xe2\x96\x81", 3, false, &error), MOUSSE_OK);
    assert_int_equal(tokenizer_add_token(&t, "</s>", 4, true, &error), MOUSSE_OK);
    assert_int_equal(tokenizer_finish(&t, "t", NULL, &error), MOUSSE_OK);
    const mousse_status status = gguf_add_tokenizer(&keys, &t, 300, &error);
    assert_int_equal(status, cases[i].word == NULL ? MOUSSE_OK : MOUSSE_INVALID_ARGUMENT);
    if (cases[i].word != NULL && strstr(error.text, cases[i].word) == NULL)
      fail_msg("case %zu: '%s' does not say '%s'", i, error.text, cases[i].word);
    mo_buffer_close(&keys.bytes);
    tokenizer_close(&t);
  }
}

/* Of a token of some megabytes, looking at all its parts would take hours. */
static void test_long_tokens_in_gguf(void **state)
{
  enum { LENGTH = 4 << 20 };
  mo_tokenizer t;
  mo_error error = {{0}};
  gguf_keys keys = {0};
  char *text = malloc(LENGTH);
  (void)state;
  assert_non_null(text);
  add_bytes(&t);
  memset(text, 'a', LENGTH);
  assert_int_equal(tokenizer_add_token(&t, text, LENGTH, false, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_finish(&t, "t", NULL, &error), MOUSSE_OK);
  assert_int_equal(gguf_add_tokenizer(&keys, &t, 300, &error), MOUSSE_INVALID_ARGUMENT);
  assert_non_null(strstr(error.text, "has 4194304 bytes"));
  free(text);
  mo_buffer_close(&keys.bytes);
  tokenizer_close(&t);
}

/* Tokens that are found in text: llama.cpp finds the longest one first, wherever it is, and puts a
 * space behind each where it puts one before a text. */
static void test_found_tokens_in_gguf(void **state)
{
  static const struct {
    const char *tokens[3], *word; /* word NULL: fine */
    tokenizer_prefix prefix;
  } cases[] = {
      {{"<think>", "</think>", "<thinking>"}, NULL, TOKENIZER_PREFIX_NONE},
      {{"  ", "   ", "    "}, NULL, TOKENIZER_PREFIX_NONE},
      {{"abc", "b", "bc"}, NULL, TOKENIZER_PREFIX_NONE}, /* one inside another */
      {{"ab", "bcd", "x"}, "'ab' and 'bcd' can overlap", TOKENIZER_PREFIX_NONE},
      {{"ab", "abc", "bcde"}, "'ab' and 'bcde' can overlap", TOKENIZER_PREFIX_NONE},
      {{"ab", "bcd", "abcd"}, NULL, TOKENIZER_PREFIX_NONE}, /* the longest is also the first */
      {{"<x>", "<y>", "<z>"}, "prepend_scheme first", TOKENIZER_PREFIX_FIRST},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_tokenizer t = {.prefix = cases[i].prefix};
    mo_error error = {{0}};
    gguf_keys keys = {0};
    for (unsigned k = 0; k < 256; k++)
      assert_int_equal(tokenizer_add_token(&t, &(char){(char)k}, 1, false, &error), MOUSSE_OK);
    assert_int_equal(tokenizer_finish(&t, "t", NULL, &error), MOUSSE_OK);
    for (uint32_t k = 0; k < 3; k++) {
      const char *text = cases[i].tokens[k];
      assert_true(added_tokens_add(&t.found, (added_token){text, strlen(text), 256 + k}));
    }
    added_tokens_sort(&t.found);
    assert_int_equal(gguf_add_tokenizer(&keys, &t, 300, &error),
                     cases[i].word == NULL ? MOUSSE_OK : MOUSSE_INVALID_ARGUMENT);
    if (cases[i].word != NULL && strstr(error.text, cases[i].word) == NULL)
      fail_msg("case %zu: '%s' does not say '%s'", i, error.text, cases[i].word);
    mo_buffer_close(&keys.bytes);
    tokenizer_close(&t);
  }
}

/* Words that are tokens: taken as they are with Llama 3's rule and merged with others, whatever
 * the tokenizer says; that is refused where it matters. */
static void test_whole_words_in_gguf(void **state)
{
  static const char llama3[] =
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
      " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  (void)state;
  for (unsigned i = 0; i < 8; i++) {
    const bool whole = i & 1, theirs = i & 2, merged = i & 4;
    mo_tokenizer t = {.whole_words = whole};
    mo_error error = {{0}};
    gguf_keys keys = {0};
    for (unsigned k = 0; k < 256; k++)
      assert_int_equal(tokenizer_add_token(&t, &(char){(char)k}, 1, false, &error), MOUSSE_OK);
    assert_int_equal(tokenizer_add_token(&t, "ab", 2, false, &error), MOUSSE_OK);
    assert_int_equal(tokenizer_add_token(&t, "<|endoftext|>", 13, true, &error), MOUSSE_OK);
    if (merged) assert_int_equal(tokenizer_add_merge(&t, "a", 1, "b", 1, &error), MOUSSE_OK);
    assert_int_equal(tokenizer_finish(&t, "t", theirs ? llama3 : NULL, &error), MOUSSE_OK);
    const bool fine = merged || whole == theirs;
    assert_int_equal(gguf_add_tokenizer(&keys, &t, 258, &error),
                     fine ? MOUSSE_OK : MOUSSE_INVALID_ARGUMENT);
    if (!fine) assert_non_null(strstr(error.text, "token 256, 'ab', is not what its merges"));
    mo_buffer_close(&keys.bytes);
    tokenizer_close(&t);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_configurations_that_are_refused),
      cmocka_unit_test(test_configurations_that_are_read),
      cmocka_unit_test(test_windows_of_mistral),
      cmocka_unit_test(test_biases_of_families),
      cmocka_unit_test(test_biases_of_no_family),
      cmocka_unit_test(test_presets),
      cmocka_unit_test(test_index),
      scratch_test(test_sizes_of_weights),
      cmocka_unit_test(test_llmc),
      cmocka_unit_test(test_llmc_epsilon),
      cmocka_unit_test(test_half_precision),
      cmocka_unit_test(test_blocks_of_eight_bits),
      cmocka_unit_test(test_numbers_that_types_hold),
      cmocka_unit_test(test_models_that_types_hold),
      cmocka_unit_test(test_names_of_files),
      cmocka_unit_test(test_kinds_of_tokens_in_gguf),
      cmocka_unit_test(test_joined_tokens_in_gguf),
      cmocka_unit_test(test_long_tokens_in_gguf),
      cmocka_unit_test(test_found_tokens_in_gguf),
      cmocka_unit_test(test_whole_words_in_gguf),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
