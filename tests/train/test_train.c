/* test_train.c - schedules, gradients, metrics, samples, event files and room. */
#include "base/random.h"
#include "comm/comm.h"
#include "tiny_run.h"
#include "told.h"
#include "train/estimate.h"
#include "train/evaluate.h"
#include "train/memory_room.h"
#include "train/metrics.h"
#include "train/run_model.h"
#include "train/session.h"
#include "train/tensorboard.h"
#include "train/text_sample.h"
#include "train/tokenizers.h"
#include "train/unused_options.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void schedules(void **state)
{
  (void)state;
  const train_schedule cosine = schedule_make(TRAIN_COSINE, 100, 0.1, 0.1);
  near(schedule_factor(&cosine, 0), 0.1, 1e-12);
  near(schedule_factor(&cosine, 9), 1.0, 1e-12);
  near(schedule_factor(&cosine, 10), 1.0, 1e-12);
  near(schedule_factor(&cosine, 55), 0.5, 1e-12);
  near(schedule_factor(&cosine, 99), 0.5 * (1 + cos(M_PI * 89 / 90)), 1e-12);
  const train_schedule wsd = schedule_make(TRAIN_WSD, 100, 0.1, 0.2);
  near(schedule_factor(&wsd, 4), 0.5, 1e-12);
  near(schedule_factor(&wsd, 79), 1.0, 1e-12);
  near(schedule_factor(&wsd, 80), 1.0, 1e-12);
  near(schedule_factor(&wsd, 90), 0.5, 1e-12);
  near(schedule_factor(&wsd, 99), 0.05, 1e-12);
  const train_schedule constant = schedule_make(TRAIN_CONSTANT, 100, 0, 0.5);
  near(schedule_factor(&constant, 0), 1.0, 0);
  near(schedule_factor(&constant, 99), 1.0, 0);
  /* Ratios that have no exact binary form give the steps that were meant. */
  assert_int_equal(schedule_make(TRAIN_COSINE, 100, 0.29, 0).warmup, 29);
  assert_int_equal(schedule_make(TRAIN_COSINE, 10, 0.15, 0).warmup, 1);
}

static gradient_result collect_gradient(train_session *s, uint64_t step)
{
  mo_error error = {{0}};
  for (size_t micro = s->gradient.first; micro < s->gradient.end; micro++) {
    gpt_batch batch;
    assert_int_equal(gradient_batch(&s->gradient, step, micro, &batch, &error), MOUSSE_OK);
    assert_int_equal(gradient_add(&s->gradient, micro, &batch, &error), MOUSSE_OK);
  }
  assert_int_equal(gradient_sum(&s->gradient, MOUSSE_OK, &error), MOUSSE_OK);
  const gradient_result result = gradient_measure(&s->gradient);
  gradient_clip(&s->gradient, &result);
  return result;
}

/* Micro-batches give the gradient of the whole batch; clipping bounds its norm. */
static void gradients(void **state)
{
  train_options run = tiny_run(state);
  train_session whole, parts;
  mo_error error = {{0}};
  tiny_set(&run, "batch_size", "4");
  tiny_set(&run, "device_batch_size", "4");
  if (session_open(&whole, &run, &mo_comm_self, NULL, &error) != MOUSSE_OK)
    fail_msg("%s", error.text);
  const gradient_result a = collect_gradient(&whole, 1);
  train_options split = run;
  tiny_set(&split, "device_batch_size", "1");
  tiny_set(&split, "out", scratch_path(state, "split"));
  assert_int_equal(session_open(&parts, &split, &mo_comm_self, NULL, &error), MOUSSE_OK);
  const gradient_result b = collect_gradient(&parts, 1);
  assert_true(a.finite && b.finite && a.norm > 0);
  near(a.loss, b.loss, 1e-6);
  near(a.norm, b.norm, 1e-5);
  for (size_t i = 0; i < whole.params->value_count; i++)
    near((double)whole.params->gradients[i], (double)parts.params->gradients[i], 1e-5);
  parts.gradient.clip = 0.5 * a.norm;
  const gradient_result c = collect_gradient(&parts, 1);
  near(c.norm, b.norm, 0); /* the norm before clipping */
  for (size_t i = 0; i < whole.params->value_count; i++)
    near(0.5 * (double)whole.params->gradients[i], (double)parts.params->gradients[i], 1e-5);
  session_close(&whole);
  session_close(&parts);
}

/* What a run is expected to take is what it takes. */
static void estimates_hold(void **state)
{
  static const char *const optimizers[] = {"mousse", "muon", "soap", "adamw"};
  train_options run = tiny_run(state);
  tiny_set(&run, "n_layer", "3");
  for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
    train_session s;
    train_estimate e;
    mo_error error = {{0}};
    tiny_set(&run, "optimizer", optimizers[i]);
    tiny_set(&run, "out", scratch_path(state, optimizers[i]));
    assert_int_equal(session_open(&s, &run, &mo_comm_self, NULL, &error), MOUSSE_OK);
    assert_int_equal(estimate_open(&e, &run, &s.params->config, 1, NULL, &error), MOUSSE_OK);
    assert_int_equal(e.optimizer_bytes, mousse_bytes_held(s.groups.optimizer));
    assert_int_equal(e.gradient_bytes, s.params->value_count * sizeof(float)); /* 2 slices */
    assert_int_equal(e.tensor_count, s.params->tensor_count);
    for (size_t t = 0; t < e.tensor_count; t++) {
      const char *name = s.params->tensors[t].name;
      assert_string_equal(e.tensors[t].name, name);
      assert_int_equal(e.tensors[t].state_bytes,
                       mousse_param_state_bytes(s.groups.optimizer, name));
    }
    estimate_close(&e);
    session_close(&s);
  }
}

static void evaluation_is_the_mean_over_windows(void **state)
{
  train_options run = tiny_run(state);
  train_session s;
  tiny_set(&run, "device_batch_size", "2");
  evaluation one, two, all;
  mo_error error = {{0}};
  assert_int_equal(session_open(&s, &run, &mo_comm_self, NULL, &error), MOUSSE_OK);
  assert_int_equal(
      evaluate(&s.data.val, s.pass, &mo_comm_self, 1, 0, NULL, NULL, NULL, &one, &error),
      MOUSSE_OK);
  assert_int_equal(
      evaluate(&s.data.val, s.pass, &mo_comm_self, 2, 1000, NULL, NULL, NULL, &all, &error),
      MOUSSE_OK);
  assert_int_equal(
      evaluate(&s.data.val, s.pass, &mo_comm_self, 2, 3, NULL, NULL, NULL, &two, &error),
      MOUSSE_OK);
  assert_int_equal(one.tokens, (TINY_TOKENS - 1) / 8 * 8);
  assert_int_equal(all.tokens, one.tokens);
  assert_int_equal(two.tokens, 3 * 8);
  near(one.loss, all.loss, 1e-6);
  session_close(&s);
}

static void metrics_are_cut_back(void **state)
{
  static const char before[] = "{\"step\": 0, \"val_loss\": 3}\n{\"step\": 1, \"loss\": 2}\n"
                               "{\"step\": 2, \"loss\": 2}\n{\"step\": 3, \"lo";
  train_metrics m;
  char *text = NULL;
  size_t size = 0;
  const step_report report = {
      .step = 2, .tokens = 10, .loss = NAN, .bits_per_byte = NAN, .skipped = true};
  const char *path = scratch_write(state, "metrics.jsonl", before, strlen(before));
  metrics_open(&m, *state, 1, true, &collector);
  metrics_step(&m, &report);
  metrics_telemetry_begin(&m, 2);
  metrics_observe(&m, "a", "x", 1.5);
  metrics_observe(&m, "a", "y", INFINITY);
  metrics_observe(&m, "b", "x", 2);
  metrics_telemetry_end(&m);
  metrics_close(&m);
  assert_int_equal(mo_file_read(NULL, path, 4096, &text, &size, NULL), MOUSSE_OK);
  assert_string_equal(text, "{\"step\": 0, \"val_loss\": 3}\n{\"step\": 1, \"loss\": 2}\n"
                            "{\"step\": 2, \"tokens\": 10, \"loss\": null, \"lr\": 0.0, "
                            "\"grad_norm\": 0.0, \"seconds\": 0.0, \"skipped\": true}\n"
                            "{\"step\": 2, \"matrix\": \"a\", \"x\": 1.5, \"y\": null}\n"
                            "{\"step\": 2, \"matrix\": \"b\", \"x\": 2.0}\n");
  mo_release(NULL, text, size + 1);
}

static size_t data_kilobytes(void)
{
  char line[256];
  size_t kilobytes = 0;
  FILE *file = fopen("/proc/self/status", "r");
  assert_non_null(file);
  while (kilobytes == 0 && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "VmData:", 7) == 0) kilobytes = strtoul(line + 7, NULL, 10);
  fclose(file);
  return kilobytes;
}

/* 32 MB of lines, and room for 8 MB more of memory; the last line has no number. */
static void long_metrics_take_no_memory(void **state)
{
  enum { LINE = 32, LINES = 1 << 20, KEPT = LINES / 2 };
  char path[256], line[LINE + 1];
  struct rlimit before, less;
  struct stat info;
  train_metrics m;
  snprintf(path, sizeof path, "%s/metrics.jsonl", (const char *)*state);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (int i = 1; i < LINES; i++) {
    snprintf(line, sizeof line, "{\"step\": %-21d}", i);
    fprintf(file, "%s\n", line);
  }
  fprintf(file, "{\"step\": %*s\n", LINE - 10, "");
  assert_int_equal(fclose(file), 0);
  told[0] = '\0';
  assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
  less = before;
  less.rlim_cur = 1024 * (data_kilobytes() + 8192);
  assert_int_equal(setrlimit(RLIMIT_DATA, &less), 0);
  metrics_open(&m, *state, LINES, false, &collector);
  metrics_close(&m);
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_size, (off_t)LINE * (LINES - 1));
  metrics_open(&m, *state, KEPT, false, &collector);
  metrics_close(&m);
  assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
  assert_string_equal(told, "");
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_size, (off_t)LINE * KEPT);
}

static void logs_never_fail(void **state)
{
  train_metrics m;
  const step_report report = {.step = 1};
  told[0] = '\0';
  assert_int_equal(mkdir(scratch_path(state, "metrics.jsonl"), 0777), 0);
  metrics_open(&m, *state, 0, false, &collector);
  metrics_step(&m, &report);
  metrics_note(&m, "still here");
  metrics_close(&m);
  assert_non_null(strstr(told, "metrics.jsonl: cannot open"));
}

static bool collect_byte(void *user, const char *bytes, size_t count)
{
  return mo_buffer_add(user, bytes, count);
}

/* What follows a prompt does not depend on how much is asked for, where both fit into the context:
 * in normal form C the prompt has twice its bytes. */
static void a_prompt_that_grows_is_seen_whole(void **state)
{
  enum { CHARACTERS = 20 };
  const gpt_config config = {.vocab_size = 256,
                             .n_layer = 2,
                             .n_head = 2,
                             .n_embd = 16,
                             .sequence_len = 256,
                             .position = GPT_LEARNED};
  char prompt[3 * CHARACTERS + 1] = "";
  gpt_params *params = NULL;
  mo_tokenizer tokenizer = {0};
  mo_buffer texts[2] = {{0}};
  mo_error error = {{0}};
  (void)state;
  for (size_t i = 0; i < CHARACTERS; i++) strcat(prompt, "\xe0\xa5\x98"); /* U+0958 */
  assert_int_equal(gpt_params_create(&params, &config, false, NULL, &error), MOUSSE_OK);
  mo_random_fill(params->values, params->value_count, 1, 3, 0);
  assert_int_equal(tokenizer_make_bytes(&tokenizer, &error), MOUSSE_OK);
  tokenizer.nfc = true;
  for (size_t i = 0; i < 2; i++) {
    const text_request request = {.tokens = i == 0 ? 4 : 100,
                                  .sampling = {.top_p = 1, .stop_token = -1},
                                  .put = collect_byte,
                                  .user = &texts[i]};
    if (text_sample(params, &tokenizer, prompt, 1, &request, &error) != MOUSSE_OK)
      fail_msg("%s", error.text);
    assert_int_equal(texts[i].size, request.tokens);
  }
  assert_memory_equal(texts[0].data, texts[1].data, 4);
  mo_buffer_close(&texts[0]);
  mo_buffer_close(&texts[1]);
  tokenizer_close(&tokenizer);
  gpt_params_destroy(params);
}

/* A model of zeros gives every token the same chance, so the text is the random numbers: beyond
 * the context no stretch of them comes back, not even that of another seed. */
static void long_texts_do_not_repeat(void **state)
{
  enum { CONTEXT = 16, WINDOW = CONTEXT / 2, FIRST = CONTEXT, WINDOWS = 12 };
  const gpt_config config = {
      .vocab_size = 256, .n_layer = 1, .n_head = 2, .n_embd = 8, .sequence_len = CONTEXT};
  gpt_params *params = NULL;
  mo_tokenizer tokenizer = {0};
  mo_buffer texts[2] = {{0}};
  mo_error error = {{0}};
  (void)state;
  assert_int_equal(gpt_params_create(&params, &config, false, NULL, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_make_bytes(&tokenizer, &error), MOUSSE_OK);
  for (uint64_t seed = 0; seed < 2; seed++) {
    const text_request request = {
        .tokens = FIRST + WINDOWS * WINDOW,
        .sampling = {.temperature = 1, .top_p = 1, .seed = 5 + seed, .stop_token = -1},
        .put = collect_byte,
        .user = &texts[seed]};
    if (text_sample(params, &tokenizer, "", 1, &request, &error) != MOUSSE_OK)
      fail_msg("%s", error.text);
    assert_int_equal(texts[seed].size, FIRST + WINDOWS * WINDOW);
  }
  for (size_t i = 0; i < 2 * WINDOWS; i++)
    for (size_t k = 0; k < i; k++) {
      const char *a = texts[i % 2].data + FIRST + i / 2 * WINDOW;
      const char *b = texts[k % 2].data + FIRST + k / 2 * WINDOW;
      assert_true(memcmp(a, b, WINDOW) != 0);
      assert_true(memcmp(a, texts[k % 2].data + WINDOW, WINDOW) != 0);
    }
  params->values[params->value_count - 1] = NAN;
  const text_request request = {.tokens = 1, .sampling = {.top_p = 1}};
  assert_int_equal(text_sample(params, &tokenizer, "", 1, &request, &error), MOUSSE_NOT_FINITE);
  mo_buffer_close(&texts[0]);
  mo_buffer_close(&texts[1]);
  tokenizer_close(&tokenizer);
  gpt_params_destroy(params);
}

/* Added tokens that are found in text stand for its bytes; special ones stand for none. */
static void bytes_of_added_tokens(void **state)
{
  enum { FOUND = 256, SPECIAL, COUNT };
  mo_tokenizer t = {0};
  mo_error error = {{0}};
  (void)state;
  for (unsigned i = 0; i < 256; i++)
    assert_int_equal(tokenizer_add_token(&t, &(char){(char)i}, 1, false, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_token(&t, "<think>", 7, true, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_add_token(&t, "<|endoftext|>", 13, true, &error), MOUSSE_OK);
  assert_int_equal(tokenizer_finish(&t, "t", NULL, &error), MOUSSE_OK);
  assert_true(added_tokens_add(&t.found, (added_token){"<think>", 7, FOUND}));
  added_tokens_sort(&t.found);
  uint32_t *lengths = tokenizer_byte_lengths(&t, COUNT);
  assert_non_null(lengths);
  assert_int_equal(lengths['a'], 1);
  assert_int_equal(lengths[FOUND], 7);
  assert_int_equal(lengths[SPECIAL], 0);
  mo_release(NULL, lengths, COUNT * sizeof *lengths);
  tokenizer_close(&t);
}

/* The published check value of CRC-32C, and one record byte by byte. */
static void event_records(void **state)
{
  unsigned char record[TENSORBOARD_MOST];
  uint64_t length = 0;
  uint32_t crc = 0;
  (void)state;
  assert_int_equal(tensorboard_crc("123456789", 9), 0xe3069283);
  assert_int_equal(tensorboard_crc("", 0), 0);
  const size_t bytes = tensorboard_scalar(record, 1.5, 300, "loss", 2.5f);
  static const unsigned char event[] = {0x09, 0,    0,    0,    0,   0,
                                        0,    0xf8, 0x3f,     /* wall_time 1.5 */
                                        0x10, 0xac, 0x02,     /* step 300 */
                                        0x2a, 13,   0x0a, 11, /* summary { value { */
                                        0x0a, 4,    'l',  'o',  's', 's', /* tag */
                                        0x15, 0,    0,    0x20, 0x40};    /* simple_value 2.5 */
  memcpy(&length, record, 8);
  assert_int_equal(length, sizeof event);
  assert_int_equal(bytes, sizeof event + 16);
  assert_memory_equal(record + 12, event, sizeof event);
  memcpy(&crc, record + 8, 4);
  assert_int_equal(crc, tensorboard_masked_crc(record, 8));
  memcpy(&crc, record + 12 + sizeof event, 4);
  assert_int_equal(crc, tensorboard_masked_crc(event, sizeof event));
}

/* Writes a file of a few lines and the folders above it. */
static void plant(void *const *state, const char *name, const char *text)
{
  char folder[256];
  mo_error error = {{0}};
  snprintf(folder, sizeof folder, "%s/%s", (const char *)*state, name);
  *strrchr(folder, '/') = '\0';
  assert_int_equal(mo_make_directories(folder, &error), MOUSSE_OK);
  scratch_write(state, name, text, strlen(text));
}

/* A group as Linux shows it. */
static void plant_group(void *const *state, const char *group, const char *limit,
                        const char *used, const char *stat)
{
  char name[256];
  snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.max", group);
  plant(state, name, limit);
  snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.current", group);
  plant(state, name, used);
  snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.stat", group);
  plant(state, name, stat);
}

/* A step into a file system of groups: what it adds, and the room afterwards. */
static void room_of_control_groups(void **state)
{
  static const struct {
    const char *own, *group, *limit, *used, *stat;
    uint64_t room;
  } steps[] = {
      /* a container: its own group is the topmost */
      {"0::/\n", "", "1000\n", "900\n", "anon 100\nactive_file 300\ninactive_file 500\n", 900},
      {"0::/\n", "", "1000\n", "900\n", "anon 900\n", 100},
      {"0::/\n", "", "1000\n", "1001\n", "inactive_file 0\nactive_file 0\n", 0},
      {"0::/\n", "", "max\n", "900\n", "active_file 300\n", UINT64_MAX},
      /* the group is below others, of which one has a limit, then two */
      {"9:pids:/x\n0::/a.slice/b\n", "/a.slice", "700\n", "600\n", "active_file 100\n", 200},
      {"9:pids:/x\n0::/a.slice/b\n", "/a.slice/b", "50\n", "20\n", "active_file 5\n", 35},
      {"9:pids:/x\n0::/a.slice/b\n", "/a.slice/b", "max\n", "20\n", "active_file 5\n", 200},
      {"0::/elsewhere\n", "/c", "1\n", "1\n", "", UINT64_MAX},
      {"0::/../c\n", "/c", "1\n", "1\n", "", UINT64_MAX},
      {"4:memory:/c\n", "/c", "1\n", "1\n", "", UINT64_MAX},
      /* and the topmost one has less */
      {"0::/a.slice/b\n", "", "100\n", "90\n", "", 10},
  };
  assert_true(memory_group_room(*state) == UINT64_MAX);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    plant(state, "proc/self/cgroup", steps[i].own);
    plant_group(state, steps[i].group, steps[i].limit, steps[i].used, steps[i].stat);
    const uint64_t room = memory_group_room(*state);
    if (room != steps[i].room) fail_msg("step %zu: %llu bytes", i, (unsigned long long)room);
  }
}

static long page_bytes; /* 0: the machine's own */
long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
  return name == _SC_PAGESIZE && page_bytes > 0 ? page_bytes : __real_sysconf(name);
}

/* Linux counts a process's memory in pages, which are larger on some machines. */
static void room_is_counted_in_pages(void **state)
{
  enum { LARGE = 1 << 16, LEFT = 1 << 20 };
  struct rlimit before, less;
  unsigned long pages = 0;
  (void)state;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%lu", &pages), 1);
  fclose(file);
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  less = before;
  less.rlim_cur = (rlim_t)pages * LARGE + LEFT;
  assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
  page_bytes = LARGE;
  const uint64_t room = memory_room(1);
  page_bytes = 0;
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
  assert_true(room <= LEFT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules),
      scratch_test(gradients),
      scratch_test(estimates_hold),
      scratch_test(evaluation_is_the_mean_over_windows),
      scratch_test(metrics_are_cut_back),
      scratch_test(long_metrics_take_no_memory),
      scratch_test(logs_never_fail),
      cmocka_unit_test(long_texts_do_not_repeat),
      cmocka_unit_test(a_prompt_that_grows_is_seen_whole),
      cmocka_unit_test(bytes_of_added_tokens),
      cmocka_unit_test(event_records),
      scratch_test(room_of_control_groups),
      cmocka_unit_test(room_is_counted_in_pages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
