/* report_runs.c - the figures of 'mousse report'.
 *
 * Compared are the best learning rates: of each variant (run_groups.h) the group with the
 * lowest mean final loss. Where there are few groups, curves are shown of all.
 */
#include "study/report_runs.h"

#include "study/curves.h"
#include "study/report_maker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FEW_GROUPS = 8, CHART_POINTS = 30000 };
static const double megabyte = 1e6;

const run_group *report_best(const report_maker *m, size_t variant)
{
  const size_t best = m->groups.variants[variant].best;
  return best < SIZE_MAX ? &m->groups.list[best] : NULL;
}

static bool is_shown(const report_maker *m, size_t group)
{
  const size_t best = m->groups.variants[m->groups.list[group].variant].best;
  return m->groups.count <= FEW_GROUPS || best == group;
}

void report_name_runs(json_t *figure, const run_group *group)
{
  for (size_t i = 0; i < group->count; i++) results_run(figure, group->runs[i]->name);
}

/* The largest mean final loss at the best learning rates: all of them reach it. */
static double common_loss(const report_maker *m)
{
  double worst = NAN;
  for (size_t v = 0; v < m->groups.variant_count; v++)
    if (report_best(m, v) != NULL) worst = fmax(worst, report_best(m, v)->final_loss.mean);
  return worst;
}

/* Many curves share the points of a chart: the document stays small enough to be read again, and
 * among hundreds of curves nobody sees a single point. */
static size_t points_of_curve(size_t curves)
{
  return curves * CURVE_POINTS <= CHART_POINTS ? CURVE_POINTS : CHART_POINTS / curves;
}

/* A curve that blows up would press all others flat: the chart fits those that do not, and what
 * leaves it is cut off. from: the part of the longest run before it is not shown. */
static void add_curve_chart(const report_maker *m, json_t *figure, const char *label,
                            double from, curve_maker *curve)
{
  double last = 0;
  size_t curves = 0;
  for (size_t i = 0; i < m->groups.count; i++) {
    if (!is_shown(m, i)) continue;
    last = fmax(last, curve_last_step(&m->groups.list[i]));
    curves++;
  }
  char title[128], name[RUN_LABEL + 16];
  snprintf(title, sizeof title, "%s, %s",
           m->groups.count > FEW_GROUPS ? "Best learning rates" : "All settings",
           from > 0 ? "second half" : "whole run");
  json_t *chart = results_chart(figure, title, results_axis("step", "linear"),
                                results_axis(label, "linear"));
  curve_views(chart);
  for (size_t i = 0; i < m->groups.count; i++) {
    const run_group *group = &m->groups.list[i];
    const bool blew_up = run_group_blew_up(group);
    if (!is_shown(m, i) || curve_last_step(group) < from * last) continue;
    snprintf(name, sizeof name, "%s%s", group->label, blew_up ? " (diverged)" : "");
    json_t *series = results_series(chart, name, "line");
    curve(series, group, from * last, points_of_curve(curves));
    if (!blew_up) results_fit(chart, series);
  }
}

/* The first steps fall so far that the differences at the end need a chart of their own. */
static void add_curves(const report_maker *m, const char *id, const char *title,
                       const char *label, curve_maker *curve)
{
  json_t *figure = results_figure(m->results, id, title, "");
  add_curve_chart(m, figure, label, 0, curve);
  add_curve_chart(m, figure, label, 0.5, curve);
  for (size_t i = 0; i < m->groups.count; i++)
    if (is_shown(m, i)) report_name_runs(figure, &m->groups.list[i]);
}

/* Whether the best learning rate of a variant is the lowest or highest of several tried. */
static bool is_at_edge(const report_maker *m, const run_group *best)
{
  const run_group *list = m->groups.list, *end = list + m->groups.count;
  const bool lower = best > list && best[-1].variant == best->variant;
  const bool higher = best + 1 < end && best[1].variant == best->variant;
  return lower != higher;
}

/* " Diverged: mousse lr 5, muon lr 2." or nothing. */
static void list_diverged(const report_maker *m, char text[512])
{
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < m->groups.count && used < 512 - RUN_LABEL - 32; i++) {
    const run_group *group = &m->groups.list[i];
    if (!run_group_blew_up(group)) continue;
    used +=
        (size_t)snprintf(text + used, 512 - used, "%s %s lr %g", used == 0 ? " Diverged:" : ",",
                         m->groups.variants[group->variant].label, group->lr);
  }
  if (used > 0) snprintf(text + used, 512 - used, ".");
}

static void tell_sweep(const report_maker *m, json_t *figure)
{
  char text[1024] = "", *at = text, diverged[512];
  size_t edges = 0;
  for (size_t v = 0; v < m->groups.variant_count; v++) {
    const run_group *best = report_best(m, v);
    const size_t left = sizeof text - (size_t)(at - text);
    if (best == NULL || left < RUN_LABEL + 32) continue;
    edges += is_at_edge(m, best);
    at += snprintf(at, left, "%s%s %g%s", at > text ? ", " : "", m->groups.variants[v].label,
                   best->lr, is_at_edge(m, best) ? "*" : "");
  }
  list_diverged(m, diverged);
  if (at > text)
    results_finding(
        figure, "Best learning rates: %s.%s%s", text,
        edges > 0 ? " * The lowest or highest one tried: a better one may lie beyond." : "",
        diverged);
}

static void draw_variant(const report_maker *m, json_t *figure, json_t *chart, size_t variant)
{
  json_t *series = results_series(chart, m->groups.variants[variant].label, "line");
  for (size_t i = 0; i < m->groups.count; i++) {
    const run_group *group = &m->groups.list[i];
    if (group->variant != variant) continue;
    const run_mean *loss = &group->final_loss;
    results_point(series, group->lr, loss->mean, loss->spread);
    if (!run_group_blew_up(group)) results_fit_point(chart, loss->mean, loss->spread);
    report_name_runs(figure, group);
  }
}

static void add_sweep(const report_maker *m)
{
  json_t *figure =
      results_figure(m->results, "lr-sweep", "Final loss against learning rate", "");
  json_t *chart =
      results_chart(figure, "Final validation loss, mean and standard deviation over seeds",
                    results_axis("peak learning rate", "log"),
                    results_axis("final validation loss", "linear"));
  for (size_t v = 0; v < m->groups.variant_count; v++) draw_variant(m, figure, chart, v);
  tell_sweep(m, figure);
}

/* Bars of one quantity at the best learning rates; nothing when it is not known of any. */
static void add_bars(const report_maker *m, json_t *figure, const char *title,
                     const char *label, run_mean (*quantity)(const run_group *), double unit)
{
  json_t *axis = results_categories("optimizer"), *series = NULL;
  for (size_t v = 0, place = 0; v < m->groups.variant_count; v++) {
    const run_group *group = report_best(m, v);
    if (group == NULL || quantity(group).count == 0) continue;
    const run_mean mean = quantity(group);
    if (series == NULL)
      series = results_series(
          results_chart(figure, title, json_incref(axis), results_axis(label, "linear")), label,
          "bars");
    results_category(axis, m->groups.variants[v].label);
    results_point(series, (double)place++, mean.mean / unit, mean.spread / unit);
    report_name_runs(figure, group);
  }
  json_decref(axis);
}

static run_mean step_seconds(const run_group *group)
{
  return group->step_seconds;
}

static run_mean peak_bytes(const run_group *group)
{
  return group->peak_bytes;
}

static void add_cost(const report_maker *m)
{
  if (!isfinite(common_loss(m))) return;
  json_t *figure = results_figure(m->results, "cost", "Time and memory", "");
  add_bars(m, figure, "Time of a step, median", "milliseconds", step_seconds, 1e-3);
  add_bars(m, figure, "Peak memory of the process", "MB", peak_bytes, megabyte);
}

static void add_runs(const report_maker *m)
{
  static const char *const columns[] = {"run",   "optimizer", "lr",          "seed",    "steps",
                                        "state", "last loss", "ms per step", "peak MB", NULL};
  json_t *figure = results_figure(m->results, "runs", "All runs", "");
  json_t *table = results_table(figure, "As they were read", columns);
  for (size_t i = 0; i < m->records->count; i++) {
    const run_record *run = &m->records->list[i];
    json_t *row = results_row(table);
    results_text(row, run->name);
    results_text(row, run->options.optimizer);
    results_number(row, run_record_lr(run));
    results_number(row, (double)run->options.seed);
    results_number(row, run->step_count > 0 ? (double)run->steps[run->step_count - 1].step : 0);
    results_text(row, run_record_state(run));
    results_number(row, run->final_loss);
    results_number(row, 1e3 * run->step_seconds);
    results_number(row, run->result.peak_bytes / megabyte);
    results_run(figure, run->name);
  }
}

/* "muon-1: options changed at step 100 (lr 0.02 to 0.05) and at step 250 (...)." */
static void note_changes(const report_maker *m, const run_record *run)
{
  char text[1024];
  const run_history *history = &run->history;
  if (history->count == 0) return;
  size_t used = (size_t)snprintf(text, sizeof text, "%.200s: options changed", run->name);
  for (size_t i = 0; i < history->count && used + 280 < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s at step %llu (%s)",
                             i > 0 ? " and" : "", (unsigned long long)history->changes[i].step,
                             history->changes[i].text);
  snprintf(text + used, sizeof text - used, ".");
  results_note(m->results, text);
}

/* Copies, branches, and values that were written in two ways. */
static void note_repeats(const report_maker *m)
{
  char text[512];
  size_t count = 0;
  const run_record *first = NULL;
  for (size_t i = 0; i < m->groups.count; i++) {
    const run_group *group = &m->groups.list[i];
    if (first == NULL) first = group->repeat;
    count += group->repeats;
  }
  if (count == 0) return;
  snprintf(text, sizeof text,
           "%zu of %zu runs (%s%.200s) %s the options and the seed of another one: means, "
           "spreads and curves leave %s out.",
           count, m->records->count, count > 1 ? "such as " : "", first->name,
           count > 1 ? "have" : "has", count > 1 ? "them" : "it");
  results_note(m->results, text);
}

static void add_notes(const report_maker *m)
{
  char text[320], names[128];
  size_t unfinished = 0;
  for (size_t i = 0; i < m->records->count; i++) unfinished += !m->records->list[i].complete;
  if (run_records_unlike(m->records, names, sizeof names)) {
    snprintf(text, sizeof text,
             "The runs differ in %s: their losses, and the way to a common loss, compare "
             "unlike things.",
             names);
    results_note(m->results, text);
  }
  results_note(m->results,
               "Losses are in nats per token. Seconds are steps times the median seconds of a "
               "step, without validations and checkpoints: on a machine that other programs "
               "share, this varies less than the clock.");
  results_note(m->results,
               "A spread is the standard deviation over runs that differ only in their seed.");
  snprintf(text, sizeof text, "%zu of %zu runs did not complete: %s no final loss.", unfinished,
           m->records->count, unfinished > 1 ? "they have" : "it has");
  if (unfinished > 0) results_note(m->results, text);
  note_repeats(m);
  for (size_t i = 0; i < m->records->count; i++) note_changes(m, &m->records->list[i]);
}

mousse_status report_runs(const run_records *records, const char *command, double target,
                          json_t **results, mo_error *error)
{
  char title[64];
  report_maker m = {.records = records, .target = target};
  snprintf(title, sizeof title, "%zu training %s", records->count,
           records->count == 1 ? "run" : "runs");
  MO_TRY(run_groups_make(&m.groups, records, error));
  m.results = results_new(title, command);
  if (!isfinite(m.target)) m.target = common_loss(&m);
  add_notes(&m);
  report_summary(&m);
  add_curves(&m, "validation", "Validation loss", "validation loss", curve_validation);
  add_curves(&m, "training", "Training loss, smoothed", "training loss", curve_training);
  add_sweep(&m);
  add_cost(&m);
  add_runs(&m);
  run_groups_release(&m.groups);
  const mousse_status status = results_check(m.results, error);
  if (status == MOUSSE_OK)
    *results = m.results;
  else
    json_decref(m.results);
  return status;
}
