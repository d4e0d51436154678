/* test_search.c - the search for learning rate and momentum, and the scales it is run at. */
#include "paper/evidence.h"
#include "report/chart_style.h"
#include "report/results.h"
#include "scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A bowl whose lowest point is off the start, with the two coordinates coupled. */
static double bowl(search_point p, double x, double y)
{
  const double a = p.at[0] - x, b = p.at[1] - y;
  return 3 + 0.01 * (a * a + b * b + a * b);
}

static search run_search(size_t dimensions, size_t budget, double x, double y, size_t *waves)
{
  search s = {.together = dimensions, .budget = budget};
  search_point points[STUDY_WAVE];
  size_t count = 0;
  *waves = 0;
  while ((count = search_next(&s, points, STUDY_WAVE)) > 0) {
    for (size_t i = 0; i < count; i++) search_add(&s, points[i], bowl(points[i], x, y), i);
    (*waves)++;
  }
  return s;
}

static void finds_the_bottom_within_its_budget(void **state)
{
  (void)state;
  static const double bottoms[][2] = {{0, 0}, {2, -2}, {-4, 2}, {3, 1}, {-1, -3}, {4, 4}};
  for (size_t i = 0; i < sizeof bottoms / sizeof *bottoms; i++) {
    size_t waves = 0;
    const search s = run_search(2, 16, bottoms[i][0], bottoms[i][1], &waves);
    const search_trial *best = search_best(&s);
    assert_int_equal(s.count, 16); /* never fewer: the same care for everybody */
    assert_true(fabs(best->point.at[0] - bottoms[i][0]) <= 1);
    assert_true(fabs(best->point.at[1] - bottoms[i][1]) <= 1);
    assert_true(search_inside(&s, 0) && search_inside(&s, 1));
    assert_true(waves >= 4);
  }
}

static void no_point_is_tried_twice(void **state)
{
  (void)state;
  size_t waves = 0;
  const search s = run_search(2, SEARCH_MOST, 0, 0, &waves);
  assert_int_equal(s.count, SEARCH_MOST);
  for (size_t i = 0; i < s.count; i++)
    for (size_t k = 0; k < i; k++)
      assert_memory_not_equal(&s.trials[i].point, &s.trials[k].point, sizeof(search_point));
}

/* Runs that diverge everywhere are worse than all others, and win nothing. */
static void what_diverges_never_wins(void **state)
{
  (void)state;
  search s = {.together = 1, .budget = 5};
  search_point points[STUDY_WAVE];
  size_t count = 0;
  while ((count = search_next(&s, points, STUDY_WAVE)) > 0)
    for (size_t i = 0; i < count; i++)
      search_add(&s, points[i], points[i].at[0] >= 0 ? INFINITY : 3, i);
  assert_int_equal(s.count, 5);
  assert_true(search_best(&s)->point.at[0] < 0);
  search none = {.together = 2, .budget = 3};
  assert_null(search_best(&none));
  search_add(&none, (search_point){{0}}, INFINITY, 0);
  search_add(&none, (search_point){{2}}, NAN, 1);
  assert_null(search_best(&none));
  assert_false(search_inside(&none, 0));
}

/* The dimensions that come alone: two trials each, from the best point so far. */
static void details_follow_one_by_one(void **state)
{
  (void)state;
  search s = {.together = 2, .budget = 5, .alone = 3};
  search_point points[STUDY_WAVE];
  size_t count = 0;
  while ((count = search_next(&s, points, STUDY_WAVE)) > 0)
    for (size_t i = 0; i < count; i++) /* the third dimension wants up, the fifth down */
      search_add(&s, points[i],
                 bowl(points[i], 0, 0) - 0.1 * points[i].at[2] + 0.1 * points[i].at[4], i);
  const search_trial *best = search_best(&s);
  assert_int_equal(s.count, 5 + 2 * 3);
  assert_int_equal(best->point.at[2], 2);
  assert_int_equal(best->point.at[3], 0);
  assert_int_equal(best->point.at[4], -2);
  assert_int_equal(search_best_together(&s)->point.at[2], 0);
  assert_true(search_inside(&s, 0) && search_inside(&s, 1));
}

/* A factor of 1 sets nothing; the others go by what the run has, or by the optimizer's defaults. */
static void details_set_options(void **state)
{
  (void)state;
  train_options *run = mo_allocate(NULL, sizeof *run);
  mo_error error = {{0}};
  char text[64];
  assert_int_equal(options_defaults(run, &error), MOUSSE_OK);
  assert_int_equal(options_set(run, "optimizer", "mousse", NULL, &error), MOUSSE_OK);
  assert_int_equal(options_set(run, "scalar_opt", "lion", NULL, &error), MOUSSE_OK);
  details_text((int[STUDY_DETAILS]){0}, text, sizeof text);
  assert_string_equal(text, "");
  details_text((int[STUDY_DETAILS]){2, 0, -2, 2, -2}, text, sizeof text);
  assert_string_equal(text, ",embed=2,decay=0.25,memory=2,scalar=0.5");
  assert_int_equal(
      details_set(run, 64, (int[STUDY_DETAILS]){2, -2, 2, 2, 2}, "opt.beta", &error),
      MOUSSE_OK);
  assert_float_equal(run->embed_lr_factor, 2, 0);
  assert_float_equal(run->head_lr_factor, 1.0 / 16, 0);
  assert_string_equal(run->options[0].value, "0.04");
  assert_string_equal(run->options[1].value, "0.9");
  assert_string_equal(run->options[2].value, "0.96");
  assert_int_equal(details_set(run, 64, (int[STUDY_DETAILS]){2, 2}, "", &error), MOUSSE_OK);
  assert_float_equal(run->embed_lr_factor, 4, 0); /* twice what it was set to above */
  assert_float_equal(run->head_lr_factor, 1.0 / 8, 0);
  /* What orthogonalises has a momentum, and rates for rows. */
  assert_int_equal(options_defaults(run, &error), MOUSSE_OK);
  assert_int_equal(options_set(run, "scalar_opt", "normuon", NULL, &error), MOUSSE_OK);
  assert_int_equal(details_set(run, 64, (int[STUDY_DETAILS]){2, -2, 0, 0, 2}, "", &error),
                   MOUSSE_OK);
  assert_float_equal(run->embed_lr_factor, 32, 0);
  assert_float_equal(run->head_lr_factor, 0.5, 0);
  assert_string_equal(run->options[0].name, "mu");
  assert_string_equal(run->options[0].value, "0.9");
  mo_release(NULL, run, sizeof *run);
}

/* A step up or down is another value for everybody, also for those that come without decay. */
static void every_contender_has_a_decay_to_tune(void **state)
{
  (void)state;
  train_options *run = mo_allocate(NULL, sizeof *run);
  mo_error error = {{0}};
  for (size_t i = 0; i < study_contender_count; i++)
    for (int step = -2; step <= 2; step += 4) {
      int at[STUDY_DETAILS] = {0, 0, step};
      assert_int_equal(options_defaults(run, &error), MOUSSE_OK);
      assert_int_equal(
          options_set(run, "optimizer", study_contenders[i].optimizer, NULL, &error),
          MOUSSE_OK);
      assert_int_equal(details_set(run, 64, at, study_contenders[i].memory, &error), MOUSSE_OK);
      assert_true(strtod(run->options[0].value, NULL) > 0);
    }
  mo_release(NULL, run, sizeof *run);
}

static void an_edge_is_seen(void **state)
{
  (void)state;
  size_t waves = 0;
  const search s = run_search(1, 3, 100, 0, &waves); /* the bottom is far above */
  assert_false(search_inside(&s, 0));
}

/* What docs/evidence-protocol.md holds the scales to. */
static void scales_keep_the_protocol(void **state)
{
  (void)state;
  static const char *const names[] = {"laptop", "overnight"};
  for (size_t n = 0; n < 2; n++) {
    const study_scale *scale = study_scale_find(names[n]);
    bool small_batch = false, large_batch = false;
    for (int i = 0; i < scale->regime_count; i++) {
      const study_regime *r = &scale->regimes[i];
      const int batch = r->batch_size * scale->sequence_length;
      const double weights = study_regime_weights(scale, r);
      assert_true(r->steps >= 500);
      assert_true((double)r->steps * batch >= 15 * weights);
      assert_true(2.0 * scale->vocabulary * r->width <= 0.5 * weights);
      assert_int_equal(r->width % r->heads, 0);
      small_batch = small_batch || batch == 8192;
      large_batch = large_batch || batch == 32768;
    }
    assert_true(small_batch && large_batch && scale->seeds >= 5);
    assert_true(scale->search_runs + 2 * scale->details <= SEARCH_MOST &&
                scale->seeds <= STUDY_MOST_SEEDS);
    assert_true(scale->validations <= STUDY_LIMITS);
  }
}

/* Everybody who is compared is an algorithm of the library, with options that it has. */
static void contenders_are_of_the_library(void **state)
{
  (void)state;
  study_protocol protocol;
  study_runs runs = {.directory = "somewhere"};
  mo_error error = {{0}};
  bool more = false;
  assert_int_equal(protocol_plan(&protocol, study_scale_find("smoke"),
                                 (study_request){.figures = ALL_FIGURES}, "d", &error),
                   MOUSSE_OK);
  assert_int_equal(protocol_tune(&protocol, (study_stage){.home = true}, &runs, &more, &error),
                   MOUSSE_OK);
  assert_true(more);
  assert_int_equal(runs.count, study_contender_count);
  for (size_t i = 0; i < protocol.count; i++)
    for (size_t k = 0; k < i; k++)
      assert_string_not_equal(protocol.cells[i].name, protocol.cells[k].name);
  study_release(&runs);
  protocol_release(&protocol);
}

/* In other regimes momentum goes with the square root of the length; in those as long as home it
 * stays. */
static void momentum_follows_the_length(void **state)
{
  (void)state;
  study_protocol protocol;
  study_runs runs = {.directory = "somewhere"};
  mo_error error = {{0}};
  bool more = false, longer = false, as_long = false;
  const study_scale *scale = study_scale_find("laptop");
  assert_int_equal(protocol_plan(&protocol, scale,
                                 (study_request){.figures = FIGURE_BIT(verdict)}, "d", &error),
                   MOUSSE_OK);
  for (size_t i = 0; i < protocol.count; i++) {
    study_cell *cell = &protocol.cells[i];
    if (!cell->home) continue;
    search_add(&cell->tuning, (search_point){{1, 2}}, 3.0, 0); /* what it has found */
    cell->rate_count = 1;
    cell->best = 0;
  }
  for (int regime = 1; regime < scale->regime_count; regime++)
    assert_int_equal(
        protocol_tune(&protocol, (study_stage){.regime = regime}, &runs, &more, &error),
        MOUSSE_OK);
  for (size_t i = 0; i < protocol.count; i++) {
    const study_cell *cell = &protocol.cells[i];
    const study_cell *home =
        protocol_find(&protocol, STUDY_COSINE, 0, study_contenders[cell->who].label);
    if (cell->regime == 0 || cell->follows != SIZE_MAX || home == NULL) continue;
    assert_int_equal(cell->tuning.budget, cell->regime == scale->regime_count - 1 ? 4 : 5);
    const double length = (double)cell->run.num_iterations / (double)home->run.num_iterations;
    const double rest = (1 - cell_best(home).momentum) / sqrt(length);
    assert_true(fabs(1 - cell_best(cell).momentum - rest) < 1e-9);
    longer = longer || length > 1.5;
    as_long = as_long || length == 1.0;
  }
  assert_true(longer && as_long);
  study_release(&runs);
  protocol_release(&protocol);
}

/* Screening is the first part of a search: as many runs as that has, no details, no seeds. With the
 * verdict beside it, the search is whole. */
static void screening_is_the_first_part_of_a_search(void **state)
{
  (void)state;
  const study_scale *scale = study_scale_find("laptop");
  const unsigned asked[] = {FIGURE_BIT(screening), FIGURE_BIT(screening) | FIGURE_BIT(verdict)};
  for (size_t i = 0; i < 2; i++) {
    study_protocol protocol;
    mo_error error = {{0}};
    assert_int_equal(
        protocol_plan(&protocol, scale, (study_request){.figures = asked[i]}, "d", &error),
        MOUSSE_OK);
    for (size_t who = 0; who < study_contender_count; who++) {
      const study_cell *cell =
          protocol_find(&protocol, STUDY_COSINE, 0, study_contenders[who].label);
      assert_non_null(cell);
      assert_int_equal(cell->tuning.budget, scale->search_runs);
      assert_int_equal(cell->tuning.alone, i == 0 ? 0 : scale->details);
      assert_int_equal(cell->seed_count, i == 0 ? 0 : scale->seeds);
    }
    if (i == 0) assert_int_equal(protocol.count, study_contender_count);
    protocol_release(&protocol);
  }
}

/* What is added to a contender and is behind it in the search, beyond what one seed may do, is not
 * run with the seeds that decide; all else is. */
static void what_loses_its_search_gets_no_seeds(void **state)
{
  (void)state;
  study_protocol protocol;
  study_runs runs = {.directory = "somewhere"};
  mo_error error = {{0}};
  const study_scale *scale = study_scale_find("laptop");
  const study_request request = {.figures = FIGURE_BIT(extras) | FIGURE_BIT(tempering)};
  assert_int_equal(protocol_plan(&protocol, scale, request, "d", &error), MOUSSE_OK);
  size_t lost = 0, decided = 0, expected = 0;
  for (size_t i = 0; i < protocol.count; i++) {
    study_cell *cell = &protocol.cells[i];
    const double limit =
        (cell->figures & FIGURE_BIT(extras)) != 0 ? STUDY_EXTRA_BEHIND : STUDY_BEHIND;
    const double behind = cell->home ? 0 : i % 2 == 0 ? 1.1 * limit : 0.9 * limit;
    if (cell->follows != SIZE_MAX) continue;
    search_add(&cell->tuning, (search_point){{0}}, 3.0 + behind, 0);
    cell->rate_count = 1;
    cell->best = 0;
  }
  assert_int_equal(protocol_add_seeds(&protocol, 0, &runs, &error), MOUSSE_OK);
  for (size_t i = 0; i < protocol.count; i++) {
    const study_cell *cell = &protocol.cells[i];
    if (cell->regime != 0 || cell->figures == 0) continue;
    const bool may_lose = !cell->home && cell->follows == SIZE_MAX;
    assert_int_equal(cell->seed_count, may_lose && i % 2 == 0 ? 0 : scale->seeds);
    lost += cell->seed_count == 0;
    decided += may_lose && cell->seed_count > 0;
    expected += cell->seed_count;
  }
  assert_true(lost > 2 && decided > 2);
  assert_int_equal(runs.count, expected);
  study_release(&runs);
  protocol_release(&protocol);
}

/* Those in the list and those that are expected; all searches of a regime go on as if their runs had
 * ended with falling losses. */
static size_t take_stage(study_protocol *p, study_stage stage, study_runs *runs)
{
  mo_error error = {{0}};
  const size_t all = runs->count + runs->expected.count;
  for (bool more = true; more;) {
    assert_int_equal(protocol_tune(p, stage, runs, &more, &error), MOUSSE_OK);
    if (all > 0) assert_int_equal(runs->count + runs->expected.count, all);
    for (size_t i = 0; i < runs->count; i++) {
      study_run *r = &runs->runs[i];
      r->state = STUDY_COMPLETE;
      r->archived = true; /* no files to be read */
      r->course.step = (uint64_t)r->run.num_iterations;
      r->course.val_loss = 4 - (double)i / 1000;
    }
  }
  return runs->count + runs->expected.count;
}

/* From the first wave on, as many runs are expected as there are in the end. */
static void all_runs_are_expected_from_the_start(void **state)
{
  (void)state;
  study_protocol protocol;
  study_runs runs = {.directory = "somewhere"};
  mo_error error = {{0}};
  const study_scale *scale = study_scale_find("smoke");
  const study_request request = {.figures = FIGURE_BIT(verdict) | FIGURE_BIT(sides)};
  assert_int_equal(protocol_plan(&protocol, scale, request, "d", &error), MOUSSE_OK);
  const size_t all = take_stage(&protocol, (study_stage){.home = true}, &runs);
  assert_true(runs.expected.count > 0 && runs.expected.work > 0);
  for (int regime = 0; regime < scale->regime_count; regime++) {
    take_stage(&protocol, (study_stage){.regime = regime}, &runs);
    assert_int_equal(protocol_add_seeds(&protocol, regime, &runs, &error), MOUSSE_OK);
    assert_int_equal(runs.count + runs.expected.count, all);
  }
  assert_int_equal(runs.count, all);
  assert_true(runs.expected.work == 0);
  study_release(&runs);
  protocol_release(&protocol);
}

/* Numbers of runs that did not end well are not told. */
static void what_diverged_is_told_in_words(void **state)
{
  (void)state;
  static const run_record nothing[4];
  study_protocol protocol;
  mo_error error = {{0}};
  const study_scale *scale = study_scale_find("smoke");
  const study_request request = {.figures = FIGURE_BIT(preconditioner) | FIGURE_BIT(pareto)};
  assert_int_equal(protocol_plan(&protocol, scale, request, "d", &error), MOUSSE_OK);
  run_group *groups = mo_allocate(NULL, protocol.count * sizeof *groups);
  for (size_t i = 0; i < protocol.count; i++) {
    run_group_start(&groups[i]);
    protocol.cells[i].rate_count = 1; /* a search has found one, and its seed is run 1 */
    protocol.cells[i].seeds[0] = 1;
  }
  const study_runs runs = {.runs = mo_allocate(NULL, 4 * sizeof *runs.runs)};
  const study_evidence e = {.protocol = &protocol,
                            .runs = &runs,
                            .records = (run_record *)(uintptr_t)nothing,
                            .groups = groups};
  json_t *results = results_new("", "");
  void (*const makers[])(const study_evidence *, json_t *) = {figure_preconditioner,
                                                              figure_pareto};
  for (size_t i = 0; i < 2; i++) {
    json_t *figure = results_figure(results, "a", "", "");
    makers[i](&e, figure);
    const char *told = json_string_value(json_object_get(figure, "finding"));
    assert_non_null(strstr(told, "diverged"));
    assert_true(strstr(told, "inf") == NULL && strstr(told, "nan") == NULL);
  }
  json_decref(results);
  mo_release(NULL, runs.runs, 4 * sizeof *runs.runs);
  mo_release(NULL, groups, protocol.count * sizeof *groups);
  protocol_release(&protocol);
}

/* A search may step beyond the momenta that are allowed: what it is drawn with is what was run. */
static void a_search_is_drawn_with_the_momenta_that_were_run(void **state)
{
  (void)state;
  study_protocol protocol;
  mo_error error = {{0}};
  const study_request request = {.figures = FIGURE_BIT(tuning)};
  assert_int_equal(protocol_plan(&protocol, study_scale_find("smoke"), request, "d", &error),
                   MOUSSE_OK);
  const study_runs runs = {.runs = mo_allocate(NULL, sizeof *runs.runs)};
  const study_evidence e = {.protocol = &protocol, .runs = &runs};
  assert_true(protocol.cells[0].home);
  search_add(&protocol.cells[0].tuning, (search_point){{0, 8}}, 3.0, 0); /* 16 times 1 - 0.9 */
  json_t *results = results_new("", "");
  json_t *figure = results_figure(results, "a", "", "");
  figure_tuning(&e, figure);
  const json_t *chart = json_array_get(json_object_get(figure, "charts"), 0);
  const json_t *series = json_array_get(json_object_get(chart, "series"), 0);
  assert_string_equal(json_string_value(json_object_get(series, "name")), "momentum 0.2");
  json_decref(results);
  mo_release(NULL, runs.runs, sizeof *runs.runs);
  protocol_release(&protocol);
}

static void contenders_can_be_told_apart(void **state)
{
  (void)state;
  json_t *results = results_new("", "");
  json_t *chart = results_chart(results_figure(results, "a", "", ""), "",
                                results_axis("", "linear"), results_axis("", "linear"));
  for (size_t i = 0; i < study_contender_count; i++)
    results_series(chart, study_contenders[i].label, "line");
  chart_styles_add(results);
  const json_t *list = json_object_get(chart, "series");
  for (size_t i = 0; i < study_contender_count; i++)
    for (size_t k = 0; k < i; k++) {
      const json_t *one = json_object_get(json_array_get(list, i), "color");
      const json_t *other = json_object_get(json_array_get(list, k), "color");
      const bool same =
          strcmp(study_contenders[i].optimizer, study_contenders[k].optimizer) == 0;
      if (!same) assert_false(json_equal(one, other));
    }
  json_decref(results);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_bottom_within_its_budget),
      cmocka_unit_test(no_point_is_tried_twice),
      cmocka_unit_test(what_diverges_never_wins),
      cmocka_unit_test(details_follow_one_by_one),
      cmocka_unit_test(details_set_options),
      cmocka_unit_test(every_contender_has_a_decay_to_tune),
      cmocka_unit_test(an_edge_is_seen),
      cmocka_unit_test(scales_keep_the_protocol),
      cmocka_unit_test(contenders_are_of_the_library),
      cmocka_unit_test(momentum_follows_the_length),
      cmocka_unit_test(screening_is_the_first_part_of_a_search),
      cmocka_unit_test(what_loses_its_search_gets_no_seeds),
      cmocka_unit_test(all_runs_are_expected_from_the_start),
      cmocka_unit_test(what_diverged_is_told_in_words),
      cmocka_unit_test(a_search_is_drawn_with_the_momenta_that_were_run),
      cmocka_unit_test(contenders_can_be_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
