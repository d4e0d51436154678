/* state_save.c - saving: a versioned, checksummed stream keyed by parameter names. */
#include "base/arithmetic.h"
#include "comm/ranks.h"
#include "optim/exchange.h"
#include "optim/shares.h"
#include "optim/state_format.h"

#include <string.h>

static void put_text(mo_state_stream *s, const char *text)
{
  const uint32_t length = (uint32_t)strlen(text);
  mo_state_stream_put(s, &length, sizeof length);
  mo_state_stream_put(s, text, length);
}

/* scheduled NULL: none is. */
static void put_options(mo_state_stream *s, mo_option_table table, const void *config,
                        const bool *scheduled)
{
  const uint32_t count = (uint32_t)table.count;
  mo_state_stream_put(s, &count, sizeof count);
  for (size_t i = 0; i < table.count; i++) {
    const mousse_option *info = &table.rows[i].info;
    const double value = mo_option_get(&table.rows[i], config);
    const uint32_t moves = scheduled != NULL && scheduled[i];
    put_text(s, info->name);
    mo_state_stream_put(s, &value, sizeof value);
    put_text(s, info->choices != NULL ? info->choices[(size_t)value] : "");
    mo_state_stream_put(s, &moves, sizeof moves);
  }
}

/* One array, share after share: the same bytes however it is divided. */
static void put_floats(mo_state_stream *s, const mo_param *param, size_t array)
{
  for (size_t i = 0; i < param->share_count; i++)
    mo_state_stream_put_from(s, param->shares[i].owner, param->state[array],
                             mo_share_floats(param, &param->shares[i], array) * sizeof(float));
}

static uint64_t flags_of(const mo_param *param)
{
  return (param->begun ? MO_STATE_BEGUN : 0) | (param->wrapped ? MO_STATE_WRAPPED : 0) |
         (param->column_order ? MO_STATE_COLUMNS : 0);
}

static void put_param(mo_state_stream *s, const mo_param *param)
{
  const mo_group *group = mo_param_group(s->opt, param);
  const uint64_t rows = param->shape.rows, cols = param->shape.cols;
  const uint32_t arrays = (uint32_t)param->array_count;
  const mo_state_record r = {
      param->scale_exponent,   param->stagger_offset,   param->steps,
      param->weight_sum,       param->counts.refreshes, param->counts.retries,
      param->counts.fallbacks, flags_of(param),         param->blank};
  put_text(s, param->name);
  put_text(s, group->algorithm->name);
  mo_state_stream_put(s, &rows, sizeof rows);
  mo_state_stream_put(s, &cols, sizeof cols);
  mo_state_stream_put_from(s, param->owner, &r, sizeof r);
  put_options(s, (mo_option_table){group->algorithm->options, group->algorithm->option_count},
              group->config, group->scheduled);
  put_options(s, mo_param_table, &param->options, NULL);
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
  MO_OWN_ARITHMETIC;
  MO_TRY(mo_require(opt, MO_READY, "mousse_save"));
  const mousse_status mine = write != NULL ? MOUSSE_OK
                                           : mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                                                     "mousse_save: write must not be NULL");
  const mousse_status agreed = mo_ranks_agree(&opt->comm, mine, &opt->error);
  if (agreed == MOUSSE_COMM) return mo_come_apart(opt, "save the state");
  MO_TRY(agreed);
  mo_state_stream s;
  mo_state_stream_start(&s, opt, write, NULL, user);
  const uint32_t version = MO_STATE_VERSION, count = (uint32_t)opt->param_count;
  mo_state_stream_put(&s, MO_STATE_MAGIC, MO_STATE_MAGIC_BYTES);
  mo_state_stream_put(&s, &version, sizeof version);
  mo_state_stream_put(&s, &count, sizeof count);
  mo_state_stream_put(&s, &opt->steps, sizeof opt->steps);
  put_options(&s, mo_object_state_table, &opt->options, opt->options_scheduled);
  for (size_t i = 0; i < opt->param_count; i++) put_param(&s, &opt->params[i]);
  const uint64_t checksum = mo_state_stream_checksum(&s);
  mo_state_stream_put(&s, &checksum, sizeof checksum);
  mo_state_stream_agree(&s);
  return s.status;
}
