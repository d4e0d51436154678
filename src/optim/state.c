/* state.c - saving and restoring: a versioned, checksummed stream keyed by parameter names.
 *
 * Little-endian, no padding (docs/state-format.md):
 *
 *     "MOUSSEST"  u32 version = 1  u32 parameters  u64 steps
 *     per parameter:  text name  text algorithm  u64 rows  u64 cols
 *                     i64 scale_exponent  f64 stagger_offset  u64 refreshes  u64 retries  u64 fallbacks
 *                     u32 arrays
 *         per part:   text name  u64 count  count floats
 *     u64 XXH3 of everything before it                       (text = u32 length, bytes)
 *
 * A load goes into a second set of arrays that replaces the first only after the checksum was
 * right, so a damaged stream changes nothing.
 */
#include "optim/shares.h"
#include "optim/state_stream.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "saved state is little-endian; this machine would need byte swaps"
#endif

static const char magic[8] = {'M', 'O', 'U', 'S', 'S', 'E', 'S', 'T'};
enum { VERSION = 1 };

/* What is kept about a parameter besides its arrays; the layout is that of the stream. */
typedef struct record {
  int64_t scale_exponent;
  double stagger_offset;
  uint64_t refreshes, retries, fallbacks;
} record;

static void put_text(mo_state_stream *s, const char *text)
{
  const uint32_t length = (uint32_t)strlen(text);
  mo_state_stream_put(s, &length, sizeof length);
  mo_state_stream_put(s, text, length);
}

/* One part, share after share: the same bytes however it is divided. */
static void put_floats(mo_state_stream *s, const mo_param *param, size_t part)
{
  for (size_t i = 0; i < param->share_count; i++)
    mo_state_stream_put_from(s, param->shares[i].owner, param->state[part],
                             mo_share_floats(param, &param->shares[i], part) * sizeof(float));
}

static void put_param(mo_state_stream *s, const mo_param *param)
{
  const uint64_t rows = param->shape.rows, cols = param->shape.cols;
  const uint32_t arrays = (uint32_t)param->array_count;
  const record r = {param->scale_exponent, param->stagger_offset, param->counts.refreshes,
                    param->counts.retries, param->counts.fallbacks};
  put_text(s, param->name);
  put_text(s, mo_param_group(s->opt, param)->algorithm->name);
  mo_state_stream_put(s, &rows, sizeof rows);
  mo_state_stream_put(s, &cols, sizeof cols);
  mo_state_stream_put_from(s, param->owner, &r, sizeof r);
  mo_state_stream_put(s, &arrays, sizeof arrays);
  for (size_t i = 0; i < param->array_count; i++) {
    const uint64_t count = param->arrays[i].count;
    put_text(s, param->arrays[i].name);
    mo_state_stream_put(s, &count, sizeof count);
    put_floats(s, param, i);
  }
}

mousse_status mousse_save(mousse_optimizer *opt, mousse_write_fn write, void *user)
{
  MO_TRY(mo_require(opt, MO_READY, "mousse_save"));
  if (write == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT, "mousse_save: write must not be NULL");
  mo_state_stream s;
  mo_state_stream_start(&s, opt, write, NULL, user);
  const uint32_t version = VERSION, count = (uint32_t)opt->param_count;
  mo_state_stream_put(&s, magic, sizeof magic);
  mo_state_stream_put(&s, &version, sizeof version);
  mo_state_stream_put(&s, &count, sizeof count);
  mo_state_stream_put(&s, &opt->steps, sizeof opt->steps);
  for (size_t i = 0; i < opt->param_count; i++) put_param(&s, &opt->params[i]);
  const uint64_t checksum = mo_state_stream_checksum(&s);
  mo_state_stream_put(&s, &checksum, sizeof checksum);
  mo_state_stream_agree(&s);
  return s.status;
}

static uint32_t get_u32(mo_state_stream *s)
{
  uint32_t value = 0;
  mo_state_stream_get(s, &value, sizeof value);
  return value;
}

static uint64_t get_u64(mo_state_stream *s)
{
  uint64_t value = 0;
  mo_state_stream_get(s, &value, sizeof value);
  return value;
}

static void get_text(mo_state_stream *s, char text[MO_NAME_LIMIT + 1])
{
  const uint32_t length = get_u32(s);
  if (s->status == MOUSSE_OK && length > MO_NAME_LIMIT)
    mo_state_stream_fail(s, MOUSSE_BAD_FORMAT,
                         "saved state: a name of %u bytes; the data is damaged", length);
  mo_state_stream_get(s, text, length);
  text[s->status == MOUSSE_OK ? length : 0] = '\0';
}

static void expect_text(mo_state_stream *s, const char *what, const char *of,
                        const char *expected)
{
  char found[MO_NAME_LIMIT + 1];
  get_text(s, found);
  if (s->status == MOUSSE_OK && strcmp(found, expected) != 0)
    mo_state_stream_fail(s, MOUSSE_BAD_FORMAT,
                         "saved state: %s of '%.100s' is '%.100s', expected '%.100s'", what, of,
                         found, expected);
}

static void expect_number(mo_state_stream *s, const char *what, const char *of, uint64_t found,
                          uint64_t expected)
{
  if (s->status == MOUSSE_OK && found != expected)
    mo_state_stream_fail(s, MOUSSE_BAD_FORMAT,
                         "saved state: %s of '%.100s' is %llu, expected %llu", what, of,
                         (unsigned long long)found, (unsigned long long)expected);
}

/* Where a load puts things until it is known to be good: one record for each parameter, and
 * arrays laid out like the live ones. */
typedef struct staging {
  mo_arena arrays, lists;
  record *records;
  bool *seen;
  uint64_t steps;
} staging;

static void lay_out_lists(staging *stage, size_t param_count)
{
  stage->records = mo_arena_take(&stage->lists, param_count, sizeof *stage->records);
  stage->seen = mo_arena_take(&stage->lists, param_count, sizeof *stage->seen);
}

static bool take_staging(staging *stage, mousse_optimizer *opt)
{
  *stage = (staging){mo_arena_start(&opt->allocator), mo_arena_start(&opt->allocator), NULL,
                     NULL, 0};
  lay_out_lists(stage, opt->param_count);
  stage->arrays.used = opt->state.bytes;
  if (!mo_arena_commit(&stage->lists) || !mo_arena_commit(&stage->arrays)) return false;
  lay_out_lists(stage, opt->param_count);
  return true;
}

static void release_staging(staging *stage)
{
  mo_arena_release(&stage->arrays);
  mo_arena_release(&stage->lists);
}

/* The parameter that the stream comes to next, marked as seen. */
static mo_param *get_param_by_name(mo_state_stream *s, staging *stage)
{
  char name[MO_NAME_LIMIT + 1];
  get_text(s, name);
  if (s->status != MOUSSE_OK) return NULL;
  mo_param *param = mo_param_find(s->opt, name);
  if (param == NULL)
    mo_state_stream_fail(s, MOUSSE_BAD_FORMAT,
                         "saved state: this optimizer has no parameter '%.200s'", name);
  else if (stage->seen[param - s->opt->params])
    mo_state_stream_fail(s, MOUSSE_BAD_FORMAT, "saved state: parameter '%.200s' is there twice",
                         name);
  else
    stage->seen[param - s->opt->params] = true;
  return s->status == MOUSSE_OK ? param : NULL;
}

static void get_part(mo_state_stream *s, const mo_param *param, size_t part, staging *stage)
{
  const mo_state_array *expected = &param->arrays[part];
  expect_text(s, "a part", param->name, expected->name);
  expect_number(s, expected->name, param->name, get_u64(s), expected->count);
  for (size_t i = 0; s->status == MOUSSE_OK && i < param->share_count; i++) {
    const mo_share *share = &param->shares[i];
    unsigned char *place = NULL;
    if (share == param->own)
      place = stage->arrays.start + ((unsigned char *)param->state[part] - s->opt->state.start);
    mo_state_stream_get(s, place, mo_share_floats(param, share, part) * sizeof(float));
  }
}

static void get_param(mo_state_stream *s, staging *stage)
{
  const mo_param *param = get_param_by_name(s, stage);
  if (param == NULL) return;
  expect_text(s, "the algorithm", param->name, mo_param_group(s->opt, param)->algorithm->name);
  expect_number(s, "the number of rows", param->name, get_u64(s), param->shape.rows);
  expect_number(s, "the number of columns", param->name, get_u64(s), param->shape.cols);
  mo_state_stream_get(s, &stage->records[param - s->opt->params], sizeof *stage->records);
  expect_number(s, "the number of arrays", param->name, get_u32(s), param->array_count);
  for (size_t i = 0; s->status == MOUSSE_OK && i < param->array_count; i++)
    get_part(s, param, i, stage);
}

static void get_all(mo_state_stream *s, staging *stage)
{
  char start[sizeof magic] = "";
  mo_state_stream_get(s, start, sizeof start);
  if (s->status == MOUSSE_OK && memcmp(start, magic, sizeof magic) != 0)
    mo_state_stream_fail(s, MOUSSE_BAD_FORMAT, "this is not a saved optimizer state");
  expect_number(s, "the format version", "the stream", get_u32(s), VERSION);
  const size_t count = s->opt->param_count;
  expect_number(s, "the number of parameters", "the stream", get_u32(s), count);
  stage->steps = get_u64(s);
  for (size_t i = 0; s->status == MOUSSE_OK && i < count; i++) get_param(s, stage);
  const uint64_t computed = mo_state_stream_checksum(s), stored = get_u64(s);
  if (s->status == MOUSSE_OK && stored != computed)
    mo_state_stream_fail(s, MOUSSE_BAD_FORMAT,
                         "saved state: the checksum does not match; the data is damaged");
}

/* From here on nothing can fail. */
static void adopt(mousse_optimizer *opt, staging *stage)
{
  for (size_t i = 0; i < opt->param_count; i++) {
    const record *r = &stage->records[i];
    opt->params[i].scale_exponent = (int)r->scale_exponent;
    opt->params[i].stagger_offset = r->stagger_offset;
    opt->params[i].counts = (mo_counts){r->refreshes, r->retries, r->fallbacks};
  }
  const mo_arena old = opt->state;
  opt->state = stage->arrays;
  stage->arrays = old;
  mo_plan_state(opt, &opt->state);
  opt->steps = stage->steps;
  opt->phase = MO_READY;
}

/* A rank without memory must stop the others before they start to read. */
static bool all_ranks_have(mousse_optimizer *opt, bool have)
{
  float missing = have ? 0.0f : 1.0f;
  return opt->comm.sum(opt->comm.context, &missing, 1) == 0 && missing == 0.0f;
}

mousse_status mousse_load(mousse_optimizer *opt, mousse_read_fn read, void *user)
{
  if (opt == NULL || opt->phase != MO_BROKEN) MO_TRY(mo_require(opt, MO_READY, "mousse_load"));
  if (read == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT, "mousse_load: read must not be NULL");
  staging stage;
  mo_state_stream s;
  const mo_phase before = opt->phase;
  opt->phase = MO_READY; /* the stream breaks it again if ranks cannot be reached */
  mo_state_stream_start(&s, opt, NULL, read, user);
  const bool have = take_staging(&stage, opt);
  if (!all_ranks_have(opt, have))
    mo_state_stream_fail(&s, MOUSSE_NO_MEMORY, "no memory to read the saved state into");
  else
    get_all(&s, &stage);
  if (s.status == MOUSSE_OK)
    adopt(opt, &stage);
  else if (before == MO_BROKEN)
    opt->phase = MO_BROKEN;
  release_staging(&stage);
  return s.status;
}
