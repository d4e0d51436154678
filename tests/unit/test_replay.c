/* test_replay.c - recordings of loops, and what they take on other numbers of cores: the
 * schedules of small cases are known. */
#include "base/memory.h"
#include "base/team.h"
#include "bench/recordings.h"
#include "bench/replay.h"
#include "check.h"

#include <math.h>
#include <string.h>

static void assert_seconds(double found, double expected, double tolerance)
{
  if (!(fabs(found - expected) <= tolerance)) fail_msg("%g s, expected %g", found, expected);
}

/* A recording made by hand: item 0 has `count` loops of items with the given seconds. */
typedef struct script {
  mo_recording recording;
  mo_recorded_item items[64];
  mo_recorded_loop loops[16];
  mo_recorded_kind kinds[2];
} script;

static void begin(script *s)
{
  memset(s, 0, sizeof *s);
  s->kinds[0] = (mo_recorded_kind){"", "serial"};
  s->kinds[1] = (mo_recorded_kind){"here.c", "item"};
  s->items[0] = (mo_recorded_item){0, MO_NO_LOOP, 0};
  s->recording = (mo_recording){.items = s->items,
                                .item_count = 1,
                                .loops = s->loops,
                                .kinds = s->kinds,
                                .kind_count = 2};
}

static size_t add_loop(script *s, size_t item, double before, const double *seconds,
                       size_t count, bool helped)
{
  const long added = (long)s->recording.loop_count++;
  long *link = &s->items[item].first_loop;
  while (*link != MO_NO_LOOP) link = &s->loops[*link].next;
  *link = added;
  const size_t first = s->recording.item_count;
  s->loops[added] = (mo_recorded_loop){before, first, count, 1, MO_NO_LOOP, helped, false};
  for (size_t i = 0; i < count; i++)
    s->items[first + i] = (mo_recorded_item){seconds[i], MO_NO_LOOP, 1};
  s->recording.item_count += count;
  return first;
}

static double seconds_on(const script *s, int cores, double share, double bandwidth)
{
  const double shares[2] = {0, share};
  const replay_machine machine = {cores, bandwidth, 0};
  replay_result result;
  assert_int_equal(replay(&s->recording, shares, &machine, NULL, &result, NULL), MOUSSE_OK);
  return result.seconds;
}

static void test_low_items_go_first(void **state)
{
  (void)state;
  script s;
  begin(&s);
  add_loop(&s, 0, 1, (double[]){2, 2, 2, 6}, 4, false);
  assert_seconds(seconds_on(&s, 1, 0, 1), 13, 1e-12);
  assert_seconds(seconds_on(&s, 2, 0, 1), 1 + 8, 1e-12); /* 2, 6 and 2, 2: the long one last */
  assert_seconds(seconds_on(&s, 64, 0, 1), 1 + 6, 1e-12);
}

static void test_loops_follow_one_another(void **state)
{
  (void)state;
  script s;
  begin(&s);
  add_loop(&s, 0, 0, (double[]){1, 1, 1}, 3, false);
  add_loop(&s, 0, 0.5, (double[]){4, 1}, 2, false);
  s.items[0].after = 0.25;
  replay_loop loops[2] = {{0}};
  const replay_machine machine = {2, 1, 0.125};
  replay_result result;
  assert_int_equal(replay(&s.recording, NULL, &machine, loops, &result, NULL), MOUSSE_OK);
  assert_seconds(result.one_core, 8.75, 1e-12);
  assert_seconds(result.seconds, 0.125 + 2 + 0.5 + 0.125 + 4 + 0.25, 1e-12);
  assert_seconds(loops[1].work, 8, 1e-12);
  assert_seconds(loops[1].before, 0.5, 1e-12);
  assert_seconds(loops[1].longest, 4, 1e-12);
  assert_int_equal(loops[1].times, 2);
}

/* Two items on four cores: 1 second, a loop of six parts, 1 second. Without help 8 seconds;
 * with it each loop is done by two cores. */
static void test_free_cores_help(void **state)
{
  (void)state;
  for (int helped = 0; helped < 2; helped++) {
    script s;
    begin(&s);
    const size_t first = add_loop(&s, 0, 0, (double[]){1, 1}, 2, helped != 0);
    for (size_t i = 0; i < 2; i++)
      add_loop(&s, first + i, 1, (double[]){1, 1, 1, 1, 1, 1}, 6, false);
    assert_seconds(seconds_on(&s, 1, 0, 1), 16, 1e-12);
    assert_seconds(seconds_on(&s, 2, 0, 1), 8, 1e-12);
    assert_seconds(seconds_on(&s, 4, 0, 1), helped ? 5 : 8, 1e-12);
    assert_seconds(seconds_on(&s, 64, 0, 1), helped ? 3 : 8, 1e-12);
  }
}

/* Ten items on four cores, the first with a loop of eight parts and 2 seconds after it. In a hurry,
 * its parts come before new items, and what is after them is done beside those. */
static void test_items_in_a_hurry_are_helped_first(void **state)
{
  (void)state;
  double seconds[2][2];
  for (int hurried = 0; hurried < 2; hurried++) {
    script s;
    begin(&s);
    const size_t first = add_loop(&s, 0, 0, (double[]){2, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10, true);
    add_loop(&s, first, 0.5, (double[]){1, 1, 1, 1, 1, 1, 1, 1}, 8, false);
    s.loops[1].hurried = hurried != 0;
    assert_seconds(seconds_on(&s, 1, 0, 1), 19.5, 1e-12);
    seconds[hurried][0] = seconds_on(&s, 4, 0, 1);
    seconds[hurried][1] = seconds_on(&s, 3, 0, 1);
  }
  assert_seconds(seconds[0][0], 7, 1e-12);
  assert_seconds(seconds[1][0], 5, 1e-12);
  assert_seconds(seconds[0][1], seconds[1][1], 1e-12); /* of three threads one is too many */
}

static void test_memory_is_shared(void **state)
{
  (void)state;
  script s;
  begin(&s);
  add_loop(&s, 0, 0, (double[]){1, 1, 1, 1}, 4, false);
  assert_seconds(seconds_on(&s, 4, 0.5, 4), 1, 1e-12);       /* enough for all */
  assert_seconds(seconds_on(&s, 4, 0.5, 1), 0.5 + 1, 1e-12); /* demand 2, bandwidth 1 */
  assert_seconds(seconds_on(&s, 4, 1, 1), 4, 1e-12);         /* as if one after the other */
}

typedef struct counts {
  int items, parts, outside;
} counts;

static void part(void *context, size_t item, int thread)
{
  (void)item, (void)thread;
  ((counts *)context)->parts++;
  ((counts *)context)->outside += !mo_team_inside();
}

static void item(void *context, size_t item, int thread)
{
  (void)item, (void)thread;
  ((counts *)context)->items += mo_team_inside();
  mo_team_divide(3, part, context);
  mo_team_divide(2, part, context);
}

/* What is recorded has the form of what ran. */
static void test_a_recording_has_all_loops(void **state)
{
  (void)state;
  mo_recording r = {0};
  counts c = {0};
  mo_recording_start(&r);
  mo_parallel(4, 7, part, &c);
  mo_team_run(4, 2, item, &c);
  assert_true(mo_recording_stop(&r));
  assert_false(mo_recording_on());
  assert_int_equal(c.items, 2);
  assert_int_equal(c.parts, 7 + 10);
  assert_int_equal(c.outside, 7 + 10);
  assert_int_equal(r.loop_count, 2 + 4);
  assert_int_equal(r.item_count, 1 + 7 + 2 + 10);
  const mo_recorded_loop *first = &r.loops[r.items[0].first_loop],
                         *second = &r.loops[first->next];
  assert_int_equal(first->count, 7);
  assert_false(first->helped);
  assert_int_equal(second->count, 2);
  assert_true(second->helped);
  assert_int_equal(second->next, MO_NO_LOOP);
  assert_string_equal(r.kinds[second->kind].name, "item");
  const mo_recorded_loop *inner = &r.loops[r.items[second->first_item].first_loop];
  assert_int_equal(inner->count, 3);
  assert_int_equal(r.loops[inner->next].count, 2);
  assert_seconds(replay_item_seconds(&r, 0), 0, 1);
  mo_recording_release(&r);
}

/* Three recordings, of which one was disturbed in each place and one in all: the sum is the middle
 * one of the sums, and the parts are those of an undisturbed one. */
static void test_noise_of_a_recording_goes(void **state)
{
  (void)state;
  static script s[3];
  mo_recording all[3];
  const double seconds[3][4] = {{1, 2, 3, 9}, {1, 7, 3, 4}, {2, 4, 6, 8}};
  for (size_t i = 0; i < 3; i++) {
    begin(&s[i]);
    add_loop(&s[i], 0, 0, seconds[i], 4, false);
    all[i] = s[i].recording;
  }
  assert_int_equal(recordings_merge(all, 3, NULL), MOUSSE_OK);
  const double sum = 1 + 4 + 3 + 8; /* of the medians; the sums are 15, 15 and 20 */
  const double expected[4] = {1 * 15 / sum, 4 * 15 / sum, 3 * 15 / sum, 8 * 15 / sum};
  for (size_t i = 0; i < 4; i++) assert_seconds(all[0].items[1 + i].after, expected[i], 1e-12);
  all[1].item_count--;
  assert_int_equal(recordings_merge(all, 2, NULL), MOUSSE_WRONG_PHASE);
}

/* Three layers, the last of which does half as much; one item of each was disturbed. */
static void test_layers_are_compared(void **state)
{
  (void)state;
  static script s;
  begin(&s);
  const size_t first = add_loop(&s, 0, 0, (double[]){2, 4, 6, 5}, 4, false);
  const size_t second = add_loop(&s, 0, 0, (double[]){2, 7, 3, 5}, 4, false);
  const size_t third = add_loop(&s, 0, 0, (double[]){4, 2, 1.5, 1}, 4, false);
  const size_t other = add_loop(&s, 0, 0, (double[]){9, 1}, 2, false);
  for (size_t loop = 0; loop < 3; loop++) s.items[first + 4 * loop + 3].kind = 0;
  assert_int_equal(recording_even_out(&s.recording, NULL), MOUSSE_OK);
  const double parts[3] = {0.5, 1, 0.75}; /* of the mean, by the median: 4, 4 and 2.5 s */
  for (size_t i = 0; i < 3; i++) {
    assert_seconds(s.items[first + i].after, 12 * parts[i] / 2.25, 1e-12);
    assert_seconds(s.items[second + i].after, 12 * parts[i] / 2.25, 1e-12);
    assert_seconds(s.items[third + i].after, 7.5 * parts[i] / 2.25, 1e-12);
  }
  assert_seconds(s.items[first + 3].after, 5,
                 1e-12); /* another kind: the only one of its loop */
  assert_seconds(s.items[third + 3].after, 1, 1e-12);
  assert_seconds(s.items[other].after, 9, 1e-12); /* not alike */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_low_items_go_first),
      cmocka_unit_test(test_loops_follow_one_another),
      cmocka_unit_test(test_free_cores_help),
      cmocka_unit_test(test_items_in_a_hurry_are_helped_first),
      cmocka_unit_test(test_memory_is_shared),
      cmocka_unit_test(test_a_recording_has_all_loops),
      cmocka_unit_test(test_noise_of_a_recording_goes),
      cmocka_unit_test(test_layers_are_compared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
