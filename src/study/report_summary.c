/* report_summary.c - the first figure of a report: every variant at its best learning rate.
 * What is not known of any run has no column. */
#include "base/wording.h"
#include "study/report_maker.h"

#include <math.h>
#include <stdio.h>

enum { SEEDS_OF_A_CLAIM = 3 };
static const double megabyte = 1e6;

/* Whether a run tells bits per byte: then a column has them. */
static bool has_bits(const report_maker *m)
{
  for (size_t v = 0; v < m->groups.variant_count; v++)
    if (report_best(m, v) != NULL && report_best(m, v)->final_bits.count > 0) return true;
  return false;
}

/* Columns of the summary: what is not known of any run has none. */
typedef struct summary {
  json_t *figure, *table;
  bool bits, way, memory;
} summary;

static void add_summary_row(const report_maker *m, const summary *s, const run_group *group)
{
  const double steps = run_group_steps_to(group, m->target);
  json_t *row = results_row(s->table);
  results_text(row, m->groups.variants[group->variant].label);
  results_number(row, group->lr);
  results_number(row, (double)group->final_loss.count);
  results_number(row, group->final_loss.mean);
  results_number(row, group->final_loss.spread);
  if (s->bits) results_number(row, group->final_bits.mean);
  if (s->way) results_number(row, rint(steps));
  if (s->way) results_number(row, steps * group->step_seconds.mean);
  results_number(row, 1e3 * group->step_seconds.mean);
  if (s->memory) results_number(row, group->peak_bytes.mean / megabyte);
  report_name_runs(s->figure, group);
}

/* The variant with the lowest mean final loss, but for one. NULL: none is left. */
static const run_group *winner_without(const report_maker *m, const run_group *without)
{
  const run_group *winner = NULL;
  for (size_t v = 0; v < m->groups.variant_count; v++) {
    const run_group *group = report_best(m, v);
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
static void print_steps(char text[64], const report_maker *m, const run_group *group)
{
  const double steps = run_group_steps_to(group, m->target);
  if (isfinite(steps))
    snprintf(text, 64, "after %s", MO_COUNT(rint(steps), "step"));
  else
    snprintf(text, 64, "never");
}

static void tell_two(const report_maker *m, json_t *figure, const run_group *first,
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

static void tell_summary(const report_maker *m, json_t *figure)
{
  const run_group *first = winner_without(m, NULL), *next = winner_without(m, first);
  char loss[64];
  if (first == NULL) {
    results_finding(figure,
                    "No run is complete and was validated after its last step, so there is "
                    "no final loss to compare.");
  } else if (next == NULL) {
    print_mean(loss, &first->final_loss);
    results_finding(figure, "%s ends at a validation loss of %s.", first->label, loss);
  } else {
    tell_two(m, figure, first, next);
  }
}

static bool knows_memory(const report_maker *m)
{
  for (size_t i = 0; i < m->groups.count; i++)
    if (m->groups.list[i].peak_bytes.count > 0) return true;
  return false;
}

void report_summary(const report_maker *m)
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
  if (s.memory) columns[count++] = "peak MB";
  s.figure = results_figure(m->results, "summary", "At the best learning rates", "");
  tell_summary(m, s.figure);
  if (winner_without(m, NULL) == NULL) return;
  s.table = results_table(
      s.figure, "Best learning rate of each, mean over seeds, and the way to a common loss",
      columns);
  for (size_t v = 0; v < m->groups.variant_count; v++)
    if (report_best(m, v) != NULL) add_summary_row(m, &s, report_best(m, v));
}
