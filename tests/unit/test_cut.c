/* test_cut.c - large operations inside a team: in parts, near the undivided one, and with the same
 * bits for any number of threads. */
#include "base/memory.h"
#include "base/random.h"
#include "base/team.h"
#include "check.h"
#include "linalg/cut.h"

#include <math.h>
#include <string.h>

/* Just beyond what is worth dividing, and no multiple of anything. */
enum { N = 1157, OTHERS = 1171, STRIDE = 1190, FLOATS = STRIDE * STRIDE };

typedef struct operands {
  const float *a, *b;
  float *c;
} operands;

static void plain_gemm(const operands *o)
{
  mo_gemm(MO_PLAIN, MO_TRANSPOSED, N, OTHERS, N, 0.5f, o->a, STRIDE, o->b, STRIDE, 0.25f, o->c,
          STRIDE);
}

static void lower_syrk(const operands *o)
{
  mo_syrk(MO_LOWER, MO_PLAIN, N, OTHERS, 0.5f, o->a, STRIDE, 0.25f, o->c, STRIDE);
}

static void upper_syrk(const operands *o)
{
  mo_syrk(MO_UPPER, MO_TRANSPOSED, N, OTHERS, 0.5f, o->a, STRIDE, 0.25f, o->c, STRIDE);
}

/* B = A^T, so that the product is symmetric. */
static void symmetric(const operands *o)
{
  mo_symmetric_product(MO_PLAIN, MO_TRANSPOSED, N, OTHERS, o->a, STRIDE, o->a, STRIDE, o->c);
}

static void left_lower(const operands *o)
{
  mo_symm_left(MO_LOWER, N, OTHERS, o->a, STRIDE, o->b, STRIDE, o->c, STRIDE);
}

static void left_upper(const operands *o)
{
  mo_symm_left(MO_UPPER, N, OTHERS, o->a, STRIDE, o->b, STRIDE, o->c, STRIDE);
}

static void right_lower(const operands *o)
{
  mo_symm_right(MO_LOWER, OTHERS, N, o->a, STRIDE, o->b, STRIDE, o->c, STRIDE);
}

static void right_upper(const operands *o)
{
  mo_symm_right(MO_UPPER, OTHERS, N, o->a, STRIDE, o->b, STRIDE, o->c, STRIDE);
}

static void lower_times(const operands *o)
{
  mo_lower_times(N, OTHERS, 0.5f, o->a, STRIDE, o->c, STRIDE);
}

static void times_lower(const operands *o)
{
  mo_times_lower(OTHERS, N, o->a, STRIDE, o->c, STRIDE);
}

static void solve_lower(const operands *o)
{
  mo_solve_lower(OTHERS, N, o->a, STRIDE, o->c, STRIDE);
}

static const struct operation {
  const char *name;
  void (*run)(const operands *o);
} operations[] = {{"gemm", plain_gemm},         {"lower syrk", lower_syrk},
                  {"upper syrk", upper_syrk},   {"symmetric product", symmetric},
                  {"left lower", left_lower},   {"left upper", left_upper},
                  {"right lower", right_lower}, {"right upper", right_upper},
                  {"lower times", lower_times}, {"times lower", times_lower},
                  {"solve lower", solve_lower}};

typedef struct trial {
  const struct operation *operation;
  operands o;
} trial;

static void run_trial(void *context, size_t item, int thread)
{
  const trial *t = context;
  (void)item, (void)thread;
  t->operation->run(&t->o);
}

static double distance(const float *x, const float *y)
{
  double difference = 0, size = 0;
  for (size_t i = 0; i < FLOATS; i++) {
    const double d = (double)x[i] - (double)y[i];
    difference += d * d;
    size += (double)x[i] * (double)x[i];
  }
  return sqrt(difference / size);
}

/* The diagonal is heavy enough to solve with. */
static void make_operands(float *a, float *b, float *start)
{
  mo_random_fill(a, FLOATS, 0.02, 1, 1);
  mo_random_fill(b, FLOATS, 1, 1, 2);
  mo_random_fill(start, FLOATS, 1, 1, 3);
  for (size_t i = 0; i < STRIDE; i++) a[i * STRIDE + i] += 1.0f;
}

static void check_operation(const struct operation *operation, const float *a, const float *b,
                            const float *start, float *whole, float *first, float *again)
{
  static const int threads[] = {2, 3, 4, 7, 16};
  memcpy(whole, start, FLOATS * sizeof *whole);
  memcpy(first, start, FLOATS * sizeof *first);
  operation->run(&(operands){a, b, whole});
  trial t = {operation, {a, b, first}};
  mo_team_run(1, 1, run_trial, &t);
  if (!(distance(whole, first) < 1e-6))
    fail_msg("%s in parts is %g away", operation->name, distance(whole, first));
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    memcpy(again, start, FLOATS * sizeof *again);
    t.o.c = again;
    mo_team_run(threads[i], 1, run_trial, &t);
    if (memcmp(first, again, FLOATS * sizeof *again) != 0)
      fail_msg("%s has other bits on %d threads", operation->name, threads[i]);
  }
}

static void test_parts_make_the_whole(void **state)
{
  (void)state;
  float *memory = mo_allocate(NULL, 6 * (size_t)FLOATS * sizeof *memory);
  assert_non_null(memory);
  float *a = memory, *b = a + FLOATS, *start = b + FLOATS, *whole = start + FLOATS;
  make_operands(a, b, start);
  mo_blas_enter();
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    check_operation(&operations[i], a, b, start, whole, whole + FLOATS, whole + 2 * FLOATS);
  mo_blas_leave();
  mo_release(NULL, memory, 6 * (size_t)FLOATS * sizeof *memory);
}

static void try_both(void *context, size_t item, int thread)
{
  bool *cut = context;
  static float x[64 * 64];
  (void)item, (void)thread;
  cut[0] = mo_cut_syrk(MO_LOWER, MO_PLAIN, 64, 64, 1.0f, x, 64, 0.0f, x, 64);
  cut[1] = mo_cut_gemm(MO_PLAIN, MO_PLAIN, 64, 64, 64, 1.0f, x, 64, x, 64, 0.0f, x, 64);
}

static void test_small_ones_stay_whole(void **state)
{
  (void)state;
  bool cut[2] = {true, true};
  mo_team_run(4, 1, try_both, cut);
  assert_false(cut[0]);
  assert_false(cut[1]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts_make_the_whole),
      cmocka_unit_test(test_small_ones_stay_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
