/* test_study_execution.c - which runs a study starts when, with a script in place of the program that
 * trains. */
#include "scratch.h"
#include "study/run_child.h"
#include "support/signals.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Tells the name of the run. One called "fails" takes a step and fails while there is a file "failing";
 * one called "waits" does so for a file "go", but not for ever. */
static const char script[] =
    "#!/bin/sh\n"
    "run=${3%/run.yaml}; name=${run##*/}; top=${run%/*/*}\n"
    "echo $name >> $top/order\n"
    "if [ $name = fails ] && [ -e $top/failing ]; then\n"
    "  echo '{\"step\": 1, \"tokens\": 1, \"loss\": 5, \"lr\": 1, \"grad_norm\": 1, "
    "\"seconds\": 1}' "
    "> $run/metrics.jsonl\n"
    "  exit 1\n"
    "fi\n"
    "turns=0\n"
    "while [ $name = waits ] && [ ! -e $top/go ] && [ $turns -lt 200 ]; do\n"
    "  sleep 0.05; turns=$((turns + 1))\n"
    "done\n";

static void add(study_runs *runs, const char *name)
{
  train_options run;
  mo_error error = {{0}};
  assert_int_equal(options_defaults(&run, &error), MOUSSE_OK);
  assert_int_equal(study_add(runs, name, &run, NULL, &error), MOUSSE_OK);
}

/* Once more as another process would. */
static void execute(void **state, const char *const *names, study_execution how)
{
  study_runs runs = {.runs = NULL};
  mo_error error = {{0}};
  int stopped = 0;
  snprintf(runs.directory, sizeof runs.directory, "%s", scratch_path(state, "runs"));
  how.program = scratch_write(state, "program", script, strlen(script));
  assert_int_equal(chmod(how.program, 0700), 0);
  for (; *names != NULL; names++) add(&runs, *names);
  assert_int_equal(study_execute(&runs, &how, &stopped, &error), MOUSSE_OK);
  assert_string_equal(error.text, "");
  study_release(&runs);
}

static mousse_status add_begun(void *source, study_runs *runs, bool *again, mo_error *error)
{
  (void)source, (void)again, (void)error;
  if (runs->count == 2) add(runs, "fails");
  return MOUSSE_OK;
}

/* Also where the runs that lead to it ended in another process. */
static void what_was_begun_goes_on_first(void **state)
{
  char *order = NULL;
  size_t size = 0;
  const study_execution one = {.jobs = 1}, adding = {.jobs = 1, .ended = add_begun};
  scratch_write(state, "failing", "", 0);
  execute(state, (const char *const[]){"first", "fails", NULL}, one);
  assert_int_equal(remove(scratch_path(state, "failing")), 0);
  execute(state, (const char *const[]){"first", "other", NULL}, adding);
  assert_int_equal(
      mo_file_read(NULL, scratch_path(state, "order"), 1 << 12, &order, &size, NULL),
      MOUSSE_OK);
  assert_string_equal(order, "first\nfails\nfails\nother\n");
  mo_release(NULL, order, size + 1);
}

typedef struct listener {
  void **state;
  size_t ended[4], count;
} listener;

/* What it could not do the first time, it does the second time. */
static mousse_status ask_again(void *source, study_runs *runs, bool *again, mo_error *error)
{
  listener *l = source;
  (void)error;
  assert_false(*again);
  assert_true(l->count < 4);
  l->ended[l->count++] = study_count(runs, STUDY_COMPLETE);
  *again = l->count == 1;
  if (l->count == 2) scratch_write(l->state, "go", "", 0);
  return MOUSSE_OK;
}

static void what_asks_for_it_is_told_again(void **state)
{
  listener l = {.state = state};
  const study_execution how = {.jobs = 2, .ended = ask_again, .source = &l};
  execute(state, (const char *const[]){"ends", "waits", NULL}, how);
  assert_int_equal(l.count, 3);
  assert_int_equal(l.ended[0], 1);
  assert_int_equal(l.ended[1], 1);
  assert_int_equal(l.ended[2], 2);
}

static bool slow_start; /* between the fork and the program there is time for a signal */
int __real_execv(const char *path, char *const words[]);
int __wrap_execv(const char *path, char *const words[]);
int __wrap_execv(const char *path, char *const words[])
{
  const struct timespec half = {.tv_nsec = 500000000};
  if (slow_start) nanosleep(&half, NULL);
  return __real_execv(path, words);
}

/* As somebody does who has just started it. */
static void stop(void *user, const study_runs *runs)
{
  (void)user;
  if (study_count(runs, STUDY_RUNNING) > 0 && signals_stop() == 0) raise(SIGTERM);
}

/* The handler that a child inherits would take the request for its own, and the run go on to its end. */
static void a_run_that_is_not_its_program_yet_stops_too(void **state)
{
  study_runs runs = {.runs = NULL};
  mo_error error = {{0}};
  int stopped = 0;
  study_execution how = {.jobs = 1, .watch = stop};
  snprintf(runs.directory, sizeof runs.directory, "%s", scratch_path(state, "runs"));
  how.program = scratch_write(state, "program", script, strlen(script));
  assert_int_equal(chmod(how.program, 0700), 0);
  add(&runs, "waits");
  slow_start = true;
  assert_int_equal(study_execute(&runs, &how, &stopped, &error), MOUSSE_OK);
  slow_start = false;
  assert_int_equal(stopped, SIGTERM);
  assert_int_equal(runs.runs[0].state, STUDY_STOPPED);
  assert_int_not_equal(access(scratch_path(state, "order"), F_OK), 0);
  study_release(&runs);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(what_was_begun_goes_on_first),
      scratch_test(what_asks_for_it_is_told_again),
      scratch_test(a_run_that_is_not_its_program_yet_stops_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
