/* walk.c - a random walk through the public API: calls in any order, with good and bad arguments,
 * an allocator and a communicator that fail now and then, and damaged saved state.
 *
 *     walk SEQUENCES [SEED]
 *
 * After every call: the status is one of the list, a failure left a sentence, the library holds
 * what it says it holds, and it never wrote outside the tensors it was given. At the end of a
 * sequence nothing is left. Run under the address sanitizer. Ends with the first violation.
 */
#include "base/random.h"

#include <math.h>
#include <mousse/mousse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { POOL = 3000, GUARD = 64, STREAM = 1 << 18, MOST_ALGORITHMS = 64, CALLS = 40 };

typedef struct walk {
  uint64_t seed, sequence, draw, calls, failures, steps, loads;
  mousse_optimizer *opt;
  float values[POOL + 2 * GUARD], grads[POOL + GUARD], inputs[POOL], scratch[POOL];
  unsigned char stream[STREAM];
  size_t stream_size, stream_at;
  size_t blocks, bytes, fail_in; /* fail_in: allocations until one fails; 0: none does */
  int ranks, comm_fails;         /* in per mille */
  const char *algorithms[MOST_ALGORITHMS];
  size_t algorithm_count;
} walk;

static size_t below(walk *w, size_t limit)
{
  return (size_t)mo_random_below(w->seed, w->sequence, w->draw++, limit);
}

static bool chance(walk *w, int per_mille)
{
  return below(w, 1000) < (size_t)per_mille;
}

static void violated(const walk *w, const char *what)
{
  fprintf(stderr, "walk: seed %llu, sequence %llu, call %llu: %s (%s)\n",
          (unsigned long long)w->seed, (unsigned long long)w->sequence,
          (unsigned long long)w->calls, what, w->opt != NULL ? mousse_error(w->opt) : "");
  abort();
}

static void *allocate(void *user, size_t bytes)
{
  walk *w = user;
  if (bytes > (size_t)1 << 24 || (w->fail_in > 0 && --w->fail_in == 0)) return NULL;
  void *block = malloc(bytes);
  if (block == NULL) return NULL;
  memset(block, 0xff, bytes);
  w->blocks++;
  w->bytes += bytes;
  return block;
}

static void release(void *user, void *block, size_t bytes)
{
  walk *w = user;
  w->blocks--;
  w->bytes -= bytes;
  free(block);
}

/* The other ranks say what this one says, or cannot be reached. */
static int sum(void *context, float *data, size_t count)
{
  walk *w = context;
  (void)data, (void)count;
  return chance(w, w->comm_fails) ? -1 : 0;
}

static int broadcast(void *context, float *data, size_t count, int root)
{
  (void)root;
  return sum(context, data, count);
}

static const char *pick_name(walk *w)
{
  static const char *const names[] = {"a",       "b",   "c",     "a[0]", "a[1]",
                                      "b[0][1]", "wte", "h.0.w", "",     "c[2]"};
  return chance(w, 30) ? NULL : names[below(w, sizeof names / sizeof *names)];
}

static const char *pick_algorithm(walk *w)
{
  static const char *const odd[] = {"", "mouse", "adam", NULL};
  return chance(w, 50) ? odd[below(w, 4)] : w->algorithms[below(w, w->algorithm_count)];
}

static int pick_group(walk *w)
{
  static const int odd[] = {-1, -2, -3, -4, 7, 1 << 30};
  return chance(w, 250) ? odd[below(w, 6)] : (int)below(w, 3);
}

static double pick_number(walk *w)
{
  static const double numbers[] = {0,   1,    -1,       0.5,       2,   3,    1e-3, 0.999999,
                                   1e3, 1e30, INFINITY, -INFINITY, NAN, 0.01, 10,   1e-10};
  return numbers[below(w, sizeof numbers / sizeof *numbers)];
}

static const char *pick_option(walk *w, int group)
{
  static const char *const odd[] = {"",        "learning_rate", "lr_factor",      "clip_norm",
                                    "wrapper", "average",       "average_horizon"};
  const char *algorithm = w->opt != NULL ? mousse_group_algorithm(w->opt, group) : NULL;
  const mousse_option *option =
      algorithm != NULL ? mousse_algorithm_option(algorithm, below(w, 20)) : NULL;
  if (option != NULL && !chance(w, 200)) return option->name;
  return chance(w, 30) ? NULL : odd[below(w, 7)];
}

static size_t pick_side(walk *w)
{
  static const size_t odd[] = {0, (size_t)1 << 31, SIZE_MAX, (size_t)1 << 40};
  return chance(w, 20) ? odd[below(w, 4)] : 1 + below(w, 12);
}

/* Somewhere in a pool with `need` bytes left; sometimes at an odd address. */
static void *pick_memory(walk *w, float *pool, size_t need, int null)
{
  const size_t all = POOL * sizeof(float);
  if (chance(w, null) || need > all) return NULL;
  const size_t at = below(w, all - need + 1);
  return (char *)pool + (chance(w, 20) ? at : at / 4 * 4);
}

static void fill(walk *w)
{
  static const float sizes[] = {1, 1, 1, 1e-3f, 0, 1e20f, 1e-30f, 3e38f};
  const float size = sizes[below(w, 8)];
  for (size_t i = 0; i < POOL; i++)
    w->grads[GUARD + i] = size * (float)((int)((i * 2654435761u) >> 8 & 1023) - 512) / 512;
  if (chance(w, 30)) w->grads[GUARD + below(w, POOL)] = chance(w, 500) ? NAN : INFINITY;
  for (size_t i = 0; i < POOL; i++) w->inputs[i] = (float)(i % 7 == 0) + 0.01f * (float)(i % 3);
}

static int write_stream(void *user, const void *data, size_t bytes)
{
  walk *w = user;
  if (w->stream_size + bytes > STREAM || chance(w, 1)) return 1;
  memcpy(w->stream + w->stream_size, data, bytes);
  w->stream_size += bytes;
  return 0;
}

static int read_stream(void *user, void *data, size_t bytes)
{
  walk *w = user;
  if (bytes > w->stream_size - w->stream_at) return 1;
  memcpy(data, w->stream + w->stream_at, bytes);
  w->stream_at += bytes;
  return 0;
}

static void observe(void *user, const char *param, const char *quantity, double value)
{
  (void)value;
  if (param == NULL || quantity == NULL) violated(user, "an observer without names");
}

static void report(void *user, mousse_difference difference, const char *name, const char *text)
{
  if (difference > MOUSSE_OPTION || name == NULL || text == NULL || text[0] == '\0')
    violated(user, "a report without words");
}

static mousse_status add_param(walk *w)
{
  const size_t rows = pick_side(w), cols = pick_side(w);
  const size_t need = rows < 20 && cols < 20 ? 4 * rows * cols : 4;
  return mousse_add_param(w->opt, pick_group(w), pick_name(w), rows, cols,
                          pick_memory(w, w->values + GUARD, need, 30),
                          pick_memory(w, w->grads + GUARD, need, 200));
}

static mousse_status add_tensor(walk *w)
{
  mousse_tensor t = {.struct_size = chance(w, 30) ? below(w, sizeof t) : sizeof t,
                     .name = pick_name(w),
                     .rows = pick_side(w),
                     .cols = pick_side(w),
                     .count = below(w, 4),
                     .row_blocks = below(w, 4),
                     .transposed = chance(w, 300),
                     .value_type = (mousse_type)below(w, chance(w, 50) ? 9 : 3),
                     .grad_type = (mousse_type)below(w, 3)};
  if (chance(w, 200)) t.stride = chance(w, 50) ? SIZE_MAX / 2 : (1 + below(w, 12)) * 12;
  const bool small = t.rows < 20 && t.cols < 20 && t.stride < 300;
  const size_t stride = t.stride > 0 ? t.stride : t.rows * t.cols;
  const size_t need = small ? 4 * (stride * t.count + t.rows * t.cols) : 4;
  t.value = pick_memory(w, w->values + GUARD, need, 30);
  t.grad = pick_memory(w, w->grads + GUARD, need, 200);
  return mousse_add_tensor(w->opt, pick_group(w), chance(w, 10) ? NULL : &t);
}

/* Only as much memory as the tensor had is known to be there: the whole pool is, from its start. */
static mousse_status rebind(walk *w)
{
  mousse_binding b[3];
  const size_t count = below(w, 4);
  for (size_t i = 0; i < 3; i++)
    b[i] = (mousse_binding){pick_name(w), pick_memory(w, w->values + GUARD, POOL * 2, 100),
                            pick_memory(w, w->grads + GUARD, POOL * 2, 300)};
  if (count == 1) return mousse_rebind(w->opt, b[0].name, b[0].value, b[0].grad);
  return mousse_rebind_all(w->opt, b, count);
}

static mousse_status set(walk *w)
{
  static const char *const texts[] = {"0.1", "on", "left", "rms", "", "nan", "1e999", "small"};
  const int group = pick_group(w);
  const char *option = pick_option(w, group < 0 ? 0 : group);
  if (chance(w, 300))
    return mousse_set_text(w->opt, group, option, chance(w, 20) ? NULL : texts[below(w, 8)]);
  return mousse_set(w->opt, group, option, pick_number(w));
}

static mousse_status get(walk *w)
{
  char text[32];
  double value = 0;
  const int group = pick_group(w);
  const char *option = pick_option(w, group < 0 ? 0 : group);
  if (chance(w, 500)) return mousse_get_text(w->opt, group, option, text, below(w, 32));
  return mousse_get(w->opt, group, option, chance(w, 20) ? NULL : &value);
}

static mousse_status param_options(walk *w)
{
  static const char *const options[] = {"lr_factor", "weight_decay_factor", "steps", "lr"};
  double value = 0;
  const char *name = pick_name(w), *option = options[below(w, 4)];
  if (chance(w, 500)) return mousse_set_param(w->opt, name, option, pick_number(w));
  return mousse_get_param(w->opt, name, option, &value);
}

static mousse_status bind(walk *w)
{
  const mousse_input *input = mousse_algorithm_input(pick_algorithm(w), below(w, 3));
  return mousse_bind_input(w->opt, pick_name(w), input != NULL ? input->name : "none",
                           chance(w, 100) ? NULL : w->inputs);
}

static mousse_status save(walk *w)
{
  w->stream_size = 0;
  return mousse_save(w->opt, chance(w, 10) ? NULL : write_stream, w);
}

/* As it is, cut short, or with some bytes changed; sometimes with a checksum that is right. */
static mousse_status load(walk *w)
{
  w->stream_at = 0;
  if (chance(w, 300) && w->stream_size > 20) {
    for (size_t i = below(w, 4); i > 0; i--)
      w->stream[below(w, w->stream_size)] ^= (unsigned char)(1 + below(w, 255));
    const uint64_t checksum = XXH3_64bits(w->stream, w->stream_size - 8);
    if (chance(w, 700)) memcpy(w->stream + w->stream_size - 8, &checksum, 8);
  }
  if (chance(w, 50)) w->stream_size = below(w, w->stream_size + 1);
  const bool matching = chance(w, 500);
  const mousse_status s =
      matching ? mousse_load_matching(w->opt, read_stream, w, chance(w, 500) ? report : NULL, w)
               : mousse_load(w->opt, read_stream, w);
  w->loads += s == MOUSSE_OK;
  return s;
}

static mousse_status access_state(walk *w)
{
  const char *name = pick_name(w), *array = mousse_state_name(w->opt, name, below(w, 3));
  const size_t count = mousse_state_count(w->opt, name, array);
  if (count > POOL) return MOUSSE_OK;
  const mousse_status s = mousse_state_read(w->opt, name, array, w->scratch, count);
  if (s != MOUSSE_OK || chance(w, 500)) return s;
  if (count > 0 && chance(w, 100)) w->scratch[below(w, count)] = NAN;
  return mousse_state_write(w->opt, name, array, w->scratch, chance(w, 50) ? count + 1 : count);
}

static mousse_status read_weights(walk *w)
{
  size_t rows = 0, cols = 0;
  const char *name = pick_name(w);
  const mousse_status s = mousse_param_shape(w->opt, name, &rows, &cols);
  if (s != MOUSSE_OK || rows * cols > POOL) return s;
  return mousse_read_weights(w->opt, name, w->scratch, rows * cols + chance(w, 50));
}

static mousse_status list(walk *w)
{
  size_t rows = 0, cols = 0, bytes = 0;
  double flops = 0;
  const char *name = pick_name(w);
  mousse_param_name(w->opt, below(w, 5));
  mousse_param_group(w->opt, name);
  mousse_param_steps(w->opt, name);
  mousse_param_state_bytes(w->opt, name);
  mousse_param_flops(w->opt, name);
  mousse_param_owner(w->opt, name);
  mousse_group_algorithm(w->opt, pick_group(w));
  mousse_grad_norm(w->opt);
  if (chance(w, 500)) return mousse_param_shape(w->opt, name, &rows, &cols);
  return mousse_rank_load(w->opt, (int)below(w, 4) - 1, &bytes, chance(w, 50) ? NULL : &flops);
}

static mousse_status plan(walk *w)
{
  size_t bytes = 0;
  return mousse_plan(w->opt, (int)below(w, 4) - 1, chance(w, 30) ? NULL : &bytes);
}

static mousse_status add_group(walk *w)
{
  int group = 0;
  return mousse_add_group(w->opt, pick_algorithm(w), chance(w, 20) ? NULL : &group);
}

static mousse_status watch(walk *w)
{
  return mousse_observe(w->opt, chance(w, 500) ? observe : NULL, w);
}

static mousse_status prepare(walk *w)
{
  return mousse_prepare(w->opt);
}

static mousse_status step(walk *w)
{
  fill(w);
  const mousse_status s = mousse_step(w->opt);
  w->steps += s == MOUSSE_OK;
  return s;
}

/* Each as often as it has a share; building comes first, running later. */
static const struct {
  mousse_status (*call)(walk *w);
  int early, late;
} actions[] = {{add_group, 12, 1},    {add_param, 30, 1},   {add_tensor, 20, 1},
               {rebind, 4, 10},       {set, 15, 10},        {get, 3, 3},
               {param_options, 3, 5}, {bind, 10, 5},        {plan, 3, 1},
               {prepare, 5, 1},       {step, 1, 40},        {save, 1, 8},
               {load, 1, 12},         {access_state, 1, 8}, {list, 3, 3},
               {read_weights, 1, 4},  {watch, 1, 3}};
enum { ACTIONS = sizeof actions / sizeof *actions };

static void check(walk *w, mousse_status s)
{
  if (s > MOUSSE_OK || s < MOUSSE_COMM) violated(w, "a status that is not in the list");
  if (s != MOUSSE_OK && mousse_error(w->opt)[0] == '\0') violated(w, "a failure without words");
  if (mousse_bytes_held(w->opt) != w->bytes) violated(w, "bytes_held is not what is held");
  for (size_t i = 0; i < GUARD; i++)
    if (w->values[i] != 7 || w->values[GUARD + POOL + i] != 7)
      violated(w, "memory outside the tensors was written");
  w->calls++;
  w->failures += s != MOUSSE_OK;
}

static void act(walk *w, bool late)
{
  int all = 0, at = 0;
  for (int i = 0; i < ACTIONS; i++) all += late ? actions[i].late : actions[i].early;
  int left = (int)below(w, (size_t)all);
  while (left >= (late ? actions[at].late : actions[at].early))
    left -= late ? actions[at].late : actions[at].early, at++;
  check(w, actions[at].call(w));
}

static mousse_status create(walk *w)
{
  mousse_env env = MOUSSE_ENV_INIT;
  const mousse_comm comm = {0, w->ranks, sum, broadcast, w};
  env.allocate = allocate;
  env.release = release;
  env.user = w;
  env.threads = 1;
  if (w->ranks > 1) env.comm = &comm;
  if (chance(w, 20)) env.struct_size = below(w, sizeof env);
  return mousse_create(&env, &w->opt);
}

/* To parameters that have none, which prepare would refuse. */
static void give_memory(walk *w)
{
  mousse_status s = MOUSSE_OK;
  for (size_t i = 0; s == MOUSSE_OK && i < 10; i++) {
    const char *name = mousse_param_name(w->opt, i);
    if (name == NULL || chance(w, 100)) break;
    s = mousse_rebind(w->opt, name, w->values + GUARD + 290 * i, w->grads + GUARD + 290 * i);
    check(w, s);
  }
}

static void go(walk *w)
{
  w->draw = 0;
  w->stream_size = w->stream_at = 0;
  w->ranks = chance(w, 300) ? 2 : 1;
  w->comm_fails = chance(w, 300) ? 20 : 0;
  w->fail_in = chance(w, 300) ? 1 + below(w, 40) : 0;
  for (size_t i = 0; i < POOL + 2 * GUARD; i++) w->values[i] = 7;
  const mousse_status s = create(w);
  if (s != MOUSSE_OK && (w->opt != NULL || mousse_error(NULL)[0] == '\0'))
    violated(w, "create failed without words");
  for (size_t i = 0; s == MOUSSE_OK && i < CALLS; i++) {
    if (i < 3) check(w, add_group(w)); /* so that most of what follows can succeed */
    if (i == CALLS / 3) give_memory(w);
    if (i == CALLS / 3) check(w, prepare(w));
    act(w, i > CALLS / 3);
  }
  mousse_destroy(w->opt);
  w->opt = NULL;
  if (w->blocks != 0 || w->bytes != 0) violated(w, "memory was left behind");
}

int main(int argc, char **argv)
{
  static walk w;
  const uint64_t sequences = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
  w.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const char *name;
  for (size_t i = 0; (name = mousse_algorithm_name(i)) != NULL && i < MOST_ALGORITHMS; i++)
    w.algorithms[w.algorithm_count++] = name;
  for (w.sequence = 0; w.sequence < sequences; w.sequence++) go(&w);
  printf("%llu sequences, %llu calls, %llu refused; %llu steps and %llu loads were done\n",
         (unsigned long long)sequences, (unsigned long long)w.calls,
         (unsigned long long)w.failures, (unsigned long long)w.steps,
         (unsigned long long)w.loads);
  return w.steps > sequences && w.loads > sequences / 20 ? 0 : 1; /* else it only knocked */
}
