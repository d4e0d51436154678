/* report_svg.c - every chart as a picture for papers, drawn by gnuplot.
 *
 * gnuplot gets a script with the data in it on its standard input, a nameless file, and gives
 * the picture on its standard output; a picture is written when all of it is there.
 */
#include "base/buffer.h"
#include "base/file.h"
#include "report/chart_style.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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

static void print_script(FILE *script, const json_t *chart)
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

/* A chart without a single point on its axes cannot be drawn. */
static bool is_empty(const json_t *chart)
{
  const json_t *list = json_object_get(chart, "series");
  for (size_t s = 0; s < json_array_size(list); s++) {
    const json_t *points = json_object_get(json_array_get(list, s), "points");
    for (size_t i = 0; i < json_array_size(points); i++)
      if (is_drawable(chart, json_array_get(points, i))) return false;
  }
  return true;
}

static mousse_status start_gnuplot(FILE *script, FILE *complaints, int output, pid_t *child,
                                   mo_error *error)
{
  char *const words[] = {"gnuplot", "-", NULL};
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to start gnuplot");
  posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(complaints), STDERR_FILENO);
  const int failure = posix_spawnp(child, words[0], &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == ENOENT)
    return mo_fail(error, MOUSSE_IO,
                   "gnuplot, which draws the SVG pictures, is not installed (Debian: "
                   "apt-get install gnuplot-nox)");
  return failure == 0
             ? MOUSSE_OK
             : mo_fail(error, MOUSSE_IO, "gnuplot cannot be started: %s", strerror(failure));
}

static bool read_all(int descriptor, mo_buffer *into)
{
  char block[1 << 14];
  for (;;) {
    const ssize_t got = read(descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    if (!mo_buffer_add(into, block, (size_t)got)) return false;
  }
}

static mousse_status check_end(int ended, FILE *complaints, const char *path, mo_error *error)
{
  char line[200] = "";
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return MOUSSE_OK;
  rewind(complaints);
  while (fgets(line, sizeof line, complaints) != NULL && strspn(line, " \n^") == strlen(line)) {
  }
  line[strcspn(line, "\n")] = '\0';
  return mo_fail(error, MOUSSE_IO, "%s: gnuplot failed: %s", path, line);
}

static mousse_status draw_with(FILE *script, FILE *complaints, const char *path,
                               mo_error *error)
{
  int ends[2], ended = 0;
  pid_t child = 0;
  mo_buffer picture = {0};
  if (pipe2(ends, O_CLOEXEC) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: no pipe to gnuplot: %s", path, strerror(errno));
  mousse_status status = start_gnuplot(script, complaints, ends[1], &child, error);
  close(ends[1]);
  const bool started = status == MOUSSE_OK;
  if (started && !read_all(ends[0], &picture))
    status = mo_fail(error, MOUSSE_IO, "%s: cannot read what gnuplot draws", path);
  close(ends[0]); /* or it would wait for a reader of the rest, and we for it */
  while (started && waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (status == MOUSSE_OK) status = check_end(ended, complaints, path, error);
  if (status == MOUSSE_OK) status = mo_file_write(path, picture.data, picture.size, error);
  mo_buffer_close(&picture);
  return status;
}

static mousse_status draw(const json_t *chart, const char *path, mo_error *error)
{
  FILE *script = tmpfile(), *complaints = tmpfile();
  mousse_status status = MOUSSE_OK;
  if (script != NULL && complaints != NULL) {
    print_script(script, chart);
    rewind(script); /* also writes what is buffered */
    status = ferror(script)
                 ? mo_fail(error, MOUSSE_IO, "%s: cannot write a script for gnuplot", path)
                 : draw_with(script, complaints, path, error);
  } else {
    status = mo_fail(error, MOUSSE_IO, "%s: no temporary file for gnuplot: %s", path,
                     strerror(errno));
  }
  if (script != NULL) fclose(script);
  if (complaints != NULL) fclose(complaints);
  return status;
}

/* One that gnuplot refuses leaves the others as they are: the first failure is kept and told at
 * the end. */
static void draw_figure(const json_t *figure, const char *directory, mousse_status *status,
                        mo_error *error)
{
  const json_t *charts = json_object_get(figure, "charts");
  for (size_t i = 0; i < json_array_size(charts); i++) {
    char name[128], path[4096];
    const json_t *chart = json_array_get(charts, i);
    mo_error *say = *status == MOUSSE_OK ? error : NULL;
    if (i == 0)
      snprintf(name, sizeof name, "%s.svg", text_of(figure, "id"));
    else
      snprintf(name, sizeof name, "%s-%zu.svg", text_of(figure, "id"), i + 1);
    mousse_status drawn = mo_path_join(path, sizeof path, directory, name, say);
    if (drawn == MOUSSE_OK && !is_empty(chart)) drawn = draw(chart, path, say);
    if (*status == MOUSSE_OK) *status = drawn;
  }
}

mousse_status report_svg(const json_t *results, const char *directory, mo_error *error)
{
  mousse_status status = MOUSSE_OK;
  MO_TRY(results_check(results, error));
  MO_TRY(mo_make_directories(directory, error));
  json_t *copy = json_deep_copy(results);
  if (copy == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for pictures");
  chart_styles_add(copy);
  const json_t *figures = json_object_get(copy, "figures");
  for (size_t i = 0; i < json_array_size(figures); i++)
    draw_figure(json_array_get(figures, i), directory, &status, error);
  json_decref(copy);
  return status;
}
