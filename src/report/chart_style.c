/* chart_style.c - colours and dashes of series.
 *
 * A series belongs to the optimizer that its name mentions first as a word ("mousse lr 0.02").
 * Several series of one optimizer in a chart share its colour and differ in their dashes, but
 * in a chart about one optimizer only, as ablations are, they differ in colour. Bars, which have
 * no dashes, differ in colour wherever a chart has several series.
 */
#include "report/chart_style.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Chosen to be told apart on white and on near-black, also with red-green blindness. */
static const struct {
  const char *name, *color;
} optimizers[] = {
    {"mousse", "#d6336c"},   {"muon", "#2f7ed8"},      {"soap", "#2a9d6f"},
    {"adamw", "#e08e0b"},    {"shampoo", "#8a63d2"},   {"lion", "#0fa3b1"},
    {"sgd", "#868e96"},      {"soapmuon", "#a0522d"},  {"normuon", "#4c51bf"},
    {"sinksoap", "#7cb518"}, {"klshampoo", "#5c677d"}, {"pmuon", "#c77dff"},
};
enum { OPTIMIZER_COUNT = sizeof optimizers / sizeof *optimizers, NO_OPTIMIZER = -1 };

static const char *const others[] = {"#d6336c", "#2f7ed8", "#e08e0b", "#2a9d6f",
                                     "#8a63d2", "#0fa3b1", "#a0522d", "#868e96"};
enum { OTHER_COUNT = sizeof others / sizeof *others };

static const char *name_of(const json_t *chart, size_t index)
{
  const json_t *list = json_object_get(chart, "series");
  return json_string_value(json_object_get(json_array_get(list, index), "name"));
}

static size_t series_count(const json_t *chart)
{
  return json_array_size(json_object_get(chart, "series"));
}

static int optimizer_of(const char *name)
{
  while (*name != '\0') {
    size_t length = 0;
    while (isalnum((unsigned char)name[length])) length++;
    for (int i = 0; i < OPTIMIZER_COUNT; i++)
      if (strlen(optimizers[i].name) == length &&
          strncmp(name, optimizers[i].name, length) == 0)
        return i;
    name += length > 0 ? length : 1;
  }
  return NO_OPTIMIZER;
}

static bool is_about_one(const json_t *chart)
{
  for (size_t i = 1; i < series_count(chart); i++)
    if (optimizer_of(name_of(chart, i)) != optimizer_of(name_of(chart, 0))) return false;
  return true;
}

/* How many series before this one share its optimizer. */
static size_t rank_in_chart(const json_t *chart, size_t index)
{
  size_t rank = 0;
  const int optimizer = optimizer_of(name_of(chart, index));
  for (size_t i = 0; i < index; i++) rank += optimizer_of(name_of(chart, i)) == optimizer;
  return rank;
}

/* Whether one of the first `count` series of a chart has the name. */
static bool has_name(const json_t *chart, size_t count, const char *name)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(name_of(chart, i), name) == 0) return true;
  return false;
}

/* Different names without an optimizer in a chart, before its series number `count`. */
static size_t new_names(const json_t *chart, size_t count)
{
  size_t names = 0;
  for (size_t i = 0; i < count; i++) {
    const char *name = name_of(chart, i);
    names += optimizer_of(name) == NO_OPTIMIZER && !has_name(chart, i, name);
  }
  return names;
}

/* The number of a name without an optimizer: where it stands in the first chart that has it. */
static size_t number_of_name(const json_t *results, const json_t *chart, size_t index)
{
  const char *name = name_of(chart, index);
  const json_t *figures = json_object_get(results, "figures");
  for (size_t f = 0; f < json_array_size(figures); f++) {
    const json_t *charts = json_object_get(json_array_get(figures, f), "charts");
    for (size_t c = 0; c < json_array_size(charts); c++) {
      const json_t *other = json_array_get(charts, c);
      for (size_t s = 0; s < series_count(other); s++)
        if (strcmp(name_of(other, s), name) == 0) return new_names(other, s);
    }
  }
  return index;
}

chart_style chart_style_of(const json_t *results, const json_t *chart, size_t index)
{
  const int optimizer = optimizer_of(name_of(chart, index));
  const size_t rank = rank_in_chart(chart, index);
  const bool bars = json_object_get(json_object_get(chart, "x"), "categories") != NULL;
  if (bars && series_count(chart) > 1) return (chart_style){others[index % OTHER_COUNT], 0};
  if (optimizer == NO_OPTIMIZER) {
    const size_t number = number_of_name(results, chart, index);
    return (chart_style){others[number % OTHER_COUNT],
                         (int)(number / OTHER_COUNT % CHART_DASHES)};
  }
  if (rank == 0 || !is_about_one(chart))
    return (chart_style){optimizers[optimizer].color, (int)(rank % CHART_DASHES)};
  size_t own = 0;
  while (strcmp(others[own], optimizers[optimizer].color) != 0 && own + 1 < OTHER_COUNT) own++;
  return (chart_style){others[(own + rank) % OTHER_COUNT],
                       (int)(rank / OTHER_COUNT % CHART_DASHES)};
}

const char *chart_bar_color(const json_t *results, const json_t *chart, size_t category)
{
  const json_t *names = json_object_get(json_object_get(chart, "x"), "categories");
  const char *name = json_string_value(json_array_get(names, category));
  const int optimizer = name != NULL ? optimizer_of(name) : NO_OPTIMIZER;
  return optimizer != NO_OPTIMIZER ? optimizers[optimizer].color
                                   : chart_style_of(results, chart, 0).color;
}
