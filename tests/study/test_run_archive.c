/* test_run_archive.c - runs packed into a file and unpacked elsewhere tell the same. */
#include "base/buffer.h"
#include "scratch.h"
#include "study/run_archive.h"
#include "study/run_record.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 1200 };
#define HISTORY(train)                                                                         \
  "{\"step\": 0, \"data\": {\"train\": \"" train "\", \"val\": \"2222222222222222\"}}\n"

static void write_file(void **state, const char *directory, const char *name, const char *text)
{
  char path[128];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  scratch_write(state, path, text, strlen(text));
}

static void add(mo_buffer *text, const char *line)
{
  assert_true(mo_buffer_add(text, line, strlen(line)));
}

/* Even steps take longer; telemetry every third step; a validation every hundredth. */
static void write_metrics(void **state, const char *directory)
{
  mo_buffer text = {0};
  char line[256];
  for (int i = 1; i <= STEPS; i++) {
    snprintf(line, sizeof line,
             "{\"step\": %d, \"tokens\": %d, \"loss\": 5, \"lr\": 1, \"grad_norm\": 1, "
             "\"seconds\": %s}\n",
             i, i, i % 2 == 0 ? "0.3" : "0.1");
    add(&text, line);
    snprintf(line, sizeof line, "{\"step\": %d, \"matrix\": \"w\", \"update_rms\": 1}\n", i);
    if (i % 3 == 0) add(&text, line);
    snprintf(line, sizeof line, "{\"step\": %d, \"tokens\": %d, \"val_loss\": 4}\n", i, i);
    if (i % 100 == 0) add(&text, line);
  }
  assert_true(mo_buffer_add(&text, "", 1)); /* its NUL */
  write_file(state, directory, "metrics.jsonl", text.data);
  mo_buffer_close(&text);
}

/* A file of options: for all runs the same, and more. */
static void write_options(void **state, const char *study, const char *directory,
                          const char *name, const char *more)
{
  char options[512];
  snprintf(options, sizeof options,
           "optimizer: muon\nnum_iterations: %d\ndata_dir: %s/data\nout: %s\n%s", STEPS,
           scratch_path(state, study), scratch_path(state, directory), more);
  write_file(state, directory, name, options);
}

/* STUDY/runs/long, ended. */
static void make_run(void **state, const char *study)
{
  char directory[64];
  mo_error error = {{0}};
  snprintf(directory, sizeof directory, "%s/runs/long", study);
  assert_int_equal(mo_make_directories(scratch_path(state, directory), &error), MOUSSE_OK);
  write_options(state, study, directory, "run.yaml", "opt.mu: 0.9\nopt.nesterov: off\n");
  write_options(state, study, directory, "config.yaml",
                "vocab_size: 1024\nmu: 0.9\nopt.nesterov: 0\nscalar.beta2: 0.98\n");
  write_file(state, directory, "result.json", "{\"status\": \"complete\", \"steps\": 1200}");
  write_file(state, directory, "history.jsonl", HISTORY("1111111111111111"));
  write_metrics(state, directory);
}

static void pack(void **state, const char *study, const char *file)
{
  char runs[64];
  mo_error error = {{0}};
  snprintf(runs, sizeof runs, "%s/runs", study);
  const archived_study where = {scratch_path(state, study), scratch_path(state, runs), NULL};
  const mousse_status status = run_archive_write(&where, scratch_path(state, file), &error);
  assert_string_equal(error.text, "");
  assert_int_equal(status, MOUSSE_OK);
}

static void unpack(void **state, const char *study, const char *file)
{
  char runs[64];
  mo_error error = {{0}};
  snprintf(runs, sizeof runs, "%s/runs", study);
  const archived_study where = {scratch_path(state, study), scratch_path(state, runs), NULL};
  const mousse_status status =
      run_archive_unpack(&where, scratch_path(state, file), NULL, &error);
  assert_string_equal(error.text, "");
  assert_int_equal(status, MOUSSE_OK);
}

static run_record record_of(void **state, const char *run)
{
  run_record record;
  mo_error error = {{0}};
  assert_int_equal(
      run_record_read(&record, scratch_path(state, run), RECORD_CURVES_AND_TELEMETRY, &error),
      MOUSSE_OK);
  return record;
}

static void assert_same_files(void **state, const char *one, const char *other)
{
  char *a = NULL, *b = NULL;
  size_t size_a = 0, size_b = 0;
  mo_error error = {{0}};
  assert_int_equal(mo_file_read(NULL, scratch_path(state, one), 1 << 24, &a, &size_a, &error),
                   MOUSSE_OK);
  assert_int_equal(mo_file_read(NULL, scratch_path(state, other), 1 << 24, &b, &size_b, &error),
                   MOUSSE_OK);
  assert_string_equal(a, b);
  mo_release(NULL, a, size_a + 1);
  mo_release(NULL, b, size_b + 1);
}

static void a_thinned_run_keeps_its_median_and_its_end(void **state)
{
  make_run(state, "here");
  pack(state, "here", "runs.jsonl");
  unpack(state, "there", "runs.jsonl");
  run_record whole = record_of(state, "here/runs/long"),
             r = record_of(state, "there/runs/long");
  assert_true(whole.step_count == STEPS && fabs(whole.step_seconds - 0.2) < 1e-12);
  assert_true(fabs(r.step_seconds - 0.2) < 1e-12);
  assert_true(r.step_count > 16 && r.step_count <= 33);
  assert_int_equal(r.steps[r.step_count - 1].step, STEPS);
  assert_int_equal(r.validation_count, 12);
  run_record_release(&whole);
  assert_string_equal(r.history.train, "1111111111111111");
  assert_string_equal(r.history.val, "2222222222222222");
  run_record_release(&r);
  pack(state, "there", "again.jsonl"); /* it is not thinned twice */
  assert_same_files(state, "runs.jsonl", "again.jsonl");
}

/* Two studies may share an archive: each writes its own runs and leaves the other's. */
static void lines_of_others_stay(void **state)
{
  static const char others[] = "{\"name\": \"a\", \"of\": \"another\"}\n"
                               "{\"name\": \"long\", \"of\": \"before\"}\n"
                               "{\"name\": \"z\", \"of\": \"another\"}";
  mo_error error = {{0}};
  char *text = NULL, expected[128];
  size_t size = 0;
  make_run(state, "here");
  pack(state, "here", "alone.jsonl");
  scratch_write(state, "runs.jsonl", others, strlen(others));
  pack(state, "here", "runs.jsonl");
  const char *path = scratch_path(state, "runs.jsonl");
  assert_int_equal(mo_file_read(NULL, path, 1 << 24, &text, &size, &error), MOUSSE_OK);
  char *own = strchr(text, '\n') + 1, *last = strchr(own, '\n') + 1;
  snprintf(expected, sizeof expected, "%.*s", (int)(own - text), others);
  assert_memory_equal(text, expected, strlen(expected));
  assert_string_equal(last, "{\"name\": \"z\", \"of\": \"another\"}\n");
  *last = '\0';
  scratch_write(state, "own.jsonl", own, strlen(own));
  assert_same_files(state, "own.jsonl", "alone.jsonl");
  mo_release(NULL, text, size + 1);

  static const char damaged[] = "{\"name\": \"a\"}\n{\"name\": \"b\", \"opt";
  const archived_study where = {scratch_path(state, "here"), scratch_path(state, "here/runs"),
                                NULL};
  scratch_write(state, "damaged.jsonl", damaged, strlen(damaged));
  path = scratch_path(state, "damaged.jsonl");
  assert_int_equal(run_archive_write(&where, path, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "damaged.jsonl: damaged after 14 bytes; move it away"));
  assert_int_equal(mo_file_read(NULL, path, 1 << 24, &text, &size, &error), MOUSSE_OK);
  assert_string_equal(text, damaged);
  mo_release(NULL, text, size + 1);

  mo_buffer many = {0}; /* values, each of which would take a hundred bytes */
  add(&many, "{\"name\": \"a\", \"of\": [0");
  for (int i = 0; i < 70000; i++) add(&many, ",0");
  add(&many, "]}\n");
  path = scratch_write(state, "many.jsonl", many.data, many.size);
  assert_int_equal(run_archive_write(&where, path, &error), MOUSSE_BAD_FORMAT);
  mo_buffer_close(&many);
}

/* What another study adds while this one wants to is there when this one reads the file. */
static void studies_write_one_after_the_other(void **state)
{
  static const char line[] = "{\"name\": \"z\", \"of\": \"another\"}\n";
  char *text = NULL;
  size_t size = 0;
  int end = 0;
  make_run(state, "here");
  const int other = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(flock(other, LOCK_EX), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(other);
    pack(state, "here", "runs.jsonl");
    _exit(0);
  }
  const struct timespec moment = {.tv_nsec = 10000000};
  /* One that does not wait ends in this time. */
  for (int i = 0; i < 30 && waitpid(child, &end, WNOHANG) == 0; i++) nanosleep(&moment, NULL);
  scratch_write(state, "runs.jsonl", line, strlen(line));
  close(other);
  waitpid(child, &end, 0);
  assert_int_equal(
      mo_file_read(NULL, scratch_path(state, "runs.jsonl"), 1 << 24, &text, &size, NULL),
      MOUSSE_OK);
  assert_memory_equal(text, "{\"name\":\"long\"", 14);
  assert_non_null(strstr(text, line));
  mo_release(NULL, text, size + 1);
}

/* Steps of all kinds remain: a refresh every 10 steps is met in a tenth of them. */
static void thinning_keeps_out_of_step(void **state)
{
  size_t even = 0, refreshed = 0;
  make_run(state, "here");
  pack(state, "here", "runs.jsonl");
  unpack(state, "there", "runs.jsonl");
  run_record r = record_of(state, "there/runs/long");
  for (size_t i = 0; i < r.step_count; i++) {
    even += r.steps[i].step % 2 == 0;
    refreshed += r.steps[i].step % 10 == 0;
  }
  assert_true(2 * even >= r.step_count - 2 && 2 * even <= r.step_count + 2);
  assert_true(10 * refreshed <= r.step_count + 20);
  even = 0;
  for (size_t i = 0; i < r.telemetry_count; i++) even += r.telemetry[i].step % 2 == 0;
  assert_true(r.telemetry_count >= 8 && r.telemetry_count <= 12);
  assert_true(even >= 3 && even + 3 <= r.telemetry_count);
  run_record_release(&r);
}

static void assert_same_options(void **state, const char *name)
{
  char path[128];
  train_options one, other;
  mo_error error = {{0}};
  assert_int_equal(options_defaults(&one, &error), MOUSSE_OK);
  other = one;
  snprintf(path, sizeof path, "here/runs/long/%s", name);
  assert_int_equal(options_read(&one, scratch_path(state, path), NULL, &error), MOUSSE_OK);
  snprintf(path, sizeof path, "there/runs/long/%s", name);
  assert_int_equal(options_read(&other, scratch_path(state, path), NULL, &error), MOUSSE_OK);
  assert_string_equal(other.data_dir, scratch_path(state, "there/data"));
  assert_string_equal(other.out, scratch_path(state, "there/runs/long"));
  memcpy(other.data_dir, one.data_dir, sizeof one.data_dir);
  memcpy(other.out, one.out, sizeof one.out);
  assert_memory_equal(&one, &other, sizeof one);
}

/* What was asked for and what that came to, both as they were but for their place. */
static void both_files_of_options_come_back(void **state)
{
  make_run(state, "here");
  pack(state, "here", "runs.jsonl");
  unpack(state, "there", "runs.jsonl");
  assert_same_options(state, "run.yaml");
  assert_same_options(state, "config.yaml");
}

/* As 0.2's first archives have it: every 38th step, and no median. */
static const char old_line[] =
    "{\"name\":\"old\",\"options\":{\"num_iterations\":\"1200\"},"
    "\"result\":{\"status\":\"complete\",\"steps\":1200},\"metrics\":\""
    "{\\\"step\\\": 38, \\\"tokens\\\": 9, \\\"loss\\\": 5, \\\"lr\\\": 1, \\\"grad_norm\\\": "
    "1, "
    "\\\"seconds\\\": 0.5}\\n"
    "{\\\"step\\\": 76, \\\"tokens\\\": 9, \\\"loss\\\": 5, \\\"lr\\\": 1, \\\"grad_norm\\\": "
    "1, "
    "\\\"seconds\\\": 0.75}\\n\"}\n";

static void old_lines_tell_what_they_have(void **state)
{
  mo_error error = {{0}};
  scratch_write(state, "old.jsonl", old_line, sizeof old_line - 1);
  assert_int_equal(mo_make_directories(scratch_path(state, "there/runs/old"), &error),
                   MOUSSE_OK);
  write_file(state, "there/runs/old", "lock", "mousse run\n"); /* begun here, on some text */
  write_file(state, "there/runs/old", "history.jsonl", HISTORY("3333333333333333"));
  unpack(state, "there", "old.jsonl");
  run_record r = record_of(state, "there/runs/old");
  assert_true(fabs(r.step_seconds - 0.625) < 1e-12 && r.options.num_iterations == 1200);
  assert_string_equal(r.history.train, "");
  run_record_release(&r);
  pack(state, "there", "new.jsonl");
  unpack(state, "elsewhere", "new.jsonl");
  r = record_of(state, "elsewhere/runs/old");
  assert_true(r.step_count == 2 && fabs(r.step_seconds - 0.625) < 1e-12);
  assert_true(r.result.step_seconds == 0); /* that of all steps is still not known */
  run_record_release(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(a_thinned_run_keeps_its_median_and_its_end),
      scratch_test(lines_of_others_stay),
      scratch_test(studies_write_one_after_the_other),
      scratch_test(thinning_keeps_out_of_step),
      scratch_test(both_files_of_options_come_back),
      scratch_test(old_lines_tell_what_they_have),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
