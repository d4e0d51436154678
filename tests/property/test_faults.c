/* test_faults.c - the n-th allocation fails, once or for good, in every call that allocates:
 * NO_MEMORY, nothing leaked, and after one failure the same call succeeds and the run ends in
 * the same bits. A step allocates nothing, neither through the seam nor past it. */
#include "property/harness.h"

#include <stdlib.h>
#include <string.h>

/* An allocator that counts, checks sizes at release, and fails on demand. */
typedef struct counting {
  size_t calls, fail_at; /* 1 is the first call; 0: never */
  bool for_good;
  size_t blocks, bytes; /* now held */
} counting;

static void *count_allocate(void *user, size_t bytes)
{
  counting *c = user;
  c->calls++;
  if (c->fail_at > 0 && (c->calls == c->fail_at || (c->for_good && c->calls > c->fail_at)))
    return NULL;
  void *block = malloc(bytes);
  if (block == NULL) return NULL;
  memset(block, 0xff, bytes); /* NaN in every float: nobody may count on zeros */
  c->blocks++;
  c->bytes += bytes;
  return block;
}

static void count_release(void *user, void *block, size_t bytes)
{
  counting *c = user;
  assert_non_null(block);
  assert_true(c->blocks > 0 && c->bytes >= bytes);
  c->blocks--;
  c->bytes -= bytes;
  free(block);
}

static mousse_env env_of(counting *c)
{
  return (mousse_env){.struct_size = sizeof(mousse_env),
                      .allocate = count_allocate,
                      .release = count_release,
                      .user = c,
                      .threads = 2};
}

/* Weights, gradients and what a whole run does with them, one public call per number. */
typedef struct scene {
  mousse_env env;
  counting memory;
  mousse_optimizer *opt;
  int group;
  float w[3][35], g[3][35], more[2][70], read[35];
  float *inputs[2][RIG_MAX_INPUTS];
  blob saved;
} scene;

enum { CALLS = 24 };

static void fill_scene_gradients(scene *s, uint64_t step)
{
  for (size_t i = 0; i < 3; i++) fill_normal(s->g[i], 35, 1, step, i);
}

/* Of the parameters under the algorithm that is tried; binding allocates nothing. */
static void bind_scene_inputs(scene *s, const char *algorithm)
{
  if (s->inputs[0][0] != NULL) return;
  bind_inputs(s->opt, algorithm, "a", 5, 7, s->inputs[0]);
  bind_inputs(s->opt, algorithm, "c", 7, 5, s->inputs[1]);
}

/* The calls in the order in which they are made. */
static const int order[CALLS] = {0,  1, 2, 3,  4,  5,  6,  7,  14, 15, 16, 17,
                                 18, 8, 9, 19, 10, 20, 21, 22, 11, 12, 23, 13};

static mousse_status call(scene *s, const char *algorithm, int number)
{
  size_t bytes = 0;
  char text[32];
  const mousse_tensor tensor = {.struct_size = sizeof tensor,
                                .name = "t",
                                .rows = 5,
                                .cols = 7,
                                .count = 2,
                                .transposed = 1,
                                .value = s->more[0],
                                .grad = s->more[1]};
  const mousse_binding binding = {"a", s->w[0], s->g[0]};
  switch (number) {
  case 0:
    return mousse_create(&s->env, &s->opt);
  case 1:
    return mousse_add_group(s->opt, algorithm, &s->group);
  case 2:
    return mousse_add_param(s->opt, 0, "a", 5, 7, s->w[0], s->g[0]);
  case 3:
    return mousse_set(s->opt, 0, "lr", 0.01);
  case 4:
    return mousse_add_group(s->opt, "sgd", &s->group);
  case 5:
    return mousse_add_param(s->opt, 1, "b", 1, 35, s->w[1], s->g[1]);
  case 6:
    return mousse_add_param(s->opt, 0, "c", 7, 5, s->w[2], s->g[2]);
  case 7:
    return mousse_set_text(s->opt, 0, "lr", "0.02");
  case 14:
    return mousse_add_tensor(s->opt, 1, &tensor);
  case 15:
    return mousse_plan(s->opt, 0, &bytes);
  case 16:
    return mousse_set(s->opt, MOUSSE_OBJECT, "clip_norm", 1e30);
  case 17:
    return mousse_set(s->opt, MOUSSE_ALL_GROUPS, "lr", 0.015);
  case 18:
    return mousse_set_param(s->opt, "t", "lr_factor", 0.5);
  case 8:
    return mousse_prepare(s->opt);
  case 19:
    return mousse_rebind_all(s->opt, &binding, 1);
  case 20:
    return mousse_state_read(s->opt, "b", "momentum", s->read, 35);
  case 21:
    return mousse_state_write(s->opt, "b", "momentum", s->read, 35);
  case 22:
    return mousse_get_text(s->opt, 0, "lr", text, sizeof text);
  case 23:
    blob_rewind(&s->saved);
    return mousse_load_matching(s->opt, blob_read, &s->saved, NULL, NULL);
  case 9:
  case 10:
    bind_scene_inputs(s, algorithm);
    fill_scene_gradients(s, (uint64_t)number);
    return mousse_step(s->opt);
  case 11:
    s->saved.size = 0;
    return mousse_save(s->opt, blob_write, &s->saved);
  case 12:
    blob_rewind(&s->saved);
    return mousse_load(s->opt, blob_read, &s->saved);
  default:
    fill_scene_gradients(s, 77);
    return mousse_step(s->opt);
  }
}

static void start_scene(scene *s, size_t fail_at, bool for_good)
{
  *s = (scene){.memory = {.fail_at = fail_at, .for_good = for_good}, .saved = blob_new()};
  s->env = env_of(&s->memory);
  for (size_t i = 0; i < 3; i++) fill_normal(s->w[i], 35, 1, 3, i);
}

static void end_scene(scene *s)
{
  mousse_destroy(s->opt);
  assert_int_equal(s->memory.blocks, 0);
  assert_int_equal(s->memory.bytes, 0);
  for (size_t i = 0; i < RIG_MAX_INPUTS; i++) {
    free(s->inputs[0][i]);
    free(s->inputs[1][i]);
  }
  blob_free(&s->saved);
}

/* Plays the scene. A call that fails must say NO_MEMORY; it is tried again if the failure was
 * a single one, else the scene ends there. Returns whether any call failed. */
static bool play(scene *s, const char *algorithm)
{
  bool failed = false;
  for (int number = 0; number < CALLS; number++) {
    const int which = order[number];
    mousse_status status = call(s, algorithm, which);
    if (status == MOUSSE_OK) continue;
    if (status != MOUSSE_NO_MEMORY)
      fail_msg("%s call %d, allocation %zu: status %d", algorithm, which, s->memory.fail_at,
               status);
    failed = true;
    if (which == 0) assert_null(s->opt);
    assert_true(mousse_error(s->opt)[0] != '\0');
    if (s->memory.for_good) return true;
    status = call(s, algorithm, which);
    if (status != MOUSSE_OK)
      fail_msg("%s call %d again, after allocation %zu failed: status %d", algorithm, which,
               s->memory.fail_at, status);
  }
  return failed;
}

static void test_every_allocation_fails_once_and_for_good(void **state)
{
  (void)state;
  const char *name;
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    scene good, s;
    start_scene(&good, 0, false);
    assert_false(play(&good, name));
    assert_true(good.memory.calls > 3);
    for (size_t n = 1; n <= good.memory.calls; n++) {
      start_scene(&s, n, false);
      assert_true(play(&s, name));
      assert_memory_equal(s.w, good.w, sizeof s.w);
      end_scene(&s);
      start_scene(&s, n, true);
      assert_true(play(&s, name));
      end_scene(&s);
    }
    end_scene(&good);
  }
}

/* Growing lists of groups and parameters: many of both, each allocation failing once. */
static void test_many_groups_and_parameters(void **state)
{
  (void)state;
  enum { MANY = 40 };
  float w[MANY] = {0}, g[MANY] = {0};
  size_t calls = 1;
  for (size_t n = 0; n <= calls; n++) {
    counting memory = {.fail_at = n};
    const mousse_env env = env_of(&memory);
    mousse_optimizer *opt = NULL;
    while (mousse_create(&env, &opt) != MOUSSE_OK) assert_null(opt);
    for (int i = 0; i < MANY; i++) {
      const char name[] = {(char)('A' + i), '\0'};
      int group = -1;
      mousse_status s = mousse_add_group(opt, "sgd", &group);
      if (s != MOUSSE_OK) s = mousse_add_group(opt, "sgd", &group);
      assert_int_equal(s, MOUSSE_OK);
      assert_int_equal(group, i);
      s = mousse_add_param(opt, group, name, 1, 1, &w[i], &g[i]);
      if (s != MOUSSE_OK) s = mousse_add_param(opt, group, name, 1, 1, &w[i], &g[i]);
      assert_int_equal(s, MOUSSE_OK);
    }
    if (n == 0) calls = memory.calls;
    mousse_destroy(opt);
    assert_int_equal(memory.blocks, 0);
  }
}

static void test_bytes_held_is_what_was_taken(void **state)
{
  (void)state;
  counting memory = {0};
  const mousse_env env = env_of(&memory);
  rig r;
  rig_single(&r, &env, "mousse", 30, 20, "");
  assert_int_equal(mousse_bytes_held(r.opt), memory.bytes);
  rig_stop(&r);
}

/* Allocations of the whole process past the seam, counted by standing in for malloc. The
 * sanitizers stand there themselves. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MOUSSE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MOUSSE_SANITIZED 1
#endif
#endif

static size_t process_allocations; /* relaxed atomic: threads of BLAS and OpenMP count too */

#ifndef MOUSSE_SANITIZED
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static void count_one(void)
{
  __atomic_fetch_add(&process_allocations, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t bytes)
{
  count_one();
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
  count_one();
  return __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
  count_one();
  return __libc_realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
  count_one();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
  count_one();
  *block = __libc_memalign(alignment, bytes);
  return *block != NULL ? 0 : 12;
}
#endif

static void test_a_step_allocates_nothing(void **state)
{
  (void)state;
  const char *name;
#ifndef MOUSSE_SANITIZED
  free(malloc(1));
  assert_true(process_allocations > 0); /* the count works */
#endif
  for (size_t a = 0; (name = mousse_algorithm_name(a)) != NULL; a++) {
    counting memory = {0};
    const mousse_env env = env_of(&memory);
    rig r;
    rig_start(&r, &env);
    rig_add(&r, name, 40, 56, "");
    rig_add(&r, name, 64, 24, "");
    rig_prepare(&r);
    rig_step(&r, 1); /* BLAS and OpenMP take their own buffers and threads now */
    const size_t calls = memory.calls;
    for (uint64_t t = 2; t <= 22; t++) {
      rig_gradients(&r, t);
      const size_t before = __atomic_load_n(&process_allocations, __ATOMIC_RELAXED);
      assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
      const size_t after = __atomic_load_n(&process_allocations, __ATOMIC_RELAXED);
      if (after != before)
        fail_msg("%s step %d: %zu allocations", name, (int)t, after - before);
    }
    assert_int_equal(memory.calls, calls);
    rig_stop(&r);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_allocation_fails_once_and_for_good),
      cmocka_unit_test(test_many_groups_and_parameters),
      cmocka_unit_test(test_bytes_held_is_what_was_taken),
      cmocka_unit_test(test_a_step_allocates_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
