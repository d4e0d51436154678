/* test_report_pictures.c - charts as SVG, drawn by gnuplot. */
#include "base/buffer.h"
#include "unit/made_results.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void every_chart_is_a_picture(void **state)
{
  mo_error error = {{0}};
  size_t size = 0;
  json_t *results = make_results();
  const char *folder = scratch_path(state, "pictures/here");
  assert_int_equal(report_svg(results, folder, &error), MOUSSE_OK);
  char *curves = read_text(scratch_path(state, "pictures/here/curves.svg"), &size);
  assert_non_null(strstr(curves, "</svg>"));
  assert_null(strstr(curves, "<b>"));
  assert_non_null(strstr(curves, "muon"));
  mo_release(NULL, curves, size + 1);
  char *bars = read_text(scratch_path(state, "pictures/here/bars.svg"), &size);
  assert_non_null(strstr(bars, "adamw"));
  mo_release(NULL, bars, size + 1);
  assert_int_equal(mo_file_read(NULL, scratch_path(state, "pictures/here/bars-2.svg"), 1, &bars,
                                &size, NULL),
                   MOUSSE_IO); /* the chart without values */
  json_decref(results);
}

/* Names that would end a text of gnuplot's, run a command, or have no place on a log axis. */
static void pictures_take_any_name(void **state)
{
  static const char *const names[] = {"'quoted'", "''", "\"", "\\", "`touch ran`", "a''b\\"};
  mo_error error = {{0}};
  size_t size = 0;
  json_t *results = results_new("", "");
  json_t *figure = results_figure(results, "a", "", "");
  json_t *chart =
      results_chart(figure, "'`\"\\", results_axis("''", "log"), results_axis("`", "linear"));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    results_point(results_series(chart, names[i], "line"), 0.1 * (double)(i + 1), 1, NAN);
  json_t *nowhere =
      results_chart(figure, "", results_axis("x", "log"), results_axis("y", "linear"));
  results_point(results_series(nowhere, "unknown lr", "line"), NAN, 3, NAN);
  assert_int_equal(report_svg(results, scratch_path(state, "p"), &error), MOUSSE_OK);
  char *svg = read_text(scratch_path(state, "p/a.svg"), &size);
  assert_non_null(strstr(svg, "'quoted'"));
  assert_non_null(strstr(svg, "`touch ran`"));
  mo_release(NULL, svg, size + 1);
  json_decref(results);
}

/* gnuplot takes labels of tics as formats. */
static void categories_may_have_percent_signs(void **state)
{
  mo_error error = {{0}};
  size_t size = 0;
  json_t *results = results_new("", "");
  json_t *axis = results_categories("optimizer");
  results_category(axis, "muon warmup 5%");
  results_category(axis, "100%s %g 7%%");
  json_t *chart = results_chart(results_figure(results, "a", "", ""), "9% %g", axis,
                                results_axis("y %g", "linear"));
  json_t *series = results_series(chart, "8%", "bars");
  for (size_t i = 0; i < 2; i++) results_point(series, (double)i, 3, NAN);
  assert_int_equal(report_svg(results, scratch_path(state, "p"), &error), MOUSSE_OK);
  char *svg = read_text(scratch_path(state, "p/a.svg"), &size);
  assert_non_null(strstr(svg, "muon warmup 5%<"));
  assert_non_null(strstr(svg, "100%s %g 7%%<"));
  assert_non_null(strstr(svg, "9% %g<"));
  mo_release(NULL, svg, size + 1);
  json_decref(results);
}

static void without_gnuplot_it_is_named(void **state)
{
  mo_error error = {{0}};
  json_t *results = make_results();
  char before[4096];
  snprintf(before, sizeof before, "%s", getenv("PATH"));
  setenv("PATH", "/nowhere", 1);
  assert_int_equal(report_svg(results, scratch_path(state, "p"), &error), MOUSSE_IO);
  setenv("PATH", before, 1);
  assert_non_null(strstr(error.text, "gnuplot-nox"));
  json_decref(results);
}

static bool no_room; /* for what a buffer is to take */
bool __real_mo_buffer_add(mo_buffer *buffer, const char *data, size_t size);
bool __wrap_mo_buffer_add(mo_buffer *buffer, const char *data, size_t size);
bool __wrap_mo_buffer_add(mo_buffer *buffer, const char *data, size_t size)
{
  return !no_room && __real_mo_buffer_add(buffer, data, size);
}

/* Nobody reads what it still writes: it must not be waited for until somebody does. */
static void a_picture_that_memory_is_short_for_is_given_up(void **state)
{
  static const char script[] = "#!/bin/sh\nexec cat /dev/zero\n";
  mo_error error = {{0}};
  json_t *results = make_results();
  char before[4096], path[4096 + 256];
  const char *gnuplot = scratch_write(state, "gnuplot", script, strlen(script));
  assert_int_equal(chmod(gnuplot, 0755), 0);
  snprintf(before, sizeof before, "%s", getenv("PATH"));
  snprintf(path, sizeof path, "%s:%s", (const char *)*state, before);
  setenv("PATH", path, 1);
  no_room = true;
  alarm(30);
  assert_int_equal(report_svg(results, scratch_path(state, "p"), &error), MOUSSE_IO);
  alarm(0);
  no_room = false;
  setenv("PATH", before, 1);
  assert_non_null(strstr(error.text, "cannot read what gnuplot draws"));
  json_decref(results);
}

/* A chart that cannot be drawn or written is told about, and costs no other. */
static void one_failure_leaves_the_other_pictures(void **state)
{
  mo_error error = {{0}};
  size_t size = 0;
  json_t *results = make_results();
  json_t *figures = json_object_get(results, "figures");
  json_t *more = json_deep_copy(json_array_get(figures, 0));
  assert_int_equal(json_object_set_new(more, "id", json_string("later")), 0);
  assert_int_equal(json_array_append_new(figures, more), 0);
  char first[64];
  snprintf(first, sizeof first, "p/%s.svg",
           json_string_value(json_object_get(json_array_get(figures, 0), "id")));
  assert_int_equal(mo_make_directories(scratch_path(state, first), &error), MOUSSE_OK);
  assert_int_equal(report_svg(results, scratch_path(state, "p"), &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, strrchr(first, '/')));
  char *svg = read_text(scratch_path(state, "p/later.svg"), &size);
  mo_release(NULL, svg, size + 1);
  json_decref(results);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(every_chart_is_a_picture),
      scratch_test(pictures_take_any_name),
      scratch_test(categories_may_have_percent_signs),
      scratch_test(without_gnuplot_it_is_named),
      scratch_test(a_picture_that_memory_is_short_for_is_given_up),
      scratch_test(one_failure_leaves_the_other_pictures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
