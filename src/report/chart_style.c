/* chart_style.c - colours and dashes of series.
 *
 * A series belongs to the optimizer that its name mentions first as a word ("mousse lr 0.02").
 * Several series of one optimizer in a chart share its colour and differ in their dashes, but
 * in a chart about one optimizer only, as ablations are, they differ in colour. Bars, which have
 * no dashes, differ in colour wherever a chart has several series.
 */
#include "report/chart_style.h"

#include "base/table.h"

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
enum { OTHER_COUNT = sizeof others / sizeof *others, CHART_DASHES = 4 };

typedef struct chart_style {
  const char *color;
  int dash;
} chart_style;

/* The optimizer that a name mentions first. */
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

/* A name without an optimizer. */
typedef struct plain_name {
  size_t number; /* among those of the first chart that has it */
  size_t chart;  /* the last one that had it */
} plain_name;

/* Each series is looked at once: documents may come from files and have very many. */
typedef struct styling {
  mo_text_table names;
  plain_name *list; /* owned; of each of them */
  size_t capacity;
  size_t chart, new_names; /* the number of the chart, from 1, and names of its own so far */
} styling;

static const char *name_of(const json_t *series)
{
  return json_string_value(json_object_get(series, "name"));
}

/* The number of a name without an optimizer; without memory, another one. */
static size_t number_of(styling *s, const char *name, size_t other)
{
  uint32_t id = 0;
  bool added = false;
  if (!mo_text_table_add(&s->names, name, strlen(name) + 1, &id, &added) ||
      !mo_grow(NULL, &s->list, &s->capacity, (size_t)id + 1, sizeof *s->list))
    return other;
  plain_name *found = &s->list[id];
  if (found->chart == 0) found->number = s->new_names;
  if (found->chart != s->chart) s->new_names++;
  found->chart = s->chart;
  return found->number;
}

static bool is_about_one(const json_t *list)
{
  for (size_t i = 1; i < json_array_size(list); i++)
    if (optimizer_of(name_of(json_array_get(list, i))) !=
        optimizer_of(name_of(json_array_get(list, 0))))
      return false;
  return true;
}

static chart_style style_of_number(size_t number)
{
  return (chart_style){others[number % OTHER_COUNT],
                       (int)(number / OTHER_COUNT % CHART_DASHES)};
}

/* rank: how many series before this one share its optimizer; alone: all of the chart do. */
static chart_style style_of_optimizer(int optimizer, size_t rank, bool alone)
{
  size_t own = 0;
  if (rank == 0 || !alone)
    return (chart_style){optimizers[optimizer].color, (int)(rank % CHART_DASHES)};
  while (strcmp(others[own], optimizers[optimizer].color) != 0 && own + 1 < OTHER_COUNT) own++;
  return (chart_style){others[(own + rank) % OTHER_COUNT],
                       (int)(rank / OTHER_COUNT % CHART_DASHES)};
}

/* Of the bars of a chart's only series. */
static void add_bar_colors(const json_t *categories, json_t *series, const char *usual)
{
  json_t *colors = json_array();
  for (size_t i = 0; i < json_array_size(categories); i++) {
    const int optimizer = optimizer_of(json_string_value(json_array_get(categories, i)));
    json_array_append_new(
        colors, json_string(optimizer != NO_OPTIMIZER ? optimizers[optimizer].color : usual));
  }
  json_object_set_new(series, "colors", colors);
}

static void add_to_chart(styling *s, const json_t *chart)
{
  const json_t *categories = json_object_get(json_object_get(chart, "x"), "categories");
  json_t *list = json_object_get(chart, "series");
  const size_t count = json_array_size(list);
  const bool alone = is_about_one(list), bars = categories != NULL && count > 1;
  size_t ranks[OPTIMIZER_COUNT] = {0};
  s->chart++;
  s->new_names = 0;
  for (size_t i = 0; i < count; i++) {
    json_t *series = json_array_get(list, i);
    const int optimizer = optimizer_of(name_of(series));
    const size_t number = optimizer < 0 ? number_of(s, name_of(series), i) : ranks[optimizer]++;
    const chart_style look = bars            ? (chart_style){others[i % OTHER_COUNT], 0}
                             : optimizer < 0 ? style_of_number(number)
                                             : style_of_optimizer(optimizer, number, alone);
    json_object_set_new(series, "color", json_string(look.color));
    json_object_set_new(series, "dash", json_integer(look.dash));
    if (categories != NULL && count == 1) add_bar_colors(categories, series, look.color);
  }
}

void chart_styles_add(json_t *results)
{
  styling s = {.chart = 0};
  const json_t *figures = json_object_get(results, "figures");
  for (size_t f = 0; f < json_array_size(figures); f++) {
    const json_t *charts = json_object_get(json_array_get(figures, f), "charts");
    for (size_t c = 0; c < json_array_size(charts); c++)
      add_to_chart(&s, json_array_get(charts, c));
  }
  mo_text_table_close(&s.names);
  mo_release(NULL, s.list, s.capacity * sizeof *s.list);
}
