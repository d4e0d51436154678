/* report_runs.c - the figures of 'mousse report'.
 *
 * Compared are the best learning rates: of each variant (run_groups.h) the group with the
 * lowest mean final loss. Where there are few groups, curves are shown of all.
 */
#include "study/report_runs.h"

#include "study/curves.h"
#include "study/run_groups.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FEW_GROUPS = 8, SEEDS_OF_A_CLAIM = 3 };
static const double mebibyte = 1 << 20;

/* What the figures are made of. */
typedef struct maker {
  const run_records *records;
  run_groups groups;
  double target;
  json_t *results;
} maker;

static const run_group *best_of(const maker *m, size_t variant)
{
  const size_t best = m->groups.variants[variant].best;
  return best < SIZE_MAX ? &m->groups.list[best] : NULL;
}

static bool is_shown(const maker *m, size_t group)
{
  const size_t best = m->groups.variants[m->groups.list[group].variant].best;
  return m->groups.count <= FEW_GROUPS || best == group;
}

static void name_runs(json_t *figure, const run_group *group)
{
  for (size_t i = 0; i < group->count; i++) results_run(figure, group->runs[i]->name);
}

/* The largest mean final loss at the best learning rates: all of them reach it. */
static double common_loss(const maker *m)
{
  double worst = NAN;
  for (size_t v = 0; v < m->groups.variant_count; v++)
    if (best_of(m, v) != NULL) worst = fmax(worst, best_of(m, v)->final_loss.mean);
  return worst;
}

/* Whether a run tells bits per byte: then a column has them. */
static bool has_bits(const maker *m)
{
  for (size_t v = 0; v < m->groups.variant_count; v++)
    if (best_of(m, v) != NULL && best_of(m, v)->final_bits.count > 0) return true;
  return false;
}

/* Columns of the summary: what is not known of any run has none. */
typedef struct summary {
  json_t *figure, *table;
  bool bits, way, memory;
} summary;

static void add_summary_row(const maker *m, const summary *s, const run_group *group)
{
  const double steps = run_group_steps_to(group, m->target);
  json_t *row = results_row(s->table);
  results_text(row, m->groups.variants[group->variant].label);
  results_number(row, group->lr);
  results_number(row, (double)group->final_loss.count);
  results_number(row, group->final_loss.mean);
  results_number(row, group->final_loss.spread);
  if (s->bits) results_number(row, group->final_bits.mean);
  if (s->way) results_number(row, rint(10 * steps) / 10);
  if (s->way) results_number(row, steps * group->step_seconds.mean);
  results_number(row, 1e3 * group->step_seconds.mean);
  if (s->memory) results_number(row, group->peak_bytes.mean / mebibyte);
  name_runs(s->figure, group);
}

/* The variant with the lowest mean final loss, but for one. NULL: none is left. */
static const run_group *winner_without(const maker *m, const run_group *without)
{
  const run_group *winner = NULL;
  for (size_t v = 0; v < m->groups.variant_count; v++) {
    const run_group *group = best_of(m, v);
    if (group == NULL || group == without) continue;
    if (winner == NULL || group->final_loss.mean < winner->final_loss.mean) winner = group;
  }
  return winner;
}

static void print_mean(char text[64], const run_mean *mean)
{
  if (isfinite(mean->spread))
    snprintf(text, 64, "%.4f ± %.4f", mean->mean, mean->spread);
  else
    snprintf(text, 64, "%.4f", mean->mean);
}

/* "after 80 steps", or that it is not. */
static void print_steps(char text[64], const maker *m, const run_group *group)
{
  const double steps = run_group_steps_to(group, m->target);
  if (isfinite(steps))
    snprintf(text, 64, "after %.0f steps", steps);
  else
    snprintf(text, 64, "never");
}

static void tell_two(const maker *m, json_t *figure, const run_group *first,
                     const run_group *next)
{
  char loss[64], then[64], steps[64], more[64];
  print_mean(loss, &first->final_loss);
  print_mean(then, &next->final_loss);
  print_steps(steps, m, first);
  print_steps(more, m, next);
  const bool few =
      first->final_loss.count < SEEDS_OF_A_CLAIM || next->final_loss.count < SEEDS_OF_A_CLAIM;
  results_finding(
      figure,
      "Lowest final validation loss: %s with %s, then %s with %s. The first reaches "
      "a loss of %.4f %s, the second %s.%s",
      first->label, loss, next->label, then, m->target, steps, more,
      few ? " Fewer than three seeds each: a direction, not a claim." : "");
}

static void tell_summary(const maker *m, json_t *figure)
{
  const run_group *first = winner_without(m, NULL), *next = winner_without(m, first);
  char loss[64];
  if (first == NULL) {
    results_finding(figure, "No run took all its steps, so there is no final loss to compare.");
  } else if (next == NULL) {
    print_mean(loss, &first->final_loss);
    results_finding(figure, "%s ends at a validation loss of %s.", first->label, loss);
  } else {
    tell_two(m, figure, first, next);
  }
}

static bool knows_memory(const maker *m)
{
  for (size_t i = 0; i < m->groups.count; i++)
    if (m->groups.list[i].peak_bytes.count > 0) return true;
  return false;
}

static void add_summary(const maker *m)
{
  char steps[64], seconds[64];
  const char *columns[12] = {"optimizer", "lr", "seeds", "final loss", "±"};
  size_t count = 5;
  summary s = {.bits = has_bits(m), .way = isfinite(m->target), .memory = knows_memory(m)};
  snprintf(steps, sizeof steps, "steps to %.4f", m->target);
  snprintf(seconds, sizeof seconds, "seconds to %.4f", m->target);
  if (s.bits) columns[count++] = "bits per byte";
  if (s.way) columns[count++] = steps;
  if (s.way) columns[count++] = seconds;
  columns[count++] = "ms per step";
  if (s.memory) columns[count++] = "peak MiB";
  s.figure = results_figure(m->results, "summary", "At the best learning rates", "");
  tell_summary(m, s.figure);
  if (winner_without(m, NULL) == NULL) return;
  s.table = results_table(
      s.figure, "Best learning rate of each, mean over seeds, and the way to a common loss",
      columns);
  for (size_t v = 0; v < m->groups.variant_count; v++)
    if (best_of(m, v) != NULL) add_summary_row(m, &s, best_of(m, v));
}

/* A curve that blows up would press all others flat: the chart fits those that do not, and what
 * leaves it is cut off. from: the part of the run before it is not shown. */
static void add_curve_chart(const maker *m, json_t *figure, const char *label, double from,
                            curve_maker *curve)
{
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
    if (!is_shown(m, i)) continue;
    snprintf(name, sizeof name, "%s%s", group->label, blew_up ? " (diverged)" : "");
    json_t *series = results_series(chart, name, "line");
    curve(series, group, from);
    if (!blew_up) results_fit(chart, series);
  }
}

/* The first steps fall so far that the differences at the end need a chart of their own. */
static void add_curves(const maker *m, const char *id, const char *title, const char *label,
                       curve_maker *curve)
{
  json_t *figure = results_figure(m->results, id, title, "");
  add_curve_chart(m, figure, label, 0, curve);
  add_curve_chart(m, figure, label, 0.5, curve);
  for (size_t i = 0; i < m->groups.count; i++)
    if (is_shown(m, i)) name_runs(figure, &m->groups.list[i]);
}

/* Whether the best learning rate of a variant is the lowest or highest of several tried. */
static bool is_at_edge(const maker *m, const run_group *best)
{
  const run_group *list = m->groups.list, *end = list + m->groups.count;
  const bool lower = best > list && best[-1].variant == best->variant;
  const bool higher = best + 1 < end && best[1].variant == best->variant;
  return lower != higher;
}

static void tell_sweep(const maker *m, json_t *figure)
{
  char text[1024] = "", *at = text;
  size_t edges = 0;
  for (size_t v = 0; v < m->groups.variant_count; v++) {
    const run_group *best = best_of(m, v);
    const size_t left = sizeof text - (size_t)(at - text);
    if (best == NULL || left < RUN_LABEL + 32) continue;
    edges += is_at_edge(m, best);
    at += snprintf(at, left, "%s%s %g%s", at > text ? ", " : "", m->groups.variants[v].label,
                   best->lr, is_at_edge(m, best) ? "*" : "");
  }
  if (at > text)
    results_finding(
        figure, "Best learning rates: %s.%s", text,
        edges > 0 ? " * The lowest or highest one tried: a better one may lie beyond." : "");
}

static void draw_variant(const maker *m, json_t *figure, json_t *chart, size_t variant)
{
  json_t *series = results_series(chart, m->groups.variants[variant].label, "line");
  for (size_t i = 0; i < m->groups.count; i++) {
    const run_group *group = &m->groups.list[i];
    if (group->variant != variant) continue;
    const run_mean *loss = &group->final_loss;
    results_point(series, group->lr, loss->mean, loss->spread);
    if (!run_group_blew_up(group)) results_fit_point(chart, loss->mean, loss->spread);
    name_runs(figure, group);
  }
}

static void add_sweep(const maker *m)
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
static void add_bars(const maker *m, json_t *figure, const char *title, const char *label,
                     run_mean (*quantity)(const run_group *), double unit)
{
  json_t *axis = results_categories("optimizer"), *series = NULL;
  for (size_t v = 0, place = 0; v < m->groups.variant_count; v++) {
    const run_group *group = best_of(m, v);
    if (group == NULL || quantity(group).count == 0) continue;
    const run_mean mean = quantity(group);
    if (series == NULL)
      series = results_series(
          results_chart(figure, title, json_incref(axis), results_axis(label, "linear")), label,
          "bars");
    results_category(axis, m->groups.variants[v].label);
    results_point(series, (double)place++, mean.mean / unit, mean.spread / unit);
    name_runs(figure, group);
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

static void add_cost(const maker *m)
{
  if (winner_without(m, NULL) == NULL) return;
  json_t *figure = results_figure(m->results, "cost", "Time and memory", "");
  add_bars(m, figure, "Time of a step, median", "milliseconds", step_seconds, 1e-3);
  add_bars(m, figure, "Peak memory of the process", "MiB", peak_bytes, mebibyte);
}

static const char *state_of(const run_record *run)
{
  if (run->result.status == RECORD_DIVERGED) return "diverged";
  if (run->result.status == RECORD_FAILED) return "failed";
  return run->complete ? "complete" : "not finished";
}

static void add_runs(const maker *m)
{
  static const char *const columns[] = {"run",   "optimizer",  "lr",          "seed",
                                        "steps", "final loss", "ms per step", "peak MiB",
                                        "state", NULL};
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
    results_number(row, run->final_loss);
    results_number(row, 1e3 * run->step_seconds);
    results_number(row, run->result.peak_bytes / mebibyte);
    results_text(row, state_of(run));
    results_run(figure, run->name);
  }
}

static void add_notes(const maker *m)
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
  snprintf(text, sizeof text, "%zu of %zu runs did not take all their steps: no final loss.",
           unfinished, m->records->count);
  if (unfinished > 0) results_note(m->results, text);
}

mousse_status report_runs(const run_records *records, const char *command, double target,
                          json_t **results, mo_error *error)
{
  char title[64];
  maker m = {.records = records, .target = target};
  snprintf(title, sizeof title, "%zu training %s", records->count,
           records->count == 1 ? "run" : "runs");
  MO_TRY(run_groups_make(&m.groups, records, error));
  m.results = results_new(title, command);
  if (!isfinite(m.target)) m.target = common_loss(&m);
  add_notes(&m);
  add_summary(&m);
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
