/* test_warnings.c - what a run tells by itself: odd losses, too little room for checkpoints, the
 * optimizer's own warnings, and options that do nothing or go badly together. statvfs, write, the
 * writing of checkpoints and the eigenvalue solvers are replaced by the linker (--wrap), so that a full
 * disk and a matrix without eigenvalues are at hand. */
#include "base/file.h"
#include "comm/comm.h"
#include "linalg/lapack.h"
#include "tiny_run.h"
#include "told.h"
#include "train/alarms.h"
#include "train/checkpoint.h"
#include "train/metrics.h"
#include "train/train.h"
#include "train/unused_options.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

int __real_statvfs(const char *path, struct statvfs *info);
int __wrap_statvfs(const char *path, struct statvfs *info);
bool __wrap_mo_eigh_divide(size_t n, double *a, double *values, double *work);
bool __wrap_mo_eigh_iterate(size_t n, double *a, double *values, double *work);
bool __real_mo_eigh_divide(size_t n, double *a, double *values, double *work);

static unsigned long long room; /* bytes that are free; 0: as it is */
static bool without_eigenvalues, no_saves;

int __wrap_statvfs(const char *path, struct statvfs *info)
{
  const int result = __real_statvfs(path, info);
  if (room == 0) return result;
  info->f_frsize = 1;
  info->f_bavail = room;
  return result;
}

ssize_t __real_write(int descriptor, const void *data, size_t bytes);
ssize_t __wrap_write(int descriptor, const void *data, size_t bytes);

static int refusal;        /* why write fails; 0: it does not */
static size_t still_taken; /* before it does */

ssize_t __wrap_write(int descriptor, const void *data, size_t bytes)
{
  const size_t part = refusal == 0 || bytes < still_taken ? bytes : still_taken;
  if (part == 0 && bytes > 0) {
    errno = refusal;
    return -1;
  }
  if (refusal != 0) still_taken -= part;
  return __real_write(descriptor, data, part);
}

mousse_status __real_checkpoint_write(const char *root, const checkpoint_content *content,
                                      const checkpoint_numbers *numbers, mo_error *error);
mousse_status __wrap_checkpoint_write(const char *root, const checkpoint_content *content,
                                      const checkpoint_numbers *numbers, mo_error *error);
mousse_status __wrap_checkpoint_write(const char *root, const checkpoint_content *content,
                                      const checkpoint_numbers *numbers, mo_error *error)
{
  if (no_saves) return mo_fail(error, MOUSSE_IO, "%s: the disk is full", root);
  return __real_checkpoint_write(root, content, numbers, error);
}

bool __wrap_mo_eigh_divide(size_t n, double *a, double *values, double *work)
{
  return !without_eigenvalues && __real_mo_eigh_divide(n, a, values, work);
}

bool __wrap_mo_eigh_iterate(size_t n, double *a, double *values, double *work)
{
  return !without_eigenvalues && __real_mo_eigh_divide(n, a, values, work);
}

static size_t count(const char *words)
{
  size_t found = 0;
  for (const char *at = told; (at = strstr(at, words)) != NULL; at++) found++;
  return found;
}

/* So many equal steps from `first` on. */
static void take(run_alarms *alarms, uint64_t first, size_t steps, double loss, double norm)
{
  for (size_t i = 0; i < steps; i++) {
    const step_report report = {.step = first + i, .loss = loss, .grad_norm = norm};
    alarms_step(alarms, &report, &collector);
  }
}

static void alarms_ring_once(void **state)
{
  (void)state;
  const double uniform = log(100);
  run_alarms a = alarms_start(100, 5);
  told[0] = '\0';
  take(&a, 1, 9, uniform, 1);   /* in the warm-up, and four after it */
  take(&a, 10, 1, 2, 1);        /* a better one between */
  take(&a, 11, 49, uniform, 1); /* one too few */
  assert_string_equal(told, "");
  take(&a, 60, 100, uniform * 1.009, 1);
  assert_int_equal(count("step 60: the loss stays at ln(vocabulary) = 4.61"), 1);
  assert_int_equal(count("ln(vocabulary)"), 1);
  take(&a, 200, 2, 3, 0);
  take(&a, 202, 1, 3, 1e-30);
  take(&a, 203, 2, 3, 0);
  assert_int_equal(count("gradient is 0"), 0);
  take(&a, 205, 10, 3, 0);
  assert_int_equal(count("step 205: the gradient is 0"), 1);
  take(&a, 300, 9, uniform + 1.1, 1);
  take(&a, 309, 1, uniform + 0.9, 1);
  assert_int_equal(count("diverged"), 0);
  take(&a, 310, 30, uniform + 1.1, 1);
  assert_int_equal(count("step 319: the loss has been above 5.61"), 1);
  assert_int_equal(count("diverged"), 1);
  take(&a, 400, 30, NAN, NAN); /* told as skipped, not here */
  assert_int_equal(count("step 4"), 0);
}

static mousse_status train(const train_options *run, mo_error *error)
{
  const train_display display = {.notices = collector};
  train_outcome outcome = {.signal = 0};
  told[0] = '\0';
  return train_execute(run, &mo_comm_self, &display, &outcome, error);
}

/* Before the first step, and not after hours of them. */
static void room_is_looked_for_at_the_start(void **state)
{
  train_options run = tiny_run(state);
  mo_error error = {{0}};
  tiny_set(&run, "keep_last", "3");
  room = 1000;
  assert_int_equal(train(&run, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "a checkpoint takes"));
  assert_non_null(strstr(error.text, "only 0.0 MB are free"));
  assert_non_null(strstr(error.text, "make room, or choose another --out"));
  assert_null(strstr(told, "step"));
  assert_int_not_equal(access(run.out, F_OK), 0);

  room = 20000; /* for one, but not for three */
  assert_int_equal(train(&run, &error), MOUSSE_OK);
  assert_int_equal(count("MB are needed with --keep-last 3"), 1);
  tiny_set(&run, "num_iterations", "6");
  room = 1000; /* there is one to fall back on: a word is enough */
  assert_int_equal(train(&run, &error), MOUSSE_OK);
  assert_int_equal(count("MB are free; a checkpoint takes"), 1);
  tiny_set(&run, "num_iterations", "8");
  room = 1000000000;
  assert_int_equal(train(&run, &error), MOUSSE_OK);
  assert_int_equal(count("are free"), 0);
  room = 0;
}

/* The newest is damaged, the run goes on from the one before, there is no room, and saves fail. */
static void room_is_not_made_of_the_only_intact_one(void **state)
{
  train_options run = tiny_run(state);
  char root[256];
  const char *path = scratch_path(state, "run/checkpoints/step-0000000004/model.safetensors");
  mo_error error = {{0}};
  uint64_t step = 0;
  bool found = false;
  assert_int_equal(train(&run, &error), MOUSSE_OK);
  const int file = open(path, O_WRONLY);
  assert_int_equal(pwrite(file, "?", 1, 100), 1);
  close(file);
  tiny_set(&run, "num_iterations", "6");
  room = 1000;
  no_saves = true;
  assert_int_equal(train(&run, &error), MOUSSE_IO);
  room = 0;
  no_saves = false;
  assert_int_equal(count("checkpoint of step 4 skipped"), 1);
  snprintf(root, sizeof root, "%s/run/checkpoints", (const char *)*state);
  if (checkpoint_newest(root, &collector, &step, &found, &error) != MOUSSE_OK)
    fail_msg("%s", error.text);
  assert_true(found);
  assert_int_equal(step, 2);
}

static void write_steps(train_metrics *m, uint64_t first, uint64_t last)
{
  for (uint64_t step = first; step <= last; step++) {
    const step_report report = {.step = step, .loss = 1, .bits_per_byte = NAN};
    metrics_step(m, &report);
  }
}

static size_t lines_written(void **state)
{
  char *text = NULL;
  size_t size = 0, steps = 0;
  const char *path = scratch_path(state, "metrics.jsonl");
  assert_int_equal(mo_file_read(NULL, path, 1 << 24, &text, &size, NULL), MOUSSE_OK);
  const char *at = text;
  unsigned long long step = 0;
  for (; sscanf(at, "{\"step\": %llu, \"tokens\"", &step) == 1; at = strchr(at, '\n') + 1)
    assert_int_equal(step, ++steps);
  assert_int_equal(*at, '\0');
  mo_release(NULL, text, size + 1);
  return steps;
}

/* What a full disk refuses in the middle of a line is written when there is room. */
static void a_full_disk_costs_no_lines(void **state)
{
  train_metrics m;
  told[0] = '\0';
  metrics_open(&m, *state, 0, false, &collector);
  write_steps(&m, 1, 2);
  for (int i = 0; i < 2; i++) {
    refusal = i == 0 ? ENOSPC : EDQUOT;
    still_taken = 30;
    write_steps(&m, 3 + 3 * (uint64_t)i, 5 + 3 * (uint64_t)i);
    assert_int_equal(count("metrics.jsonl: cannot write: "), i + 1);
    assert_int_equal(count("waits in memory for room"), i + 1);
    refusal = 0;
    if (i == 0) metrics_sync(&m);
    assert_int_equal(m.lines.waiting.size > 0, i == 1);
  }
  metrics_close(&m);
  assert_int_equal(count("without it"), 0);
  assert_int_equal(lines_written(state), 8);
}

/* And what is refused to the last is told. */
static void a_lost_end_is_told(void **state)
{
  train_metrics m;
  told[0] = '\0';
  metrics_open(&m, *state, 0, false, &collector);
  write_steps(&m, 1, 2);
  refusal = ENOSPC;
  still_taken = 0;
  write_steps(&m, 3, 4);
  metrics_close(&m);
  refusal = 0;
  assert_int_equal(count("metrics.jsonl: cannot write: "), 2);
  assert_int_equal(count("its end is lost"), 1);
  assert_int_equal(count("the run goes on"), 0);
  assert_int_equal(lines_written(state), 2);
}

/* Nothing comes after a hole: one that cannot wait any longer is the last. */
static void logs_are_given_up_where_waiting_does_not_help(void **state)
{
  static const int reasons[] = {EIO, ENOSPC};
  for (size_t i = 0; i < 2; i++) {
    train_metrics m;
    told[0] = '\0';
    metrics_open(&m, *state, 0, false, &collector);
    write_steps(&m, 1, 2);
    refusal = reasons[i];
    still_taken = 0;
    write_steps(&m, 3, i == 0 ? 3 : 20000);
    assert_int_equal(count("metrics.jsonl: cannot write: "), i + 1);
    assert_int_equal(count("the run goes on without it"), 1);
    refusal = 0;
    write_steps(&m, 30000, 30001);
    metrics_close(&m);
    assert_int_equal(lines_written(state), 2);
  }
}

static void the_optimizer_is_heard(void **state)
{
  train_options run = tiny_run(state);
  mo_error error = {{0}};
  tiny_set(&run, "optimizer", "mousse");
  tiny_set(&run, "opt.refresh", "eigh");
  tiny_set(&run, "shampoo_update_freq", "2");
  without_eigenvalues = true;
  if (train(&run, &error) != MOUSSE_OK) fail_msg("%s", error.text);
  assert_int_equal(count("optimizer: step 1: every solver failed on 'transformer.h.0.mlp.c_fc"),
                   1);
  assert_true(count("keeps its previous preconditioner") > 6);
  without_eigenvalues = false;
}

/* An option that changed is told once, by the name that a user knows. */
static void changes_are_told_once(void **state)
{
  train_options run = tiny_run(state);
  mo_error error = {{0}};
  tiny_set(&run, "mu", "0.95");
  if (train(&run, &error) != MOUSSE_OK) fail_msg("%s", error.text);
  assert_int_equal(count("optimizer:"), 0);
  tiny_set(&run, "num_iterations", "6");
  tiny_set(&run, "mu", "0.9");
  if (train(&run, &error) != MOUSSE_OK) fail_msg("%s", error.text);
  assert_int_equal(count("mu was '0.95' and is now '0.9'"), 1);
  assert_int_equal(count("group"), 0);
}

/* Options that change nothing without another one are said when they are given. */
static void unused_options_are_told(void **state)
{
  static const struct {
    const char *name, *value, *needs, *needed;
  } cases[] = {{"lookahead", "0.5", "wrapper", "lookahead"},
               {"schedule_free_beta", "0.5", "wrapper", "schedule_free"},
               {"ema_from", "3", "ema", "0.5"},
               {"lora_alpha", "3", "lora_rank", "2"},
               {"warmdown_ratio", "0.5", "scheduler_type", "wsd"},
               {"sample_prompt", "x", "sample_every", "1"},
               {"covariance_tokens", "3", "optimizer", "kfac"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char expected[128];
    train_options run;
    assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
    tiny_set(&run, "init", "model");
    tiny_set(&run, "scheduler_type", "constant");
    snprintf(expected, sizeof expected, "'%s' has no effect without", cases[i].name);
    told[0] = '\0';
    unused_options_tell(&run, &collector);
    assert_string_equal(told, "");
    tiny_set(&run, cases[i].name, cases[i].value);
    unused_options_tell(&run, &collector);
    assert_non_null(strstr(told, expected));
    told[0] = '\0';
    tiny_set(&run, cases[i].needs, cases[i].needed);
    unused_options_tell(&run, &collector);
    assert_string_equal(told, "");
  }
}

/* Adapters of nothing, and a schedule twice. */
static void options_that_go_badly_together_are_told(void **state)
{
  static const char *const cases[][5] = {
      {"lora_rank", "2", "init", "model", "beside random weights"},
      {"wrapper", "schedule_free", "scheduler_type", "constant", "acts on top of it"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    train_options run;
    assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
    tiny_set(&run, cases[i][0], cases[i][1]);
    told[0] = '\0';
    unused_options_tell(&run, &collector);
    assert_non_null(strstr(told, cases[i][4]));
    told[0] = '\0';
    tiny_set(&run, cases[i][2], cases[i][3]);
    unused_options_tell(&run, &collector);
    assert_string_equal(told, "");
  }
}

/* A radius that is kept is one of weights that have one. */
static void a_ball_of_adapters_is_told(void **state)
{
  train_options run;
  (void)state;
  assert_int_equal(options_defaults(&run, NULL), MOUSSE_OK);
  tiny_set(&run, "init", "model");
  tiny_set(&run, "optimizer", "spectral");
  tiny_set(&run, "opt.radius", "ball");
  told[0] = '\0';
  unused_options_tell(&run, &collector);
  assert_string_equal(told, "");
  tiny_set(&run, "lora_rank", "2");
  unused_options_tell(&run, &collector);
  assert_non_null(strstr(told, "start at 0"));
  told[0] = '\0';
  tiny_set(&run, "opt.radius", "pin");
  unused_options_tell(&run, &collector);
  assert_string_equal(told, "");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(alarms_ring_once),
      cmocka_unit_test(unused_options_are_told),
      cmocka_unit_test(options_that_go_badly_together_are_told),
      cmocka_unit_test(a_ball_of_adapters_is_told),
      cmocka_unit_test_setup_teardown(room_is_looked_for_at_the_start, scratch_make,
                                      scratch_remove),
      scratch_test(room_is_not_made_of_the_only_intact_one),
      scratch_test(a_full_disk_costs_no_lines),
      scratch_test(a_lost_end_is_told),
      scratch_test(logs_are_given_up_where_waiting_does_not_help),
      cmocka_unit_test_setup_teardown(the_optimizer_is_heard, scratch_make, scratch_remove),
      cmocka_unit_test_setup_teardown(changes_are_told_once, scratch_make, scratch_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
