/* test_reading.c - files as they grow, are cut back, replaced, broken and vanish; series that keep
 * extremes; steps scanned without a tree. */
#include "base/random.h"
#include "study/metrics_line.h"
#include "watch/run_files.h"
#include "watch/watch_json.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int open_scratch(void **state)
{
  const int root = open(*state, O_RDONLY | O_DIRECTORY);
  assert_true(root >= 0);
  return root;
}

typedef struct seen {
  char text[4096];
  size_t lines, restarts;
} seen;

static void see_line(void *user, const char *text, size_t size)
{
  seen *s = user;
  s->lines++;
  if (strlen(s->text) + size < sizeof s->text) strncat(s->text, text, size);
}

static void see_restart(void *user)
{
  seen *s = user;
  s->text[0] = '\0';
  s->lines = 0;
  s->restarts++;
}

static void lines_come_when_they_are_whole(void **state)
{
  seen s = {.lines = 0};
  file_tail tail = {0};
  const tail_reader reader = {see_line, see_restart, &s};
  const int root = open_scratch(state);
  assert_int_equal(tail_read(&tail, root, "f", 1 << 20, &reader), TAIL_SAME);
  append(state, "f", "one\ntw");
  assert_int_equal(tail_read(&tail, root, "f", 1 << 20, &reader), TAIL_LINES);
  assert_string_equal(s.text, "one\n");
  append(state, "f", "o\n");
  assert_int_equal(tail_read(&tail, root, "f", 1 << 20, &reader), TAIL_LINES);
  assert_string_equal(s.text, "one\ntwo\n");
  assert_int_equal(tail_read(&tail, root, "f", 1 << 20, &reader), TAIL_SAME);
  assert_int_equal(s.restarts, 0);
  close(root);
}

/* A run that continues from a checkpoint cuts back and writes on, past where we were. */
static void a_file_cut_back_starts_over(void **state)
{
  seen s = {.lines = 0};
  file_tail tail = {0};
  const tail_reader reader = {see_line, see_restart, &s};
  const int root = open_scratch(state);
  append(state, "f", "a\nb\nc\n");
  tail_read(&tail, root, "f", 1 << 20, &reader);
  assert_int_equal(truncate(scratch_path(state, "f"), 2), 0);
  append(state, "f", "B\nC\nD\n");
  tail_read(&tail, root, "f", 1 << 20, &reader);
  assert_string_equal(s.text, "a\nB\nC\nD\n");
  unlink(scratch_path(state, "f"));
  append(state, "f", "new\n");
  tail_read(&tail, root, "f", 1 << 20, &reader);
  assert_string_equal(s.text, "new\n");
  unlink(scratch_path(state, "f"));
  assert_int_equal(tail_read(&tail, root, "f", 1 << 20, &reader), TAIL_LINES);
  assert_string_equal(s.text, "");
  close(root);
}

static void a_line_without_end_is_passed_over(void **state)
{
  seen s = {.lines = 0};
  file_tail tail = {0};
  const tail_reader reader = {see_line, see_restart, &s};
  const int root = open_scratch(state);
  const size_t size = 3 * (size_t)TAIL_CHUNK + 17;
  char *text = mo_allocate(NULL, size + 8);
  memset(text, 'x', size);
  memcpy(text, "a\n", 2);
  memcpy(text + size, "\nb\n", 4);
  scratch_write(state, "f", text, size + 3);
  while (tail_read(&tail, root, "f", 1 << 20, &reader) == TAIL_MORE) continue;
  assert_string_equal(s.text, "a\nb\n");
  mo_release(NULL, text, size + 8);
  close(root);
}

static void links_and_pipes_are_not_opened(void **state)
{
  struct stat info;
  const int root = open_scratch(state);
  scratch_write(state, "real", "x", 1);
  assert_int_equal(symlink("real", scratch_path(state, "link")), 0);
  assert_int_equal(symlink("/", scratch_path(state, "out")), 0);
  assert_int_equal(mkfifo(scratch_path(state, "pipe"), 0600), 0);
  assert_true(place_open(root, "link", &info) < 0);
  assert_true(place_open(root, "pipe", &info) < 0);
  assert_true(place_directory(root, "out") < 0);
  assert_true(place_directory(root, "out/etc") < 0);
  assert_true(place_directory(root, "..") < 0);
  assert_true(place_directory(root, "a/../..") < 0);
  const int file = place_open(root, "real", &info);
  assert_true(file >= 0);
  close(file);
  close(root);
}

/* Whatever the length, the extremes and the sum of all rows are there, and few buckets. */
static void series_keep_extremes(void **state)
{
  static const size_t lengths[] = {1, SERIES_MOST, SERIES_MOST + 1, 50000};
  (void)state;
  for (size_t l = 0; l < 4; l++) {
    watch_series s;
    double low = INFINITY, high = -INFINITY, sum = 0, all = 0, lowest = INFINITY,
           highest = -INFINITY;
    size_t rows = 0;
    series_start(&s, 2);
    for (size_t i = 0; i < lengths[l]; i++) {
      const double value = mo_random_uniform(1, 2, i) + (i == lengths[l] / 3 ? 1000 : 0);
      const series_place place = {.last = i + 1, .tokens = (double)i, .seconds = (double)i};
      assert_true(series_add(&s, &place, (const double[]){value, i % 2 ? NAN : 1}));
      low = fmin(low, value);
      high = fmax(high, value);
      sum += value;
    }
    assert_true(s.count <= SERIES_MOST && s.count >= (lengths[l] < 600 ? 1 : 600));
    for (size_t b = 0; b < s.count; b++) {
      const series_cell *cell = series_at(&s, b, 0);
      lowest = fmin(lowest, cell->low);
      highest = fmax(highest, cell->high);
      all += cell->sum;
      rows += s.places[b].rows;
      assert_true(b == 0 || s.places[b].first == s.places[b - 1].last + 1);
    }
    assert_true(lowest == low && highest == high && fabs(all - sum) < 1e-6 * sum);
    assert_int_equal(rows, lengths[l]);
    assert_int_equal(s.places[s.count - 1].last, lengths[l]);
    series_release(&s);
  }
}

/* The reader of JSON, made to do without the shortcut by a space in front. */
static bool read_slowly(metrics_line *line, const char *text)
{
  char spaced[512];
  snprintf(spaced, sizeof spaced, " %s", text);
  return metrics_line_read(line, spaced, strlen(spaced), NULL) == MOUSSE_OK;
}

static bool same_number(double a, double b)
{
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void check_scan(const char *text)
{
  metrics_line fast, slow;
  if (!metrics_scan(&fast, text, strlen(text))) return;
  assert_true(read_slowly(&slow, text));
  assert_true(fast.kind == slow.kind && fast.step == slow.step && fast.tokens == slow.tokens);
  assert_true(same_number(fast.loss, slow.loss) && same_number(fast.lr, slow.lr));
  assert_true(same_number(fast.grad_norm, slow.grad_norm));
  assert_true(same_number(fast.seconds, slow.seconds) && fast.skipped == slow.skipped);
  assert_true(same_number(fast.memory, slow.memory));
  metrics_line_release(&slow);
}

static void scanned_steps_are_the_parsed_ones(void **state)
{
  size_t scanned = 0;
  (void)state;
  for (uint64_t i = 0; i < 20000; i++) {
    char text[512];
    metrics_line line;
    const double size = exp(60 * mo_random_uniform(3, 1, i) - 30);
    const int digits = 1 + (int)mo_random_below(3, 2, i, 12);
    snprintf(text, sizeof text,
             "{\"step\": %llu, \"tokens\": %llu, \"loss\": %.*g, \"lr\": %.*e, \"grad_norm\": "
             "%.*f, \"seconds\": %s%s%s}\n",
             (unsigned long long)i * 7, (unsigned long long)(i << 20), digits, size, digits,
             size, digits, fmod(size, 1e6), i % 5 ? "0.25" : "null",
             i % 3 ? "" : ", \"bits_per_byte\": 1.5, \"memory\": 123456789",
             i % 4 ? "" : ", \"skipped\": true");
    if (i % 2) text[mo_random_below(3, 4, i, strlen(text))] = "0e.-}\", "[i / 2 % 8];
    scanned += metrics_scan(&line, text, strlen(text));
    check_scan(text);
  }
  assert_true(scanned > 5000);
  for (size_t cut = 0; cut < 100; cut++) {
    char text[128] = "{\"step\": 1, \"tokens\": 2, \"loss\": 3, \"lr\": 4, \"grad_norm\": 5, "
                     "\"seconds\": 6}\n";
    metrics_line line;
    if (cut < strlen(text) - 2) assert_false(metrics_scan(&line, text, cut));
  }
}

static void a_model_follows_its_runs(void **state)
{
  watch_model m;
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 4\n",
           STEP(1, 5) STEP(2, 4) "not json\n{\"step\": 1}\n");
  make_run(state, "sweep/b", "nonsense: [\n", STEP(1, 5));
  assert_int_equal(symlink("a", scratch_path(state, "linked")), 0);
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  assert_true(watch_model_refresh(&m));
  assert_int_equal(m.count, 2);
  watched_run *run = watch_model_find(&m, "a");
  assert_non_null(run);
  assert_null(watch_model_find(&m, "linked"));
  assert_null(watch_model_find(&m, "../a"));
  assert_int_equal(run->course.step, 2);
  assert_string_equal(watched_run_state(run), "stopped");
  assert_false(watch_model_find(&m, "sweep/b")->has_options);
  assert_true(strlen(watch_model_find(&m, "sweep/b")->problem) > 0);
  assert_false(watch_model_refresh(&m));
  append(state, "a/metrics.jsonl",
         "{\"step\": 2, \"tokens\": 1, \"val_loss\": 3}\n" STEP(3, null) STEP(4, 2));
  assert_true(watch_model_refresh(&m));
  assert_int_equal(run->course.step, 4);
  assert_true(run->course.best == 3 && run->course.best_step == 2);
  assert_string_equal(watched_run_state(run), "stopped"); /* before the validation at its end */
  append(state, "a/metrics.jsonl", "{\"step\": 4, \"tokens\": 1, \"val_loss\": 5}\n");
  assert_true(watch_model_refresh(&m));
  assert_string_equal(watched_run_state(run), "complete");
  assert_int_equal(truncate(scratch_path(state, "a/metrics.jsonl"), 0), 0);
  assert_true(watch_model_refresh(&m));
  assert_int_equal(run->course.step, 0);
  unlink(scratch_path(state, "sweep/b/config.yaml"));
  m.walked = -1e9;
  assert_true(watch_model_refresh(&m));
  assert_int_equal(m.count, 1);
  watch_model_close(&m);
}

/* Every fifth step of a run, as an archive keeps them: half a second and 100 tokens each. */
static void steps_that_are_left_out_count(void **state)
{
  watch_model m;
  run_records records;
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 20\n", STEP(5, 5) STEP(10, 4) STEP(15, 3) STEP(20, 2));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  const watched_run *run = m.runs[0];
  for (size_t i = 0; i < 4; i++)
    assert_true(series_mean(series_at(&run->steps, i, STEP_SPEED)) == 200);
  assert_true(run->course.seconds == 10);
  assert_int_equal(watch_records(&m, m.runs, 1, &records, &error), MOUSSE_OK);
  for (size_t i = 0; i < 4; i++) assert_true(records.list[0].steps[i].seconds == 0.5);
  watch_records_release(&records);
  watch_model_close(&m);
}

/* Or a page would join the curves of both. */
static void a_new_run_of_an_old_name_has_another_layout(void **state)
{
  watch_model m;
  uint64_t layouts[3][2];
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 4\n", STEP(1, 5));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  for (int i = 0; i < 3; i++) {
    if (i == 2) watch_model_close(&m); /* another server */
    if (i == 2) assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
    make_run(state, "a", "num_iterations: 4\n", STEP(1, 5));
    m.walked = -1e9;
    watch_model_refresh(&m);
    assert_int_equal(m.count, 1);
    layouts[i][0] = m.runs[0]->steps.layout;
    layouts[i][1] = m.runs[0]->validations.layout;
    assert_true(layouts[i][0] < UINT64_C(1) << 53 && layouts[i][1] < UINT64_C(1) << 53);
    unlink(scratch_path(state, "a/config.yaml"));
    m.walked = -1e9;
    watch_model_refresh(&m);
    assert_int_equal(m.count, 0);
  }
  for (int k = 0; k < 2; k++)
    assert_true(layouts[0][k] != layouts[1][k] && layouts[1][k] != layouts[2][k] &&
                layouts[0][k] != layouts[2][k]);
  watch_model_close(&m);
}

/* What is kept in memory of a file of some megabytes must not take gigabytes. */
static void events_of_many_values_are_passed_over(void **state)
{
  enum { ENTRIES = 600 };
  char text[3 * ENTRIES + 64] = "{\"step\": 1, \"event\": \"x\", \"list\": [{}";
  watch_model m;
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 2\n", STEP(1, 5));
  for (int i = 1; i < ENTRIES; i++) strcat(text, ",{}");
  strcat(text, "]}\n");
  append(state, "a/events.jsonl", STARTED(0));
  append(state, "a/events.jsonl", text);
  append(state, "a/events.jsonl", ENDED(1, "complete"));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  assert_int_equal(json_array_size(m.runs[0]->happened), 2);
  assert_int_equal(m.runs[0]->record.end, RUN_END_COMPLETE);
  watch_model_close(&m);
}

/* A history of very many lines is told by its end. */
static void the_newest_changes_are_told(void **state)
{
  enum { CHANGES = 1000 };
  watch_model m;
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 2\n", STEP(1, 5));
  for (int i = 0; i <= CHANGES; i++) {
    char line[80];
    snprintf(line, sizeof line, "{\"step\": %d, \"options\": {\"lr\": \"%d\"}}\n", i, i);
    append(state, "a/history.jsonl", line);
  }
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  json_t *all = watch_run_json(&m, m.runs[0], (series_request){0}, (series_request){0});
  const json_t *changes = json_object_get(all, "changes");
  assert_int_equal(json_array_size(changes), 200);
  const json_t *last = json_array_get(changes, 199);
  assert_int_equal(json_integer_value(json_object_get(last, "step")), CHANGES);
  assert_string_equal(json_string_value(json_object_get(last, "text")), "lr 999 to 1000");
  json_decref(all);
  watch_model_close(&m);
}

/* All steps were taken, but their result could not be written; then the run went on. */
static void a_run_that_could_not_save_has_failed(void **state)
{
  watch_model m;
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 2\n", STEP(1, 5) STEP(2, 4));
  append(state, "a/events.jsonl", ENDED(2, "a/model: cannot write: File too large"));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  assert_string_equal(watched_run_state(m.runs[0]), "failed");
  append(state, "a/events.jsonl", "{\"step\": 2, \"time\": 2, \"event\": \"notice\"}\n");
  watch_model_refresh(&m);
  assert_string_equal(watched_run_state(m.runs[0]), "failed");
  append(state, "a/events.jsonl", STARTED(0));
  watch_model_refresh(&m);
  assert_string_equal(watched_run_state(m.runs[0]), "complete");
  append(state, "a/events.jsonl", ENDED(2, "complete"));
  watch_model_refresh(&m);
  assert_string_equal(watched_run_state(m.runs[0]), "complete");
  watch_model_close(&m);
}

/* As 'mousse report' has it: what was measured before its last steps is not its final loss. */
static void a_run_that_went_on_without_validations_has_no_final_loss(void **state)
{
  static const char validation[] =
      "{\"step\": 2, \"tokens\": 1, \"val_loss\": 3, \"val_bits_per_byte\": 1.5}\n";
  watch_model m;
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 4\n", STEP(1, 5) STEP(2, 4));
  append(state, "a/metrics.jsonl", validation);
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  const run_record *record = &m.runs[0]->record;
  assert_true(record->final_loss == 3 && record->final_bits == 1.5);
  append(state, "a/metrics.jsonl", STEP(3, 4) STEP(4, 4));
  append(state, "a/events.jsonl", STARTED(2) ENDED(4, "complete"));
  watch_model_refresh(&m);
  assert_string_equal(watched_run_state(m.runs[0]), "complete");
  assert_true(isnan(record->final_loss) && isnan(record->final_bits));
  json_t *row = watch_row_json(&m, m.runs[0]);
  assert_true(json_is_null(json_object_get(row, "last")));
  assert_true(json_number_value(json_object_get(row, "best")) == 3);
  json_decref(row);
  watch_model_close(&m);
}

/* Where buckets hold several validations, and when they are all gone. */
static void final_bits_are_those_of_the_last_validation(void **state)
{
  watch_model m;
  mo_error error = {{0}};
  make_run(state, "a", "num_iterations: 4\n", "");
  FILE *file = fopen(scratch_path(state, "a/metrics.jsonl"), "a");
  assert_non_null(file);
  for (int i = 1; i <= 2 * SERIES_MOST; i++)
    fprintf(file, "{\"step\": %d, \"tokens\": 1, \"val_loss\": 3, \"val_bits_per_byte\": %d}\n",
            i, i);
  fclose(file);
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  assert_true(m.runs[0]->record.final_bits == 2 * SERIES_MOST);
  assert_int_equal(truncate(scratch_path(state, "a/metrics.jsonl"), 0), 0);
  watch_model_refresh(&m);
  assert_true(isnan(m.runs[0]->record.final_bits));
  watch_model_close(&m);
}

/* On btrfs and from other machines a run's lock is not seen. */
static void a_run_whose_lock_is_not_seen_is_running(void **state)
{
  watch_model m;
  mo_error error = {{0}};
  const struct timespec earlier[2] = {{.tv_sec = time(NULL) - 3600},
                                      {.tv_sec = time(NULL) - 3600}};
  make_run(state, "a", "num_iterations: 4\n", STEP(1, 5));
  append(state, "a/lock", "");
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  append(state, "a/events.jsonl", STARTED(0));
  watch_model_refresh(&m);
  assert_string_equal(watched_run_state(m.runs[0]), "running");
  assert_int_equal(utimensat(AT_FDCWD, scratch_path(state, "a/metrics.jsonl"), earlier, 0), 0);
  assert_true(watch_model_refresh(&m));
  assert_string_equal(watched_run_state(m.runs[0]), "stopped");
  append(state, "a/metrics.jsonl", STEP(2, 5));
  watch_model_refresh(&m);
  assert_string_equal(watched_run_state(m.runs[0]), "running");
  append(state, "a/result.json", "{\"status\": \"hopeless\"}"); /* by a study that killed it */
  watch_model_refresh(&m);
  assert_string_equal(watched_run_state(m.runs[0]), "hopeless");
  assert_int_equal(unlink(scratch_path(state, "a/result.json")), 0);
  append(state, "a/events.jsonl", ENDED(2, "asked to stop"));
  watch_model_refresh(&m);
  assert_string_equal(watched_run_state(m.runs[0]), "stopped");
  watch_model_close(&m);
}

/* What cannot be looked at, as no more files may be opened, is not gone. */
static void runs_stay_while_no_file_can_be_opened(void **state)
{
  watch_model m;
  mo_error error = {{0}};
  struct rlimit before, none;
  make_run(state, "a", "num_iterations: 4\n", STEP(1, 5));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  assert_int_equal(m.count, 1);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  none = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  m.walked = -1e9;
  watch_model_refresh(&m);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(m.count, 1);
  assert_int_equal(m.runs[0]->course.step, 1);
  watch_model_close(&m);
}

/* In the same way for one file. */
static void lines_stay_while_no_file_can_be_opened(void **state)
{
  seen s = {.lines = 0};
  file_tail tail = {0};
  const tail_reader reader = {see_line, see_restart, &s};
  struct rlimit before, none;
  const int root = open_scratch(state);
  append(state, "f", "one\n");
  tail_read(&tail, root, "f", 1 << 20, &reader);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  none = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  const tail_news news = tail_read(&tail, root, "f", 1 << 20, &reader);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(news, TAIL_SAME);
  assert_string_equal(s.text, "one\n");
  close(root);
}

static void limit_files(rlim_t most)
{
  struct rlimit files;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = most < files.rlim_max ? most : files.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

/* The smallest number that no descriptor has: with it as a limit, none can be opened. */
static rlim_t next_descriptor(void)
{
  const int next = dup(0);
  assert_true(next >= 0);
  close(next);
  return (rlim_t)next;
}

/* In the same way for the small files: what was known stays, and they are tried again. */
static void small_files_are_tried_again(void **state)
{
  watch_model m;
  mo_error error = {{0}};
  lock_list locks = {.count = 1, .is_known = true};
  make_run(state, "a", "num_iterations: 4\n", STEP(1, 5));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  watched_run *run = m.runs[0];
  make_run(state, "a", "num_iterations: 9\n", STEP(1, 5));
  append(state, "a/history.jsonl", "{\"command\": [\"mousse\"]}\n");
  append(state, "a/result.json", "{\"status\": \"hopeless\"}");
  assert_int_equal(
      mo_make_directories(scratch_path(state, "a/checkpoints/step-0000000001"), &error),
      MOUSSE_OK);
  const int directory = place_directory(m.root, "a");
  limit_files(next_descriptor());
  const bool news = watched_files_read(run, directory);
  lock_list_read(&locks);
  limit_files(1024);
  assert_false(news);
  assert_true(run->has_options && run->record.options.num_iterations == 4);
  assert_true(locks.is_known && locks.count == 1);
  assert_true(watched_files_read(run, directory));
  assert_int_equal(run->record.options.num_iterations, 9);
  assert_int_equal(json_array_size(run->checkpoints), 1);
  assert_non_null(run->stretch);
  assert_true(run->record.result.status == RECORD_HOPELESS);
  assert_false(watched_files_read(run, directory));
  close(directory);
  watch_model_close(&m);
}

/* As programs leave it that copy a file over another with its time. */
static void a_file_with_the_time_of_before_is_read_again(void **state)
{
  watch_model m;
  mo_error error = {{0}};
  struct stat info;
  make_run(state, "a", "num_iterations: 4\n", STEP(1, 5));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* file systems count in ticks */
  const char *path = scratch_path(state, "a/config.yaml");
  assert_int_equal(stat(path, &info), 0);
  FILE *file = fopen(path, "r+");
  assert_non_null(file);
  fputs("num_iterations: 9\n", file);
  fclose(file);
  const struct timespec times[2] = {info.st_atim, info.st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
  watch_model_refresh(&m);
  assert_int_equal(m.runs[0]->record.options.num_iterations, 9);
  watch_model_close(&m);
}

/* As a process leaves them that was killed between making and writing them. */
static void a_run_of_empty_files_is_a_run(void **state)
{
  static const char *const names[] = {"a/config.yaml", "a/metrics.jsonl", "a/events.jsonl",
                                      "a/history.jsonl", "a/result.json"};
  watch_model m;
  mo_error error;
  assert_int_equal(mkdir(scratch_path(state, "a"), 0700), 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) append(state, names[i], "");
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  assert_int_equal(m.count, 1);
  assert_int_equal(m.runs[0]->course.step, 0);
  watch_model_close(&m);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(lines_come_when_they_are_whole),
      scratch_test(a_file_cut_back_starts_over),
      scratch_test(a_line_without_end_is_passed_over),
      scratch_test(links_and_pipes_are_not_opened),
      scratch_test(a_model_follows_its_runs),
      scratch_test(steps_that_are_left_out_count),
      scratch_test(a_new_run_of_an_old_name_has_another_layout),
      scratch_test(events_of_many_values_are_passed_over),
      scratch_test(the_newest_changes_are_told),
      scratch_test(a_run_that_could_not_save_has_failed),
      scratch_test(a_run_that_went_on_without_validations_has_no_final_loss),
      scratch_test(final_bits_are_those_of_the_last_validation),
      scratch_test(a_run_whose_lock_is_not_seen_is_running),
      scratch_test(runs_stay_while_no_file_can_be_opened),
      scratch_test(lines_stay_while_no_file_can_be_opened),
      scratch_test(small_files_are_tried_again),
      scratch_test(a_file_with_the_time_of_before_is_read_again),
      scratch_test(a_run_of_empty_files_is_a_run),
      cmocka_unit_test(series_keep_extremes),
      cmocka_unit_test(scanned_steps_are_the_parsed_ones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
