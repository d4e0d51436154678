/* made_results.h - a document of results for tests, with hostile names, and reading files whole. */
#ifndef TESTS_UNIT_MADE_RESULTS_H
#define TESTS_UNIT_MADE_RESULTS_H

#include "report/report.h"
#include "scratch.h"

#include <math.h>

#define HOSTILE "</script><b>'x' & \\ \x1b[31m"

/* One figure with curves on log axes, gaps and spreads, one with bars, both with a table. */
static inline json_t *make_results(void)
{
  static const char *const columns[] = {"optimizer", "loss", NULL};
  json_t *results = results_new("A title " HOSTILE, "mousse report runs");
  results_note(results,
               "Each word of a note stays whole when its line is broken at the width.");
  json_t *figure = results_figure(results, "curves", "Curves", "It wins.");
  results_finding(figure, "It %s.", "does");
  json_t *chart =
      results_chart(figure, "Loss", results_axis("lr", "log"), results_axis("loss", "linear"));
  json_t *series = results_series(chart, "mousse " HOSTILE, "line");
  results_point(series, 0.01, 3, 0.1);
  results_point(series, 0.1, 1, 0.1);
  results_point(series, 1, NAN, NAN);
  results_point(series, 10, 2, NAN);
  results_point(results_series(chart, "muon", "points"), 0.1, 2.5, NAN);
  json_t *row = results_row(results_table(figure, "A table", columns));
  results_text(row, HOSTILE);
  results_number(row, 1.23456);
  results_run(figure, "run-1");
  results_run(figure, "run-1");

  figure = results_figure(results, "bars", "Bars", "");
  json_t *axis = results_categories("optimizer");
  results_category(axis, "adamw");
  results_category(axis, "soap");
  chart = results_chart(figure, "Time", axis, results_axis("seconds", "linear"));
  series = results_series(chart, "seconds", "bars");
  results_point(series, 0, 2, 0.5);
  results_point(series, 1, 4, NAN);
  results_chart(figure, "Nothing", results_axis("x", "linear"), results_axis("y", "linear"));
  return results;
}

static inline char *read_text(const char *path, size_t *size)
{
  char *text = NULL;
  mo_error error = {{0}};
  assert_int_equal(mo_file_read(NULL, path, 1 << 24, &text, size, &error), MOUSSE_OK);
  return text;
}

#endif
