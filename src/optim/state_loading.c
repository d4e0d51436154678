/* state_loading.c - reading saved state: its numbers, texts and arrays, and the options it was saved
 * under, which are compared with those here. */
#include "optim/state_loading.h"

#include "base/text.h"
#include "optim/shares.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool mo_loading_good(const mo_loading *l)
{
  return l->s.status == MOUSSE_OK;
}

void mo_loading_tell(mo_loading *l, mousse_difference difference, const char *name,
                     const char *text)
{
  const mousse_env *env = &l->s.opt->env;
  if (!mo_loading_good(l)) return;
  if (l->report != NULL)
    l->report(l->report_user, difference, name, text);
  else if (!l->matching && env->log != NULL)
    env->log(env->user, 1, text);
}

void mo_loading_damaged(mo_loading *l, const char *what, const char *of)
{
  if (mo_loading_good(l))
    mo_state_stream_fail(&l->s, MOUSSE_BAD_FORMAT,
                         "saved state: %s of '%.200s' is impossible; the data is damaged", what,
                         of);
}

uint32_t mo_loading_u32(mo_loading *l)
{
  uint32_t value = 0;
  mo_state_stream_get(&l->s, &value, sizeof value);
  return value;
}

uint64_t mo_loading_u64(mo_loading *l)
{
  uint64_t value = 0;
  mo_state_stream_get(&l->s, &value, sizeof value);
  return value;
}

void mo_loading_text(mo_loading *l, char text[MO_NAME_LIMIT + 1])
{
  const uint32_t length = mo_loading_u32(l);
  if (mo_loading_good(l) && length > MO_NAME_LIMIT)
    mo_state_stream_fail(&l->s, MOUSSE_BAD_FORMAT,
                         "saved state: a name of %u bytes; the data is damaged", length);
  if (mo_loading_good(l)) mo_state_stream_get(&l->s, text, length);
  text[mo_loading_good(l) ? length : 0] = '\0';
}

/* Where this rank's part of an array goes. */
static float *place_of(const mo_loading *l, const mo_param *param, size_t array)
{
  const unsigned char *live = (unsigned char *)param->state[array];
  return (float *)(void *)(l->arrays.start + (live - l->s.opt->state.start));
}

/* Element by element to its place here; each rank has all of them in turn and keeps its own. */
static float get_turned_floats(mo_loading *l, const mo_param *param, size_t array)
{
  enum { CHUNK = 4096 };
  const size_t count = param->arrays[array].count;
  const size_t lines = param->column_order ? param->shape.rows : param->shape.cols;
  const size_t length = param->column_order ? param->shape.cols : param->shape.rows;
  float chunk[CHUNK], largest = 0.0f;
  for (size_t done = 0; mo_loading_good(l) && done < count; done += CHUNK) {
    const size_t some = count - done < CHUNK ? count - done : CHUNK;
    largest = fmaxf(largest, mo_state_stream_get_floats(&l->s, chunk, some));
    const size_t looked_at = mo_loading_good(l) && param->own != NULL ? some : 0;
    for (size_t i = 0; i < looked_at; i++) {
      const size_t at = (done + i) % length * lines + (done + i) / length;
      if (at >= param->own->first && at - param->own->first < param->own->count)
        place_of(l, param, array)[at - param->own->first] = chunk[i];
    }
  }
  return largest;
}

float mo_loading_floats(mo_loading *l, const mo_param *param, size_t array, uint64_t count,
                        bool turned)
{
  float largest = 0.0f;
  if (param == NULL) return mo_state_stream_get_floats(&l->s, NULL, count);
  if (turned) return get_turned_floats(l, param, array);
  for (size_t i = 0; mo_loading_good(l) && i < param->share_count; i++) {
    const mo_share *share = &param->shares[i];
    float *place = share == param->own ? place_of(l, param, array) : NULL;
    largest = fmaxf(largest, mo_state_stream_get_floats(&l->s, place,
                                                        mo_share_floats(param, share, array)));
  }
  return largest;
}

/* What options are compared with. */
typedef struct setting {
  mo_option_table table;
  const void *config;
  const bool *scheduled; /* NULL: none is */
  bool *told;            /* NULL: nothing was */
  const char *of;        /* "of group 0 (mousse)" */
} setting;

static void compare_option(mo_loading *l, const setting *here, const char *name, double value,
                           const char *choice)
{
  const mo_option *option = mo_option_find(here->table, name);
  char saved[80], mine[80], text[320];
  if (option == NULL || !mo_loading_good(l)) return;
  const size_t row = (size_t)(option - here->table.rows);
  const double current = mo_option_get(option, here->config);
  mo_option_text(&option->info, current, mine, sizeof mine);
  if (option->info.choices != NULL ? strcmp(choice, mine) == 0 : value == current) return;
  if (option->info.choices != NULL)
    snprintf(saved, sizeof saved, "%.60s", choice);
  else
    mo_number_text(value, saved, sizeof saved);
  if (option->info.fixed)
    snprintf(l->cause, sizeof l->cause, "it was saved with %.40s = %.40s, here it is %.40s",
             name, saved, mine);
  if ((here->told != NULL && here->told[row]) ||
      (here->scheduled != NULL && here->scheduled[row]))
    return;
  if (here->told != NULL) here->told[row] = true;
  snprintf(text, sizeof text, "%.60s %.100s is %.60s; the state was saved with %.60s", name,
           here->of, mine, saved);
  mo_loading_tell(l, MOUSSE_OPTION, name, text);
}

/* here NULL: nothing to compare with. */
static void get_options(mo_loading *l, const setting *here)
{
  const uint32_t count = mo_loading_u32(l);
  for (uint32_t i = 0; mo_loading_good(l) && i < count; i++) {
    char name[MO_NAME_LIMIT + 1], choice[MO_NAME_LIMIT + 1];
    double value = 0;
    mo_loading_text(l, name);
    mo_state_stream_get(&l->s, &value, sizeof value);
    mo_loading_text(l, choice);
    const bool scheduled = mo_loading_u32(l) != 0;
    if (here != NULL && !scheduled && strcmp(name, "steps") != 0)
      compare_option(l, here, name, value, choice);
  }
}

void mo_loading_param_options(mo_loading *l, const mo_param *param)
{
  const mousse_optimizer *opt = l->s.opt;
  l->cause[0] = '\0';
  if (l->version < 2) return;
  if (param == NULL) {
    get_options(l, NULL);
    get_options(l, NULL);
    return;
  }
  const mo_group *group = mo_param_group(opt, param);
  char of[160];
  snprintf(of, sizeof of, "of group %d (%.40s)", param->group, group->algorithm->name);
  const setting groups = {{group->algorithm->options, group->algorithm->option_count},
                          group->config,
                          group->scheduled,
                          l->told + l->first_told[param->group],
                          of};
  get_options(l, &groups);
  snprintf(of, sizeof of, "of '%.100s'", param->name);
  const setting own = {mo_param_table, &param->options, NULL, NULL, of};
  get_options(l, &own);
}

void mo_loading_object_options(mo_loading *l)
{
  const mousse_optimizer *opt = l->s.opt;
  const setting object = {mo_object_state_table, &opt->options, opt->options_scheduled, NULL,
                          "of the optimizer"};
  get_options(l, &object);
}
