/* test_weights.c - safetensors and config.json: what goes out comes back; bad files get a
 * sentence. */
#include "base/file.h"
#include "check.h"
#include "gpt/gpt.h"
#include "gpt/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const gpt_config small = {
    .vocab_size = 5, .n_layer = 1, .n_head = 1, .n_embd = 2, .sequence_len = 4};

/* A file in memory: the header's text, then `data_bytes` zero bytes. */
static mousse_status parse_text(const char *header, size_t data_bytes, mo_error *error)
{
  const size_t length = strlen(header), size = 8 + length + data_bytes;
  unsigned char *bytes = calloc(size, 1); /* exactly as long: the sanitizer guards its end */
  safetensors file;
  assert_non_null(bytes);
  for (size_t i = 0; i < 8; i++) bytes[i] = (unsigned char)(length >> (8 * i));
  memcpy(bytes + 8, header, length);
  const mousse_status status = safetensors_parse(&file, "test", bytes, size, NULL, error);
  if (status == MOUSSE_OK) safetensors_close(&file);
  free(bytes);
  return status;
}

#define ENTRY(shape, offsets)                                                                  \
  "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_bad_headers(void **state)
{
  (void)state;
  static const struct {
    const char *header;
    size_t data_bytes;
    const char *expected;
  } cases[] = {
      {"[]", 0, "does not begin with {"},
      {" {}", 0, "does not begin with {"},
      {"{\"a\":1", 0, "not JSON"},
      {"{}}", 0, "not JSON"},
      {"{\"\xff\":1}", 0, "not JSON"},
      {"{\"a\":1}", 0, "'a' is not described by an object"},
      {"{\"a\":{}}", 0, "'a' has no dtype"},
      {"{\"a\":{\"dtype\":\"F31\"}}", 0, "unknown dtype 'F31'"},
      {"{\"a\":{\"dtype\":\"F32\"}}", 0, "needs a shape"},
      {"{\"a\":" ENTRY("[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "needs a shape"},
      {"{\"a\":" ENTRY("[-1]", "[0,4]") "}", 4, "shape of 'a' must be whole numbers"},
      {"{\"a\":" ENTRY("[1.5]", "[0,4]") "}", 4, "shape of 'a' must be whole numbers"},
      {"{\"a\":" ENTRY("[4294967296,4294967296]", "[0,4]") "}", 4, "more elements than"},
      {"{\"a\":" ENTRY("[4611686018427387904]", "[0,0]") "}", 0, "data_offsets span 0"},
      {"{\"a\":" ENTRY("[1]", "[0]") "}", 4, "two data_offsets"},
      {"{\"a\":" ENTRY("[1]", "[-4,0]") "}", 4, "data_offsets of 'a' must be whole"},
      {"{\"a\":" ENTRY("[1]", "[4,0]") "}", 4, "bytes 4 to 0 of 4"},
      {"{\"a\":" ENTRY("[1]", "[0,8]") "}", 4, "bytes 0 to 8 of 4"},
      {"{\"a\":" ENTRY("[1]", "[0,9223372036854775807]") "}", 4, "bytes 0 to"},
      {"{\"a\":" ENTRY("[1]", "[0,9223372036854775808]") "}", 4, "not JSON"},
      {"{\"a\":" ENTRY("[2]", "[0,4]") "}", 4, "2 elements of 4 bytes"},
      {"{\"a\":" ENTRY("[1]", "[4,8]") "}", 8, "leave a hole"},
      {"{\"a\":" ENTRY("[1]", "[0,4]") ",\"b\":" ENTRY("[1]", "[0,4]") "}", 4, "overlap"},
      {"{\"a\":" ENTRY("[1]", "[0,4]") ",\"a\":" ENTRY("[1]", "[4,8]") "}", 8, "not JSON"},
      {"{\"a\":" ENTRY("[1]", "[0,4]") "}", 7, "3 bytes after the last tensor"},
      {"{}", 1, "1 bytes after the last tensor"},
      {"{\"__metadata__\":1}", 0, "__metadata__ must be"},
      {"{\"__metadata__\":{\"k\":1}}", 0, "'k' is not a text"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_error error = {{0}};
    if (parse_text(cases[i].header, cases[i].data_bytes, &error) != MOUSSE_BAD_FORMAT ||
        strstr(error.text, cases[i].expected) == NULL)
      fail_msg("%s: '%s', expected '%s'", cases[i].header, error.text, cases[i].expected);
  }
}

static void test_good_headers(void **state)
{
  (void)state;
  mo_error error = {{0}};
  assert_int_equal(parse_text("{}", 0, &error), MOUSSE_OK);
  assert_int_equal(parse_text("{\"__metadata__\":{\"format\":\"pt\"}}   ", 0, &error),
                   MOUSSE_OK);
  assert_int_equal(parse_text("{\"s\":" ENTRY("[]", "[0,4]") "}", 4, &error), MOUSSE_OK);
  assert_int_equal(parse_text("{\"b\":" ENTRY("[1]", "[4,8]") ",\"e\":" ENTRY(
                                  "[0,3]", "[4,4]") ",\"a\":" ENTRY("[1,1]", "[0,4]") "}",
                              8, &error),
                   MOUSSE_OK);
}

static void test_bad_lengths(void **state)
{
  (void)state;
  const uint64_t lengths[] = {0, 1, 9, 100000000, 100000001, UINT64_C(1) << 63, UINT64_MAX};
  unsigned char bytes[16] = {0};
  safetensors file;
  mo_error error = {{0}};
  for (size_t size = 0; size < 8; size++)
    assert_int_equal(safetensors_parse(&file, "test", bytes, size, NULL, &error),
                     MOUSSE_BAD_FORMAT);
  memset(bytes + 8, '{', 8);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    for (size_t j = 0; j < 8; j++) bytes[j] = (unsigned char)(lengths[i] >> (8 * j));
    assert_int_equal(safetensors_parse(&file, "test", bytes, 16, NULL, &error),
                     MOUSSE_BAD_FORMAT);
    assert_non_null(strstr(error.text, "a header of"));
  }
}

static void *no_memory(void *user, size_t bytes)
{
  (void)user;
  (void)bytes;
  return NULL;
}

static void no_release(void *user, void *block, size_t bytes)
{
  (void)user;
  (void)block;
  (void)bytes;
}

static void test_no_memory(void **state)
{
  (void)state;
  const mo_allocator allocator = {no_memory, no_release, NULL, false};
  const unsigned char bytes[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
  safetensors file;
  mo_error error = {{0}};
  assert_int_equal(safetensors_parse(&file, "test", bytes, sizeof bytes, &allocator, &error),
                   MOUSSE_NO_MEMORY);
}

static void test_many_names(void **state)
{
  (void)state;
  enum { NAMES = 100000, EACH = 80 };
  char *header = malloc((size_t)NAMES * EACH + 2);
  mo_error error = {{0}};
  size_t used = 0;
  assert_non_null(header);
  for (int i = 0; i < NAMES; i++)
    used += (size_t)snprintf(header + used, EACH, "%c\"t%d\":" ENTRY("[1]", "[%d,%d]"),
                             i == 0 ? '{' : ',', i, 4 * i, 4 * i + 4);
  strcpy(header + used, "}");
  assert_int_equal(parse_text(header, (size_t)4 * NAMES, &error), MOUSSE_OK);
  free(header);
}

/* Each of many names is found, whatever their order; one by one that would take minutes. */
static void test_names_are_found(void **state)
{
  (void)state;
  enum { NAMES = 100000, EACH = 80 };
  const size_t room = (size_t)NAMES * (EACH + 4) + 10;
  unsigned char *data = malloc(room);
  char name[16], *header = (char *)data + 8;
  mo_error error = {{0}};
  safetensors file;
  size_t used = 0;
  assert_non_null(data);
  for (int i = 0; i < NAMES; i++)
    used += (size_t)snprintf(header + used, EACH, "%c\"t%d\":" ENTRY("[1]", "[%d,%d]"),
                             i == 0 ? '{' : ',', i * 7 % NAMES, 4 * i, 4 * i + 4);
  header[used++] = '}';
  for (size_t i = 0; i < 8; i++) data[i] = (unsigned char)(used >> (8 * i));
  assert_int_equal(
      safetensors_parse(&file, "f", data, 8 + used + (size_t)4 * NAMES, NULL, &error),
      MOUSSE_OK);
  for (int i = 0; i < NAMES; i++) {
    snprintf(name, sizeof name, "t%d", i * 7 % NAMES);
    const safetensors_entry *entry = safetensors_find(&file, name);
    assert_true(entry != NULL && entry->data == data + 8 + used + (size_t)4 * (size_t)i);
  }
  assert_null(safetensors_find(&file, "t"));
  safetensors_close(&file);
  free(data);
}

static void make_folder(char *folder)
{
  strcpy(folder, "/tmp/mousse-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
}

static gpt_params *make_params(const gpt_config *config, uint64_t seed)
{
  gpt_params *params = NULL;
  mo_error error = {{0}};
  assert_int_equal(gpt_params_create(&params, config, false, NULL, &error), MOUSSE_OK);
  gpt_params_initialise(params, seed, 1);
  return params;
}

static void test_weights_round_trip(void **state)
{
  (void)state;
  char folder[64], path[128];
  mo_error error = {{0}};
  gpt_config larger = small, deeper = small;
  larger.vocab_size++;
  deeper.n_layer++;
  gpt_params *params = make_params(&small, 1), *other = make_params(&small, 2);
  gpt_params *wrong = make_params(&larger, 1), *missing = make_params(&deeper, 1);
  const size_t bytes = params->value_count * sizeof(float);
  make_folder(folder);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  assert_int_equal(gpt_load_weights(params, path, &error), MOUSSE_IO);
  assert_int_equal(gpt_save_weights(params, path, &error), MOUSSE_OK);
  assert_int_equal(gpt_load_weights(other, path, &error), MOUSSE_OK);
  assert_memory_equal(other->values, params->values, bytes);

  const float kept = wrong->values[0];
  assert_int_equal(gpt_load_weights(wrong, path, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "(5 x 2), expected 6 x 2"));
  assert_true(wrong->values[0] == kept);
  assert_int_equal(gpt_load_weights(missing, path, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "no tensor 'transformer.h.1.attn.c_q.weight'"));
  assert_int_equal(gpt_save_weights(missing, path, &error), MOUSSE_OK);
  assert_int_equal(gpt_load_weights(params, path, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "holds 14 tensors, this model has 8"));
  unlink(path);
  rmdir(folder);
  gpt_params_destroy(params);
  gpt_params_destroy(other);
  gpt_params_destroy(wrong);
  gpt_params_destroy(missing);
}

/* A file of this model's tensors in a two-byte format, every number the same. */
static mousse_status load_halves(gpt_params *params, const char *dtype, uint16_t bits)
{
  char folder[64], path[128], header[4096] = {0};
  unsigned char data[1024];
  mo_error error = {{0}};
  size_t used = 0, offset = 0;
  for (size_t i = 0; i < params->tensor_count; i++) {
    const gpt_tensor *t = &params->tensors[i];
    const size_t end = offset + 2 * t->rows * t->cols;
    used += (size_t)snprintf(header + used, sizeof header - used,
                             "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%zu,%zu],"
                             "\"data_offsets\":[%zu,%zu]}",
                             i == 0 ? '{' : ',', t->name, dtype, t->rows, t->cols, offset, end);
    offset = end;
  }
  used += (size_t)snprintf(header + used, sizeof header - used, "}");
  for (size_t i = 0; i < offset; i += 2) memcpy(data + i, &bits, 2);
  make_folder(folder);
  snprintf(path, sizeof path, "%s/half", folder);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  const uint64_t length = used;
  fwrite(&length, 8, 1, file);
  fwrite(header, 1, used, file);
  fwrite(data, 1, offset, file);
  fclose(file);
  const mousse_status status = gpt_load_weights(params, path, &error);
  unlink(path);
  rmdir(folder);
  return status;
}

static void test_half_precision_files(void **state)
{
  (void)state;
  static const struct {
    const char *dtype;
    uint16_t bits;
    float expected;
  } cases[] = {{"BF16", 0x3fc0, 1.5f},    {"BF16", 0xc000, -2.0f},
               {"F16", 0x3e00, 1.5f},     {"F16", 0xc000, -2.0f},
               {"F16", 0x0001, 0x1p-24f}, {"F16", 0x7bff, 65504.0f},
               {"F16", 0x0000, 0.0f},     {"F16", 0x7c00, __builtin_inff()}};
  gpt_params *params = make_params(&small, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(load_halves(params, cases[i].dtype, cases[i].bits), MOUSSE_OK);
    assert_true(params->values[0] == cases[i].expected);
    assert_true(params->values[params->value_count - 1] == cases[i].expected);
  }
  assert_int_equal(load_halves(params, "I16", 0), MOUSSE_BAD_FORMAT);
  gpt_params_destroy(params);
}

static void test_config_files(void **state)
{
  (void)state;
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"", "line"},
      {"[1]", "expected an object"},
      {"{\"vocab_size\":5}", "n_layer is missing"},
      {"{\"vocab_size\":\"5\"}", "vocab_size is not a whole number"},
      {"{\"vocab_size\":0}", "vocab_size is not a whole number"},
      {"{\"vocab_size\":5,\"n_layer\":1,\"n_head\":3,\"n_embd\":4,\"sequence_len\":4}",
       "3 heads do not divide"},
      {"{\"vocab_size\":5,\"n_layer\":1,\"n_head\":2,\"n_embd\":4,\"sequence_len\":4,"
       "\"n_kv_head\":3}",
       "n_kv_head"},
      {"{\"vocab_size\":5,\"n_layer\":1,\"n_head\":2,\"n_embd\":4,\"sequence_len\":4,"
       "\"mlp\":\"maxout\"}",
       "mlp is not one of relu2, gelu, gelu_tanh, swiglu"},
      {"{\"vocab_size\":5,\"n_layer\":1,\"n_head\":2,\"n_embd\":4,\"sequence_len\":4,"
       "\"tied\":1}",
       "tied is not true or false"},
      {"{\"vocab_size\":5,\"n_layer\":1,\"n_head\":2,\"n_embd\":4,\"sequence_len\":4,"
       "\"epsilon\":\"small\"}",
       "epsilon is not a number"},
  };
  char folder[64], path[128];
  mo_error error = {{0}};
  gpt_config config = {0};
  make_folder(folder);
  snprintf(path, sizeof path, "%s/config.json", folder);
  assert_int_equal(gpt_save_config(&small, path, &error), MOUSSE_OK);
  assert_int_equal(gpt_load_config(&config, path, &error), MOUSSE_OK);
  assert_memory_equal(&config, &small, sizeof config);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(mo_file_write(path, cases[i].text, strlen(cases[i].text), &error),
                     MOUSSE_OK);
    assert_int_equal(gpt_load_config(&config, path, &error), MOUSSE_BAD_FORMAT);
    if (strstr(error.text, cases[i].expected) == NULL || strstr(error.text, path) == NULL)
      fail_msg("'%s', expected '%s'", error.text, cases[i].expected);
    assert_memory_equal(&config, &small, sizeof config);
  }
  unlink(path);
  rmdir(folder);
}

/* Configuration and weights of every preset's kind of model, small, come back as they went. */
static void test_every_kind_of_model(void **state)
{
  (void)state;
  const char *name = NULL;
  char folder[64], path[128];
  mo_error error = {{0}};
  make_folder(folder);
  snprintf(path, sizeof path, "%s/file", folder);
  for (size_t i = 0; (name = gpt_preset_name(i)) != NULL; i++) {
    gpt_config config, again;
    assert_int_equal(gpt_preset(name, &config, &error), MOUSSE_OK);
    assert_int_equal(gpt_save_config(&config, path, &error), MOUSSE_OK);
    assert_int_equal(gpt_load_config(&again, path, &error), MOUSSE_OK);
    assert_true(gpt_config_equal(&config, &again));
    config.n_layer = 2;
    config.vocab_size = config.mlp_width = 6;
    config.n_embd = config.n_head * 2;
    gpt_params *params = make_params(&config, i), *loaded = make_params(&config, i + 1);
    assert_int_equal(gpt_save_weights(params, path, &error), MOUSSE_OK);
    assert_int_equal(gpt_load_weights(loaded, path, &error), MOUSSE_OK);
    assert_memory_equal(params->values, loaded->values, params->value_count * sizeof(float));
    gpt_params_destroy(params);
    gpt_params_destroy(loaded);
  }
  unlink(path);
  rmdir(folder);
}

/* Three bytes of a header may become a hundred in memory: too many values are not parsed. */
static void test_a_header_of_little_values(void **state)
{
  enum { COUNT = 1200000, SIZE = 8 + 3 * COUNT + 16 };
  unsigned char *bytes = test_malloc(SIZE);
  safetensors file;
  mo_error error = {{0}};
  (void)state;
  memset(bytes, ' ', SIZE);
  const uint64_t length = SIZE - 8;
  memcpy(bytes, &length, sizeof length);
  memcpy(bytes + 8, "{\"a\":[", 6);
  for (size_t i = 0; i < COUNT; i++) memcpy(bytes + 14 + 3 * i, "{},", 3);
  memcpy(bytes + 14 + 3 * COUNT, "1]}", 3);
  assert_int_equal(safetensors_parse(&file, "test", bytes, SIZE, NULL, &error),
                   MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "JSON values"));
  test_free(bytes);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bad_headers),
      cmocka_unit_test(test_a_header_of_little_values),
      cmocka_unit_test(test_good_headers),
      cmocka_unit_test(test_bad_lengths),
      cmocka_unit_test(test_many_names),
      cmocka_unit_test(test_names_are_found),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_weights_round_trip),
      cmocka_unit_test(test_half_precision_files),
      cmocka_unit_test(test_config_files),
      cmocka_unit_test(test_every_kind_of_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
