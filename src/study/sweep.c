/* sweep.c - every combination of the values of some options, or a random choice of them. */
#include "study/sweep.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

mousse_status sweep_put(sweep_axes *axes, const sweep_axis *axis, mo_error *error)
{
  size_t at = 0;
  while (at < axes->count && !options_same_option(axes->axes[at].key, axis->key)) at++;
  if (at == SWEEP_MOST_AXES)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "a sweep has at most %d options",
                   SWEEP_MOST_AXES);
  axes->axes[at] = *axis;
  if (at == axes->count) axes->count++;
  return MOUSSE_OK;
}

static mousse_status start_axis(sweep_axis *axis, const char *key, mo_error *error)
{
  *axis = (sweep_axis){.count = 0};
  if (strlen(key) >= sizeof axis->key)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "option '%.60s': too long for a sweep", key);
  for (size_t i = 0; key[i] != '\0'; i++) axis->key[i] = key[i] == '-' ? '_' : key[i];
  return MOUSSE_OK;
}

/* used: of axis->values. */
static mousse_status add_value(sweep_axis *axis, size_t *used, const char *value, size_t length,
                               mo_error *error)
{
  if (length >= sizeof axis->values - *used)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "the values of '%s' are too long for a sweep",
                   axis->key);
  memcpy(axis->values + *used, value, length);
  *used += length + 1;
  axis->count++;
  return MOUSSE_OK;
}

mousse_status sweep_set_each(sweep_axes *axes, const char *key, const char *const *values,
                             size_t count, mo_error *error)
{
  sweep_axis axis;
  size_t used = 0;
  MO_TRY(start_axis(&axis, key, error));
  for (size_t i = 0; i < count; i++)
    MO_TRY(add_value(&axis, &used, values[i], strlen(values[i]), error));
  if (count == 0) MO_TRY(add_value(&axis, &used, "", 0, error)); /* []: nothing is set */
  return sweep_put(axes, &axis, error);
}

/* Paths are single values: a comma in them separates nothing. */
static bool is_single(const char *key)
{
  return strcmp(key, "data_dir") == 0 || strcmp(key, "init") == 0;
}

/* Of options of the optimizer an empty value is the default, which a comma too many does not ask for; of a
 * pattern it may be one of the values. */
static bool can_be_empty(const char *key)
{
  const char *only = NULL;
  const mo_setting *row = mo_settings_find(&train_settings, key);
  return row != NULL && option_row_name((size_t)(row - train_settings.rows), &only) == NULL;
}

mousse_status sweep_set(sweep_axes *axes, const char *key, const char *values, mo_error *error)
{
  sweep_axis axis;
  size_t used = 0;
  MO_TRY(start_axis(&axis, key, error));
  for (bool more = true; more;) {
    size_t length = is_single(axis.key) ? strlen(values) : strcspn(values, ",");
    const char *end = values + length;
    while (length > 0 && *values == ' ') values++, length--;
    while (length > 0 && values[length - 1] == ' ') length--;
    if (length == 0 && (axis.count > 0 || *end == ',') && !can_be_empty(axis.key))
      return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "option '%s': a value is missing before or after a comma", axis.key);
    MO_TRY(add_value(&axis, &used, values, length, error));
    more = *end != '\0';
    values = end + 1;
  }
  return sweep_put(axes, &axis, error);
}

static void value_at(const sweep_axis *axis, size_t index, char text[SWEEP_TEXT])
{
  const char *value = axis->values;
  for (size_t i = 0; i < index; i++) value += strlen(value) + 1;
  memcpy(text, value, strlen(value) + 1);
}

/* "log LOW HIGH" and "uniform LOW HIGH". */
static bool is_range(const sweep_axis *axis, bool *logarithmic, double *low, double *high)
{
  char word[16], first[64], second[64], rest;
  if (axis->count != 1) return false;
  if (sscanf(axis->values, "%15s %63s %63s %c", word, first, second, &rest) != 3) return false;
  *logarithmic = strcmp(word, "log") == 0;
  return (*logarithmic || strcmp(word, "uniform") == 0) && mo_parse_double(first, low) &&
         mo_parse_double(second, high);
}

static mousse_status draw(const sweep_axis *axis, uint64_t seed, uint64_t stream,
                          uint64_t index, char text[SWEEP_TEXT], mo_error *error)
{
  bool logarithmic = false;
  double low = 0, high = 0;
  if (!is_range(axis, &logarithmic, &low, &high)) {
    value_at(axis, mo_random_below(seed, stream, index, axis->count), text);
    return MOUSSE_OK;
  }
  if (!(low < high) || (logarithmic && low <= 0))
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "option '%s': '%s' is not a range; expected two rising numbers%s", axis->key,
                   axis->values, logarithmic ? " above 0" : "");
  const double u = mo_random_uniform(seed, stream, index);
  const double value = logarithmic ? low * pow(high / low, u) : low + (high - low) * u;
  snprintf(text, SWEEP_TEXT, "%.4g", value);
  return MOUSSE_OK;
}

/* What cannot stand in the name of a directory is written as %2F, so that other values always
 * have other names. */
static size_t write_value(char *text, size_t capacity, const char *value)
{
  size_t used = 0;
  for (; *value != '\0' && used + 4 < capacity; value++) {
    const bool plain = (unsigned char)*value > ' ' && strchr("/%,\x7f", *value) == NULL;
    used += (size_t)snprintf(text + used, capacity - used, plain ? "%c" : "%%%02X",
                             (unsigned char)*value);
  }
  return *value == '\0' ? used : capacity;
}

/* "optimizer=mousse,lr=0.02,seed=1": what differs between the runs. */
static mousse_status append_name(char name[STUDY_NAME], const char *key, const char *value,
                                 mo_error *error)
{
  const size_t used = strlen(name), room = STUDY_NAME - used;
  const int length = snprintf(name + used, room, "%s%s=", used > 0 ? "," : "", key);
  if (length < 0 || (size_t)length >= room ||
      write_value(name + used + length, room - (size_t)length, value) >= room - (size_t)length)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "too many options vary for a run's name of %d characters", STUDY_NAME - 1);
  return MOUSSE_OK;
}

static mousse_status add_run(const sweep_axes *axes, const size_t *indices, bool random,
                             uint64_t seed, size_t number, study_runs *runs, mo_error *error)
{
  static const run_notices nowhere = {NULL, NULL};
  char name[STUDY_NAME] = "", text[SWEEP_TEXT];
  bool logarithmic;
  double low, high;
  train_options run;
  MO_TRY(options_defaults(&run, error));
  for (size_t i = 0; i < axes->count; i++) {
    const sweep_axis *axis = &axes->axes[i];
    const bool range = is_range(axis, &logarithmic, &low, &high);
    if (range && !random)
      return mo_fail(
          error, MOUSSE_INVALID_ARGUMENT,
          "option '%s': '%.60s' is a range to draw from; give --random N as well, or "
          "values separated by commas",
          axis->key, axis->values);
    if (random)
      MO_TRY(draw(axis, seed, i, number, text, error));
    else
      value_at(axis, indices[i], text);
    MO_TRY(options_set(&run, axis->key, text, &nowhere, error));
    if (axis->count > 1 || range) MO_TRY(append_name(name, axis->key, text, error));
  }
  return study_add(runs, name[0] != '\0' ? name : "run", &run, NULL, error);
}

static bool next_combination(const sweep_axes *axes, size_t *indices)
{
  for (size_t i = axes->count; i-- > 0;) {
    if (++indices[i] < axes->axes[i].count) return true;
    indices[i] = 0;
  }
  return false;
}

mousse_status sweep_plan(const sweep_axes *axes, size_t draws, uint64_t seed, study_runs *runs,
                         mo_error *error)
{
  size_t indices[SWEEP_MOST_AXES] = {0}, number = 0;
  do {
    if (number == SWEEP_MOST_RUNS)
      return mo_fail(error, MOUSSE_OUT_OF_RANGE, "a sweep has at most %d runs",
                     SWEEP_MOST_RUNS);
    MO_TRY(add_run(axes, indices, draws > 0, seed, number, runs, error));
    number++;
  } while (draws > 0 ? number < draws : next_combination(axes, indices));
  return MOUSSE_OK;
}
