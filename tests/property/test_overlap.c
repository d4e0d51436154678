/* test_overlap.c - new values that are sent while others are still computed (option overlap): the
 * same weights and the same saved state as one process has, whoever computes what and is done
 * when; a communicator that fails is reported by all ranks, and nobody waits for ever. */
#include "property/harness.h"
#include "property/meeting.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 6, RANKS = 3 };

typedef struct overlap_player {
  bool overlap, skips, saves;
  int threads;
  float *weights; /* afterwards */
  size_t floats;  /* that these are */
  blob saved;
  mousse_status status; /* of the last step */
} overlap_player;

static void add_all(rig *r)
{
  rig_add(r, "mousse", 64, 96, "refresh_every=4");
  rig_add(r, "muon", 48, 48, "");
  rig_add(r, "adamw", 1, 4097, "");
  rig_add(r, "soap", 20, 31, "refresh_every=4");
  rig_add(r, "mousse", 33, 17, "refresh_every=4 sides=small");
  rig_add(r, "adamw", 300, 450, ""); /* several threads share it, and several ranks */
  rig_add(r, "lion", 1, 65537, "");
}

/* The last parameter has no gradient in every other step. */
static mousse_status step(rig *r, bool skips, uint64_t t)
{
  const rig_param *last = &r->params[r->count - 1];
  const float *grad = skips && t % 2 == 0 ? NULL : last->grad;
  rig_gradients(r, t);
  if (mousse_rebind(r->opt, last->name, last->value, grad) != MOUSSE_OK) abort();
  return mousse_step(r->opt);
}

static void play(overlap_player *p, const mousse_comm *comm)
{
  const mousse_env env = {.struct_size = sizeof env, .comm = comm, .threads = p->threads};
  rig r;
  rig_start(&r, &env);
  add_all(&r);
  if (mousse_set(r.opt, MOUSSE_OBJECT, "overlap", p->overlap) != MOUSSE_OK) abort();
  p->status = mousse_prepare(r.opt);
  for (uint64_t t = 1; p->status == MOUSSE_OK && t <= STEPS; t++)
    p->status = step(&r, p->skips, t);
  p->weights = rig_weights(&r);
  for (size_t i = 0; i < r.count; i++) p->floats += r.params[i].count;
  if (p->saves) rig_save(&r, &p->saved);
  rig_stop(&r);
}

static void play_rank(meeting_member *self, const mousse_comm *comm)
{
  play(self->user, comm);
}

static void release(overlap_player *p)
{
  free(p->weights);
  if (p->saves) blob_free(&p->saved);
}

static void play_together(int ranks, int fail_after, overlap_player *players)
{
  void *users[MEETING_MAX_RANKS];
  for (int rank = 0; rank < ranks; rank++) users[rank] = &players[rank];
  meeting_run(ranks, fail_after, play_rank, users);
}

static void test_same_bits(void **state)
{
  (void)state;
  overlap_player alone = {.skips = true, .saves = true, .threads = 1};
  play(&alone, NULL);
  assert_int_equal(alone.status, MOUSSE_OK);
  for (int ranks = 2; ranks <= 5; ranks++)
    for (int overlap = 0; overlap < 2; overlap++) {
      overlap_player players[MEETING_MAX_RANKS] = {{0}};
      for (int rank = 0; rank < ranks; rank++)
        players[rank] = (overlap_player){
            .overlap = overlap != 0, .skips = true, .saves = true, .threads = 1 + rank % 2};
      play_together(ranks, -1, players);
      for (int rank = 0; rank < ranks; rank++) {
        assert_int_equal(players[rank].status, MOUSSE_OK);
        assert_memory_equal(players[rank].weights, alone.weights, alone.floats * sizeof(float));
      }
      /* Rank 0 has written it, with whatever overlap was. */
      assert_int_equal(players[0].saved.size, alone.saved.size);
      assert_memory_equal(players[0].saved.data, alone.saved.data, alone.saved.size);
      for (int rank = 0; rank < ranks; rank++) release(&players[rank]);
    }
  release(&alone);
}

/* Wherever it fails, all ranks say so. */
static void test_failing_communicator(void **state)
{
  (void)state;
  int ended = 0;
  for (int calls = 0; ended == 0; calls += 3) {
    overlap_player players[RANKS];
    for (int rank = 0; rank < RANKS; rank++)
      players[rank] = (overlap_player){.overlap = true, .threads = 2};
    play_together(RANKS, calls, players);
    for (int rank = 0; rank < RANKS; rank++) {
      ended += players[rank].status == MOUSSE_OK;
      if (players[rank].status != MOUSSE_OK)
        assert_int_equal(players[rank].status, MOUSSE_COMM);
      release(&players[rank]);
    }
  }
  assert_int_equal(ended, RANKS);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits),
      cmocka_unit_test(test_failing_communicator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
