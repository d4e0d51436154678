/* test_tensors.c - tensors in all their forms give the bits that plain matrices give, for every
 * algorithm: many in one call, in blocks of rows, stored by columns, of 16 bits, and with
 * gradients that are there in some steps only. */
#include "optim/saturate.h"
#include "property/harness.h"
#include "property/meeting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3, BLOCKS = 2, ROWS = 8, COLS = 5, GAP = 7, STEPS = 7 };
enum { TALL = 300, BROAD = 200, LARGE = TALL * BROAD }; /* for several ranks */
enum { MATRIX = ROWS * COLS, BLOCK = MATRIX / BLOCKS, ALL = COUNT * (MATRIX + GAP) };

static const char *often(const char *algorithm)
{
  const mousse_option *option;
  for (size_t i = 0; (option = mousse_algorithm_option(algorithm, i)) != NULL; i++)
    if (strcmp(option->name, "refresh_every") == 0) return "refresh_every=3";
  return "";
}

/* Plain matrices, one call each: what the others are compared with. */
static void start_plain(rig *r, const char *algorithm)
{
  rig_start(r, NULL);
  for (int i = 0; i < COUNT * BLOCKS; i++)
    rig_add(r, algorithm, ROWS / BLOCKS, COLS, often(algorithm));
  rig_prepare(r);
}

/* The same matrices in one tensor. */
typedef struct form {
  int transposed;
  mousse_type value_type, grad_type;
  size_t gap;
} form;

typedef struct tensor_rig {
  mousse_optimizer *opt;
  form form;
  union {
    float f[ALL];
    uint16_t h[ALL];
  } value, grad;
  float *inputs[COUNT * BLOCKS][RIG_MAX_INPUTS];
} tensor_rig;

/* Where element (row, col) of block b of matrix i lies. */
static size_t place(const form *f, size_t i, size_t b, size_t row, size_t col)
{
  const size_t matrix_row = b * (ROWS / BLOCKS) + row;
  const size_t start = i * (MATRIX + f->gap);
  return start + (f->transposed ? col * ROWS + matrix_row : matrix_row * COLS + col);
}

static void put(void *memory, mousse_type type, size_t at, float x)
{
  if (type == MOUSSE_FLOAT32) ((float *)memory)[at] = x;
  if (type == MOUSSE_BFLOAT16) ((uint16_t *)memory)[at] = mo_saturate_bfloat16(x);
  if (type == MOUSSE_FLOAT16) ((uint16_t *)memory)[at] = mo_saturate_float16(x);
}

static float get(const void *memory, mousse_type type, size_t at)
{
  if (type == MOUSSE_FLOAT32) return ((const float *)memory)[at];
  const uint16_t h = ((const uint16_t *)memory)[at];
  return type == MOUSSE_BFLOAT16 ? mo_from_bfloat16(h) : mo_from_float16(h);
}

/* The gradients or values of the plain rig, into the tensor; first made exact in 16 bits. */
static void copy_in(tensor_rig *t, rig *plain, bool values)
{
  const mousse_type type = values ? t->form.value_type : t->form.grad_type;
  for (size_t k = 0; k < COUNT * BLOCKS; k++)
    for (size_t e = 0; e < BLOCK; e++) {
      float *x = &(values ? plain->params[k].value : plain->params[k].grad)[e];
      const size_t at = place(&t->form, k / BLOCKS, k % BLOCKS, e / COLS, e % COLS);
      put(values ? (void *)&t->value : (void *)&t->grad, type, at, *x);
      *x = get(values ? (void *)&t->value : (void *)&t->grad, type, at);
    }
}

static void start_tensor(tensor_rig *t, const char *algorithm, form f, rig *plain)
{
  int group = 0;
  char name[32];
  *t = (tensor_rig){.form = f};
  assert_int_equal(mousse_create(NULL, &t->opt), MOUSSE_OK);
  assert_int_equal(mousse_add_group(t->opt, algorithm, &group), MOUSSE_OK);
  if (often(algorithm)[0] != '\0')
    assert_int_equal(mousse_set(t->opt, group, "refresh_every", 3), MOUSSE_OK);
  const mousse_tensor tensor = {.struct_size = sizeof tensor,
                                .name = "w",
                                .rows = ROWS,
                                .cols = COLS,
                                .count = COUNT,
                                .stride = f.gap > 0 ? MATRIX + f.gap : 0,
                                .row_blocks = BLOCKS,
                                .transposed = f.transposed,
                                .value_type = f.value_type,
                                .grad_type = f.grad_type,
                                .value = &t->value,
                                .grad = &t->grad};
  if (mousse_add_tensor(t->opt, group, &tensor) != MOUSSE_OK)
    fail_msg("%s", mousse_error(t->opt));
  for (int k = 0; k < COUNT * BLOCKS; k++) {
    snprintf(name, sizeof name, "w[%d][%d]", k / BLOCKS, k % BLOCKS);
    assert_string_equal(mousse_param_name(t->opt, (size_t)k), name);
    bind_inputs(t->opt, algorithm, name, ROWS / BLOCKS, COLS, t->inputs[k]);
  }
  assert_int_equal(mousse_prepare(t->opt), MOUSSE_OK);
  copy_in(t, plain, true);
}

static void stop_tensor(tensor_rig *t)
{
  mousse_destroy(t->opt);
  for (size_t k = 0; k < COUNT * BLOCKS; k++)
    for (size_t i = 0; i < RIG_MAX_INPUTS; i++) free(t->inputs[k][i]);
}

static void assert_tensor_is(const tensor_rig *t, const rig *plain, const char *algorithm)
{
  const mousse_type type = t->form.value_type;
  for (size_t k = 0; k < COUNT * BLOCKS; k++)
    for (size_t e = 0; e < BLOCK; e++) {
      const size_t at = place(&t->form, k / BLOCKS, k % BLOCKS, e / COLS, e % COLS);
      float rounded[1];
      put(rounded, type, 0, plain->params[k].value[e]);
      if (get(&t->value, type, at) != get(rounded, type, 0))
        fail_msg("%s, transposed %d, types %d %d: matrix %zu element %zu is %a, not %a",
                 algorithm, t->form.transposed, (int)type, (int)t->form.grad_type, k, e,
                 (double)get(&t->value, type, at), (double)get(rounded, type, 0));
    }
}

/* Inputs change from step to step as gradients do. */
static void copy_inputs(const char *algorithm, const rig_param *from,
                        float *const inputs[RIG_MAX_INPUTS])
{
  const mousse_input *input;
  for (size_t i = 0; (input = mousse_algorithm_input(algorithm, i)) != NULL; i++) {
    const size_t m = input->rows == MOUSSE_ROWS ? from->rows : from->cols;
    const size_t n = input->cols == MOUSSE_ROWS ? from->rows : from->cols;
    memcpy(inputs[i], from->inputs[i], m * n * sizeof(float));
  }
}

static void compare(const char *algorithm, form f)
{
  rig plain;
  tensor_rig t;
  start_plain(&plain, algorithm);
  start_tensor(&t, algorithm, f, &plain);
  for (uint64_t step = 1; step <= STEPS; step++) {
    rig_gradients(&plain, step);
    copy_in(&t, &plain, false);
    for (size_t k = 0; k < COUNT * BLOCKS; k++)
      copy_inputs(algorithm, &plain.params[k], t.inputs[k]);
    assert_int_equal(mousse_step(plain.opt), MOUSSE_OK);
    if (mousse_step(t.opt) != MOUSSE_OK) fail_msg("%s", mousse_error(t.opt));
    assert_tensor_is(&t, &plain, algorithm);
  }
  stop_tensor(&t);
  rig_stop(&plain);
}

static void test_every_form_gives_the_bits_of_plain_matrices(void **state)
{
  (void)state;
  static const form forms[] = {
      {0, MOUSSE_FLOAT32, MOUSSE_FLOAT32, 0},    {0, MOUSSE_FLOAT32, MOUSSE_FLOAT32, GAP},
      {1, MOUSSE_FLOAT32, MOUSSE_FLOAT32, 0},    {0, MOUSSE_BFLOAT16, MOUSSE_BFLOAT16, 0},
      {1, MOUSSE_FLOAT16, MOUSSE_BFLOAT16, GAP}, {0, MOUSSE_BFLOAT16, MOUSSE_FLOAT32, 0},
      {0, MOUSSE_FLOAT32, MOUSSE_FLOAT16, 0}};
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) compare(name, forms[i]);
}

/* A whole transposed matrix, not in blocks: element-wise algorithms take it as it lies. object:
 * options of the optimizer. */
static rig_param *start_transposed(rig *r, const char *algorithm, const char *object)
{
  rig_start(r, NULL);
  rig_param *p = rig_new_param(r, ROWS, COLS);
  assert_int_equal(mousse_add_group(r->opt, algorithm, &p->group), MOUSSE_OK);
  assert_int_equal(rig_set_all(r, p->group, often(algorithm)), MOUSSE_OK);
  assert_int_equal(rig_set_all(r, MOUSSE_OBJECT, object), MOUSSE_OK);
  const mousse_tensor tensor = {.struct_size = sizeof tensor,
                                .name = "p0",
                                .rows = ROWS,
                                .cols = COLS,
                                .transposed = 1,
                                .value = p->value,
                                .grad = p->grad};
  assert_int_equal(mousse_add_tensor(r->opt, p->group, &tensor), MOUSSE_OK);
  bind_inputs(r->opt, algorithm, "p0", ROWS, COLS, p->inputs);
  rig_prepare(r);
  return p;
}

static void check_transposed(double scale)
{
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig plain, r;
    rig_single(&plain, NULL, name, ROWS, COLS, often(name));
    rig_param *p = start_transposed(&r, name, "");
    for (uint64_t t = 0; t <= STEPS; t++) {
      rig_gradients(&plain, t);
      copy_inputs(name, &plain.params[0], p->inputs);
      for (size_t i = 0; i < MATRIX; i++) {
        const size_t at = i % COLS * ROWS + i / COLS;
        if (t == 0) p->value[at] = plain.params[0].value[i];
        plain.params[0].grad[i] = (float)(scale * (double)plain.params[0].grad[i]);
        p->grad[at] = plain.params[0].grad[i];
      }
      if (t == 0) continue;
      assert_int_equal(mousse_step(plain.opt), MOUSSE_OK);
      assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    }
    for (size_t i = 0; i < MATRIX; i++)
      if (p->value[i % COLS * ROWS + i / COLS] != plain.params[0].value[i])
        fail_msg("%s: element %zu", name, i);
    p->grad[3 * ROWS + 6] = NAN;
    assert_int_equal(mousse_step(r.opt), MOUSSE_NOT_FINITE);
    assert_error_mentions(r.opt, "row 6, column 3");
    rig_stop(&r);
    rig_stop(&plain);
  }
}

/* Tiny ones, too: the largest magnitude, which chooses the scale of the state, is found another way. */
static void test_transposed_matrices(void **state)
{
  (void)state;
  check_transposed(1);
  check_transposed(0x1p-70);
}

/* Blocks of one row each, whose elements lie as far apart as the tensor has rows. */
static void test_single_rows_of_a_transposed_matrix(void **state)
{
  (void)state;
  enum { LENGTH = 4 };
  float value[ROWS * LENGTH] = {0}, grad[ROWS * LENGTH];
  int group = 0;
  rig plain, r;
  rig_start(&plain, NULL);
  for (int i = 0; i < ROWS; i++) rig_add(&plain, "adamw", 1, LENGTH, "");
  rig_prepare(&plain);
  rig_start(&r, NULL);
  assert_int_equal(mousse_add_group(r.opt, "adamw", &group), MOUSSE_OK);
  const mousse_tensor tensor = {.struct_size = sizeof tensor,
                                .name = "w",
                                .rows = ROWS,
                                .cols = LENGTH,
                                .row_blocks = ROWS,
                                .transposed = 1,
                                .value = value,
                                .grad = grad};
  assert_int_equal(mousse_add_tensor(r.opt, group, &tensor), MOUSSE_OK);
  assert_int_equal(mousse_prepare(r.opt), MOUSSE_OK);
  for (uint64_t t = 0; t <= STEPS; t++) {
    rig_gradients(&plain, t);
    for (size_t i = 0; i < ROWS * LENGTH; i++) {
      const rig_param *p = &plain.params[i % ROWS];
      if (t == 0) value[i] = p->value[i / ROWS];
      grad[i] = p->grad[i / ROWS];
    }
    if (t == 0) continue;
    assert_int_equal(mousse_step(plain.opt), MOUSSE_OK);
    assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
    for (size_t i = 0; i < ROWS * LENGTH; i++)
      assert_true(value[i] == plain.params[i % ROWS].value[i / ROWS]);
  }
  rig_stop(&r);
  rig_stop(&plain);
}

/* A matrix of ROWS x COLS, from row by row to column by column or back. */
static void turn(const float *from, bool by_rows, float *to)
{
  for (size_t i = 0; i < MATRIX; i++) {
    const size_t by_columns = i % COLS * ROWS + i / COLS;
    to[by_rows ? by_columns : i] = from[by_rows ? i : by_columns];
  }
}

/* Steps of the plain matrix and of the one that lies by columns, with the same numbers. */
static void step_both(const char *algorithm, rig *plain, rig *turned, uint64_t step)
{
  rig_gradients(plain, step);
  copy_inputs(algorithm, &plain->params[0], turned->params[0].inputs);
  turn(plain->params[0].grad, true, turned->params[0].grad);
  assert_int_equal(mousse_step(plain->opt), MOUSSE_OK);
  assert_int_equal(mousse_step(turned->opt), MOUSSE_OK);
}

static void check_state_turns(const char *algorithm, const char *object, bool to_columns)
{
  rig plain, turned;
  blob saved;
  float weights[MATRIX];
  rig_start(&plain, NULL);
  rig_add(&plain, algorithm, ROWS, COLS, often(algorithm));
  assert_int_equal(rig_set_all(&plain, MOUSSE_OBJECT, object), MOUSSE_OK);
  rig_prepare(&plain);
  start_transposed(&turned, algorithm, object);
  rig *from = to_columns ? &plain : &turned, *to = to_columns ? &turned : &plain;
  for (uint64_t t = 1; t <= 4; t++) rig_step(from, t);
  rig_save(from, &saved);
  rig_load(to, &saved);
  turn(from->params[0].value, to_columns, to->params[0].value);
  for (uint64_t t = 5; t <= STEPS; t++) step_both(algorithm, &plain, &turned, t);
  turn(turned.params[0].value, false, weights);
  if (!rig_weights_are(&plain, weights))
    fail_msg("%s %s: to columns %d", algorithm, object, (int)to_columns);
  blob_free(&saved);
  rig_stop(&turned);
  rig_stop(&plain);
}

/* State goes with the elements, however they lie: by rows and by columns. */
static void test_state_of_the_other_order(void **state)
{
  (void)state;
  static const char *const objects[] = {"", "average=on wrapper=lookahead",
                                        "wrapper=schedule_free"};
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (size_t i = 0; i < 6; i++) check_state_turns(name, objects[i / 2], i % 2 == 0);
}

/* One rank with a long matrix: by rows, two steps, saved between them; or by columns, the second. */
typedef struct member {
  bool by_columns;
  float between[LARGE], w[LARGE], g[LARGE];
  blob *state;
  mousse_status status;
} member;

static void take_part(meeting_member *self, const mousse_comm *comm)
{
  member *m = self->user;
  mousse_optimizer *opt = NULL;
  mousse_env env = MOUSSE_ENV_INIT;
  int group = 0;
  env.comm = comm;
  env.threads = 1;
  const mousse_tensor tensor = {.struct_size = sizeof tensor,
                                .name = "w",
                                .rows = TALL,
                                .cols = BROAD,
                                .transposed = m->by_columns,
                                .value = m->w,
                                .grad = m->g};
  mousse_status s = mousse_create(&env, &opt);
  if (!s) s = mousse_add_group(opt, "adamw", &group);
  if (!s) s = mousse_add_tensor(opt, group, &tensor);
  if (!s) s = mousse_prepare(opt);
  if (!s && m->by_columns) s = mousse_load(opt, blob_read, m->state);
  if (!s && !m->by_columns) s = mousse_step(opt);
  if (!s && !m->by_columns) s = mousse_save(opt, blob_write, m->state);
  memcpy(m->between, m->w, sizeof m->w);
  if (!s) s = mousse_step(opt);
  m->status = s;
  mousse_destroy(opt);
}

/* Ranks that own parts of a matrix find their elements. */
static void test_state_of_the_other_order_on_ranks(void **state)
{
  (void)state;
  member *all = calloc(4, sizeof *all);
  assert_non_null(all);
  void *users[4] = {&all[0], &all[1], &all[2], &all[3]};
  blob saved = blob_new();
  fill_normal(all[0].w, LARGE, 1, 1, 1);
  fill_normal(all[0].g, LARGE, 1, 2, 2);
  all[0].state = &saved;
  meeting_run(1, -1, take_part, users);
  for (size_t k = 1; k < 4; k++) {
    all[k].by_columns = true;
    all[k].state = &saved; /* rank 0 alone reads */
    for (size_t i = 0; i < LARGE; i++) {
      const size_t at = i % BROAD * TALL + i / BROAD;
      all[k].w[at] = all[0].between[i];
      all[k].g[at] = all[0].g[i];
    }
  }
  meeting_run(3, -1, take_part, users + 1);
  for (size_t k = 1; k < 4; k++) {
    assert_int_equal(all[k].status, MOUSSE_OK);
    for (size_t i = 0; i < LARGE; i++)
      if (all[k].w[i % BROAD * TALL + i / BROAD] != all[0].w[i])
        fail_msg("rank %zu: element %zu", k - 1, i);
  }
  blob_free(&saved);
  free(all);
}

/* Long enough to be cut into pieces, and watched: the same bits. */
static void test_long_tensors_of_16_bits(void **state)
{
  (void)state;
  enum { LONG = 150001 };
  static uint16_t value[LONG], grad[LONG];
  static float plain_value[LONG], plain_grad[LONG];
  mousse_optimizer *opts[2] = {NULL, NULL};
  int group = 0;
  for (size_t i = 0; i < LONG; i++) {
    value[i] = mo_saturate_bfloat16((float)(i % 1009) / 500);
    grad[i] = mo_saturate_bfloat16((float)(i % 811) / 100 - 3);
    plain_value[i] = mo_from_bfloat16(value[i]);
    plain_grad[i] = mo_from_bfloat16(grad[i]);
  }
  const mousse_tensor tensor = {.struct_size = sizeof tensor,
                                .name = "w",
                                .rows = 1,
                                .cols = LONG,
                                .value_type = MOUSSE_BFLOAT16,
                                .grad_type = MOUSSE_BFLOAT16,
                                .value = value,
                                .grad = grad};
  for (int k = 0; k < 2; k++) {
    assert_int_equal(mousse_create(NULL, &opts[k]), MOUSSE_OK);
    assert_int_equal(mousse_add_group(opts[k], "adamw", &group), MOUSSE_OK);
  }
  assert_int_equal(mousse_add_tensor(opts[0], group, &tensor), MOUSSE_OK);
  assert_int_equal(mousse_add_param(opts[1], group, "w", 1, LONG, plain_value, plain_grad),
                   MOUSSE_OK);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(mousse_prepare(opts[k]), MOUSSE_OK);
    for (int t = 0; t < 3; t++) assert_int_equal(mousse_step(opts[k]), MOUSSE_OK);
  }
  for (size_t i = 0; i < LONG; i++)
    assert_int_equal(value[i], mo_saturate_bfloat16(plain_value[i]));
  float *master = malloc(LONG * sizeof *master);
  assert_non_null(master);
  assert_int_equal(mousse_state_read(opts[0], "w", "master", master, LONG), MOUSSE_OK);
  assert_memory_equal(master, plain_value, sizeof plain_value);
  free(master);
  mousse_destroy(opts[1]);
  mousse_destroy(opts[0]);
}

/* A parameter whose gradient is missing in some steps goes on as if they had not been. */
static void test_missing_gradients_are_skipped(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    rig r, control;
    rig_start(&r, NULL);
    rig_add(&r, name, ROWS, COLS, often(name));
    rig_add(&r, "sgd", 2, 3, "");
    rig_param *p = &r.params[0];
    assert_int_equal(mousse_rebind(r.opt, "p0", p->value, NULL), MOUSSE_OK);
    rig_prepare(&r);
    rig_single(&control, NULL, name, ROWS, COLS, often(name));
    uint64_t had = 0;
    for (uint64_t t = 1; t <= 12; t++) {
      const bool skip = t == 1 || t == 4 || t == 5 || t == 12;
      assert_int_equal(mousse_rebind(r.opt, "p0", p->value, skip ? NULL : p->grad), MOUSSE_OK);
      rig_step(&r, t);
      if (skip) continue;
      rig_step(&control, t);
      had++;
      assert_memory_equal(p->value, control.params[0].value, MATRIX * sizeof(float));
    }
    assert_int_equal(mousse_param_steps(r.opt, "p0"), had);
    assert_int_equal(mousse_param_steps(r.opt, "p1"), 12);
    assert_int_equal(mousse_steps_done(r.opt), 12);
    rig_stop(&control);
    rig_stop(&r);
  }
}

static void test_bad_tensors(void **state)
{
  (void)state;
  rig r;
  static float w[400], g[400];
  const mousse_status bad = MOUSSE_INVALID_ARGUMENT;
  rig_start(&r, NULL);
  rig_add(&r, "muon", 4, 5, "");
  const mousse_tensor good = {.struct_size = sizeof good,
                              .name = "w",
                              .rows = 6,
                              .cols = 4,
                              .count = 3,
                              .row_blocks = 2,
                              .value = w,
                              .grad = g};
#define REFUSED(word, ...)                                                                     \
  do {                                                                                         \
    mousse_tensor t = good;                                                                    \
    __VA_ARGS__;                                                                               \
    assert_int_equal(mousse_add_tensor(r.opt, 0, &t), bad);                                    \
    assert_error_mentions(r.opt, word);                                                        \
  } while (0)
  REFUSED("struct_size", t.struct_size = 8);
  REFUSED("name", t.name = NULL);
  REFUSED("7 rows", t.rows = 7);
  REFUSED("20 apart", t.stride = 20);
  REFUSED("too many", t.count = SIZE_MAX / 2);
  REFUSED("usable shape", t.rows = (size_t)1 << 30; t.cols = (size_t)1 << 30);
  REFUSED("value_type is 7", t.value_type = (mousse_type)7);
  REFUSED("not for muon", t.rows = 2);
  REFUSED("multiple of 4", t.value = (char *)w + 2);
  REFUSED("multiple of 2", t.grad_type = MOUSSE_FLOAT16; t.grad = (char *)g + 1);
  REFUSED("its own value", t.grad = w + 10);
  REFUSED("already", t.name = "p0");
  char longest[1024];
  memset(longest, 'n', sizeof longest);
  longest[1023] = '\0';
  REFUSED("1 to 1023 characters", t.name = longest); /* with [0][0] behind it */
#undef REFUSED
  assert_int_equal(mousse_add_tensor(r.opt, 0, NULL), bad);
  assert_int_equal(mousse_add_tensor(r.opt, 5, &good), MOUSSE_UNKNOWN_NAME);
  assert_null(mousse_param_name(r.opt, 1)); /* nothing stayed of any of them */
  assert_int_equal(mousse_add_tensor(r.opt, 0, &good), MOUSSE_OK);
  assert_int_equal(mousse_add_param(r.opt, 0, "w", 2, 2, w + 100, g + 100), bad);
  assert_int_equal(mousse_add_param(r.opt, 0, "w[1][0]", 2, 2, w + 100, g + 100), bad);
  assert_int_equal(mousse_add_param(r.opt, 0, "x", 2, 2, w + 60, g + 100), bad);
  assert_error_mentions(r.opt, "value of 'w'");
  assert_int_equal(mousse_rebind(r.opt, "w[1][0]", w, g), MOUSSE_UNKNOWN_NAME);
  assert_error_mentions(r.opt, "a part of 'w'");
  size_t rows = 0, cols = 0;
  assert_int_equal(mousse_param_shape(r.opt, "w[2][1]", &rows, &cols), MOUSSE_OK);
  assert_true(rows == 3 && cols == 4);
  assert_int_equal(mousse_param_shape(r.opt, "w", &rows, &cols), MOUSSE_UNKNOWN_NAME);
  assert_error_mentions(r.opt, "'w[0][0]'");
  rig_prepare(&r);
  rig_step(&r, 1);
  rig_stop(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form_gives_the_bits_of_plain_matrices),
      cmocka_unit_test(test_transposed_matrices),
      cmocka_unit_test(test_single_rows_of_a_transposed_matrix),
      cmocka_unit_test(test_state_of_the_other_order),
      cmocka_unit_test(test_state_of_the_other_order_on_ranks),
      cmocka_unit_test(test_long_tensors_of_16_bits),
      cmocka_unit_test(test_missing_gradients_are_skipped),
      cmocka_unit_test(test_bad_tensors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
