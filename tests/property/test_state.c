/* test_state.c - saved state: cut off at every byte, flipped in every bit, of another
 * optimizer, behind a failing callback. It is refused with a sentence, and nothing changes. */
#include "property/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void small(rig *r, const char *algorithm)
{
  rig_single(r, NULL, algorithm, 3, 4, "");
}

/* What must not change: compared after each refused load. */
typedef struct snapshot {
  blob saved;
  float *weights;
  uint64_t steps;
} snapshot;

static snapshot take(rig *r)
{
  snapshot s = {.weights = rig_weights(r), .steps = mousse_steps_done(r->opt)};
  rig_save(r, &s.saved);
  return s;
}

static void drop(snapshot *s)
{
  blob_free(&s->saved);
  free(s->weights);
}

static void assert_unchanged(rig *r, const snapshot *s)
{
  blob now;
  rig_save(r, &now);
  assert_int_equal(now.size, s->saved.size);
  assert_memory_equal(now.data, s->saved.data, now.size);
  assert_true(rig_weights_are(r, s->weights));
  assert_int_equal(mousse_steps_done(r->opt), s->steps);
  blob_free(&now);
}

static void three_steps(rig *r)
{
  for (uint64_t t = 1; t <= 3; t++) rig_step(r, t);
}

/* Two equal optimizers after three steps: r is tried, control is not. */
typedef struct trial {
  rig r, control;
  snapshot before; /* of r */
} trial;

static void trial_start(trial *t, const char *algorithm)
{
  small(&t->r, algorithm);
  small(&t->control, algorithm);
  three_steps(&t->r);
  three_steps(&t->control);
  t->before = take(&t->r);
}

/* r is as it was before, and goes on as if nothing had happened. */
static void trial_end(trial *t)
{
  assert_unchanged(&t->r, &t->before);
  rig_step(&t->r, 4);
  rig_step(&t->control, 4);
  assert_same_weights(&t->r, &t->control);
  drop(&t->before);
  rig_stop(&t->control);
  rig_stop(&t->r);
}

static void test_every_truncation(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    trial t;
    trial_start(&t, name);
    blob cut = t.before.saved;
    for (cut.size = 0; cut.size < t.before.saved.size; cut.size++) {
      blob_rewind(&cut);
      const mousse_status s = mousse_load(t.r.opt, blob_read, &cut);
      if (s != MOUSSE_IO && s != MOUSSE_BAD_FORMAT)
        fail_msg("%s cut at %zu: status %d", name, cut.size, s);
      assert_true(mousse_error(t.r.opt)[0] != '\0');
      if (cut.size % 16 == 0) assert_unchanged(&t.r, &t.before);
    }
    trial_end(&t);
  }
}

static void test_every_flipped_bit(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    trial t;
    blob flipped;
    trial_start(&t, name);
    rig_save(&t.r, &flipped);
    for (size_t bit = 0; bit < 8 * flipped.size; bit++) {
      const unsigned char mask = (unsigned char)(1u << (bit % 8));
      flipped.data[bit / 8] ^= mask;
      blob_rewind(&flipped);
      const mousse_status s = mousse_load(t.r.opt, blob_read, &flipped);
      flipped.data[bit / 8] ^= mask;
      if (s != MOUSSE_BAD_FORMAT && s != MOUSSE_IO)
        fail_msg("%s bit %zu of byte %zu: status %d", name, bit % 8, bit / 8, s);
      if (bit % 64 == 0) assert_unchanged(&t.r, &t.before);
    }
    blob_free(&flipped);
    trial_end(&t);
  }
}

static void test_failing_callbacks(void **state)
{
  (void)state;
  trial t;
  trial_start(&t, "mousse");
  mousse_status s = MOUSSE_IO;
  size_t failures = 0;
  for (size_t n = 0; s != MOUSSE_OK; n++) {
    blob out = {.fail_after = n};
    s = mousse_save(t.r.opt, blob_write, &out);
    if (s != MOUSSE_OK) assert_int_equal(s, MOUSSE_IO);
    failures += s != MOUSSE_OK;
    assert_unchanged(&t.r, &t.before);
    blob_free(&out);
  }
  assert_true(failures > 0);
  s = MOUSSE_IO;
  for (size_t n = 0; s != MOUSSE_OK; n++) {
    blob in = t.before.saved;
    blob_rewind(&in);
    in.fail_after = n;
    s = mousse_load(t.r.opt, blob_read, &in);
    if (s != MOUSSE_OK) assert_int_equal(s, MOUSSE_IO);
    assert_unchanged(&t.r, &t.before);
  }
  trial_end(&t);
}

/* The state of `from` does not fit `into`; the sentence mentions the word. */
static void assert_does_not_fit(rig *from, rig *into, const char *word)
{
  blob saved;
  rig_save(from, &saved);
  snapshot before = take(into);
  blob_rewind(&saved);
  assert_int_equal(mousse_load(into->opt, blob_read, &saved), MOUSSE_BAD_FORMAT);
  assert_error_mentions(into->opt, word);
  assert_unchanged(into, &before);
  rig_step(into, 9);
  drop(&before);
  blob_free(&saved);
}

static void test_another_shape(void **state)
{
  (void)state;
  rig r, transposed;
  small(&r, "mousse");
  rig_single(&transposed, NULL, "mousse", 4, 3, "");
  three_steps(&r);
  assert_does_not_fit(&r, &transposed, "p0");
  rig_stop(&transposed);
  rig_stop(&r);
}

static void test_another_algorithm(void **state)
{
  (void)state;
  const char *name;
  rig r;
  small(&r, "mousse");
  three_steps(&r);
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    if (strcmp(name, "mousse") == 0) continue;
    rig other;
    small(&other, name);
    assert_does_not_fit(&r, &other, "p0");
    assert_does_not_fit(&other, &r, "mousse");
    rig_stop(&other);
  }
  rig_stop(&r);
}

static void test_missing_and_extra_parameters(void **state)
{
  (void)state;
  rig one, two;
  small(&one, "lion");
  rig_start(&two, NULL);
  rig_add(&two, "lion", 3, 4, "");
  rig_add(&two, "lion", 5, 2, "");
  rig_prepare(&two);
  three_steps(&one);
  three_steps(&two);
  assert_does_not_fit(&one, &two, "no parameter 'p1' in it");
  assert_does_not_fit(&two, &one, "has no parameter 'p1'");
  rig_stop(&two);
  rig_stop(&one);
}

static void test_another_name(void **state)
{
  (void)state;
  rig r, other;
  float w[12] = {0}, g[12] = {0};
  int group = 0;
  small(&r, "sgd");
  rig_start(&other, NULL);
  assert_int_equal(mousse_add_group(other.opt, "sgd", &group), MOUSSE_OK);
  assert_int_equal(mousse_add_param(other.opt, group, "weight", 3, 4, w, g), MOUSSE_OK);
  rig_prepare(&other);
  assert_does_not_fit(&r, &other, "p0");
  rig_stop(&other);
  rig_stop(&r);
}

/* Sides that keep no statistics make another layout: refused, not misread. */
static void test_another_layout(void **state)
{
  (void)state;
  rig r, left;
  small(&r, "mousse");
  rig_single(&left, NULL, "mousse", 3, 4, "sides=left");
  three_steps(&r);
  three_steps(&left);
  assert_does_not_fit(&r, &left, "'p0' has 20 floats of 'right', expected 0");
  assert_error_mentions(left.opt, "it was saved with sides = both, here it is left");
  assert_does_not_fit(&left, &r, "'p0' has 0 floats of 'right', expected 20");
  rig_stop(&left);
  rig_stop(&r);
}

/* Parameters are found by name: the order of registration may differ. */
static void test_order_does_not_matter(void **state)
{
  (void)state;
  float w[2][12], v[2][12], g[2][12];
  mousse_optimizer *opts[2] = {NULL, NULL};
  for (size_t k = 0; k < 2; k++) {
    int group = 0;
    assert_int_equal(mousse_create(NULL, &opts[k]), MOUSSE_OK);
    assert_int_equal(mousse_add_group(opts[k], "adamw", &group), MOUSSE_OK);
    for (size_t i = 0; i < 2; i++) {
      const size_t which = k == 0 ? i : 1 - i;
      fill_normal((k == 0 ? w : v)[which], 12, 1, 3, which);
      assert_int_equal(mousse_add_param(opts[k], group, which == 0 ? "a" : "b", 3, 4,
                                        (k == 0 ? w : v)[which], g[which]),
                       MOUSSE_OK);
    }
    assert_int_equal(mousse_prepare(opts[k]), MOUSSE_OK);
  }
  for (size_t i = 0; i < 2; i++) fill_normal(g[i], 12, 1, 4, i);
  for (int t = 0; t < 3; t++) assert_int_equal(mousse_step(opts[0]), MOUSSE_OK);
  memcpy(v, w, sizeof v);
  blob saved = blob_new();
  assert_int_equal(mousse_save(opts[0], blob_write, &saved), MOUSSE_OK);
  assert_int_equal(mousse_load(opts[1], blob_read, &saved), MOUSSE_OK);
  for (size_t k = 0; k < 2; k++) assert_int_equal(mousse_step(opts[k]), MOUSSE_OK);
  assert_memory_equal(v, w, sizeof v);
  blob_free(&saved);
  mousse_destroy(opts[1]);
  mousse_destroy(opts[0]);
}

/* p0 keeps other statistics than in the stream, p1 is as there, p2 is not in it. */
static void three_kinds(rig *r)
{
  rig_start(r, NULL);
  rig_add(r, "mousse", 3, 4, "sides=left");
  rig_add(r, "mousse", 3, 4, "");
  rig_add(r, "adamw", 3, 4, "");
  rig_prepare(r);
  three_steps(r);
}

/* As far as it fits: the first and the last go on as if nothing had been loaded, and the one between
 * them as where it was saved. */
static void test_what_does_not_fit_stays_as_it_is(void **state)
{
  (void)state;
  rig old, new, control;
  blob saved;
  const size_t bytes = 12 * sizeof(float);
  rig_start(&old, NULL);
  rig_add(&old, "mousse", 3, 4, "");
  rig_add(&old, "mousse", 3, 4, "");
  rig_prepare(&old);
  for (uint64_t t = 10; t <= 15; t++) rig_step(&old, t);
  rig_save(&old, &saved);
  three_kinds(&new);
  three_kinds(&control);
  assert_int_equal(mousse_load_matching(new.opt, blob_read, &saved, NULL, NULL), MOUSSE_OK);
  memcpy(new.params[1].value, old.params[1].value, bytes);
  for (uint64_t t = 20; t <= 23; t++) {
    rig_step(&old, t);
    rig_step(&new, t);
    rig_step(&control, t);
  }
  assert_memory_equal(new.params[0].value, control.params[0].value, bytes);
  assert_memory_equal(new.params[1].value, old.params[1].value, bytes);
  assert_memory_equal(new.params[2].value, control.params[2].value, bytes);
  blob_free(&saved);
  rig_stop(&control);
  rig_stop(&new);
  rig_stop(&old);
}

/* As docs/into-your-trainer.md says: from a loop with its own AdamW to this one, after 10 steps. */
static void test_moments_of_another_adamw(void **state)
{
  (void)state;
  enum { COUNT = 12 };
  const double beta1 = 0.9, beta2 = 0.999, lr = 0.01;
  double w[COUNT] = {0}, m[COUNT] = {0}, v[COUNT] = {0};
  float first[COUNT], root[COUNT];
  rig r;
  rig_single(&r, NULL, "adamw", 3, 4, "beta2=0.999 lr=0.01 weight_decay=0");
  for (uint64_t t = 1; t <= 20; t++) {
    rig_gradients(&r, t);
    for (int i = 0; i < COUNT; i++) {
      const double g = r.params[0].grad[i];
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * g * g;
      const double corrected = v[i] / (1 - pow(beta2, (double)t));
      w[i] -= lr * m[i] / (1 - pow(beta1, (double)t)) / (sqrt(corrected) + 1e-8);
    }
    if (t > 10) rig_step(&r, t);
    if (t != 10) continue;
    for (int i = 0; i < COUNT; i++) {
      r.params[0].value[i] = (float)w[i];
      first[i] = (float)m[i];
      root[i] = (float)sqrt(v[i]);
    }
    assert_int_equal(mousse_state_write(r.opt, "p0", "first_moment", first, COUNT), MOUSSE_OK);
    assert_int_equal(mousse_state_write(r.opt, "p0", "root_second_moment", root, COUNT), 0);
    assert_int_equal(mousse_set_param(r.opt, "p0", "steps", 10), MOUSSE_OK);
  }
  for (int i = 0; i < COUNT; i++) assert_true(fabs(w[i] - r.params[0].value[i]) < 1e-6);
  assert_int_equal(mousse_state_write(r.opt, "p0", "momentum", first, COUNT),
                   MOUSSE_UNKNOWN_NAME);
  assert_error_mentions(r.opt, "no array 'momentum'; it has first_moment, root_second_moment");
  rig_stop(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_truncation),
      cmocka_unit_test(test_every_flipped_bit),
      cmocka_unit_test(test_failing_callbacks),
      cmocka_unit_test(test_another_shape),
      cmocka_unit_test(test_another_algorithm),
      cmocka_unit_test(test_missing_and_extra_parameters),
      cmocka_unit_test(test_another_name),
      cmocka_unit_test(test_another_layout),
      cmocka_unit_test(test_order_does_not_matter),
      cmocka_unit_test(test_what_does_not_fit_stays_as_it_is),
      cmocka_unit_test(test_moments_of_another_adamw),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
