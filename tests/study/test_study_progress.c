/* test_study_progress.c - what is said of the time that the rest of a study takes. */
#include "study/progress.h"

#include "scratch.h"

#include <math.h>

enum { STEPS = 100 };

/* Four runs of one kind: one was complete before, one comes from an archive, one goes on from step
 * 20, one waits. */
static void four_runs(study_run list[4])
{
  for (size_t i = 0; i < 4; i++) {
    list[i] = (study_run){.state = STUDY_WAITING};
    assert_int_equal(options_defaults(&list[i].run, NULL), MOUSSE_OK);
    list[i].run.num_iterations = STEPS;
    list[i].run.model_dim = 64;
    list[i].run.n_head = 4;
  }
  for (size_t i = 0; i < 2; i++) list[i].state = STUDY_COMPLETE, list[i].course.step = STEPS;
  list[1].archived = true;
  list[2].state = STUDY_RUNNING;
  list[2].started = 1000;
  list[2].steps_before = list[2].course.step = 20;
}

static void what_was_there_before_is_no_speed(void **state)
{
  (void)state;
  study_run list[4];
  study_runs runs = {.runs = list, .count = 4};
  four_runs(list);
  study_progress p = study_progress_of(&runs, 1010);
  assert_int_equal(p.ended, 2);
  assert_true(fabs(p.fraction - 0.55) < 1e-9);
  assert_true(isnan(p.seconds_left));
  list[2].course.step = 40; /* 20 steps in 50 seconds, and 160 are left */
  p = study_progress_of(&runs, 1050);
  assert_true(fabs(p.seconds_left - 400) < 1e-6);
}

/* A run that is read anew from its start is, for a moment, behind where it was. */
static void a_run_that_is_read_anew_takes_nothing_back(void **state)
{
  (void)state;
  study_run list[4];
  study_runs runs = {.runs = list, .count = 4};
  four_runs(list);
  list[2].course.step = 5;
  assert_true(isnan(study_progress_of(&runs, 1001).seconds_left));
}

static void a_run_that_was_given_up_has_ended(void **state)
{
  (void)state;
  study_run list[4];
  study_runs runs = {.runs = list, .count = 4};
  four_runs(list);
  list[2].state = STUDY_HOPELESS;
  list[2].course.step = 40; /* 20 steps in 50 seconds, and 100 are left */
  const study_progress p = study_progress_of(&runs, 1050);
  assert_int_equal(p.ended, 3);
  assert_true(fabs(p.fraction - 0.75) < 1e-9);
  assert_true(fabs(p.seconds_left - 250) < 1e-6);
}

/* A step of the larger model costs four times as much. */
static void steps_are_weighed(void **state)
{
  (void)state;
  study_run list[4];
  study_runs runs = {.runs = &list[2], .count = 2};
  four_runs(list);
  list[2].course.step = 40;
  list[3].run.model_dim = 128;
  const study_progress p = study_progress_of(&runs, 1050);
  assert_true(fabs(p.fraction - 40.0 / 500) < 1e-9);
  assert_true(fabs(p.seconds_left - 460 * 50.0 / 20) < 1e-6);
}

/* A search that will add three runs more: the time that is left counts them from the start, and stays
 * the same when they come. */
static void runs_that_are_expected_count(void **state)
{
  (void)state;
  study_run list[4];
  study_runs runs = {.runs = &list[2], .count = 1};
  four_runs(list);
  list[2].course.step = 40; /* 20 steps in 50 seconds, and 60 + 3 * 100 are left */
  study_expect(&runs, &list[3].run, 3);
  study_progress p = study_progress_of(&runs, 1050);
  assert_int_equal(p.count, 4);
  assert_true(fabs(p.fraction - 0.1) < 1e-9);
  assert_true(fabs(p.seconds_left - 900) < 1e-6);
  runs.count = 2;
  runs.expected = (study_expected){0};
  study_expect(&runs, &list[3].run, 2);
  p = study_progress_of(&runs, 1050);
  assert_int_equal(p.count, 4);
  assert_true(fabs(p.fraction - 0.1) < 1e-9 && fabs(p.seconds_left - 900) < 1e-6);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_there_before_is_no_speed),
      cmocka_unit_test(a_run_that_is_read_anew_takes_nothing_back),
      cmocka_unit_test(a_run_that_was_given_up_has_ended),
      cmocka_unit_test(steps_are_weighed),
      cmocka_unit_test(runs_that_are_expected_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
