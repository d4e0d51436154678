/* gnuplot_script.c - a chart as commands and data for gnuplot. */
#include "report/gnuplot_script.h"

#include "report/results.h"

#include <math.h>
#include <string.h>

/* From how many points on a log axis is not labelled at each, spreads are bands, and points
 * have no marks. */
enum { MOST_LABELS = 12, FEW_BARS = 20, FEW_POINTS = 40 };

/* What means something to gnuplot, backquotes most of all, is written by its number: nothing can
 * end a text or run a command. */
static void print_character(FILE *script, char c)
{
  if (strchr("\"'\\`", c) != NULL)
    fprintf(script, "\\%03o", (unsigned)(unsigned char)c);
  else
    fputc((unsigned char)c < ' ' ? ' ' : c, script);
}

/* Text in gnuplot's double quotes. */
static void print_quoted(FILE *script, const char *text)
{
  fputc('"', script);
  for (; *text != '\0'; text++) print_character(script, *text);
  fputc('"', script);
}

/* The same for a tic, whose label gnuplot takes as a format of its number. */
static void print_tic(FILE *script, const char *text)
{
  fputc('"', script);
  for (; *text != '\0'; text++) {
    if (*text == '%') fputc('%', script);
    print_character(script, *text);
  }
  fputc('"', script);
}

static const char *text_of(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

static void print_number(FILE *script, const json_t *value)
{
  if (json_is_number(value))
    fprintf(script, "%.9g ", json_number_value(value));
  else
    fputs("NaN ", script);
}

static bool has_errors(const json_t *series)
{
  const json_t *points = json_object_get(series, "points");
  double low = 0, high = 0;
  for (size_t i = 0; i < json_array_size(points); i++)
    if (results_interval(json_array_get(points, i), &low, &high)) return true;
  return false;
}

static void print_data(FILE *script, const json_t *series, size_t number)
{
  const json_t *points = json_object_get(series, "points");
  fprintf(script, "$data%zu << END\n", number);
  for (size_t i = 0; i < json_array_size(points); i++) {
    const json_t *point = json_array_get(points, i);
    double low = 0, high = 0;
    print_number(script, json_array_get(point, 0));
    print_number(script, json_array_get(point, 1));
    if (results_interval(point, &low, &high))
      fprintf(script, "%.9g %.9g\n", low, high);
    else
      fputs("NaN NaN\n", script);
  }
  fputs("END\n", script);
}

static bool is_log(const json_t *chart, const char *axis)
{
  return strcmp(text_of(json_object_get(chart, axis), "scale"), "log") == 0;
}

static void print_axis(FILE *script, const json_t *chart, const char *name)
{
  const json_t *axis = json_object_get(chart, name);
  const json_t *categories = json_object_get(axis, "categories");
  fprintf(script, "set %slabel ", name);
  print_quoted(script, text_of(axis, "label"));
  fputc('\n', script);
  if (is_log(chart, name)) fprintf(script, "set logscale %s\n", name);
  for (size_t i = 0; i < json_array_size(categories); i++) {
    fprintf(script, "set xtics %s(", i == 0 ? "" : "add ");
    print_tic(script, json_string_value(json_array_get(categories, i)));
    fprintf(script, " %zu)\n", i);
  }
}

/* Whether a point can be drawn on the chart's axes. */
static bool is_drawable(const json_t *chart, const json_t *point)
{
  const json_t *x = json_array_get(point, 0), *y = json_array_get(point, 1);
  return json_is_number(x) && json_is_number(y) &&
         (!is_log(chart, "x") || json_number_value(x) > 0) &&
         (!is_log(chart, "y") || json_number_value(y) > 0);
}

/* gnuplot would widen a log axis to whole powers of ten, and label only these. */
static void print_log_range(FILE *script, const json_t *chart)
{
  const json_t *list = json_object_get(chart, "series");
  double low = INFINITY, high = 0;
  for (size_t s = 0; s < json_array_size(list); s++) {
    const json_t *points = json_object_get(json_array_get(list, s), "points");
    for (size_t i = 0; i < json_array_size(points); i++) {
      const double x = json_number_value(json_array_get(json_array_get(points, i), 0));
      if (!is_drawable(chart, json_array_get(points, i))) continue;
      low = fmin(low, x);
      high = fmax(high, x);
      if (json_array_size(points) <= MOST_LABELS)
        fprintf(script, "set xtics add ('%g' %.9g)\n", x, x);
    }
  }
  if (high > 0) fprintf(script, "set xrange [%.9g:%.9g]\n", low / 1.15, high * 1.15);
}

/* A chart that fits only some of its series cuts off the others, with a little room; no axis of
 * values that are all positive goes below 0. */
static void print_y_range(FILE *script, const json_t *chart)
{
  const json_t *range = json_object_get(json_object_get(chart, "y"), "range");
  if (range == NULL) return;
  const double low = json_number_value(json_array_get(range, 0));
  const double high = json_number_value(json_array_get(range, 1));
  const double room = high > low ? 0.05 * (high - low) : 0.05 * fabs(high) + 1e-9;
  if (is_log(chart, "y")) {
    if (low > 0) fprintf(script, "set yrange [%.9g:%.9g]\n", low / 1.05, high * 1.05);
    return;
  }
  fprintf(script, "set yrange [%.9g:%.9g]\n", low >= 0 ? fmax(0, low - room) : low - room,
          high + room);
}

/* Error bars as arrows with flat heads: gnuplot's own have a white blot for the point. */
static void print_errors(FILE *script, size_t number, double shift, const char *color)
{
  fprintf(script,
          "$data%zu using ($1+%.4f):3:(0):($4-$3) with vectors heads size screen 0.004,90 "
          "lc rgb '%s' notitle, ",
          number, shift, color);
}

/* The bars of a chart's only series have the colours of their categories. */
static void print_single_bars(FILE *script, const json_t *series)
{
  const json_t *points = json_object_get(series, "points");
  const json_t *colors = json_object_get(series, "colors");
  for (size_t i = 0; i < json_array_size(points); i++) {
    const double x = json_number_value(json_array_get(json_array_get(points, i), 0));
    const json_t *own = json_array_get(colors, x >= 0 && x < 1e6 ? (size_t)x : 0);
    fprintf(script,
            "$data0 every ::%zu::%zu using 1:2:(0.6) with boxes fs solid lc rgb '%s' "
            "notitle, ",
            i, i, own != NULL ? json_string_value(own) : text_of(series, "color"));
  }
  if (has_errors(series)) print_errors(script, 0, 0, "#333333");
  fputs("NaN title ", script);
}

/* Bars of several series stand beside each other around their place. */
static void print_bars(FILE *script, const json_t *list, size_t number)
{
  const json_t *series = json_array_get(list, number);
  const size_t count = json_array_size(list);
  const double width = 0.8 / (double)count;
  const double shift = ((double)number - ((double)count - 1) / 2) * width;
  if (count == 1) {
    print_single_bars(script, series);
    print_quoted(script, "");
    return;
  }
  fprintf(script, "$data%zu using ($1+%.4f):2:(%.4f) with boxes fs solid lc rgb '%s' title ",
          number, shift, 0.9 * width, text_of(series, "color"));
  print_quoted(script, text_of(series, "name"));
  if (!has_errors(series)) return;
  fputs(", ", script);
  print_errors(script, number, shift, "#333333");
  fputs("NaN notitle", script);
}

static void print_curve(FILE *script, const json_t *series, size_t number)
{
  const char *color = text_of(series, "color");
  const int dash = (int)json_integer_value(json_object_get(series, "dash"));
  const size_t count = json_array_size(json_object_get(series, "points"));
  const bool points = strcmp(text_of(series, "style"), "points") == 0;
  const char *with = points ? "points" : count > FEW_POINTS ? "lines" : "linespoints";
  if (has_errors(series) && count > FEW_BARS)
    fprintf(script,
            "$data%zu using 1:3:4 with filledcurves lc rgb '%s' fs transparent "
            "solid 0.15 notitle, ",
            number, color);
  else if (has_errors(series))
    print_errors(script, number, 0, color);
  fprintf(script, "$data%zu using 1:2 with %s pt 7 ps 0.5 lw 2 dt %d lc rgb '%s' title ",
          number, with, dash + 1, color);
  print_quoted(script, text_of(series, "name"));
}

/* Bars start at 0, but some, or their error bars, may go down from there. */
static bool has_negative(const json_t *list)
{
  for (size_t s = 0; s < json_array_size(list); s++) {
    const json_t *points = json_object_get(json_array_get(list, s), "points");
    for (size_t i = 0; i < json_array_size(points); i++) {
      const json_t *point = json_array_get(points, i);
      double low = 0, high = 0;
      if (json_number_value(json_array_get(point, 1)) < 0) return true;
      if (results_interval(point, &low, &high) && low < 0) return true;
    }
  }
  return false;
}

void gnuplot_script(FILE *script, const json_t *chart)
{
  const json_t *list = json_object_get(chart, "series");
  const size_t count = json_array_size(list);
  const bool bars = json_object_get(json_object_get(chart, "x"), "categories") != NULL;
  fputs("set terminal svg noenhanced size 720,440 font 'sans,13' background '#ffffff'\n"
        "set encoding utf8\nset grid lc rgb '#d8d8d8'\nset border 3 lc rgb '#555555'\n"
        "set tics nomirror\nset autoscale xfix\n"
        "set title ",
        script);
  print_quoted(script, text_of(chart, "title"));
  fputs("\nset key tmargin center horizontal noenhanced\n", script);
  print_axis(script, chart, "x");
  print_axis(script, chart, "y");
  if (bars)
    fprintf(script, "set yrange [%s:*]\nset xrange [-0.6:%zu-0.4]\nset xzeroaxis\n",
            has_negative(list) ? "*" : "0",
            json_array_size(json_object_get(json_object_get(chart, "x"), "categories")));
  else if (is_log(chart, "x"))
    print_log_range(script, chart);
  if (!bars) print_y_range(script, chart);
  for (size_t i = 0; i < count; i++) print_data(script, json_array_get(list, i), i);
  fputs("plot ", script);
  for (size_t i = 0; i < count; i++) {
    if (bars)
      print_bars(script, list, i);
    else
      print_curve(script, json_array_get(list, i), i);
    fputs(i + 1 < count ? ", " : "\n", script);
  }
}

bool gnuplot_can_draw(const json_t *chart)
{
  const json_t *list = json_object_get(chart, "series");
  for (size_t s = 0; s < json_array_size(list); s++) {
    const json_t *points = json_object_get(json_array_get(list, s), "points");
    for (size_t i = 0; i < json_array_size(points); i++)
      if (is_drawable(chart, json_array_get(points, i))) return true;
  }
  return false;
}
