/* state_load.c - restoring, in full or as far as it fits. Everything is read into a second set of
 * arrays that replaces the first only after the checksum was right, so a damaged stream changes
 * nothing; and every number is checked that a step would rely on. */
#include "base/arithmetic.h"
#include "comm/ranks.h"
#include "optim/grad_scale.h"
#include "optim/shares.h"
#include "optim/state_loading.h"
#include "optim/wrappers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void lay_out_lists(mo_loading *l)
{
  const mousse_optimizer *opt = l->s.opt;
  size_t options = 0;
  l->records = mo_arena_take(&l->lists, opt->param_count, sizeof *l->records);
  l->seen = mo_arena_take(&l->lists, opt->param_count, sizeof *l->seen);
  l->taken = mo_arena_take(&l->lists, opt->param_count, sizeof *l->taken);
  l->changed = mo_arena_take(&l->lists, opt->param_count, sizeof *l->changed);
  l->first_told = mo_arena_take(&l->lists, opt->group_count, sizeof *l->first_told);
  for (size_t i = 0; i < opt->group_count; i++) {
    if (l->first_told != NULL) l->first_told[i] = options;
    options += opt->groups[i].algorithm->option_count;
  }
  l->told = mo_arena_take(&l->lists, options, sizeof *l->told);
}

static bool take_lists(mo_loading *l)
{
  l->arrays = l->lists = mo_arena_start(&l->s.opt->allocator);
  lay_out_lists(l);
  l->arrays.used = l->s.opt->state.bytes;
  if (!mo_arena_commit(&l->lists) || !mo_arena_commit(&l->arrays)) return false;
  lay_out_lists(l);
  return true;
}

static void release_lists(mo_loading *l)
{
  mo_arena_release(&l->arrays);
  mo_arena_release(&l->lists);
}

/* What the stream has does not fit this parameter: the end of a full load; otherwise the
 * parameter stays as it is. */
static void does_not_fit(mo_loading *l, const mo_param *param, bool *fits, const char *what)
{
  char text[600];
  if (!mo_loading_good(l) || !*fits) return;
  *fits = false;
  snprintf(text, sizeof text, "saved state: '%.100s' %s%s%s", param->name, what,
           l->cause[0] != '\0' ? "; " : "", l->cause);
  if (l->matching)
    mo_loading_tell(l, MOUSSE_RESHAPED, param->name, text);
  else
    mo_state_stream_fail(&l->s, MOUSSE_BAD_FORMAT, "%s", text);
}

static void get_record(mo_loading *l, const char *name, mo_state_record *r)
{
  r->scale_exponent = (int64_t)mo_loading_u64(l);
  mo_state_stream_get(&l->s, &r->stagger_offset, sizeof r->stagger_offset);
  r->steps = l->version < 2 ? l->steps : mo_loading_u64(l);
  r->weight_sum = -1.0;
  if (l->version >= 3) mo_state_stream_get(&l->s, &r->weight_sum, sizeof r->weight_sum);
  r->refreshes = mo_loading_u64(l);
  r->retries = mo_loading_u64(l);
  r->fallbacks = mo_loading_u64(l);
  r->flags = l->version >= 4 ? mo_loading_u64(l) : 0;
  r->blank = l->version >= 5 ? mo_loading_u64(l) : 0;
  if (!mo_grad_scale_valid(r->scale_exponent)) mo_loading_damaged(l, "the unit", name);
  if (!(r->stagger_offset >= 0 && r->stagger_offset < 1))
    mo_loading_damaged(l, "the phase", name);
  if (r->steps > INT64_MAX) mo_loading_damaged(l, "the number of steps", name);
  if (l->version >= 3 && !(r->weight_sum >= 0 && isfinite(r->weight_sum)))
    mo_loading_damaged(l, "the sum of weights", name);
  if (r->flags > MO_STATE_FLAGS) mo_loading_damaged(l, "a flag", name);
  if (r->blank > r->steps) mo_loading_damaged(l, "the number of blank steps", name);
}

/* Whether elements come row by row and lie column by column here, or the reverse. */
static bool is_turned(const mo_loading *l, const mo_param *param, const mo_state_record *r)
{
  const bool columns = (r->flags & MO_STATE_COLUMNS) != 0;
  return l->version >= 4 && columns != param->column_order;
}

/* The array of a parameter that the stream's `name` is: the algorithm's come in their order, ours
 * are found by name and may be missing. */
static size_t which_array(const mo_param *param, const char *name, size_t next)
{
  for (size_t i = param->algorithm_arrays; i < param->array_count; i++)
    if (strcmp(param->arrays[i].name, name) == 0) return i;
  return next < param->algorithm_arrays && strcmp(param->arrays[next].name, name) == 0
             ? next
             : param->array_count;
}

/* Arrays that are ours and may be more than are wanted. */
static bool is_ours(const char *name)
{
  return strcmp(name, "master") == 0 || mo_wrapper_array(name);
}

/* An array that is needed and was not there. */
static void check_there(mo_loading *l, const mo_param *param, const bool *there, bool *fits)
{
  for (size_t i = 0; i < param->array_count; i++) {
    const char *name = param->arrays[i].name;
    const bool wrapped = i >= param->algorithm_arrays && mo_wrapper_array(name);
    char what[160];
    if (there[i] || (i >= param->algorithm_arrays && !wrapped)) continue;
    snprintf(what, sizeof what, "lacks the array '%.60s'%s", name,
             !wrapped                       ? ""
             : strcmp(name, "average") == 0 ? ", which the option average needs"
                                            : ", which the option wrapper needs");
    does_not_fit(l, param, fits, what);
  }
}

/* Before version 4 nothing says whether there had been a first step: `steps` may have been set
 * without one. It leaves numbers in what it makes, or in moments where it makes nothing else.
 * signs: of the arrays with numbers in them; moments: one of the algorithm's is among these. */
static uint64_t guess_flags(const mo_param *param, uint64_t steps, uint64_t signs, bool moments)
{
  uint64_t possible = 0;
  for (size_t i = 0; i < param->array_count; i++)
    if (param->arrays[i].count > 0) possible |= mo_state_sign(param, i);
  if ((possible & MO_STATE_BEGUN) == 0 && moments) signs |= MO_STATE_BEGUN;
  if ((possible & MO_STATE_WRAPPED) == 0) signs |= MO_STATE_WRAPPED;
  return steps > 0 ? signs : 0;
}

static void get_arrays(mo_loading *l, const mo_param *param, mo_state_record *r, bool *fits)
{
  const uint32_t arrays = mo_loading_u32(l);
  uint64_t signs = 0;
  bool moments = false, there[MO_MAX_ARRAYS] = {false};
  size_t next = 0;
  for (uint32_t i = 0; mo_loading_good(l) && i < arrays; i++) {
    char name[MO_NAME_LIMIT + 1], what[200];
    mo_loading_text(l, name);
    const uint64_t count = mo_loading_u64(l);
    size_t found = *fits ? which_array(param, name, next) : 0;
    bool keep = *fits && found < param->array_count;
    if (*fits && !keep && !is_ours(name)) {
      snprintf(what, sizeof what, "has an array '%.60s' that it does not have here", name);
      does_not_fit(l, param, fits, what);
    } else if (keep && count != param->arrays[found].count) {
      snprintf(what, sizeof what, "has %llu floats of '%.60s', expected %zu",
               (unsigned long long)count, name, param->arrays[found].count);
      does_not_fit(l, param, fits, what);
      keep = false;
    }
    next += keep && found < param->algorithm_arrays;
    if (keep) there[found] = true;
    const float largest =
        mo_loading_floats(l, keep ? param : NULL, found, count, keep && is_turned(l, param, r));
    if (keep && largest > 0.0f) {
      signs |= mo_state_sign(param, found);
      moments = moments || found < param->algorithm_arrays;
    }
  }
  if (*fits && l->version < 4) r->flags = guess_flags(param, r->steps, signs, moments);
  if (*fits) check_there(l, param, there, fits);
}

/* The parameter that the stream comes to next, marked as seen; NULL: there is none here. */
static mo_param *find_param(mo_loading *l, const char *name)
{
  mo_param *param = mo_loading_good(l) ? mo_param_find(l->s.opt, name) : NULL;
  char text[300];
  if (param == NULL) {
    snprintf(text, sizeof text, "saved state: this optimizer has no parameter '%.200s'", name);
    if (!l->matching) mo_state_stream_fail(&l->s, MOUSSE_BAD_FORMAT, "%s", text);
    mo_loading_tell(l, MOUSSE_UNKNOWN, name, text);
    return NULL;
  }
  const size_t index = (size_t)(param - l->s.opt->params);
  if (l->seen[index])
    mo_state_stream_fail(&l->s, MOUSSE_BAD_FORMAT,
                         "saved state: parameter '%.200s' is there twice", name);
  l->seen[index] = true;
  return param;
}

static bool same_kind(mo_loading *l, const mo_param *param, const char *algorithm,
                      uint64_t rows, uint64_t cols)
{
  const char *mine = mo_param_group(l->s.opt, param)->algorithm->name;
  char what[240];
  bool fits = true;
  l->cause[0] = '\0';
  if (strcmp(algorithm, mine) != 0) {
    snprintf(what, sizeof what, "was under %.60s, here it is under %.60s", algorithm, mine);
    does_not_fit(l, param, &fits, what);
  }
  if (rows != param->shape.rows || cols != param->shape.cols) {
    snprintf(what, sizeof what, "has %llu x %llu elements, here %zu x %zu",
             (unsigned long long)rows, (unsigned long long)cols, param->shape.rows,
             param->shape.cols);
    does_not_fit(l, param, &fits, what);
  }
  return fits;
}

/* Then every array has one float per element, in the order of the elements. */
static bool is_element_wise(const mo_loading *l, const mo_param *param)
{
  return mo_param_group(l->s.opt, param)->algorithm->element_wise;
}

static void get_param(mo_loading *l)
{
  char name[MO_NAME_LIMIT + 1], algorithm[MO_NAME_LIMIT + 1];
  mo_state_record record = {0};
  mo_loading_text(l, name);
  const mo_param *param = find_param(l, name);
  mo_loading_text(l, algorithm);
  const uint64_t rows = mo_loading_u64(l), cols = mo_loading_u64(l);
  bool fits = mo_loading_good(l) && param != NULL && same_kind(l, param, algorithm, rows, cols);
  get_record(l, name, &record);
  if (fits && (record.flags & MO_STATE_COLUMNS) != 0 && !is_element_wise(l, param))
    mo_loading_damaged(l, "a flag", name);
  mo_loading_param_options(l, fits ? param : NULL);
  get_arrays(l, param, &record, &fits);
  if (!fits || !mo_loading_good(l)) return;
  l->records[param - l->s.opt->params] = record;
  l->taken[param - l->s.opt->params] = true;
  l->changed[param - l->s.opt->params] = l->cause[0] != '\0';
}

static void check_seen(mo_loading *l)
{
  for (size_t i = 0; mo_loading_good(l) && i < l->s.opt->param_count; i++) {
    const char *name = l->s.opt->params[i].name;
    char text[300];
    if (l->seen[i]) continue;
    snprintf(text, sizeof text, "saved state: there is no parameter '%.200s' in it", name);
    if (!l->matching) mo_state_stream_fail(&l->s, MOUSSE_BAD_FORMAT, "%s", text);
    mo_loading_tell(l, MOUSSE_MISSING, name, text);
  }
}

static void get_all(mo_loading *l)
{
  char start[MO_STATE_MAGIC_BYTES] = "";
  mo_state_stream_get(&l->s, start, sizeof start);
  if (mo_loading_good(l) && memcmp(start, MO_STATE_MAGIC, sizeof start) != 0)
    mo_state_stream_fail(&l->s, MOUSSE_BAD_FORMAT, "this is not a saved optimizer state");
  l->version = mo_loading_u32(l);
  if (mo_loading_good(l) && (l->version < 1 || l->version > MO_STATE_VERSION))
    mo_state_stream_fail(&l->s, MOUSSE_BAD_FORMAT,
                         "saved state: its format is version %u; this library reads 1 to %d",
                         l->version, MO_STATE_VERSION);
  const uint32_t count = mo_loading_u32(l);
  l->steps = mo_loading_u64(l);
  if (l->steps > INT64_MAX) mo_loading_damaged(l, "the number of steps", "the stream");
  if (l->version >= 2) mo_loading_object_options(l);
  for (uint32_t i = 0; mo_loading_good(l) && i < count; i++) get_param(l);
  const uint64_t computed = mo_state_stream_checksum(&l->s), stored = mo_loading_u64(l);
  if (mo_loading_good(l) && stored != computed)
    mo_state_stream_fail(&l->s, MOUSSE_BAD_FORMAT,
                         "saved state: the checksum does not match; the data is damaged");
  check_seen(l);
}

/* What was not taken stays as it is, in the new arrays as in the old ones. */
static void keep_old(mo_loading *l, const mo_param *param)
{
  for (size_t i = 0; param->own != NULL && i < param->array_count; i++) {
    const size_t offset = (size_t)((unsigned char *)param->state[i] - l->s.opt->state.start);
    memcpy(l->arrays.start + offset, param->state[i],
           mo_share_floats(param, param->own, i) * sizeof(float));
  }
}

/* Steps whose weights were not saved count as if they had been like the next one. */
static void adopt_record(const mousse_optimizer *opt, mo_param *param, const mo_state_record *r)
{
  const double assumed = (double)r->steps * mo_wrapper_weight(opt, param);
  param->weight_sum = r->weight_sum >= 0 ? r->weight_sum : assumed;
  param->scale_exponent = (int)r->scale_exponent;
  param->stagger_offset = r->stagger_offset;
  param->steps = r->steps;
  param->blank = r->blank;
  param->begun = (r->flags & MO_STATE_BEGUN) != 0;
  param->wrapped = (r->flags & MO_STATE_WRAPPED) != 0;
  param->counts = (mo_counts){r->refreshes, r->retries, r->fallbacks};
  param->fallbacks_told = r->fallbacks; /* those were told of before */
}

/* From here on nothing can fail. */
static void adopt(mo_loading *l)
{
  mousse_optimizer *opt = l->s.opt;
  for (size_t i = 0; i < opt->param_count; i++)
    if (l->taken[i]) {
      adopt_record(opt, &opt->params[i], &l->records[i]);
      opt->params[i].changed = l->changed[i];
    } else {
      keep_old(l, &opt->params[i]);
    }
  const mo_arena old = opt->state;
  opt->state = l->arrays;
  l->arrays = old;
  mo_plan_state(opt, &opt->state);
  opt->steps = l->steps;
  opt->phase = MO_READY;
}

/* This rank's part before the first byte. */
static mousse_status get_ready(mo_loading *l, const char *call)
{
  mousse_optimizer *opt = l->s.opt;
  if (l->s.read == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT, "%s: read must not be NULL", call);
  return take_lists(l)
             ? MOUSSE_OK
             : mo_fail(&opt->error, MOUSSE_NO_MEMORY, "no memory to read the saved state into");
}

/* A rank without memory or callback stops the others before they start to read. */
static void take_and_get(mo_loading *l, const char *call)
{
  mousse_optimizer *opt = l->s.opt;
  l->s.status = mo_ranks_agree(&opt->comm, get_ready(l, call), &opt->error);
  if (l->s.status == MOUSSE_COMM) opt->phase = MO_BROKEN;
  if (mo_loading_good(l)) get_all(l);
}

static mousse_status load(mousse_optimizer *opt, const char *call, mousse_read_fn read,
                          void *user, mo_loading *l)
{
  MO_OWN_ARITHMETIC;
  if (opt == NULL || opt->phase != MO_BROKEN || !opt->prepared)
    MO_TRY(mo_require(opt, MO_READY, call));
  const mo_phase before = opt->phase;
  opt->phase = MO_READY; /* the stream breaks it again if ranks cannot be reached */
  mo_state_stream_start(&l->s, opt, NULL, read, user);
  take_and_get(l, call);
  if (mo_loading_good(l))
    adopt(l);
  else if (before == MO_BROKEN)
    opt->phase = MO_BROKEN;
  release_lists(l);
  return l->s.status;
}

mousse_status mousse_load(mousse_optimizer *opt, mousse_read_fn read, void *user)
{
  mo_loading l = {0};
  return load(opt, "mousse_load", read, user, &l);
}

mousse_status mousse_load_matching(mousse_optimizer *opt, mousse_read_fn read, void *user,
                                   mousse_report_fn report, void *report_user)
{
  mo_loading l = {.matching = true, .report = report, .report_user = report_user};
  return load(opt, "mousse_load_matching", read, user, &l);
}
