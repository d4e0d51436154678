/* text_plot.c - a chart in characters.
 *
 *     3.2 ┤●
 *         │ ●●              ● mousse
 *     2.1 ┤   ●●●●          ○ muon
 *         └┬───────┬
 *          0      100
 *
 * Each series has a mark of its own, drawn in every column between its points. Bars lie.
 */
#include "report/results.h"
#include "report/text_form.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEIGHT = 15, MOST_WIDTH = 110, LEAST_WIDTH = 24, LABEL = 10, LONGEST_NAME = 40 };

static const char *const marks[] = {"●", "○", "◆", "◇", "▲", "△", "■", "□", "+",
                                    "x", "a", "b", "c", "d", "e", "f", "g", "h"};
enum { MARK_COUNT = sizeof marks / sizeof *marks };

/* One direction of the plot: values from low to high, or their logarithms. */
typedef struct plot_axis {
  bool log, any;
  double low, high;
} plot_axis;

typedef struct plot {
  plot_axis x, y;
  size_t width;
  signed char cells[HEIGHT][MOST_WIDTH]; /* the mark, or -1 */
} plot;

static double place(const plot_axis *axis, double value)
{
  return axis->log ? (value > 0 ? log10(value) : NAN) : value;
}

static double value_at(const plot_axis *axis, double share)
{
  const double at = axis->low + share * (axis->high - axis->low);
  return axis->log ? pow(10, at) : at;
}

static void widen(plot_axis *axis, double value)
{
  const double at = place(axis, value);
  if (!isfinite(at)) return;
  if (!axis->any || at < axis->low) axis->low = at;
  if (!axis->any || at > axis->high) axis->high = at;
  axis->any = true;
}

static double coordinate(const json_t *point, size_t index)
{
  const json_t *value = json_array_get(point, index);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static const json_t *points_of(const json_t *series)
{
  return json_object_get(series, "points");
}

static bool is_log(const json_t *chart, const char *axis)
{
  const char *scale = json_string_value(json_object_get(json_object_get(chart, axis), "scale"));
  return scale != NULL && strcmp(scale, "log") == 0;
}

/* A y axis with a range of its own cuts off what lies outside of it. */
static void find_range(plot *p, const json_t *chart)
{
  const json_t *series_list = json_object_get(chart, "series");
  const json_t *range = json_object_get(json_object_get(chart, "y"), "range");
  for (size_t s = 0; s < json_array_size(series_list); s++) {
    const json_t *points = points_of(json_array_get(series_list, s));
    for (size_t i = 0; i < json_array_size(points); i++) {
      const double x = coordinate(json_array_get(points, i), 0);
      const double y = coordinate(json_array_get(points, i), 1);
      if (!isfinite(place(&p->x, x)) || !isfinite(place(&p->y, y))) continue;
      widen(&p->x, x);
      if (range == NULL) widen(&p->y, y);
    }
  }
  for (size_t i = 0; i < json_array_size(range); i++)
    widen(&p->y, json_number_value(json_array_get(range, i)));
}

/* Where a value lies among `cells`; the axis may be a single value. */
static double cell_of(const plot_axis *axis, double at, size_t cells)
{
  const double span = axis->high - axis->low;
  return span > 0 ? (at - axis->low) / span * (double)(cells - 1) : (double)(cells / 2);
}

static void mark(plot *p, double column, double row, int which)
{
  const long c = lrint(column), r = lrint(row);
  if (c < 0 || r < 0 || c >= (long)p->width || r >= HEIGHT) return;
  p->cells[HEIGHT - 1 - r][c] = (signed char)which;
}

/* From one point to the next, a mark in every column between. */
static void mark_line(plot *p, const double from[2], const double to[2], int which)
{
  const double columns = to[0] - from[0];
  const long steps = lrint(fabs(columns));
  for (long i = 1; i < steps; i++) {
    const double share = (double)i / (double)steps;
    mark(p, from[0] + share * columns, from[1] + share * (to[1] - from[1]), which);
  }
}

static void draw_series(plot *p, const json_t *series, int which)
{
  const char *style = json_string_value(json_object_get(series, "style"));
  const bool line = style == NULL || strcmp(style, "points") != 0;
  const json_t *points = points_of(series);
  double before[2] = {NAN, NAN};
  for (size_t i = 0; i < json_array_size(points); i++) {
    const json_t *point = json_array_get(points, i);
    const double x = place(&p->x, coordinate(point, 0)), y = place(&p->y, coordinate(point, 1));
    const double here[2] = {cell_of(&p->x, x, p->width), cell_of(&p->y, y, HEIGHT)};
    const bool shown = isfinite(x) && isfinite(y);
    if (shown && line && isfinite(before[0])) mark_line(p, before, here, which);
    if (shown) mark(p, here[0], here[1], which);
    before[0] = shown ? here[0] : NAN;
    before[1] = here[1];
  }
}

static void print_rows(text_form *form, const plot *p)
{
  char number[FORM_NUMBER];
  for (size_t row = 0; row < HEIGHT; row++) {
    const bool labelled = row % 7 == 0;
    const double share = 1 - (double)row / (HEIGHT - 1);
    form_print(form, "%*s %s", LABEL,
               labelled ? form_number(value_at(&p->y, share), number) : "",
               labelled ? "┤" : "│");
    size_t end = p->width;
    while (end > 0 && p->cells[row][end - 1] < 0) end--;
    for (size_t c = 0; c < end; c++)
      form_print(form, "%s", p->cells[row][c] < 0 ? " " : marks[p->cells[row][c] % MARK_COUNT]);
    form_print(form, "\n");
  }
}

static void print_x_axis(text_form *form, const plot *p, const char *label)
{
  char low[FORM_NUMBER], middle[FORM_NUMBER], high[FORM_NUMBER];
  const size_t half = p->width / 2;
  form_number(value_at(&p->x, 0), low);
  form_number(value_at(&p->x, (double)half / (double)(p->width - 1)), middle);
  form_number(value_at(&p->x, 1), high);
  form_print(form, "%*s └", LABEL, "");
  for (size_t c = 0; c < p->width; c++)
    form_print(form, "%s", c == 0 || c == half || c + 1 == p->width ? "┬" : "─");
  const int left = (int)(half + strlen(middle) / 2), right = (int)p->width - left;
  form_print(form, "\n%*s  %-*s%*s%*s\n", LABEL, "", (int)strlen(low), low,
             left - (int)strlen(low), middle, right, high);
  form_repeat(form, " ", LABEL + 2);
  form_foreign(form, label, p->width);
  form_print(form, "%s\n", p->x.log ? " (log)" : "");
}

static void print_legend(text_form *form, const json_t *series_list)
{
  const size_t before = LABEL + 4, width = form->width;
  for (size_t s = 0; s < json_array_size(series_list); s++) {
    const json_t *name = json_object_get(json_array_get(series_list, s), "name");
    form_print(form, "%*s  %s ", LABEL, "", marks[s % MARK_COUNT]);
    form_foreign(form, json_string_value(name), form->whole_tables ? width : width - before);
    form_print(form, "\n");
  }
}

static const char *label_of(const json_t *chart, const char *axis)
{
  return json_string_value(json_object_get(json_object_get(chart, axis), "label"));
}

static void plot_curves(text_form *form, const json_t *chart)
{
  const json_t *list = json_object_get(chart, "series");
  plot p = {.x.log = is_log(chart, "x"), .y.log = is_log(chart, "y")};
  const size_t room = form->width > LABEL + 3 ? form->width - LABEL - 3 : 0;
  p.width = room < LEAST_WIDTH ? LEAST_WIDTH : room > MOST_WIDTH ? MOST_WIDTH : room;
  memset(p.cells, -1, sizeof p.cells);
  find_range(&p, chart);
  if (!p.x.any || !p.y.any) {
    form_print(form, "  (no values)\n");
    return;
  }
  for (size_t s = json_array_size(list); s-- > 0;) /* the first one is on top */
    draw_series(&p, json_array_get(list, s), (int)(s % MARK_COUNT));
  form_foreign(form, label_of(chart, "y"), form->width);
  form_print(form, "%s\n", p.y.log ? " (log)" : "");
  print_rows(form, &p);
  print_x_axis(form, &p, label_of(chart, "x"));
  print_legend(form, list);
}

static double largest_value(const json_t *list)
{
  double largest = 0;
  for (size_t s = 0; s < json_array_size(list); s++) {
    const json_t *points = points_of(json_array_get(list, s));
    for (size_t i = 0; i < json_array_size(points); i++)
      largest = fmax(largest, coordinate(json_array_get(points, i), 1));
  }
  return largest;
}

enum { BAR_NAME = 28, LEAST_BAR = 14, BAR_TEXT = 3 * FORM_NUMBER + 8 };

/* "8.05 (1.6 to 16)": a bar's number and, if asked for, the ends of its error bar. */
static void bar_text(const json_t *point, bool with_ends, char text[BAR_TEXT])
{
  char number[FORM_NUMBER], from[FORM_NUMBER], to[FORM_NUMBER];
  double low = 0, high = 0;
  form_number(coordinate(point, 1), number);
  if (with_ends && results_interval(point, &low, &high))
    snprintf(text, BAR_TEXT, "%s (%s to %s)", number, form_number(low, from),
             form_number(high, to));
  else
    snprintf(text, BAR_TEXT, "%s", number);
}

static size_t longest_bar_text(const json_t *list, bool with_ends)
{
  size_t longest = 0;
  for (size_t s = 0; s < json_array_size(list); s++) {
    const json_t *points = points_of(json_array_get(list, s));
    for (size_t i = 0; i < json_array_size(points); i++) {
      char text[BAR_TEXT];
      bar_text(json_array_get(points, i), with_ends, text);
      longest = strlen(text) > longest ? strlen(text) : longest;
    }
  }
  return longest;
}

/* How all bars of a chart are drawn. */
typedef struct bar_form {
  double largest; /* of the values: this one has all the room */
  size_t room;    /* columns */
  bool with_ends; /* there is room for them */
} bar_form;

static bar_form bar_form_of(const text_form *form, const json_t *list)
{
  const size_t around = 2 + BAR_NAME + 1 + 2; /* the margin, the name, spaces beside the bar */
  bar_form f = {.largest = largest_value(list), .room = LEAST_BAR, .with_ends = true};
  f.with_ends = form->width >= around + LEAST_BAR + longest_bar_text(list, true);
  const size_t used = around + longest_bar_text(list, f.with_ends);
  if (form->width > used + LEAST_BAR) f.room = form->width - used;
  return f;
}

static void print_bar(text_form *form, const bar_form *f, const char *name, const json_t *point)
{
  static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double value = coordinate(point, 1);
  char text[BAR_TEXT];
  form_print(form, "  ");
  const size_t used = form_foreign(form, name, BAR_NAME);
  form_repeat(form, " ", BAR_NAME - used + 1);
  if (!isfinite(value)) {
    form_print(form, "-\n");
    return;
  }
  const double part = f->largest > 0 && value > 0 ? value / f->largest : 0;
  const double cells = part * (double)f->room;
  form_repeat(form, "█", (size_t)cells);
  bar_text(point, f->with_ends, text);
  form_print(form, "%s %s\n", eighths[(size_t)(8 * (cells - floor(cells)))], text);
}

static void plot_bars(text_form *form, const json_t *chart, const json_t *categories)
{
  const json_t *list = json_object_get(chart, "series");
  const bar_form f = bar_form_of(form, list);
  form_foreign(form, label_of(chart, "y"), form->width);
  form_print(form, "\n");
  for (size_t s = 0; s < json_array_size(list); s++) {
    const json_t *series = json_array_get(list, s), *points = points_of(series);
    if (json_array_size(list) > 1) {
      form_foreign(form, json_string_value(json_object_get(series, "name")), LONGEST_NAME);
      form_print(form, "\n");
    }
    for (size_t i = 0; i < json_array_size(points); i++) {
      const json_t *point = json_array_get(points, i);
      const double x = coordinate(point, 0);
      const json_t *name = x >= 0 && x < 1e6 ? json_array_get(categories, (size_t)x) : NULL;
      print_bar(form, &f, name != NULL ? json_string_value(name) : "", point);
    }
  }
}

void text_plot(text_form *form, const json_t *chart)
{
  const json_t *categories = json_object_get(json_object_get(chart, "x"), "categories");
  if (categories != NULL)
    plot_bars(form, chart, categories);
  else
    plot_curves(form, chart);
}
