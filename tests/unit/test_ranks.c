/* test_ranks.c - several ranks, played by threads of this program over a mousse_comm of their
 * own: the same bits as one process, state divided, failures shared. */
#include "base/random.h"
#include "check.h"
#include "property/meeting.h"

#include <math.h>
#include <mousse/mousse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* f and g are long enough to be divided among ranks, at multiples of 16384 elements. */
enum { MAX_RANKS = 4, PARAMS = 7, LARGEST = 150 * 257, STEPS = 13, PERIOD = 1009 };

static const struct {
  const char *name, *algorithm;
  size_t rows, cols;
} tensors[PARAMS] = {{"a", "mousse", 40, 24}, {"b", "mousse", 16, 16}, {"c", "muon", 24, 40},
                     {"d", "soap", 20, 30},   {"e", "adamw", 1, 33},   {"f", "lion", 150, 257},
                     {"g", "sgd", 1, 37000}};

typedef struct memory {
  unsigned char *bytes;
  size_t size, capacity, at;
} memory;

static int memory_write(void *user, const void *data, size_t bytes)
{
  memory *m = user;
  if (m->size + bytes > m->capacity) {
    m->capacity = 2 * (m->size + bytes);
    m->bytes = realloc(m->bytes, m->capacity);
    if (m->bytes == NULL) return -1;
  }
  memcpy(m->bytes + m->size, data, bytes);
  m->size += bytes;
  return 0;
}

static int memory_read(void *user, void *data, size_t bytes)
{
  memory *m = user;
  if (m->size - m->at < bytes) return -1;
  memcpy(data, m->bytes + m->at, bytes);
  m->at += bytes;
  return 0;
}

typedef struct rank_run {
  int rank;
  const memory *resume;      /* NULL: from the start */
  int from, steps, bad_step; /* bad_step: rank 0's gradient is NaN there; negative: never */
  double size;               /* of the gradients; 0: 1 */
  bool watching;             /* on this rank */
  char notes[16384];         /* what it was told */
  float values[PARAMS][LARGEST], grads[PARAMS][LARGEST];
  memory saved;
  size_t state_bytes, all_state_bytes;
  mousse_status last;
  const meeting_member *self;
  int calls, sums; /* of the communicator: in all, and in the last step */
  char error[256];
} rank_run;

static mousse_status build(rank_run *r, mousse_optimizer *opt)
{
  int group = 0;
  for (int i = 0; i < PARAMS; i++) {
    mousse_status s = mousse_add_group(opt, tensors[i].algorithm, &group);
    if (s == MOUSSE_OK)
      s = mousse_add_param(opt, group, tensors[i].name, tensors[i].rows, tensors[i].cols,
                           r->values[i], r->grads[i]);
    if (s != MOUSSE_OK) return s;
  }
  return mousse_prepare(opt);
}

/* Shares are added up in another order than a whole, so the last digits may differ. */
static void take_note(void *user, const char *param, const char *quantity, double value)
{
  rank_run *r = user;
  const size_t used = strlen(r->notes);
  snprintf(r->notes + used, sizeof r->notes - used, "%s %s %.10g\n", param, quantity, value);
}

/* Gradients of any size, over and over in long tensors. The last element of a vector is far
 * larger than the others, and only one rank's share has it. */
static void fill_gradients(rank_run *r, int step)
{
  for (int i = 0; i < PARAMS; i++) {
    const size_t count = tensors[i].rows * tensors[i].cols;
    const double size = r->size > 0 ? r->size : 1.0;
    float *grads = r->grads[i];
    mo_random_fill(grads, count < PERIOD ? count : PERIOD, size, (uint64_t)i, (uint64_t)step);
    for (size_t e = PERIOD; e < count; e++) grads[e] = grads[e - PERIOD];
    if (i > 3) grads[count - 1] *= 1e12f;
  }
}

static mousse_status play(rank_run *r, mousse_optimizer *opt)
{
  mousse_status s = build(r, opt);
  for (int i = 0; i < PARAMS; i++)
    r->all_state_bytes += mousse_param_state_bytes(opt, tensors[i].name);
  double flops = 0;
  mousse_rank_load(opt, r->rank, &r->state_bytes, &flops);
  if (r->watching) mousse_observe(opt, take_note, r);
  if (s == MOUSSE_OK && r->resume != NULL) {
    memory reading = *r->resume;
    s = mousse_load(opt, memory_read, &reading);
  }
  for (int step = r->from; s == MOUSSE_OK && step < r->from + r->steps; step++) {
    r->notes[0] = '\0'; /* the last step's remain */
    fill_gradients(r, step);
    if (step == r->bad_step && r->rank == 0) r->grads[1][3] = NAN;
    const int sums = r->self->sums;
    s = mousse_step(opt);
    r->sums = r->self->sums - sums;
  }
  return s == MOUSSE_OK ? mousse_save(opt, memory_write, &r->saved) : s;
}

static void rank_main(meeting_member *self, const mousse_comm *comm)
{
  rank_run *r = self->user;
  r->self = self;
  mousse_optimizer *opt = NULL;
  const mousse_env env = {.struct_size = sizeof env, .comm = comm, .threads = 1};
  r->last = mousse_create(&env, &opt);
  if (r->last == MOUSSE_OK) r->last = play(r, opt);
  snprintf(r->error, sizeof r->error, "%s", mousse_error(opt));
  mousse_destroy(opt);
  r->calls = self->calls;
}

/* What a run of several ranks is to do. */
typedef struct plan {
  int ranks;
  const rank_run *before; /* its state and weights are continued; NULL: from the start */
  int from, steps, bad_step, fail_after;
  double size;  /* of the gradients; 0: 1 */
  int watching; /* a rank; -1: all; -2: none */
} plan;

static void set_up(rank_run *r, const plan *p, int rank)
{
  r->rank = rank;
  r->resume = p->before != NULL ? &p->before->saved : NULL;
  r->from = p->from, r->steps = p->steps, r->bad_step = p->bad_step, r->size = p->size;
  r->watching = p->watching == -1 || p->watching == rank;
  for (int t = 0; t < PARAMS; t++) {
    if (p->before != NULL)
      memcpy(r->values[t], p->before->values[t], sizeof r->values[t]);
    else
      mo_random_fill(r->values[t], tensors[t].rows * tensors[t].cols, 1.0, 99, (uint64_t)t);
  }
}

/* Runs all ranks to their end. */
static rank_run *run_plan(const plan *p)
{
  rank_run *runs = calloc((size_t)p->ranks, sizeof *runs);
  void *users[MAX_RANKS];
  assert_non_null(runs);
  for (int i = 0; i < p->ranks; i++) {
    set_up(&runs[i], p, i);
    users[i] = &runs[i];
  }
  meeting_run(p->ranks, p->fail_after, rank_main, users);
  return runs;
}

static rank_run *run_ranks(int ranks, const rank_run *before, int from, int steps, int bad_step,
                           int fail_after)
{
  return run_plan(&(plan){ranks, before, from, steps, bad_step, fail_after, 0, -2});
}

static rank_run *run_sized(int ranks, const rank_run *before, int part, double size)
{
  return run_plan(&(plan){ranks, before, part * STEPS, STEPS, -1, -1, size, -2});
}

static rank_run *run_watched(int ranks, int watching)
{
  return run_plan(&(plan){ranks, NULL, 0, STEPS, -1, -1, 0, watching});
}

static void release_runs(rank_run *runs, int ranks)
{
  for (int i = 0; i < ranks; i++) free(runs[i].saved.bytes);
  free(runs);
}

static void assert_same_result(const rank_run *a, const rank_run *b)
{
  assert_int_equal(a->last, MOUSSE_OK);
  assert_int_equal(b->last, MOUSSE_OK);
  assert_memory_equal(a->values, b->values, sizeof a->values);
}

static void test_any_number_of_ranks_gives_the_same_bits(void **state)
{
  (void)state;
  rank_run *alone = run_ranks(1, NULL, 0, STEPS, -1, -1);
  for (int ranks = 2; ranks <= MAX_RANKS; ranks++) {
    rank_run *together = run_ranks(ranks, NULL, 0, STEPS, -1, -1);
    size_t held = 0;
    for (int i = 0; i < ranks; i++) {
      assert_same_result(alone, &together[i]);
      assert_true(together[i].state_bytes < together[i].all_state_bytes);
      held += together[i].state_bytes;
      if (i > 0) assert_int_equal(together[i].saved.size, 0); /* rank 0 alone writes */
    }
    assert_int_equal(held, alone->all_state_bytes);
    for (int i = 0; ranks == 4 && i < ranks; i++) /* f and g have nearly a half each */
      assert_true(10 * together[i].state_bytes < 4 * held);
    assert_int_equal(together[0].saved.size, alone->saved.size);
    assert_memory_equal(together[0].saved.bytes, alone->saved.bytes, alone->saved.size);
    release_runs(together, ranks);
  }
  release_runs(alone, 1);
}

static void test_resume_on_another_number_of_ranks(void **state)
{
  (void)state;
  static const int ways[][2] = {{1, 3}, {3, 1}, {2, 4}, {4, 3}};
  rank_run *straight = run_ranks(1, NULL, 0, 2 * STEPS, -1, -1);
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    rank_run *first = run_ranks(ways[w][0], NULL, 0, STEPS, -1, -1);
    rank_run *second = run_ranks(ways[w][1], first, STEPS, STEPS, -1, -1);
    for (int i = 0; i < ways[w][1]; i++) assert_same_result(straight, &second[i]);
    release_runs(first, ways[w][0]);
    release_runs(second, ways[w][1]);
  }
  release_runs(straight, 1);
}

/* Gradients far from 1 move the units of the state: a decision about whole tensors. */
static void test_units_of_divided_tensors(void **state)
{
  (void)state;
  static const double sizes[] = {1e-30, 1e10, 1e-20};
  rank_run *before[2] = {NULL, NULL};
  for (int part = 0; part < 3; part++) {
    rank_run *alone = run_sized(1, before[0], part, sizes[part]);
    rank_run *together = run_sized(3, before[1], part, sizes[part]);
    for (int i = 0; i < 3; i++) assert_same_result(alone, &together[i]);
    assert_memory_equal(alone->saved.bytes, together->saved.bytes, alone->saved.size);
    if (part > 0) release_runs(before[0], 1), release_runs(before[1], 3);
    before[0] = alone;
    before[1] = together;
  }
  release_runs(before[0], 1);
  release_runs(before[1], 3);
}

/* Whoever computed it, and also when only one rank wants to know. Where none does, ranks have nothing
 * more to tell each other; a single sum carries all that they could differ in. */
static void test_observers_hear_of_every_parameter(void **state)
{
  (void)state;
  rank_run *alone = run_watched(1, 0), *all = run_watched(4, -1), *one = run_watched(4, 2);
  rank_run *none = run_watched(4, -2);
  assert_non_null(strstr(alone->notes, "f update_rms"));
  for (int i = 0; i < 4; i++) {
    assert_string_equal(all[i].notes, alone->notes);
    assert_string_equal(one[i].notes, i == 2 ? alone->notes : "");
    assert_int_equal(one[i].calls, all[i].calls);
    assert_true(one[i].sums == 1 && none[i].sums == 1);
    assert_true(one[i].calls >= none[i].calls + STEPS * PARAMS);
  }
  release_runs(alone, 1);
  release_runs(all, 4);
  release_runs(one, 4);
  release_runs(none, 4);
}

static void test_one_bad_gradient_stops_every_rank(void **state)
{
  (void)state;
  rank_run *good = run_ranks(3, NULL, 0, 4, -1, -1), *bad = run_ranks(3, NULL, 0, STEPS, 4, -1);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(bad[i].last, MOUSSE_NOT_FINITE);
    assert_memory_equal(bad[i].values, good[i].values, sizeof good[i].values);
  }
  assert_non_null(strstr(bad[0].error, "'b'"));
  assert_non_null(strstr(bad[1].error, "rank 0: the gradient of 'b'"));
  release_runs(good, 3);
  release_runs(bad, 3);
}

static void test_communication_failure_is_told(void **state)
{
  (void)state;
  for (int calls = 0; calls < 20; calls += 3) {
    rank_run *runs = run_ranks(2, NULL, 0, STEPS, -1, calls);
    for (int i = 0; i < 2; i++) {
      assert_int_equal(runs[i].last, MOUSSE_COMM);
      assert_non_null(strstr(runs[i].error, "ranks"));
    }
    release_runs(runs, 2);
  }
}

/* A communicator over which nothing may be said while planning; in prepare, the others say what
 * this rank says. */
static bool planning;

static int say_nothing(void *context, float *data, size_t count)
{
  (void)context, (void)data, (void)count;
  if (planning) fail_msg("planning talked to other ranks");
  return 0;
}

static int share_nothing(void *context, float *data, size_t count, int root)
{
  (void)root;
  return say_nothing(context, data, count);
}

static mousse_optimizer *start_planning(int rank, int ranks)
{
  mousse_optimizer *opt = NULL;
  const mousse_comm comm = {rank, ranks, say_nothing, share_nothing, NULL};
  const mousse_env env = {.struct_size = sizeof env, .comm = &comm, .threads = 2};
  assert_int_equal(mousse_create(&env, &opt), MOUSSE_OK);
  planning = true;
  return opt;
}

static void test_plan_is_what_prepare_does(void **state)
{
  (void)state;
  rank_run *r = calloc(1, sizeof *r);
  assert_non_null(r);
  for (int rank = 0; rank < 3; rank++) {
    mousse_optimizer *opt = start_planning(rank, 3);
    size_t planned[3] = {0};
    int group = 0, owners[PARAMS];
    assert_int_equal(mousse_plan(opt, 0, planned), MOUSSE_INVALID_ARGUMENT);
    for (int i = 0; i < PARAMS; i++) {
      assert_int_equal(mousse_add_group(opt, tensors[i].algorithm, &group), MOUSSE_OK);
      assert_int_equal(mousse_add_param(opt, group, tensors[i].name, tensors[i].rows,
                                        tensors[i].cols, r->values[i], r->grads[i]),
                       MOUSSE_OK);
      assert_true(mousse_param_flops(opt, tensors[i].name) > 0);
    }
    for (int other = 0; other < 3; other++)
      assert_int_equal(mousse_plan(opt, other, &planned[other]), MOUSSE_OK);
    assert_int_equal(mousse_plan(opt, 3, planned), MOUSSE_INVALID_ARGUMENT);
    assert_int_equal(mousse_plan(opt, -1, planned), MOUSSE_INVALID_ARGUMENT);
    assert_int_equal(mousse_plan(opt, 0, NULL), MOUSSE_INVALID_ARGUMENT);
    for (int i = 0; i < PARAMS; i++) owners[i] = mousse_param_owner(opt, tensors[i].name);
    planning = false;
    assert_int_equal(mousse_prepare(opt), MOUSSE_OK);
    for (int i = 0; i < PARAMS; i++)
      assert_int_equal(mousse_param_owner(opt, tensors[i].name), owners[i]);
    assert_int_equal(mousse_bytes_held(opt), planned[rank]);
    assert_int_equal(mousse_plan(opt, 0, planned), MOUSSE_WRONG_PHASE);
    mousse_destroy(opt);
  }
  free(r);
}

/* The 162M model, without memory. */
static void add_162M(mousse_optimizer *opt, const char *algorithm)
{
  static const size_t layer[6][2] = {{768, 768}, {768, 768},  {768, 768},
                                     {768, 768}, {3072, 768}, {768, 3072}};
  int matrices = 0, others = 0;
  assert_int_equal(mousse_add_group(opt, algorithm, &matrices), MOUSSE_OK);
  assert_int_equal(mousse_add_group(opt, "lion", &others), MOUSSE_OK);
  for (int i = 0; i < 2 + 12 * 6; i++) {
    char name[16];
    const size_t rows = i < 2 ? 50304 : layer[i % 6][0], cols = i < 2 ? 768 : layer[i % 6][1];
    snprintf(name, sizeof name, "%d", i);
    assert_int_equal(
        mousse_add_param(opt, i < 2 ? others : matrices, name, rows, cols, NULL, NULL),
        MOUSSE_OK);
  }
}

/* Four ranks hold little more than a quarter each, whatever the algorithm. */
static void test_state_of_a_large_model_is_divided(void **state)
{
  (void)state;
  const char *algorithm = NULL;
  for (size_t a = 0; (algorithm = mousse_algorithm_name(a)) != NULL; a++) {
    mousse_optimizer *opt = start_planning(0, 4);
    size_t all = 0, held = 0, bytes = 0, sum = 0;
    double flops = 0;
    const char *name = NULL;
    add_162M(opt, algorithm);
    assert_int_equal(mousse_plan(opt, 0, &bytes), MOUSSE_OK);
    for (size_t i = 0; (name = mousse_param_name(opt, i)) != NULL; i++)
      all += mousse_param_state_bytes(opt, name);
    for (int rank = 0; rank < 4; rank++) {
      assert_int_equal(mousse_rank_load(opt, rank, &held, &flops), MOUSSE_OK);
      assert_true(held > 0 && 100 * held <= 26 * all);
      sum += held;
    }
    assert_int_equal(sum, all);
    mousse_destroy(opt);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_number_of_ranks_gives_the_same_bits),
      cmocka_unit_test(test_resume_on_another_number_of_ranks),
      cmocka_unit_test(test_units_of_divided_tensors),
      cmocka_unit_test(test_observers_hear_of_every_parameter),
      cmocka_unit_test(test_one_bad_gradient_stops_every_rank),
      cmocka_unit_test(test_communication_failure_is_told),
      cmocka_unit_test(test_plan_is_what_prepare_does),
      cmocka_unit_test(test_state_of_a_large_model_is_divided),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
