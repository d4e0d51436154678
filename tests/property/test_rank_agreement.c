/* test_rank_agreement.c - ranks that did not do the same: each is told, on all ranks, what the
 * difference is; nobody waits for ever, and nothing is overwritten. */
#include "property/harness.h"
#include "property/meeting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3 };

typedef struct player player;
typedef void (*variation)(player *p);

/* One rank: registers a, b and c, prepares, steps twice, reads state, saves and loads. `vary`
 * does one thing differently on rank 1. */
struct player {
  int rank;
  mousse_optimizer *opt;
  variation vary;
  float w[3][35], g[3][35];
  bool swap, other_shape, no_memory, fewer, null_gradient, other_gradient, no_callback;
  float covariance[49];          /* of the inputs of a and b, where the algorithm takes one */
  float bad_input, bad_gradient; /* an element of them, unless it is 0 */
  const char *algorithm, *name;  /* name: of a; NULL: "a" */
  mousse_status status;
  char error[600];
  blob saved;
};

static void *refuse(void *user, size_t bytes)
{
  player *p = user;
  return p->no_memory && bytes > 20000 ? NULL : malloc(bytes);
}

static void release(void *user, void *block, size_t bytes)
{
  (void)user, (void)bytes;
  free(block);
}

static mousse_status add(player *p, int which, int group)
{
  static const char *const names[] = {"a", "b", "c"};
  const mousse_tensor t = {.struct_size = sizeof t,
                           .name = which == 0 && p->name != NULL ? p->name : names[which],
                           .rows = p->other_shape && which == 1 ? 7 : 5,
                           .cols = p->other_shape && which == 1 ? 5 : 7,
                           .grad_type = MOUSSE_FLOAT32,
                           .value = p->w[which],
                           .grad = p->g[which]};
  return mousse_add_tensor(p->opt, group, &t);
}

static mousse_status build(player *p)
{
  int group = 0, other = 0;
  mousse_status s = mousse_add_group(p->opt, p->algorithm, &group);
  if (!s) s = mousse_add_group(p->opt, "sgd", &other);
  if (!s) s = add(p, p->swap ? 1 : 0, group);
  if (!s) s = add(p, p->swap ? 0 : 1, group);
  if (!s && !p->fewer) s = add(p, 2, other);
  for (size_t i = 0; i < 7; i++) p->covariance[8 * i] = 1;
  if (p->bad_input != 0.0f) p->covariance[3] = p->bad_input;
  if (s || mousse_algorithm_input(p->algorithm, 0) == NULL) return s;
  s = mousse_bind_input(p->opt, "a", "input_covariance", p->covariance);
  return s ? s : mousse_bind_input(p->opt, "b", "input_covariance", p->covariance);
}

static mousse_status run(player *p)
{
  float read[35];
  mousse_status s = mousse_prepare(p->opt);
  for (int step = 0; !s && step < 2; step++) {
    for (size_t i = 0; i < 3; i++) fill_normal(p->g[i], 35, 1, (uint64_t)step, i);
    if (p->other_gradient) p->g[1][3] = 1e20f;
    if (p->bad_gradient != 0.0f) p->g[1][3] = p->bad_gradient;
    if (p->null_gradient) s = mousse_rebind(p->opt, "b", p->w[1], NULL);
    if (!s) s = mousse_step(p->opt);
  }
  if (!s) s = mousse_state_read(p->opt, "c", "momentum", read, 35);
  if (!s) s = mousse_save(p->opt, p->no_callback ? NULL : blob_write, &p->saved);
  return s;
}

static void play(meeting_member *self, const mousse_comm *comm)
{
  player *p = self->user;
  mousse_env env = MOUSSE_ENV_INIT;
  env.allocate = refuse;
  env.release = release;
  env.user = p;
  env.comm = comm;
  env.threads = 1;
  p->status = mousse_create(&env, &p->opt);
  if (!p->status) p->status = build(p);
  if (!p->status && p->vary != NULL && p->rank == 1) p->vary(p);
  if (!p->status) p->status = run(p);
  snprintf(p->error, sizeof p->error, "%s", mousse_error(p->opt));
  mousse_destroy(p->opt);
}

static player *play_all(const player *usual, const player *odd, int fail_after)
{
  player *players = calloc(RANKS, sizeof *players);
  void *users[RANKS];
  assert_non_null(players);
  for (int rank = 0; rank < RANKS; rank++) {
    players[rank] = rank == 1 ? *odd : *usual;
    players[rank].rank = rank;
    players[rank].saved = blob_new();
    for (size_t i = 0; i < 3; i++) fill_normal(players[rank].w[i], 35, 1, 3, i);
    users[rank] = &players[rank];
  }
  meeting_run(RANKS, fail_after, play, users);
  return players;
}

static void done(player *players)
{
  for (int rank = 0; rank < RANKS; rank++) blob_free(&players[rank].saved);
  free(players);
}

/* Every rank has this status, and a sentence with these words in it. */
static void assert_agreed(const player *usual, const player *odd, mousse_status status,
                          const char *const *words)
{
  player *players = play_all(usual, odd, -1);
  for (int rank = 0; rank < RANKS; rank++) {
    if (players[rank].status != status)
      fail_msg("rank %d: status %d, %s", rank, players[rank].status, players[rank].error);
    for (size_t i = 0; words[i] != NULL; i++)
      if (strstr(players[rank].error, words[i]) == NULL)
        fail_msg("rank %d: '%s' is not in: %s", rank, words[i], players[rank].error);
  }
  done(players);
}

static void assert_all(const player *odd, mousse_status status, const char *const *words)
{
  const player usual = {.algorithm = "mousse"};
  assert_agreed(&usual, odd, status, words);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_another_order(void **state)
{
  (void)state;
  const player odd = {.algorithm = "mousse", .swap = true};
  assert_all(&odd, MOUSSE_INVALID_ARGUMENT,
             WORDS("parameter 0 is 'a'", "on rank 0", "parameter 0 is 'b'", "on rank 1"));
}

static void test_another_shape_algorithm_or_number(void **state)
{
  (void)state;
  const player shape = {.algorithm = "mousse", .other_shape = true};
  assert_all(&shape, MOUSSE_INVALID_ARGUMENT, WORDS("'b' (5 x 7", "'b' (7 x 5", "rank 1"));
  const player algorithm = {.algorithm = "muon"};
  assert_all(&algorithm, MOUSSE_INVALID_ARGUMENT,
             WORDS("group 0 is mousse", "group 0 is muon"));
  const player fewer = {.algorithm = "mousse", .fewer = true};
  assert_all(&fewer, MOUSSE_INVALID_ARGUMENT, WORDS("'c'", "there are 2 parameters on rank 1"));
}

static void set_sides(player *p)
{
  p->status = mousse_set_text(p->opt, 0, "sides", "left");
}

static void set_factor(player *p)
{
  p->status = mousse_set(p->opt, MOUSSE_OBJECT, "lr_factor", 0.5);
}

static void set_param(player *p)
{
  p->status = mousse_set_param(p->opt, "b", "lr_factor", 0.5);
}

static void set_steps(player *p)
{
  p->status = mousse_set_param(p->opt, "b", "steps", 12);
}

static void test_other_options(void **state)
{
  (void)state;
  const player sides = {.algorithm = "mousse", .vary = set_sides};
  assert_all(&sides, MOUSSE_INVALID_ARGUMENT,
             WORDS("sides of group 0 (mousse) is both", "sides of group 0 (mousse) is left"));
  const player factor = {.algorithm = "mousse", .vary = set_factor};
  assert_all(&factor, MOUSSE_INVALID_ARGUMENT, WORDS("lr_factor is 1 ", "lr_factor is 0.5 "));
  const player param = {.algorithm = "mousse", .vary = set_param};
  assert_all(&param, MOUSSE_INVALID_ARGUMENT, WORDS("'b'", "lr_factor 0.5"));
  const player steps = {.algorithm = "mousse", .vary = set_steps};
  assert_all(&steps, MOUSSE_INVALID_ARGUMENT, WORDS("'b'", "steps 12"));
}

/* Names that only differ where a sentence does not show them. */
static void test_long_names(void **state)
{
  (void)state;
  char one[400], other[400];
  memset(one, 'n', sizeof one - 1);
  one[sizeof one - 1] = '\0';
  memcpy(other, one, sizeof other);
  other[sizeof other - 2] = 'm';
  const player usual = {.algorithm = "mousse", .name = one},
               odd = {.algorithm = "mousse", .name = other};
  assert_agreed(&usual, &usual, MOUSSE_OK, (const char *const[]){NULL});
  assert_agreed(&usual, &odd, MOUSSE_INVALID_ARGUMENT, WORDS("parameter 0 is 'nnn", "rank 1"));
}

static void test_no_memory_on_one_rank(void **state)
{
  (void)state;
  const player odd = {.algorithm = "mousse", .no_memory = true};
  assert_all(&odd, MOUSSE_NO_MEMORY, WORDS("rank 1", "no memory"));
}

static void test_a_gradient_that_only_some_ranks_have(void **state)
{
  (void)state;
  const player odd = {.algorithm = "mousse", .null_gradient = true};
  assert_all(&odd, MOUSSE_INVALID_ARGUMENT, WORDS("'b'", "1 of 3 ranks"));
}

/* A step that one rank cannot make is refused on all, by one status and that rank's sentence. */
static void test_a_step_that_one_rank_refuses(void **state)
{
  (void)state;
  const player bad = {.algorithm = "mousse", .bad_gradient = NAN};
  assert_all(&bad, MOUSSE_NOT_FINITE, WORDS("rank 1", "'b' is", "row 0, column 3"));
  const player usual = {.algorithm = "newtonmuon"};
  const player input = {.algorithm = "newtonmuon", .bad_input = INFINITY};
  assert_agreed(&usual, &input, MOUSSE_NOT_FINITE, WORDS("rank 1", "input_covariance", "'a'"));
  const player both = {.algorithm = "newtonmuon", .bad_gradient = NAN};
  assert_agreed(&both, &input, MOUSSE_NOT_FINITE, WORDS("'b' is"));
}

static void take_input(player *p)
{
  p->status = mousse_bind_input(p->opt, "b", "input_covariance", NULL);
}

/* Ranks with different reasons go by the first of them. */
static void test_different_reasons(void **state)
{
  (void)state;
  const player bad = {.algorithm = "newtonmuon", .bad_gradient = NAN};
  const player lacks = {.algorithm = "newtonmuon", .vary = take_input};
  assert_agreed(&bad, &lacks, MOUSSE_NOT_FINITE, WORDS("the gradient of 'b'"));
  const player usual = {.algorithm = "newtonmuon"};
  assert_agreed(&usual, &lacks, MOUSSE_INVALID_ARGUMENT, WORDS("rank 1", "needs the input"));
}

/* Rank 0 alone calls it, but a rank without one must not leave the others waiting. */
static void test_a_callback_that_one_rank_lacks(void **state)
{
  (void)state;
  const player odd = {.algorithm = "mousse", .no_callback = true};
  assert_all(&odd, MOUSSE_INVALID_ARGUMENT, WORDS("rank 1", "write must not be NULL"));
}

/* Gradients that somebody forgot to average: wrong, but all ranks go on together. */
static void test_other_gradients_do_not_part_the_ranks(void **state)
{
  (void)state;
  const player usual = {.algorithm = "muon"},
               odd = {.algorithm = "muon", .other_gradient = true};
  player *players = play_all(&usual, &odd, -1);
  for (int rank = 0; rank < RANKS; rank++) {
    assert_int_equal(players[rank].status, MOUSSE_OK);
    assert_memory_equal(players[rank].w, players[0].w, sizeof players[0].w);
  }
  done(players);
}

/* The communication fails at its n-th call, wherever that is: COMM, in every call. */
static void test_every_call_may_fail_to_communicate(void **state)
{
  (void)state;
  const player usual = {.algorithm = "mousse"};
  int n = 0;
  for (;; n++) {
    player *players = play_all(&usual, &usual, n);
    const bool through = players[0].status == MOUSSE_OK;
    for (int rank = 0; rank < RANKS; rank++) {
      if (through) assert_int_equal(players[rank].status, MOUSSE_OK);
      if (!through && players[rank].status != MOUSSE_COMM)
        fail_msg("call %d, rank %d: %d, %s", n, rank, players[rank].status,
                 players[rank].error);
      if (!through) assert_non_null(strstr(players[rank].error, "ranks"));
    }
    done(players);
    if (through) break;
  }
  assert_true(n > 20);
}

/* A load whose communication fails: COMM as well, and then only load and destroy. */
typedef struct loader {
  blob *saved;
  bool no_callback;
  mousse_status loaded, stepped;
  char error[600];
} loader;

static void load(meeting_member *self, const mousse_comm *comm)
{
  loader *l = self->user;
  float w[2][12] = {{0}}, g[2][12] = {{0}};
  mousse_env env = MOUSSE_ENV_INIT;
  mousse_optimizer *opt = NULL;
  int group = 0;
  blob reading = *l->saved;
  env.comm = comm;
  env.threads = 1;
  if (mousse_create(&env, &opt) || mousse_add_group(opt, "sgd", &group) ||
      mousse_add_param(opt, group, "p0", 3, 4, w[0], g[0]) ||
      mousse_add_param(opt, group, "p1", 3, 4, w[1], g[1]))
    abort();
  l->loaded = mousse_prepare(opt);
  blob_rewind(&reading);
  if (!l->loaded) l->loaded = mousse_load(opt, l->no_callback ? NULL : blob_read, &reading);
  snprintf(l->error, sizeof l->error, "%s", mousse_error(opt));
  l->stepped = mousse_step(opt);
  mousse_destroy(opt);
}

/* The state of two matrices that nothing was done to. */
static blob saved_state(void)
{
  rig r;
  blob saved;
  rig_start(&r, NULL);
  rig_add(&r, "sgd", 3, 4, "");
  rig_add(&r, "sgd", 3, 4, "");
  rig_prepare(&r);
  rig_save(&r, &saved);
  rig_stop(&r);
  return saved;
}

static void test_a_load_that_one_rank_lacks_the_callback_of(void **state)
{
  (void)state;
  blob saved = saved_state();
  loader loaders[RANKS] = {{.saved = &saved}, {&saved, .no_callback = true}, {.saved = &saved}};
  void *users[RANKS] = {&loaders[0], &loaders[1], &loaders[2]};
  meeting_run(RANKS, -1, load, users);
  for (int rank = 0; rank < RANKS; rank++) {
    assert_int_equal(loaders[rank].loaded, MOUSSE_INVALID_ARGUMENT);
    assert_non_null(strstr(loaders[rank].error, "rank 1: mousse_load: read must not be NULL"));
    assert_int_equal(loaders[rank].stepped, MOUSSE_OK);
  }
  blob_free(&saved);
}

static void test_a_load_that_cannot_communicate(void **state)
{
  (void)state;
  blob saved = saved_state();
  for (int n = 0;; n++) {
    loader loaders[RANKS];
    void *users[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
      loaders[rank] = (loader){.saved = &saved};
      users[rank] = &loaders[rank];
    }
    meeting_run(RANKS, n, load, users);
    for (int rank = 0; rank < RANKS; rank++) {
      assert_int_equal(loaders[rank].loaded, loaders[0].loaded);
      if (loaders[rank].loaded == MOUSSE_OK) continue;
      assert_int_equal(loaders[rank].loaded, MOUSSE_COMM);
      assert_int_equal(loaders[rank].stepped, MOUSSE_WRONG_PHASE);
    }
    if (loaders[0].loaded == MOUSSE_OK) break;
  }
  blob_free(&saved);
}

/* Rank 0's callback fails at its n-th call, wherever that is: no rank takes anything, and all go on
 * together. */
static void test_a_load_that_rank_0_cannot_read(void **state)
{
  (void)state;
  blob saved = saved_state();
  size_t n = 0;
  for (mousse_status status = MOUSSE_IO; status != MOUSSE_OK; n++) {
    loader loaders[RANKS];
    void *users[RANKS];
    saved.fail_after = n;
    for (int rank = 0; rank < RANKS; rank++) {
      loaders[rank] = (loader){.saved = &saved};
      users[rank] = &loaders[rank];
    }
    meeting_run(RANKS, -1, load, users);
    status = loaders[0].loaded;
    for (int rank = 0; rank < RANKS; rank++) {
      assert_int_equal(loaders[rank].loaded, status);
      assert_int_equal(loaders[rank].stepped, MOUSSE_OK);
      if (status == MOUSSE_OK) continue;
      assert_int_equal(status, MOUSSE_IO);
      assert_non_null(strstr(loaders[rank].error, rank == 0 ? "callback" : "rank 0"));
    }
  }
  assert_true(n > 20);
  blob_free(&saved);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_another_order),
      cmocka_unit_test(test_another_shape_algorithm_or_number),
      cmocka_unit_test(test_other_options),
      cmocka_unit_test(test_long_names),
      cmocka_unit_test(test_no_memory_on_one_rank),
      cmocka_unit_test(test_a_gradient_that_only_some_ranks_have),
      cmocka_unit_test(test_a_step_that_one_rank_refuses),
      cmocka_unit_test(test_different_reasons),
      cmocka_unit_test(test_a_callback_that_one_rank_lacks),
      cmocka_unit_test(test_other_gradients_do_not_part_the_ranks),
      cmocka_unit_test(test_every_call_may_fail_to_communicate),
      cmocka_unit_test(test_a_load_that_one_rank_lacks_the_callback_of),
      cmocka_unit_test(test_a_load_that_cannot_communicate),
      cmocka_unit_test(test_a_load_that_rank_0_cannot_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
