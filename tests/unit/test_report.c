/* test_report.c - a document of results, checked, and as text, page, CSV and JSON. */
#include "report/chart_style.h"
#include "report/report.h"
#include "report/text_form.h"
#include "unit/made_results.h"

#include <math.h>
#include <string.h>

static size_t count_of(const char *text, const char *piece)
{
  size_t count = 0;
  for (; (text = strstr(text, piece)) != NULL; text++) count++;
  return count;
}

static void documents_are_checked(void **state)
{
  (void)state;
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"[]", "an object"},
      {"{\"title\": 1}", "'title' must be text"},
      {"{\"id\": \"../x\"}", "letters, digits"},
      {"{\"charts\": 1}", "figure curves: 'charts' must be a list"},
      {"{\"charts\": [{\"title\": \"\", \"x\": 1}]}", "an object"},
      {"{\"tables\": [{\"title\": \"\", \"columns\": [\"a\"], \"rows\": [[]]}]}",
       "as long as the columns"},
      {"{\"runs\": [1]}", "'element' must be text"},
      {"{\"charts\": [{\"title\": \"\", \"x\": {\"label\": \"\"}, \"y\": {\"label\": \"\", "
       "\"range\": [2, 1]}, \"series\": []}]}",
       "two rising numbers"},
      {"{\"charts\": [{\"title\": \"\", \"x\": {\"label\": \"\"}, \"y\": {\"label\": \"\"}, "
       "\"views\": [{\"label\": \"\"}], \"series\": [{\"name\": \"\", \"points\": [[1, "
       "2]]}]}]}",
       "as many in every series"},
      {"{\"charts\": [{\"title\": \"\", \"x\": {\"label\": \"\"}, \"y\": {\"label\": \"\"}, "
       "\"series\": [{\"name\": \"\", \"points\": [[1, 2, null, 3]]}]}]}",
       "[x, y, null, low, high]"},
      {"{\"charts\": [{\"title\": \"\", \"x\": {\"label\": \"\"}, \"y\": {\"label\": \"\"}, "
       "\"views\": [{\"label\": \"\"}], \"series\": [{\"name\": \"\", \"points\": [[1, 2]], "
       "\"views\": [[]]}]}]}",
       "as long as the points"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_error error = {{0}};
    json_t *results = make_results(), *change = json_loads(cases[i].text, 0, NULL);
    json_t *figures = json_object_get(results, "figures");
    if (i < 2)
      json_object_update(json_is_object(change) ? results : NULL, change);
    else
      json_object_update(json_array_get(figures, 0), change);
    assert_int_equal(results_check(i == 0 ? change : results, &error), MOUSSE_BAD_FORMAT);
    assert_non_null(strstr(error.text, cases[i].expected));
    json_decref(results);
    json_decref(change);
  }
  assert_int_equal(results_check(NULL, NULL), MOUSSE_NO_MEMORY);
}

/* "[" takes a byte in a file and a hundred in memory. */
static void documents_of_too_many_values_are_refused(void **state)
{
  enum { SIZE = 5 << 20 };
  mo_error error = {{0}};
  json_t *results = NULL;
  char *text = malloc(SIZE);
  (void)state;
  assert_non_null(text);
  memset(text, '[', SIZE);
  assert_int_equal(results_parse(&results, "r.json", text, SIZE, &error), MOUSSE_BAD_FORMAT);
  assert_non_null(strstr(error.text, "r.json: more than 4194304 JSON values"));
  assert_null(results);
  free(text);
}

static void two_figures_need_two_ids(void **state)
{
  (void)state;
  mo_error error = {{0}};
  json_t *results = make_results();
  assert_int_equal(results_check(results, &error), MOUSSE_OK);
  results_figure(results, "bars", "Again", "");
  assert_int_equal(results_check(results, &error), MOUSSE_BAD_FORMAT);
  json_decref(results);
}

static void text_is_for_any_terminal(void **state)
{
  (void)state;
  mo_buffer text = {0};
  mo_error error = {{0}};
  json_t *results = make_results();
  assert_int_equal(report_text(results, 60, &text, &error), MOUSSE_OK);
  assert_true(mo_buffer_add(&text, "", 1));
  static const char *const pieces[] = {"the paper:  It wins.",
                                       "these runs: It does.",
                                       "1.2346",
                                       "● mousse",
                                       "○ muon",
                                       "lr (log)",
                                       "adamw",
                                       "(no values)",
                                       "█ 4\n",
                                       "run"};
  for (size_t i = 0; i + 1 < sizeof pieces / sizeof *pieces; i++)
    assert_non_null(strstr(text.data, pieces[i]));
  assert_null(strchr(text.data, '\x1b'));
  assert_int_equal(count_of(text.data, "○"), 2); /* one point and the legend */
  for (char *line = strtok(text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    size_t width = 0;
    for (const char *c = line; *c != '\0'; c++) width += ((unsigned char)*c & 0xC0) != 0x80;
    assert_true(width <= 60);
  }
  mo_buffer_close(&text);
  json_decref(results);
}

/* A curve to 1,000 among others around 3: the axis ends at 3. */
static void what_blew_up_is_cut_off(void **state)
{
  mo_error error = {{0}};
  mo_buffer text = {0};
  size_t size = 0;
  json_t *results = results_new("", "");
  json_t *chart = results_chart(results_figure(results, "a", "", ""), "",
                                results_axis("step", "linear"), results_axis("loss", "linear"));
  for (int i = 0; i < 2; i++) {
    json_t *series = results_series(chart, i == 0 ? "muon" : "mousse", "line");
    for (int step = 0; step < 5; step++)
      results_point(series, step, i == 0 ? 3 - 0.5 * step : 3 + 250 * step, NAN);
    if (i == 0) results_fit(chart, series);
  }
  assert_int_equal(report_text(results, 80, &text, &error), MOUSSE_OK);
  assert_true(mo_buffer_add(&text, "", 1));
  assert_non_null(strstr(text.data, "     3 ┤"));
  assert_null(strstr(text.data, "1003"));
  mo_buffer_close(&text);
  assert_int_equal(report_svg(results, scratch_path(state, "p"), &error), MOUSSE_OK);
  char *svg = read_text(scratch_path(state, "p/a.svg"), &size);
  assert_null(strstr(svg, ">1000<"));
  assert_null(strstr(svg, ">-")); /* no label below 0 */
  mo_release(NULL, svg, size + 1);
  json_decref(results);
}

static void csv_reads_back(void **state)
{
  mo_error error = {{0}};
  size_t size = 0;
  json_t *results = make_results();
  json_t *chart = results_chart(json_array_get(json_object_get(results, "figures"), 1), "Along",
                                results_axis("step", "linear"), results_axis("y", "linear"));
  results_view(chart, results_axis("a, \"b\"", "linear"));
  json_t *series = results_series(chart, "say \"hi\", twice\n", "line");
  results_point(series, 1, 0.5, NAN);
  results_also(series, 0, 8192);
  assert_int_equal(report_csv(results, scratch_path(state, "t"), &error), MOUSSE_OK);
  char *bars = read_text(scratch_path(state, "t/bars.csv"), &size);
  assert_string_equal(bars,
                      "series,optimizer,seconds,spread,low,high\nseconds,adamw,2,0.5,1.5,2.5\n"
                      "seconds,soap,4,,,\n");
  mo_release(NULL, bars, size + 1);
  char *along = read_text(scratch_path(state, "t/bars-3.csv"), &size);
  assert_string_equal(along, "series,step,y,spread,low,high,\"a, \"\"b\"\"\"\n"
                             "\"say \"\"hi\"\", twice\n\",1,0.5,,,,8192\n");
  mo_release(NULL, along, size + 1);
  char *table = read_text(scratch_path(state, "t/curves-table.csv"), &size);
  assert_non_null(strstr(table, "optimizer,loss\n"));
  assert_non_null(strstr(table, ",1.23456\n"));
  mo_release(NULL, table, size + 1);
  json_decref(results);
}

/* 8 with an interval of -1 to 10: its ends are told, and no form of the report cuts off the lower one. */
static void error_bars_need_not_be_even(void **state)
{
  mo_error error = {{0}};
  mo_buffer text = {0};
  size_t size = 0;
  json_t *results = results_new("", ""), *axis = results_categories("regime");
  results_category(axis, "small");
  json_t *chart = results_chart(results_figure(results, "a", "", ""), "", axis,
                                results_axis("saved", "linear"));
  json_t *series = results_series(chart, "mousse", "bars");
  results_point_between(series, 0, 8, -1, 10);
  results_point_between(series, 0, 8, -INFINITY, 10);
  const json_t *points = json_object_get(series, "points");
  double low = 0, high = 0;
  assert_true(results_interval(json_array_get(points, 0), &low, &high));
  assert_true(low == -1 && high == 10);
  assert_false(results_interval(json_array_get(points, 1), &low, &high));
  assert_int_equal(report_text(results, 80, &text, &error), MOUSSE_OK);
  assert_true(mo_buffer_add(&text, "", 1));
  assert_non_null(strstr(text.data, " 8 (-1 to 10)\n"));
  assert_non_null(strstr(text.data, " 8\n"));
  mo_buffer_close(&text);
  assert_int_equal(report_csv(results, scratch_path(state, "e"), &error), MOUSSE_OK);
  char *csv = read_text(scratch_path(state, "e/a.csv"), &size);
  assert_non_null(strstr(csv, "mousse,small,8,,-1,10\nmousse,small,8,,,\n"));
  mo_release(NULL, csv, size + 1);
  assert_int_equal(report_svg(results, scratch_path(state, "e"), &error), MOUSSE_OK);
  char *svg = read_text(scratch_path(state, "e/a.svg"), &size);
  assert_non_null(strstr(svg, ">-")); /* a label below 0 */
  mo_release(NULL, svg, size + 1);
  json_decref(results);
}

/* Names that begin alike keep what tells them apart; no line is wider than the terminal. */
static void wide_tables_come_in_parts(void **state)
{
  (void)state;
  static const char *const columns[] = {"run", "first", "second", "third", "fourth", NULL};
  mo_error error = {{0}};
  mo_buffer text = {0};
  json_t *results = results_new("", "");
  json_t *table = results_table(results_figure(results, "a", "", ""), "", columns);
  for (int i = 0; i < 2; i++) {
    json_t *row = results_row(table);
    results_text(row, i == 0 ? "optimizer=mousse,scheduler_type=cosine,model_dim=64,lr=0.02"
                             : "optimizer=mousse,scheduler_type=cosine,model_dim=64,lr=0.04");
    for (int k = 0; k < 4; k++) results_number(row, 123456789 + k);
  }
  assert_int_equal(report_text(results, 70, &text, &error), MOUSSE_OK);
  assert_true(mo_buffer_add(&text, "", 1));
  assert_non_null(strstr(text.data, "lr=0.02"));
  assert_non_null(strstr(text.data, "lr=0.04"));
  assert_int_equal(count_of(text.data, "  run "), 2);
  for (char *line = strtok(text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    size_t width = 0;
    for (const char *c = line; *c != '\0'; c++) width += ((unsigned char)*c & 0xC0) != 0x80;
    assert_true(width <= 70);
  }
  mo_buffer_close(&text);
  json_decref(results);
}

static void text_cannot_leave_its_place_in_the_page(void **state)
{
  mo_error error = {{0}};
  size_t size = 0;
  json_t *results = make_results();
  const char *path = scratch_path(state, "report.html");
  assert_int_equal(report_write(results, path, &error), MOUSSE_OK);
  char *page = read_text(path, &size);
  assert_int_equal(count_of(page, "</script>"), 5); /* results, Chart.js, our three scripts */
  assert_null(strstr(page, "<b>"));
  assert_non_null(strstr(page, "\\u003c/script>\\u003cb>"));
  assert_null(strstr(page, "@results@"));
  assert_non_null(strstr(page, "Chart.js"));
  mo_release(NULL, page, size + 1);
  json_decref(results);
}

static void json_reads_back(void **state)
{
  mo_error error = {{0}};
  json_t *results = make_results();
  const char *path = scratch_path(state, "results.json");
  assert_int_equal(report_json(results, path, &error), MOUSSE_OK);
  json_t *again = json_load_file(path, 0, NULL);
  assert_true(json_equal(results, again));
  json_decref(again);
  json_decref(results);
}

static void names_that_are_not_utf8_are_taken(void **state)
{
  (void)state;
  mo_error error = {{0}};
  json_t *results = make_results();
  results_run(results_figure(results, "more", "More", ""), "run-\xff-1");
  assert_int_equal(results_check(results, &error), MOUSSE_OK);
  char *text = json_dumps(results, 0);
  assert_non_null(strstr(text, "run-\xef\xbf\xbd"
                               "ff-1"));
  free(text);
  json_decref(results);
}

static const char *color_of(const json_t *chart, size_t series)
{
  const json_t *list = json_object_get(chart, "series");
  return json_string_value(json_object_get(json_array_get(list, series), "color"));
}

static json_int_t dash_of(const json_t *chart, size_t series)
{
  const json_t *list = json_object_get(chart, "series");
  return json_integer_value(json_object_get(json_array_get(list, series), "dash"));
}

static void an_optimizer_has_one_colour(void **state)
{
  (void)state;
  json_t *results = results_new("", "");
  json_t *figure = results_figure(results, "a", "", ""), *charts[2];
  static const char *const names[2][4] = {{"muon", "mousse lr 0.1", "mousse lr 0.2", "big"},
                                          {"mousse graft on", "mousse graft off", "", ""}};
  for (int c = 0; c < 2; c++) {
    charts[c] = results_chart(figure, "", results_axis("", "linear"), results_axis("", "log"));
    for (int s = 0; s < (c == 0 ? 4 : 2); s++) results_series(charts[c], names[c][s], "line");
  }
  json_t *bars = results_chart(figure, "", results_categories(""), results_axis("", "linear"));
  for (int s = 0; s < 3; s++) results_series(bars, names[0][s], "bars");
  json_t *axis = results_categories("");
  results_category(axis, "muon");
  results_category(axis, "big");
  json_t *single = results_chart(figure, "", axis, results_axis("", "linear"));
  results_series(single, "seconds", "bars");
  chart_styles_add(results);
  assert_string_equal(color_of(charts[0], 1), color_of(charts[0], 2));
  assert_true(dash_of(charts[0], 1) == 0 && dash_of(charts[0], 2) == 1);
  assert_string_equal(color_of(charts[0], 1), color_of(charts[1], 0));
  assert_string_not_equal(color_of(charts[0], 1), color_of(charts[0], 0));
  assert_string_not_equal(color_of(charts[1], 0), color_of(charts[1], 1));
  assert_string_not_equal(color_of(bars, 1), color_of(bars, 2));
  const json_t *colors =
      json_object_get(json_array_get(json_object_get(single, "series"), 0), "colors");
  assert_int_equal(json_array_size(colors), 2);
  assert_string_equal(json_string_value(json_array_get(colors, 0)), color_of(charts[0], 0));
  assert_string_equal(json_string_value(json_array_get(colors, 1)), color_of(single, 0));
  json_decref(results);
}

/* A name has the look of the first chart that has it; of many names each is looked at once. */
static void many_names_have_their_looks(void **state)
{
  enum { NAMES = 20000 };
  (void)state;
  json_t *results = results_new("", ""), *charts[2];
  for (int c = 0; c < 2; c++) {
    char id[8];
    snprintf(id, sizeof id, "f%d", c);
    charts[c] = results_chart(results_figure(results, id, "", ""), "",
                              results_axis("", "linear"), results_axis("", "linear"));
    for (int s = 0; s < NAMES; s++) {
      char name[16];
      snprintf(name, sizeof name, "s%d", c == 0 ? s : NAMES - 1 - s);
      results_series(charts[c], name, "line");
    }
  }
  for (int f = 0; f < NAMES; f++) {
    char id[16];
    snprintf(id, sizeof id, "more-%d", f);
    results_figure(results, id, "", "");
  }
  assert_int_equal(results_check(results, NULL), MOUSSE_OK);
  chart_styles_add(results);
  for (size_t s = 0; s < NAMES; s++) {
    assert_string_equal(color_of(charts[0], s), color_of(charts[1], NAMES - 1 - s));
    assert_int_equal(dash_of(charts[0], s), s / 8 % 4);
    assert_int_equal(dash_of(charts[0], s), dash_of(charts[1], NAMES - 1 - s));
  }
  assert_string_not_equal(color_of(charts[0], 0), color_of(charts[0], 1));
  json_decref(results);
}

/* Eight-bit terminals obey the byte 0x9B, also behind a letter. */
static void bare_control_bytes_are_not_shown(void **state)
{
  static const char name[] = "r\x9b"
                             "31m, \xc2\x9b"
                             "31m and \xc3\xa9\xff";
  mo_buffer text = {0};
  text_form form = {.text = &text, .width = 80};
  (void)state;
  form_foreign(&form, name, 80);
  form_foreign_end(&form, name, 4, 12);
  form_wrap(&form, "", name);
  assert_false(form.no_memory);
  assert_null(memchr(text.data, 0x9b, text.size));
  assert_memory_equal(text.data, "r?31m, ?31m and \xc3\xa9\xff", 19);
  mo_buffer_close(&text);
}

/* A wide character takes two columns of a terminal, an accent of its own none. */
static void text_is_cut_by_columns(void **state)
{
  static const struct {
    const char *name;
    size_t kept, most, columns;
    const char *expected;
  } cases[] = {
      {"中文中文", 0, 8, 8, "中文中文"},    {"中文中文", 9, 7, 7, "中文中…"},
      {"中文中文", 9, 6, 5, "中文…"},       {"中文中文xy", 4, 9, 9, "中文…文xy"},
      {"中文中文xy", 3, 9, 9, "中…中文xy"}, {"e\u0301a\u0308u", 9, 3, 3, "e\u0301a\u0308u"},
      {"abcdefgh", 3, 6, 6, "abc…gh"},      {"abc", 0, 0, 0, ""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mo_buffer text = {0};
    text_form form = {.text = &text, .width = 80};
    const size_t columns = form_foreign_end(&form, cases[i].name, cases[i].kept, cases[i].most);
    assert_true(mo_buffer_add(&text, "", 1));
    assert_string_equal(text.data, cases[i].expected);
    assert_int_equal(columns, cases[i].columns);
    mo_buffer_close(&text);
  }
  mo_buffer text = {0};
  text_form form = {.text = &text, .width = 12};
  form_wrap(&form, "- ", "中文中文 中文 ab");
  assert_true(mo_buffer_add(&text, "", 1));
  assert_string_equal(text.data, "- 中文中文\n  中文 ab\n");
  mo_buffer_close(&text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(documents_are_checked),
      cmocka_unit_test(documents_of_too_many_values_are_refused),
      cmocka_unit_test(two_figures_need_two_ids),
      cmocka_unit_test(text_is_for_any_terminal),
      scratch_test(what_blew_up_is_cut_off),
      scratch_test(csv_reads_back),
      scratch_test(error_bars_need_not_be_even),
      cmocka_unit_test(wide_tables_come_in_parts),
      scratch_test(text_cannot_leave_its_place_in_the_page),
      scratch_test(json_reads_back),
      cmocka_unit_test(names_that_are_not_utf8_are_taken),
      cmocka_unit_test(bare_control_bytes_are_not_shown),
      cmocka_unit_test(text_is_cut_by_columns),
      cmocka_unit_test(an_optimizer_has_one_colour),
      cmocka_unit_test(many_names_have_their_looks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
