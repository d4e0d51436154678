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

/* The largest final loss of runs at the best learning rates: all of them reach it. */
static double common_loss(const maker *m)
{
  double worst = NAN;
  for (size_t v = 0; v < m->groups.variant_count; v++) {
    const run_group *group = best_of(m, v);
    for (size_t i = 0; group != NULL && i < group->count; i++)
      if (group->runs[i]->complete) worst = fmax(worst, group->runs[i]->final_loss);
  }
  return worst;
}

/* Mean and spread of steps, or of seconds, to the target. */
static mousse_status way_to_target(const maker *m, const run_group *group, bool seconds,
                                   run_mean *mean, mo_error *error)
{
  double *values = mo_allocate(NULL, group->count * sizeof *values);
  if (values == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a table");
  for (size_t i = 0; i < group->count; i++)
    values[i] = run_record_steps_to(group->runs[i], m->target) *
                (seconds ? group->runs[i]->step_seconds : 1);
  *mean = run_mean_of(values, group->count);
  mo_release(NULL, values, group->count * sizeof *values);
  return MOUSSE_OK;
}

static mousse_status add_summary_row(const maker *m, json_t *table, const run_group *group,
                                     mo_error *error)
{
  run_mean steps, seconds;
  MO_TRY(way_to_target(m, group, false, &steps, error));
  MO_TRY(way_to_target(m, group, true, &seconds, error));
  json_t *row = results_row(table);
  results_text(row, m->groups.variants[group->variant].label);
  results_number(row, group->lr);
  results_number(row, (double)group->final_loss.count);
  results_number(row, group->final_loss.mean);
  results_number(row, group->final_loss.spread);
  results_number(row, rint(10 * steps.mean) / 10);
  results_number(row, seconds.mean);
  results_number(row, 1e3 * group->step_seconds.mean);
  results_number(row, group->peak_bytes.mean / mebibyte);
  return MOUSSE_OK;
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

static mousse_status tell_summary(const maker *m, json_t *figure, mo_error *error)
{
  const run_group *first = winner_without(m, NULL), *next = winner_without(m, first);
  char loss[64], then[64];
  run_mean steps = {0}, more = {0};
  if (first == NULL) {
    results_finding(figure, "No run took all its steps, so there is no final loss to compare.");
    return MOUSSE_OK;
  }
  print_mean(loss, &first->final_loss);
  if (next == NULL) {
    results_finding(figure, "%s ends at a validation loss of %s.", first->label, loss);
    return MOUSSE_OK;
  }
  MO_TRY(way_to_target(m, first, false, &steps, error));
  MO_TRY(way_to_target(m, next, false, &more, error));
  print_mean(then, &next->final_loss);
  const bool few =
      first->final_loss.count < SEEDS_OF_A_CLAIM || next->final_loss.count < SEEDS_OF_A_CLAIM;
  results_finding(
      figure,
      "Lowest final validation loss: %s with %s, then %s with %s. A loss of %.4f is "
      "reached after %.0f and %.0f steps.%s",
      first->label, loss, next->label, then, m->target, steps.mean, more.mean,
      few ? " Fewer than three seeds each: a direction, not a claim." : "");
  return MOUSSE_OK;
}

static mousse_status add_summary(const maker *m, mo_error *error)
{
  char steps[64], seconds[64];
  snprintf(steps, sizeof steps, "steps to %.4f", m->target);
  snprintf(seconds, sizeof seconds, "seconds to %.4f", m->target);
  const char *const columns[] = {"optimizer", "lr",    "seeds",       "final loss", "±",
                                 steps,       seconds, "ms per step", "peak MiB",   NULL};
  json_t *figure = results_figure(m->results, "summary", "At the best learning rates", "");
  json_t *table = results_table(
      figure, "Best learning rate of each, mean over seeds, and the way to a common loss",
      columns);
  for (size_t v = 0; v < m->groups.variant_count; v++) {
    const run_group *group = best_of(m, v);
    if (group == NULL) continue;
    MO_TRY(add_summary_row(m, table, group, error));
    name_runs(figure, group);
  }
  return tell_summary(m, figure, error);
}

typedef mousse_status curve_maker(json_t *series, const run_group *group, double from,
                                  mo_error *error);

/* from: the part of the run before it is not shown. */
static mousse_status add_curve_chart(const maker *m, json_t *figure, const char *label,
                                     double from, curve_maker *curve, mo_error *error)
{
  char title[128];
  snprintf(title, sizeof title, "%s, %s",
           m->groups.count > FEW_GROUPS ? "Best learning rates" : "All settings",
           from > 0 ? "second half" : "whole run");
  json_t *chart = results_chart(figure, title, results_axis("step", "linear"),
                                results_axis(label, "linear"));
  for (size_t i = 0; i < m->groups.count; i++) {
    const run_group *group = &m->groups.list[i];
    if (is_shown(m, i))
      MO_TRY(curve(results_series(chart, group->label, "line"), group, from, error));
  }
  return MOUSSE_OK;
}

/* The first steps fall so far that the differences at the end need a chart of their own. */
static mousse_status add_curves(const maker *m, const char *id, const char *title,
                                const char *label, curve_maker *curve, mo_error *error)
{
  json_t *figure = results_figure(m->results, id, title, "");
  MO_TRY(add_curve_chart(m, figure, label, 0, curve, error));
  MO_TRY(add_curve_chart(m, figure, label, 0.5, curve, error));
  for (size_t i = 0; i < m->groups.count; i++)
    if (is_shown(m, i)) name_runs(figure, &m->groups.list[i]);
  return MOUSSE_OK;
}

/* The best learning rate of a variant has another on both sides. */
static bool is_inside(const maker *m, const run_group *best)
{
  const run_group *list = m->groups.list, *end = list + m->groups.count;
  return best > list && best + 1 < end && best[-1].variant == best->variant &&
         best[1].variant == best->variant;
}

static void tell_sweep(const maker *m, json_t *figure)
{
  char text[1024] = "", *at = text;
  size_t edges = 0;
  for (size_t v = 0; v < m->groups.variant_count; v++) {
    const run_group *best = best_of(m, v);
    const size_t left = sizeof text - (size_t)(at - text);
    if (best == NULL || left < RUN_LABEL + 32) continue;
    edges += !is_inside(m, best);
    at += snprintf(at, left, "%s%s %g%s", at > text ? ", " : "", m->groups.variants[v].label,
                   best->lr, is_inside(m, best) ? "" : "*");
  }
  if (at > text)
    results_finding(figure, "Best learning rates: %s.%s", text,
                    edges > 0 ? " * At the edge of those tried: there may be a better one "
                                "beyond."
                              : "");
}

static void add_sweep(const maker *m)
{
  json_t *figure =
      results_figure(m->results, "lr-sweep", "Final loss against learning rate", "");
  json_t *chart =
      results_chart(figure, "Final validation loss, mean and standard deviation over seeds",
                    results_axis("peak learning rate", "log"),
                    results_axis("final validation loss", "linear"));
  for (size_t v = 0; v < m->groups.variant_count; v++) {
    json_t *series = NULL;
    for (size_t i = 0; i < m->groups.count; i++) {
      const run_group *group = &m->groups.list[i];
      if (group->variant != v) continue;
      if (series == NULL) series = results_series(chart, m->groups.variants[v].label, "line");
      results_point(series, group->lr, group->final_loss.mean, group->final_loss.spread);
      name_runs(figure, group);
    }
  }
  tell_sweep(m, figure);
}

/* Bars of one quantity at the best learning rates; nothing when it is not known of any. */
static void add_bars(const maker *m, json_t *figure, const char *title, const char *label,
                     size_t quantity, double unit)
{
  json_t *axis = results_categories("optimizer"), *series = NULL;
  for (size_t v = 0, place = 0; v < m->groups.variant_count; v++) {
    run_mean mean;
    const run_group *group = best_of(m, v);
    if (group == NULL) continue;
    memcpy(&mean, (const char *)group + quantity, sizeof mean);
    if (mean.count == 0) continue;
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

static void add_cost(const maker *m)
{
  json_t *figure = results_figure(m->results, "cost", "Time and memory", "");
  add_bars(m, figure, "Time of a step, median", "milliseconds",
           offsetof(run_group, step_seconds), 1e-3);
  add_bars(m, figure, "Peak memory of the process", "MiB", offsetof(run_group, peak_bytes),
           mebibyte);
}

static const char *state_of(const run_record *run)
{
  if (run->status == RECORD_DIVERGED) return "diverged";
  if (run->status == RECORD_FAILED) return "failed";
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
    results_number(row, run->peak_bytes / mebibyte);
    results_text(row, state_of(run));
    results_run(figure, run->name);
  }
}

static void add_notes(const maker *m)
{
  char text[160];
  size_t unfinished = 0;
  const char *unlike = run_records_unlike(m->records);
  for (size_t i = 0; i < m->records->count; i++) unfinished += !m->records->list[i].complete;
  if (unlike != NULL) {
    snprintf(
        text, sizeof text,
        "The runs do not all have the same %s: their losses, and the way to a common loss, "
        "compare unlike things.",
        unlike);
    results_note(m->results, text);
  }
  results_note(
      m->results,
      "Losses are in nats per token. Seconds are steps times the median seconds of a "
      "step, validations and checkpoints not counted: on a machine that other programs "
      "share, this varies less than the clock.");
  results_note(m->results, "A spread is the standard deviation over runs that differ only in "
                           "their seed.");
  snprintf(text, sizeof text,
           "%zu of %zu runs did not take all their steps; they have no final "
           "loss here.",
           unfinished, m->records->count);
  if (unfinished > 0) results_note(m->results, text);
}

static mousse_status make(maker *m, mo_error *error)
{
  if (!isfinite(m->target)) m->target = common_loss(m);
  add_notes(m);
  MO_TRY(add_summary(m, error));
  MO_TRY(add_curves(m, "validation", "Validation loss", "validation loss", curve_validation,
                    error));
  MO_TRY(add_curves(m, "training", "Training loss, smoothed", "training loss", curve_training,
                    error));
  add_sweep(m);
  add_cost(m);
  add_runs(m);
  return results_check(m->results, error);
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
  const mousse_status status = make(&m, error);
  run_groups_release(&m.groups);
  if (status == MOUSSE_OK)
    *results = m.results;
  else
    json_decref(m.results);
  return status;
}
