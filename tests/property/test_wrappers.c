/* test_wrappers.c - average, look-ahead and schedule-free around any algorithm: their formulas in
 * double, resuming exactly, any number of ranks, numbers of 16 bits. */
#include "optim/saturate.h"
#include "property/meeting.h"
#include "property/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, COLS = 5, COUNT = ROWS * COLS, STEPS = 9 };

/* Options of the object as "name=value ...". */
static void set_object(mousse_optimizer *opt, const char *options)
{
  char text[256];
  snprintf(text, sizeof text, "%s", options);
  for (char *rest = text, *pair; (pair = strtok_r(rest, " ", &rest)) != NULL;) {
    char *equals = strchr(pair, '=');
    *equals = '\0';
    if (mousse_set_text(opt, MOUSSE_OBJECT, pair, equals + 1) != MOUSSE_OK)
      fail_msg("%s", mousse_error(opt));
  }
}

static void start(rig *r, const char *algorithm, const char *options, const char *object)
{
  rig_start(r, NULL);
  rig_add(r, algorithm, ROWS, COLS, options);
  set_object(r->opt, object);
  rig_prepare(r);
}

static void assert_close(const float *found, const double *expected, const char *what)
{
  for (size_t i = 0; i < COUNT; i++)
    if (!(fabs((double)found[i] - expected[i]) < 2e-6 * (1 + fabs(expected[i]))))
      fail_msg("%s: element %zu is %.9g, not %.9g", what, i, (double)found[i], expected[i]);
}

static void read_weights(rig *r, float *weights)
{
  if (mousse_read_weights(r->opt, "p0", weights, COUNT) != MOUSSE_OK)
    fail_msg("%s", mousse_error(r->opt));
}

/* 1/4, 1/2, 3/4, 1, 1, ... */
static double warm_up(int t)
{
  return t < 4 ? t / 4.0 : 1;
}

/* Plain gradient descent of w - target by hand, under each wrapper. */
static void test_formulas(void **state)
{
  (void)state;
  const double lr = 0.1;
  for (int which = 0; which < 4; which++) {
    static const char *const objects[] = {
        "average=on average_from=3 average_horizon=4 average_weight=0.6",
        "wrapper=lookahead lookahead=0.5 lookahead_decay=0.75 lr_factor=0.5",
        "wrapper=schedule_free schedule_free_beta=0.8",
        "wrapper=schedule_free schedule_free_beta=0.8 schedule_free_power=0"};
    rig r;
    double seen[COUNT], x[COUNT], d[COUNT] = {0}, z[COUNT], e[COUNT], wanted[COUNT];
    float weights[COUNT];
    start(&r, "sgd", "lr=0.1 mu=0 weight_decay=0", objects[which]);
    double weights_so_far = 0;
    for (size_t i = 0; i < COUNT; i++)
      seen[i] = x[i] = z[i] = e[i] = (double)r.params[0].value[i];
    for (int t = 1; t <= STEPS; t++) {
      const double factor = which == 1 ? 0.5 : which == 0 ? 1 : warm_up(t), rate = lr * factor;
      const double weight = which == 2 ? rate * rate : 1;
      weights_so_far += weight;
      assert_int_equal(mousse_set(r.opt, MOUSSE_OBJECT, "lr_factor", factor), MOUSSE_OK);
      for (size_t i = 0; i < COUNT; i++) {
        const double g = (double)(float)(seen[i] - 0.1 * (double)i);
        r.params[0].grad[i] = (float)g;
        if (which == 0) {
          seen[i] -= rate * g;
          e[i] = t <= 3 ? seen[i] : e[i] + (seen[i] - e[i]) / 4;
          wanted[i] = 0.4 * seen[i] + 0.6 * e[i];
        } else if (which == 1) {
          const double w = seen[i] - rate * g;
          d[i] = 0.75 * d[i] + 0.25 * (w - x[i]);
          wanted[i] = x[i] = w;
          seen[i] = w + 0.5 * 0.5 * d[i];
        } else {
          z[i] -= rate * g;
          wanted[i] = x[i] += (z[i] - x[i]) * weight / weights_so_far;
          seen[i] = 0.2 * z[i] + 0.8 * x[i];
        }
      }
      assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
      assert_close(r.params[0].value, seen, objects[which]);
      read_weights(&r, weights);
      assert_close(weights, wanted, objects[which]);
    }
    rig_stop(&r);
  }
}

static const char *const objects[] = {
    "average=on average_from=2", "wrapper=lookahead", "wrapper=schedule_free",
    "average=on average_weight=0.5 wrapper=lookahead", "average=on wrapper=schedule_free"};
enum { OBJECTS = sizeof objects / sizeof *objects };

static void set_factor(rig *r, double factor)
{
  assert_int_equal(mousse_set(r->opt, MOUSSE_OBJECT, "lr_factor", factor), MOUSSE_OK);
}

/* A schedule that begins with 0 moves nothing at first, and then counts as from there. */
static void test_nothing_counts_yet(void **state)
{
  (void)state;
  rig r, later;
  float found[COUNT], expected[COUNT];
  start(&r, "sgd", "mu=0", "wrapper=schedule_free");
  start(&later, "sgd", "mu=0", "wrapper=schedule_free");
  set_factor(&r, 0);
  rig_step(&r, 1);
  assert_same_weights(&r, &later);
  set_factor(&r, 1);
  for (uint64_t t = 2; t <= 4; t++) rig_step(&r, t), rig_step(&later, t);
  assert_same_weights(&r, &later);
  read_weights(&r, found);
  read_weights(&later, expected);
  assert_memory_equal(found, expected, sizeof found);
  rig_stop(&later);
  rig_stop(&r);
}

/* With every algorithm: saved at any step and loaded, it goes on in the same bits. */
static void test_resume(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (size_t o = 0; o < OBJECTS; o++) {
      rig whole, second;
      float expected[COUNT], found[COUNT];
      blob saved;
      start(&whole, name, "", objects[o]);
      for (uint64_t t = 1; t <= STEPS; t++) {
        if (t == 5) {
          rig_save(&whole, &saved);
          start(&second, name, "", objects[o]);
          memcpy(second.params[0].value, whole.params[0].value, COUNT * sizeof(float));
          rig_load(&second, &saved);
          blob_free(&saved);
        }
        set_factor(&whole, 0.1 * (double)t);
        rig_step(&whole, t);
        if (t < 5) continue;
        set_factor(&second, 0.1 * (double)t);
        rig_step(&second, t);
      }
      if (!rig_weights_are(&second, whole.params[0].value)) fail_msg("%s %s", name, objects[o]);
      read_weights(&whole, expected);
      read_weights(&second, found);
      assert_memory_equal(found, expected, sizeof found);
      rig_stop(&second);
      rig_stop(&whole);
    }
}

/* Arrays and steps of another optimizer, brought along by name, at a constant rate. */
static void test_state_goes_over(void **state)
{
  (void)state;
  rig from, to;
  const char *name;
  float data[COUNT], expected[COUNT];
  start(&from, "muon", "", "wrapper=schedule_free");
  start(&to, "muon", "", "wrapper=schedule_free");
  for (uint64_t t = 1; t <= 4; t++) rig_step(&from, t);
  for (size_t i = 0; (name = mousse_state_name(from.opt, "p0", i)) != NULL; i++) {
    assert_int_equal(mousse_state_read(from.opt, "p0", name, data, COUNT), MOUSSE_OK);
    assert_int_equal(mousse_state_write(to.opt, "p0", name, data, COUNT), MOUSSE_OK);
  }
  assert_int_equal(mousse_set_param(to.opt, "p0", "steps", 4), MOUSSE_OK);
  memcpy(to.params[0].value, from.params[0].value, sizeof data);
  for (uint64_t t = 5; t <= 8; t++) rig_step(&from, t), rig_step(&to, t);
  read_weights(&from, expected);
  read_weights(&to, data);
  assert_memory_equal(data, expected, sizeof data);
  rig_stop(&to);
  rig_stop(&from);
}

/* Of several arrays one alone is written, here as a first step would make it: the others, too, are what a
 * first step makes of them. */
static void test_one_array_goes_over(void **state)
{
  (void)state;
  static const char *const arrays[] = {"average", "base", "iterate"};
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) {
    rig one, usual;
    float found[COUNT], expected[COUNT];
    const char *object = "average=on wrapper=schedule_free";
    start(&one, "sgd", "mu=0 weight_decay=0", object);
    start(&usual, "sgd", "mu=0 weight_decay=0", object);
    assert_int_equal(mousse_state_write(one.opt, "p0", arrays[a], one.params[0].value, COUNT),
                     MOUSSE_OK);
    assert_int_equal(mousse_set_param(one.opt, "p0", "steps", 100), MOUSSE_OK);
    assert_int_equal(mousse_set_param(usual.opt, "p0", "steps", 100), MOUSSE_OK);
    for (uint64_t t = 1; t <= 3; t++) rig_step(&one, t), rig_step(&usual, t);
    read_weights(&one, found);
    read_weights(&usual, expected);
    for (size_t i = 0; i < COUNT; i++) assert_true(fabsf(found[i] - expected[i]) < 1e-3f);
    assert_same_weights(&one, &usual);
    rig_stop(&usual);
    rig_stop(&one);
  }
}

/* A wrapper that does nothing is no wrapper. */
static void test_reductions(void **state)
{
  (void)state;
  const char *name;
  static const char *const idle[] = {"average=on average_weight=0",
                                     "wrapper=lookahead lookahead=0", "lr_factor=1"};
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++)
    for (size_t o = 0; o < 3; o++) {
      rig r, plain;
      float weights[COUNT];
      start(&r, name, "", idle[o]);
      start(&plain, name, "", "");
      for (uint64_t t = 1; t <= 4; t++) rig_step(&r, t), rig_step(&plain, t);
      assert_same_weights(&r, &plain);
      read_weights(&r, weights);
      assert_memory_equal(weights, plain.params[0].value, sizeof weights);
      rig_stop(&plain);
      rig_stop(&r);
    }
}

/* State that was saved without a wrapper does not fit one, and the sentence says why. */
static void test_state_without_it(void **state)
{
  (void)state;
  rig plain, wrapped;
  blob saved;
  start(&plain, "muon", "", "");
  start(&wrapped, "muon", "", "wrapper=lookahead");
  rig_step(&plain, 1);
  rig_save(&plain, &saved);
  assert_int_equal(mousse_load(wrapped.opt, blob_read, &saved), MOUSSE_BAD_FORMAT);
  assert_error_mentions(wrapped.opt, "lacks the array 'base', which the option wrapper needs");
  blob_free(&saved);
  rig_step(&wrapped, 1);
  rig_save(&wrapped, &saved);
  rig_load(&plain, &saved); /* the other way round it only has too much */
  blob_free(&saved);
  rig_stop(&wrapped);
  rig_stop(&plain);
}

typedef struct player {
  const char *object;
  float w[2][40000], g[2][40000], read[2][40000];
  mousse_status status;
} player;

static void play(meeting_member *self, const mousse_comm *comm)
{
  player *p = self->user;
  mousse_optimizer *opt = NULL;
  mousse_env env = MOUSSE_ENV_INIT;
  int matrices = 0, others = 0;
  env.comm = comm;
  env.threads = 1;
  mousse_status s = mousse_create(&env, &opt);
  if (!s) s = mousse_add_group(opt, "muon", &matrices);
  if (!s) s = mousse_add_group(opt, "adamw", &others);
  if (!s) s = mousse_add_param(opt, matrices, "a", 20, 30, p->w[0], p->g[0]);
  if (!s) s = mousse_add_param(opt, others, "b", 200, 200, p->w[1], p->g[1]);
  if (!s) set_object(opt, p->object);
  if (!s) s = mousse_prepare(opt);
  for (uint64_t t = 0; !s && t < 4; t++) {
    for (size_t i = 0; i < 2; i++) fill_normal(p->g[i], 40000, 1, t, i);
    s = mousse_step(opt);
  }
  if (!s) s = mousse_read_weights(opt, "a", p->read[0], 600);
  if (!s) s = mousse_read_weights(opt, "b", p->read[1], 40000);
  p->status = s;
  mousse_destroy(opt);
}

static void test_any_number_of_ranks(void **state)
{
  (void)state;
  for (size_t o = 0; o < OBJECTS; o++) {
    player *alone = calloc(1, sizeof *alone), *three = calloc(3, sizeof *three);
    assert_true(alone != NULL && three != NULL);
    void *users[4] = {alone, &three[0], &three[1], &three[2]};
    for (int k = 0; k < 4; k++) {
      player *p = users[k];
      p->object = objects[o];
      for (size_t i = 0; i < 2; i++) fill_normal(p->w[i], 40000, 1, 7, i);
    }
    meeting_run(1, -1, play, users);
    meeting_run(3, -1, play, users + 1);
    for (int k = 0; k < 3; k++) {
      assert_int_equal(three[k].status, MOUSSE_OK);
      assert_memory_equal(three[k].w, alone->w, sizeof alone->w);
      assert_memory_equal(three[k].read, alone->read, sizeof alone->read);
    }
    free(alone);
    free(three);
  }
}

/* A number of steps alone: what the wrappers keep begins with the weights as they are. */
static void test_steps_without_their_state(void **state)
{
  (void)state;
  for (size_t o = 0; o < OBJECTS; o++) {
    rig r, usual;
    float found[COUNT], expected[COUNT];
    start(&r, "sgd", "mu=0 weight_decay=0", objects[o]);
    start(&usual, "sgd", "mu=0 weight_decay=0", objects[o]);
    assert_int_equal(mousse_set_param(r.opt, "p0", "steps", 100), MOUSSE_OK);
    read_weights(&r, found);
    assert_memory_equal(found, r.params[0].value, sizeof found);
    for (uint64_t t = 1; t <= 3; t++) rig_step(&r, t), rig_step(&usual, t);
    read_weights(&r, found);
    read_weights(&usual, expected);
    for (size_t i = 0; i < COUNT; i++) {
      const double seen = (double)r.params[0].value[i] - (double)usual.params[0].value[i];
      if (fabs(seen) > 0.2 || fabs((double)found[i] - (double)expected[i]) > 0.2)
        fail_msg("%s: %g, %g instead of about %g, %g", objects[o], (double)r.params[0].value[i],
                 (double)found[i], (double)usual.params[0].value[i], (double)expected[i]);
    }
    rig_stop(&usual);
    rig_stop(&r);
  }
}

/* The same after a load, whether the stream says that there was no step yet or not. */
static void test_steps_without_their_state_are_saved(void **state)
{
  (void)state;
  for (size_t o = 0; o < 2 * OBJECTS; o++) {
    rig r, loaded;
    blob saved, stream;
    float found[COUNT], expected[COUNT];
    start(&r, "adamw", "", objects[o / 2]);
    start(&loaded, "adamw", "", objects[o / 2]);
    assert_int_equal(mousse_set_param(r.opt, "p0", "steps", 100), MOUSSE_OK);
    rig_save(&r, &saved);
    stream = stream_version(&saved, 3 + o % 2);
    rig_load(&loaded, &stream);
    for (uint64_t t = 1; t <= 3; t++) rig_step(&r, t), rig_step(&loaded, t);
    read_weights(&r, expected);
    read_weights(&loaded, found);
    assert_same_weights(&loaded, &r);
    assert_memory_equal(found, expected, sizeof found);
    blob_free(&stream);
    blob_free(&saved);
    rig_stop(&loaded);
    rig_stop(&r);
  }
}

/* 16 bits, stored by columns: the floats behind them are what is evaluated. */
static void test_other_tensors(void **state)
{
  (void)state;
  static const char *const algorithms[] = {"muon", "adamw"};
  for (size_t a = 0; a < 2; a++)
    for (size_t o = 0; o < OBJECTS; o++) {
      rig plain, r;
      uint16_t value[COUNT];
      float weights[COUNT], expected[COUNT];
      start(&plain, algorithms[a], "", objects[o]);
      rig_start(&r, NULL);
      rig_param *p = rig_new_param(&r, ROWS, COLS);
      assert_int_equal(mousse_add_group(r.opt, algorithms[a], &p->group), MOUSSE_OK);
      const mousse_tensor t = {.struct_size = sizeof t,
                               .name = "p0",
                               .rows = ROWS,
                               .cols = COLS,
                               .transposed = 1,
                               .value_type = MOUSSE_BFLOAT16,
                               .value = value,
                               .grad = p->grad};
      assert_int_equal(mousse_add_tensor(r.opt, p->group, &t), MOUSSE_OK);
      set_object(r.opt, objects[o]);
      rig_prepare(&r);
      for (uint64_t step = 0; step <= 4; step++) {
        rig_gradients(&plain, step);
        for (size_t i = 0; i < COUNT; i++) {
          const size_t at = i % COLS * ROWS + i / COLS;
          float *w = &plain.params[0].value[i];
          if (step == 0) value[at] = mo_saturate_bfloat16(*w);
          if (step == 0) *w = mo_from_bfloat16(value[at]);
          p->grad[at] = plain.params[0].grad[i];
        }
        if (step == 0) continue;
        assert_int_equal(mousse_step(plain.opt), MOUSSE_OK);
        assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
      }
      read_weights(&plain, expected);
      read_weights(&r, weights);
      assert_memory_equal(weights, expected, sizeof weights);
      rig_stop(&r);
      rig_stop(&plain);
    }
}

/* What is evaluated of 16 bits is the master only where the value is that, rounded: not before the
 * first step with a state that has none, nor after somebody has written another value. */
static void test_values_of_others(void **state)
{
  (void)state;
  rig plain, r;
  blob saved;
  uint16_t value[COUNT];
  float weights[COUNT];
  start(&plain, "sgd", "", "");
  rig_step(&plain, 1);
  rig_save(&plain, &saved);
  rig_start(&r, NULL);
  rig_param *p = rig_new_param(&r, ROWS, COLS);
  assert_int_equal(mousse_add_group(r.opt, "sgd", &p->group), MOUSSE_OK);
  const mousse_tensor t = {.struct_size = sizeof t,
                           .name = "p0",
                           .rows = ROWS,
                           .cols = COLS,
                           .value_type = MOUSSE_BFLOAT16,
                           .value = value,
                           .grad = p->grad};
  assert_int_equal(mousse_add_tensor(r.opt, p->group, &t), MOUSSE_OK);
  for (size_t i = 0; i < COUNT; i++) value[i] = mo_saturate_bfloat16((float)i);
  rig_prepare(&r);
  rig_load(&r, &saved);
  read_weights(&r, weights);
  for (size_t i = 0; i < COUNT; i++) assert_true(weights[i] == (float)i);
  assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  for (size_t i = 0; i < COUNT; i++) value[i] = mo_saturate_bfloat16(100.0f + (float)i);
  read_weights(&r, weights);
  for (size_t i = 0; i < COUNT; i++) assert_true(weights[i] == 100.0f + (float)i);
  blob_free(&saved);
  rig_stop(&r);
  rig_stop(&plain);
}

/* From one end of float to the other: differences of such weights are beyond it. */
static void test_weights_at_the_ends(void **state)
{
  (void)state;
  static const char *const kinds[] = {
      "average=on average_horizon=3 average_weight=0.5", "wrapper=lookahead lookahead=10",
      "wrapper=schedule_free", "average=on wrapper=lookahead",
      "average=on wrapper=schedule_free schedule_free_power=0 schedule_free_beta=1"};
  for (size_t which = 0; which < sizeof kinds / sizeof *kinds; which++) {
    rig r;
    start(&r, "sgd", "lr=1000 mu=0", kinds[which]);
    for (int t = 0; t < STEPS; t++) {
      float weights[COUNT];
      for (size_t i = 0; i < COUNT; i++)
        r.params[0].grad[i] = (t + (int)i) % 2 == 0 ? 3e38f : -3e38f;
      assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
      read_weights(&r, weights);
      bool finite = rig_weights_finite(&r);
      for (size_t i = 0; i < COUNT; i++) finite = finite && isfinite(weights[i]);
      if (!finite) fail_msg("%s: not finite after step %d", kinds[which], t);
      blob b = blob_new();
      rig_save(&r, &b);
      rig_load(&r, &b);
      blob_free(&b);
    }
    rig_stop(&r);
  }
}

/* One vector, and as many of one element each, which no vector instruction takes. */
static void test_the_place_of_an_element(void **state)
{
  (void)state;
  enum { N = 67 };
  static const char *const kinds[] = {"average=on average_horizon=3", "wrapper=lookahead",
                                      "wrapper=lookahead lookahead_decay=0.8 lookahead=0.08",
                                      "wrapper=schedule_free average=on"};
  for (size_t which = 0; which < sizeof kinds / sizeof *kinds; which++) {
    float w[2][N], g[N], seen[2][N];
    mousse_optimizer *opts[2];
    for (size_t k = 0; k < 2; k++) {
      int group = 0;
      mousse_tensor t = {.struct_size = sizeof t, .name = "w", .rows = 1, .cols = k ? 1 : N};
      t.count = k ? N : 1, t.value = w[k], t.grad = g;
      fill_normal(w[k], N, 1e3, 5, which);
      assert_int_equal(mousse_create(NULL, &opts[k]), MOUSSE_OK);
      assert_int_equal(mousse_add_group(opts[k], "sgd", &group), MOUSSE_OK);
      assert_int_equal(mousse_add_tensor(opts[k], group, &t), MOUSSE_OK);
      set_object(opts[k], kinds[which]);
      assert_int_equal(mousse_prepare(opts[k]), MOUSSE_OK);
    }
    for (uint64_t t = 1; t <= 20; t++) {
      char name[16];
      fill_normal(g, N, 1e3, 6, t);
      for (size_t k = 0; k < 2; k++) assert_int_equal(mousse_step(opts[k]), MOUSSE_OK);
      assert_memory_equal(w[0], w[1], sizeof w[0]);
      assert_int_equal(mousse_read_weights(opts[0], "w", seen[0], N), MOUSSE_OK);
      for (size_t i = 0; i < N; i++) {
        snprintf(name, sizeof name, "w[%zu]", i);
        assert_int_equal(mousse_read_weights(opts[1], name, &seen[1][i], 1), MOUSSE_OK);
      }
      assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    }
    for (size_t k = 0; k < 2; k++) mousse_destroy(opts[k]);
  }
}

static void test_misuse(void **state)
{
  (void)state;
  rig r;
  float weights[COUNT];
  rig_start(&r, NULL);
  rig_add(&r, "muon", ROWS, COLS, "");
  assert_int_equal(mousse_read_weights(r.opt, "p0", weights, COUNT), MOUSSE_WRONG_PHASE);
  rig_prepare(&r);
  assert_int_equal(mousse_set_text(r.opt, MOUSSE_OBJECT, "average", "on"), MOUSSE_WRONG_PHASE);
  assert_int_equal(mousse_read_weights(r.opt, "p1", weights, COUNT), MOUSSE_UNKNOWN_NAME);
  assert_int_equal(mousse_read_weights(r.opt, "p0", weights, 3), MOUSSE_INVALID_ARGUMENT);
  assert_int_equal(mousse_read_weights(r.opt, "p0", NULL, COUNT), MOUSSE_INVALID_ARGUMENT);
  assert_int_equal(mousse_read_weights(NULL, "p0", weights, COUNT), MOUSSE_INVALID_ARGUMENT);
  read_weights(&r, weights);
  assert_memory_equal(weights, r.params[0].value, sizeof weights);
  rig_stop(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formulas),
      cmocka_unit_test(test_nothing_counts_yet),
      cmocka_unit_test(test_resume),
      cmocka_unit_test(test_state_goes_over),
      cmocka_unit_test(test_one_array_goes_over),
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_state_without_it),
      cmocka_unit_test(test_any_number_of_ranks),
      cmocka_unit_test(test_steps_without_their_state),
      cmocka_unit_test(test_steps_without_their_state_are_saved),
      cmocka_unit_test(test_other_tensors),
      cmocka_unit_test(test_values_of_others),
      cmocka_unit_test(test_weights_at_the_ends),
      cmocka_unit_test(test_the_place_of_an_element),
      cmocka_unit_test(test_misuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
