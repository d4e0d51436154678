/* test_operations.c - what mousse_param_flops says of an update, against the products that one makes.
 * These are counted on their way into the BLAS by the linker (--wrap). */
#include "linalg/blas.h"
#include "property/harness.h"

#include <string.h>

static double counted;

void __real_mo_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows,
                    size_t cols, size_t inner, float alpha, const float *a, size_t a_stride,
                    const float *b, size_t b_stride, float beta, float *c, size_t c_stride);
void __wrap_mo_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows,
                    size_t cols, size_t inner, float alpha, const float *a, size_t a_stride,
                    const float *b, size_t b_stride, float beta, float *c, size_t c_stride);
void __wrap_mo_gemm(mo_transpose transpose_a, mo_transpose transpose_b, size_t rows,
                    size_t cols, size_t inner, float alpha, const float *a, size_t a_stride,
                    const float *b, size_t b_stride, float beta, float *c, size_t c_stride)
{
  counted += 2.0 * (double)rows * (double)cols * (double)inner;
  __real_mo_gemm(transpose_a, transpose_b, rows, cols, inner, alpha, a, a_stride, b, b_stride,
                 beta, c, c_stride);
}

void __real_mo_syrk(mo_triangle triangle, mo_transpose transpose_a, size_t n, size_t k,
                    float alpha, const float *a, size_t a_stride, float beta, float *c,
                    size_t c_stride);
void __wrap_mo_syrk(mo_triangle triangle, mo_transpose transpose_a, size_t n, size_t k,
                    float alpha, const float *a, size_t a_stride, float beta, float *c,
                    size_t c_stride);
void __wrap_mo_syrk(mo_triangle triangle, mo_transpose transpose_a, size_t n, size_t k,
                    float alpha, const float *a, size_t a_stride, float beta, float *c,
                    size_t c_stride)
{
  counted += (double)n * (double)n * (double)k;
  __real_mo_syrk(triangle, transpose_a, n, k, alpha, a, a_stride, beta, c, c_stride);
}

void __real_mo_symmetric_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t n,
                                 size_t k, const float *a, size_t a_stride, const float *b,
                                 size_t b_stride, float *c);
void __wrap_mo_symmetric_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t n,
                                 size_t k, const float *a, size_t a_stride, const float *b,
                                 size_t b_stride, float *c);
void __wrap_mo_symmetric_product(mo_transpose transpose_a, mo_transpose transpose_b, size_t n,
                                 size_t k, const float *a, size_t a_stride, const float *b,
                                 size_t b_stride, float *c)
{
  counted += (double)n * (double)n * (double)k;
  __real_mo_symmetric_product(transpose_a, transpose_b, n, k, a, a_stride, b, b_stride, c);
}

typedef void symm(mo_triangle triangle, size_t rows, size_t cols, const float *s,
                  size_t s_stride, const float *x, size_t x_stride, float *c, size_t c_stride);
symm __real_mo_symm_left, __wrap_mo_symm_left, __real_mo_symm_right, __wrap_mo_symm_right;

void __wrap_mo_symm_left(mo_triangle triangle, size_t rows, size_t cols, const float *s,
                         size_t s_stride, const float *x, size_t x_stride, float *c,
                         size_t c_stride)
{
  counted += 2.0 * (double)rows * (double)rows * (double)cols;
  __real_mo_symm_left(triangle, rows, cols, s, s_stride, x, x_stride, c, c_stride);
}

void __wrap_mo_symm_right(mo_triangle triangle, size_t rows, size_t cols, const float *s,
                          size_t s_stride, const float *x, size_t x_stride, float *c,
                          size_t c_stride)
{
  counted += 2.0 * (double)rows * (double)cols * (double)cols;
  __real_mo_symm_right(triangle, rows, cols, s, s_stride, x, x_stride, c, c_stride);
}

/* What is said of an update, and in `counted` what it does. The statistics' roots are renewed in the
 * first step alone, and Newton-Schulz leaves nothing to LAPACK. */
static double said_of(const char *algorithm, const size_t shape[2], const char *option,
                      const char *choice)
{
  const mousse_env env = {.struct_size = sizeof env, .threads = 1}; /* counted is not locked */
  rig r;
  rig_start(&r, &env);
  rig_add(&r, algorithm, shape[0], shape[1], "");
  mousse_set(r.opt, 0, "refresh_every", 1000); /* where there are such options */
  mousse_set_text(r.opt, 0, "newton_schulz", "jordan5");
  assert_int_equal(mousse_set_text(r.opt, 0, option, choice), MOUSSE_OK);
  rig_prepare(&r);
  rig_step(&r, 1);
  rig_step(&r, 2);
  counted = 0;
  rig_step(&r, 3);
  const double said = mousse_param_flops(r.opt, "p0");
  rig_stop(&r);
  return said;
}

/* Symmetric products are said to be more than half of others, and passes over the elements count. */
static void check(const char *algorithm, const char *option, const char *choice)
{
  static const size_t shapes[][2] = {{64, 64}, {48, 144}, {144, 48}, {140, 420}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    const double passes = 40.0 * (double)shapes[s][0] * (double)shapes[s][1];
    const double said = said_of(algorithm, shapes[s], option, choice);
    if (!(said > 0 && said >= 0.85 * counted && said <= 1.25 * counted + passes))
      fail_msg("%s, %s %s, %zu x %zu: %g operations, %g were counted", algorithm, option,
               choice, shapes[s][0], shapes[s][1], said, counted);
  }
}

static void test_every_algorithm(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) check(name, "lr", "0.01");
}

/* The parts that spectral is put together from. */
static void test_every_part(void **state)
{
  (void)state;
  const mousse_option *option;
  for (size_t i = 0; (option = mousse_algorithm_option("spectral", i)) != NULL; i++)
    if (strcmp(option->name, "inner") == 0 || strcmp(option->name, "ortho") == 0)
      for (size_t c = 0; option->choices[c] != NULL; c++)
        check("spectral", option->name, option->choices[c]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_algorithm),
      cmocka_unit_test(test_every_part),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
