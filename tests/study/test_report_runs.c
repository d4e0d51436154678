/* test_report_runs.c - the document of results that is made of runs. */
#include "report/report.h"
#include "scratch.h"
#include "study/curves.h"
#include "study/report_runs.h"

#include <math.h>
#include <string.h>

enum { STEPS = 401, SECOND_HALF = 1 }; /* its chart */

typedef struct made_runs {
  run_records records;
  record_step steps[STEPS];             /* of all of them */
  record_validation validations[STEPS]; /* likewise */
} made_runs;

/* Complete runs that differ in mu. */
static void make_runs(made_runs *made, size_t count)
{
  mo_error error = {{0}};
  run_records *r = &made->records;
  *r = (run_records){.list = NULL};
  for (size_t i = 0; i < STEPS; i++) {
    const double loss = 8 - (double)i / STEPS;
    made->steps[i] = (record_step){.step = i + 1, .tokens = 10 * i + 10, .loss = loss};
    made->validations[i] =
        (record_validation){.step = i + 1, .loss = loss, .bits_per_byte = NAN};
  }
  assert_true(mo_grow(NULL, &r->list, &r->capacity, count, sizeof *r->list));
  for (; r->count < count; r->count++) {
    char text[80];
    run_record *run = &r->list[r->count];
    *run = (run_record){.steps = made->steps,
                        .step_count = STEPS,
                        .validations = made->validations,
                        .validation_count = STEPS,
                        .final_loss = 7,
                        .final_bits = NAN,
                        .step_seconds = 0.5,
                        .complete = true,
                        .result.peak_bytes = NAN};
    snprintf(run->name, sizeof run->name, "run-%zu", r->count);
    snprintf(text, sizeof text, "optimizer: muon\nopt.mu: %g\n", (double)r->count / 2000.0);
    assert_int_equal(options_defaults(&run->options, &error), MOUSSE_OK);
    assert_int_equal(options_parse(&run->options, "c", text, strlen(text), NULL, &error),
                     MOUSSE_OK);
  }
}

static void release_runs(made_runs *made)
{
  mo_release(NULL, made->records.list, made->records.capacity * sizeof *made->records.list);
}

/* Of the first curve of a chart of losses. */
static const json_t *points_of(const json_t *results, size_t figure, size_t chart)
{
  const json_t *charts =
      json_object_get(json_array_get(json_object_get(results, "figures"), figure), "charts");
  const json_t *series = json_object_get(json_array_get(charts, chart), "series");
  return json_object_get(json_array_get(series, 0), "points");
}

static size_t point_count(const json_t *results, size_t figure)
{
  return json_array_size(points_of(results, figure, 0));
}

/* Every step of the second half of a run once, up to the last. */
static void half_a_curve_has_each_step_once(void **state)
{
  static made_runs made;
  json_t *results = NULL;
  mo_error error = {{0}};
  (void)state;
  make_runs(&made, 1);
  assert_int_equal(report_runs(&made.records, "c", NAN, &results, &error), MOUSSE_OK);
  for (size_t figure = 1; figure <= 2; figure++) {
    const json_t *points = points_of(results, figure, SECOND_HALF);
    const size_t count = json_array_size(points);
    double before = STEPS / 2;
    for (size_t i = 0; i < count; i++) {
      const double step = json_number_value(json_array_get(json_array_get(points, i), 0));
      assert_true(step > before);
      before = step;
    }
    assert_true(before == STEPS);
  }
  json_decref(results);
  release_runs(&made);
}

static void few_curves_have_all_their_points(void **state)
{
  static made_runs made;
  json_t *results = NULL;
  mo_error error = {{0}};
  (void)state;
  make_runs(&made, 3);
  assert_int_equal(report_runs(&made.records, "c", NAN, &results, &error), MOUSSE_OK);
  for (size_t figure = 1; figure <= 2; figure++) /* validation, training */
    assert_int_equal(point_count(results, figure), CURVE_POINTS);
  json_decref(results);
  release_runs(&made);
}

/* Curves of 300 points each would be more values than a document may have. */
static void many_variants_make_a_document_that_can_be_read(void **state)
{
  static made_runs made;
  json_t *results = NULL, *again = NULL;
  mo_error error = {{0}};
  const char *path = scratch_path(state, "results.json");
  make_runs(&made, 1200);
  assert_int_equal(report_runs(&made.records, "c", NAN, &results, &error), MOUSSE_OK);
  for (size_t figure = 1; figure <= 2; figure++) /* no whole curve, but one to look at */
    assert_in_range(point_count(results, figure), 20, 30);
  assert_int_equal(report_json(results, path, &error), MOUSSE_OK);
  json_decref(results);
  release_runs(&made);
  assert_int_equal(results_read(&again, path, &error), MOUSSE_OK);
  json_decref(again);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(half_a_curve_has_each_step_once),
      cmocka_unit_test(few_curves_have_all_their_points),
      scratch_test(many_variants_make_a_document_that_can_be_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
