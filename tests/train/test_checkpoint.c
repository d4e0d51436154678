/* test_checkpoint.c - checkpoints: every bit counts, and bad ones get a sentence. */
#include "comm/comm.h"
#include "tiny_run.h"
#include "train/checkpoint.h"
#include "train/train.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void execute(const train_options *run)
{
  const train_display display = {.user = NULL};
  train_outcome outcome;
  mo_error error = {{0}};
  if (train_execute(run, &mo_comm_self, &display, &outcome, &error) != MOUSSE_OK)
    fail_msg("%s", error.text);
  assert_true(outcome.complete);
}

static void flip(int fd, off_t place, unsigned char mask)
{
  unsigned char byte = 0;
  assert_int_equal(pread(fd, &byte, 1, place), 1);
  byte ^= mask;
  assert_int_equal(pwrite(fd, &byte, 1, place), 1);
}

/* All bits of the small files, one bit of every byte of the large ones. */
static void flip_all(const char *root, const char *folder, const char *name, size_t *flips)
{
  char path[512];
  struct stat info;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int fd = open(path, O_RDWR);
  assert_true(fd >= 0);
  assert_int_equal(fstat(fd, &info), 0);
  for (off_t place = 0; place < info.st_size; place++) {
    for (int bit = 0; bit < 8; bit++) {
      const unsigned char mask = (unsigned char)(1 << bit);
      if (info.st_size > 2000 && bit != place % 8) continue;
      flip(fd, place, mask);
      if (checkpoint_verify(root, 4, NULL) == MOUSSE_OK)
        fail_msg("%s: bit %d of byte %lld is not noticed", name, bit, (long long)place);
      flip(fd, place, mask);
      ++*flips;
    }
  }
  close(fd);
}

static void every_flipped_bit_is_noticed(void **state)
{
  const train_options run = tiny_run(state);
  char root[256], folder[300];
  const char *name = NULL;
  size_t flips = 0;
  execute(&run);
  snprintf(root, sizeof root, "%s/run/checkpoints", (const char *)*state);
  snprintf(folder, sizeof folder, "%s/step-0000000004", root);
  for (size_t i = 0; (name = checkpoint_file(i)) != NULL; i++)
    if (checkpoint_needs(name)) flip_all(root, folder, name, &flips);
  flip_all(root, folder, "manifest.json", &flips);
  assert_int_equal(checkpoint_verify(root, 4, NULL), MOUSSE_OK);
  print_message("%zu flips, all noticed\n", flips);
}

static void lengths_and_absence_are_noticed(void **state)
{
  const train_options run = tiny_run(state);
  static const char *const names[] = {"model.safetensors", "config.json", "optimizer.bin",
                                      "trainer.json", "manifest.json"};
  execute(&run);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char root[256], path[512], aside[520];
    mo_error error = {{0}};
    struct stat info;
    snprintf(root, sizeof root, "%s/run/checkpoints", (const char *)*state);
    snprintf(path, sizeof path, "%s/step-0000000004/%s", root, names[i]);
    snprintf(aside, sizeof aside, "%s.aside", path);
    assert_int_equal(rename(path, aside), 0);
    assert_int_not_equal(checkpoint_verify(root, 4, &error), MOUSSE_OK);
    assert_non_null(strstr(error.text, names[i]));
    assert_int_equal(rename(aside, path), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size + 1), 0);
    assert_int_not_equal(checkpoint_verify(root, 4, &error), MOUSSE_OK);
    assert_int_equal(truncate(path, info.st_size), 0);
    assert_int_equal(checkpoint_verify(root, 4, &error), MOUSSE_OK);
    assert_int_not_equal(checkpoint_verify(root, 2, NULL), MOUSSE_BAD_FORMAT);
  }
}

static void sizes_are_those_of_all_files(void **state)
{
  const train_options run = tiny_run(state);
  char root[256], path[512];
  checkpoint_info info;
  uint64_t bytes = 0;
  const char *name;
  execute(&run);
  snprintf(root, sizeof root, "%s/run/checkpoints", (const char *)*state);
  for (size_t i = 0; (name = checkpoint_file(i)) != NULL; i++) {
    struct stat file;
    snprintf(path, sizeof path, "%s/step-0000000004/%s", root, name);
    if (stat(path, &file) == 0) bytes += (uint64_t)file.st_size;
  }
  assert_int_equal(checkpoint_look_up(root, 4, &info, NULL), MOUSSE_OK);
  assert_true(bytes > 0);
  assert_int_equal(info.bytes, bytes);
}

/* Its state would be read as another optimizer's. */
static void another_optimizer_is_refused(void **state)
{
  train_options run = tiny_run(state);
  const train_display display = {.user = NULL};
  train_outcome outcome;
  mo_error error = {{0}};
  tiny_set(&run, "optimizer", "mousse");
  execute(&run);
  tiny_set(&run, "optimizer", "soap");
  tiny_set(&run, "num_iterations", "6");
  assert_int_not_equal(train_execute(&run, &mo_comm_self, &display, &outcome, &error),
                       MOUSSE_OK);
  assert_non_null(strstr(error.text, "started with optimizer 'mousse'"));
}

static void damaged_manifests(void **state)
{
  static const char *const cases[] = {
      "",
      "{",
      "[]",
      "{}",
      "{\"files\": 3}",
      "{\"format\": \"mousse-checkpoint\", \"version\": 1, \"step\": 4, \"files\": {}}",
      "{\"files\": {\"../../x_train_000000.bin\": {\"bytes\": 1, \"xxh3\": \"00\"}}}",
      "{\"files\": {\"config.json\": {\"bytes\": -1, \"xxh3\": 5}}}",
      "{\"files\": {\"config.json\": {}, \"config.json\": {}}}",
  };
  const train_options run = tiny_run(state);
  char root[256], path[512];
  execute(&run);
  snprintf(root, sizeof root, "%s/run/checkpoints", (const char *)*state);
  snprintf(path, sizeof path, "%s/step-0000000004/manifest.json", root);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_error error = {{0}};
    assert_int_equal(mo_file_write(path, cases[i], strlen(cases[i]), NULL), MOUSSE_OK);
    assert_int_equal(checkpoint_verify(root, 4, &error), MOUSSE_BAD_FORMAT);
    assert_true(error.text[0] != '\0');
  }
}

static void damaged_trainer_states(void **state)
{
  static const char *const cases[] = {
      "",
      "3",
      "{}",
      "{\"format\": \"mousse-trainer\", \"version\": 3}",
      "{\"format\": \"mousse-trainer\", \"version\": 1}",
      "{\"format\": \"mousse-trainer\", \"version\": 1, \"step\": -1}",
      "{\"format\": \"mousse-trainer\", \"version\": 1, \"step\": 1, \"tokens\": \"x\"}",
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_error error = {{0}};
    trainer_state s = {.step = 77};
    const char *path = scratch_write(state, "trainer.json", cases[i], strlen(cases[i]));
    assert_int_equal(trainer_state_read(&s, 1, path, &error), MOUSSE_BAD_FORMAT);
    assert_non_null(strstr(error.text, "trainer.json"));
    assert_int_equal(s.step, 77);
  }
}

/* A validation before the first step has a loss, and a later one may have none. */
static void validations_go_round(void **state)
{
  static const validation_result cases[] = {{0, NAN}, {0, 2.5}, {3, NAN}, {3, 2.5}};
  const train_options run = tiny_run(state);
  const char *path = scratch_path(state, "trainer.json");
  for (size_t i = 0; i < 4; i++) {
    trainer_state written = trainer_state_start(), read;
    written.step = 5;
    written.validation = cases[i];
    written.best = cases[3 - i];
    assert_int_equal(trainer_state_write(&written, &run, 0, path, NULL), MOUSSE_OK);
    assert_int_equal(trainer_state_read(&read, 5, path, NULL), MOUSSE_OK);
    assert_int_equal(read.validation.step, cases[i].step);
    assert_int_equal(read.best.step, cases[3 - i].step);
    if (isnan(cases[i].loss))
      assert_true(isnan(read.validation.loss));
    else
      near(read.validation.loss, cases[i].loss, 0);
  }
}

static int lost_sum(void *context, float *data, size_t count)
{
  (void)context, (void)data, (void)count;
  return -1;
}

static int lost_broadcast(void *context, float *data, size_t count, int root)
{
  (void)root;
  return lost_sum(context, data, count);
}

/* Rank 0 alone clears away what it could not finish: another rank that has lost it does not know
 * how far it is. */
static void other_ranks_leave_it_alone(void **state)
{
  const mousse_comm comm = {1, 2, lost_sum, lost_broadcast, NULL};
  const gpt_params params = {0};
  const trainer_state at = {.step = 4};
  weight_average none = {0};
  const checkpoint_content content = {
      .params = &params, .average = &none, .previous = &none, .comm = &comm, .state = &at};
  char path[512];
  assert_int_equal(checkpoint_path(path, sizeof path, *state, 4, CHECKPOINT_MAKING, NULL),
                   MOUSSE_OK);
  assert_int_equal(mkdir(path, 0777), 0);
  assert_int_equal(checkpoint_save(*state, &content, NULL), MOUSSE_COMM);
  assert_int_equal(access(path, F_OK), 0);
}

/* The order is that of the steps as numbers, whatever else lies around. */
static void listing(void **state)
{
  static const char *const names[] = {
      "step-0000000010",  "step-0000000009",     "step-12345678901",
      "step-1",           "step-0000000011.old", ".step-0000000012.making",
      "step-00000000099", "step--000000001",     "other"};
  char path[512];
  checkpoint_list list;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", (const char *)*state, names[i]);
    assert_int_equal(mkdir(path, 0777), 0);
  }
  assert_int_equal(checkpoint_list_open(&list, *state, NULL), MOUSSE_OK);
  assert_int_equal(list.count, 3);
  assert_int_equal(list.steps[0], 9);
  assert_int_equal(list.steps[1], 10);
  assert_int_equal(list.steps[2], 12345678901);
  checkpoint_list_close(&list);
  assert_int_equal(checkpoint_list_open(&list, scratch_path(state, "none"), NULL), MOUSSE_OK);
  assert_int_equal(list.count, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(every_flipped_bit_is_noticed),
      scratch_test(lengths_and_absence_are_noticed),
      scratch_test(sizes_are_those_of_all_files),
      scratch_test(another_optimizer_is_refused),
      scratch_test(damaged_manifests),
      scratch_test(damaged_trainer_states),
      scratch_test(validations_go_round),
      scratch_test(other_ranks_leave_it_alone),
      scratch_test(listing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
