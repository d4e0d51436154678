/* fuzz_load.c - mousse_load and mousse_load_matching on any bytes behind a right checksum. A
 * refused load changes nothing; after one that was taken, steps end.
 *
 *     input   u8 algorithm  u8 mode  then edits of a state that this algorithm saved:
 *             u16 place (modulo its length)  u8 new value
 *     mode    1: matching   2: the rest is the stream itself   4: the checksum stays wrong
 *
 * Every registered algorithm is tried, so a new one is covered by being registered. */
#include "fuzz.h"

#include <mousse/mousse.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { ROWS = 3, COLS = 4, MOST = 1 << 16, ALGORITHMS = 64 };

typedef struct stream {
  unsigned char bytes[MOST];
  size_t size, at;
} stream;

/* One optimizer for each algorithm, made once; its state after three steps is what is edited. */
typedef struct subject {
  mousse_optimizer *opt;
  float value[2][ROWS * COLS], grad[2][ROWS * COLS], inputs[4][COLS * COLS];
  stream good;
} subject;

static subject *subjects[ALGORITHMS];

static int write_stream(void *user, const void *data, size_t bytes)
{
  stream *s = user;
  FUZZ_CHECK(s->size + bytes <= MOST);
  memcpy(s->bytes + s->size, data, bytes);
  s->size += bytes;
  return 0;
}

static int read_stream(void *user, void *data, size_t bytes)
{
  stream *s = user;
  if (bytes > s->size - s->at) return 1;
  memcpy(data, s->bytes + s->at, bytes);
  s->at += bytes;
  return 0;
}

static void bind_inputs(subject *s, const char *algorithm, const char *param)
{
  const mousse_input *input;
  for (size_t i = 0; (input = mousse_algorithm_input(algorithm, i)) != NULL && i < 4; i++) {
    for (size_t e = 0; e < COLS * COLS; e++) s->inputs[i][e] = 0.25f; /* + I, in any shape: */
    for (size_t e = 0; e < COLS; e++) s->inputs[i][e * (COLS + 1)] = 2;
    for (size_t e = 0; e < ROWS; e++) s->inputs[i][e * (ROWS + 1)] = 2;
    FUZZ_CHECK(mousse_bind_input(s->opt, param, input->name, s->inputs[i]) == MOUSSE_OK);
  }
}

static void steps(subject *s, int count)
{
  for (int t = 0; t < count; t++) FUZZ_CHECK(mousse_step(s->opt) == MOUSSE_OK);
}

static subject *make(const char *algorithm)
{
  subject *s = calloc(1, sizeof *s);
  mousse_env env = MOUSSE_ENV_INIT;
  int group = 0;
  FUZZ_CHECK(s != NULL);
  env.threads = 1;
  FUZZ_CHECK(mousse_create(&env, &s->opt) == MOUSSE_OK);
  FUZZ_CHECK(mousse_add_group(s->opt, algorithm, &group) == MOUSSE_OK);
  for (size_t i = 0; i < 2; i++) {
    const char *name = i == 0 ? "a" : "b";
    FUZZ_CHECK(mousse_add_param(s->opt, group, name, ROWS, COLS, s->value[i], s->grad[i]) ==
               MOUSSE_OK);
    bind_inputs(s, algorithm, name);
    for (size_t e = 0; e < ROWS * COLS; e++) s->grad[i][e] = (float)((7 * e + i) % 5) - 1.5f;
  }
  FUZZ_CHECK(mousse_prepare(s->opt) == MOUSSE_OK);
  steps(s, 3);
  FUZZ_CHECK(mousse_save(s->opt, write_stream, &s->good) == MOUSSE_OK);
  return s;
}

static void fill(stream *s, const stream *good, const uint8_t *data, size_t size, unsigned mode)
{
  s->at = 0;
  s->size = mode & 2 ? (size < MOST ? size : MOST) : good->size;
  memcpy(s->bytes, mode & 2 ? data : good->bytes, s->size);
  for (size_t i = 0; !(mode & 2) && i + 3 <= size; i += 3)
    s->bytes[(data[i] | (size_t)data[i + 1] << 8) % s->size] = data[i + 2];
  if ((mode & 4) || s->size < 8) return;
  const uint64_t checksum = XXH3_64bits(s->bytes, s->size - 8);
  memcpy(s->bytes + s->size - 8, &checksum, sizeof checksum);
}

static void ignore(void *user, mousse_difference difference, const char *name, const char *text)
{
  (void)user, (void)difference;
  FUZZ_CHECK(name != NULL && text != NULL && text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static stream s, now;
  size_t count = 0;
  if (size < 2) return 0;
  while (count < ALGORITHMS && mousse_algorithm_name(count) != NULL) count++;
  const size_t which = data[0] % count;
  if (subjects[which] == NULL) subjects[which] = make(mousse_algorithm_name(which));
  subject *one = subjects[which];
  fill(&s, &one->good, data + 2, size - 2, data[1]);
  const mousse_status status =
      data[1] & 1 ? mousse_load_matching(one->opt, read_stream, &s, ignore, NULL)
                  : mousse_load(one->opt, read_stream, &s);
  FUZZ_CHECK(status == MOUSSE_OK || mousse_error(one->opt)[0] != '\0');
  if (status == MOUSSE_OK) {
    steps(one, 2);
    one->good.at = 0;
    memset(one->value, 0, sizeof one->value); /* whatever the forged state did to it */
    FUZZ_CHECK(mousse_load(one->opt, read_stream, &one->good) == MOUSSE_OK);
    return 0;
  }
  now.size = 0;
  FUZZ_CHECK(mousse_save(one->opt, write_stream, &now) == MOUSSE_OK);
  FUZZ_CHECK(now.size == one->good.size);
  FUZZ_CHECK(memcmp(now.bytes, one->good.bytes, now.size) == 0);
  return 0;
}
