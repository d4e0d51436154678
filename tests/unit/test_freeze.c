/* test_freeze.c - tensors that stay as they are. */
#include "gpt_kinds.h"

#include <string.h>

/* Freezing some changes no bit of the others' gradients, and theirs are 0 or not there. */
static void test_frozen_tensors(void **state)
{
  (void)state;
  static const char *const patterns[] = {"wte", "h\\.1\\.", "c_k|gate|ln_",
                                         "bias|lm_head|proj"};
  mo_error error = {{0}};
  float loss = 0;
  uint32_t *tokens = make_tokens(161, odd.vocab_size, 3);
  const gpt_batch batch = {tokens, tokens + 1, 2, 80, NULL};
  for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
    gpt_params *plain = make_params(&odd, true), *some = NULL;
    assert_int_equal(gpt_params_create_frozen(&some, &odd, patterns[k], NULL, &error),
                     MOUSSE_OK);
    gpt_params_initialise(some, 42, 2);
    gpt_pass *pass = make_pass(plain, (gpt_shape){2, 80, 2, true, false});
    gpt_pass *frozen = make_pass(some, (gpt_shape){2, 80, 2, true, false});
    for (int twice = 0; twice < 2; twice++) { /* replaced, then added to */
      assert_int_equal(gpt_gradients(pass, &batch, 1, twice, &loss, &error), MOUSSE_OK);
      assert_int_equal(gpt_gradients(frozen, &batch, 1, twice, &loss, &error), MOUSSE_OK);
    }
    for (size_t i = 0; i < some->tensor_count; i++) {
      const gpt_tensor *t = &some->tensors[i];
      const size_t count = t->rows * t->cols;
      for (size_t j = 0; t->frozen && t->gradient != NULL && j < count; j++)
        assert_true(t->gradient[j] == 0.0f);
      if (!t->frozen)
        assert_memory_equal(t->gradient, plain->tensors[i].gradient, count * sizeof(float));
    }
    gpt_pass_destroy(pass);
    gpt_pass_destroy(frozen);
    gpt_params_destroy(plain);
    gpt_params_destroy(some);
  }
  free(tokens);
}

static void test_freezing_that_is_refused(void **state)
{
  (void)state;
  static const struct {
    const char *pattern, *expected;
  } cases[] = {
      {"h.[0-3", "is not a regular expression"},
      {"((((((((((((((((((((h+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", "more than 8 +"},
      {"encoder", "'encoder' matches no tensor's name"},
      {".", "nothing would be trained"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_error error = {{0}};
    gpt_params *params = NULL;
    assert_int_equal(gpt_params_create_frozen(&params, &odd, cases[i].pattern, NULL, &error),
                     MOUSSE_INVALID_ARGUMENT);
    assert_null(params);
    assert_non_null(strstr(error.text, cases[i].expected));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frozen_tensors),
      cmocka_unit_test(test_freezing_that_is_refused),
  };
  int failed = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    odd = kinds[i];
    failed += cmocka_run_group_tests(tests, NULL, NULL);
  }
  return failed;
}
