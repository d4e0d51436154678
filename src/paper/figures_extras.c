/* figures_extras.c - what helps Muon and Mousse alike, and whether Mousse is still ahead of a Muon
 * that has the same. */
#include "paper/evidence.h"

#include <math.h>
#include <stdio.h>

static const char *const bases[] = {"muon", "mousse no-graft"};

static const study_cell *find(const study_evidence *e, const char *base, const char *extra)
{
  char label[96];
  snprintf(label, sizeof label, "%s%s%s", base, extra[0] != '\0' ? ", " : "", extra);
  return protocol_find(e->protocol, STUDY_COSINE, 0, label);
}

static void add_row(const study_evidence *e, const char *base, const char *extra,
                    json_t *figure, json_t *table)
{
  char text[64];
  const study_cell *c = find(e, base, extra), *without = find(e, base, "");
  const bool added = extra[0] != '\0';
  const cell_gain gain = cell_gain_over(e, c, without);
  json_t *row = results_row(table);
  cell_loss_text(e, c, text);
  results_text(row, base);
  results_text(row, added ? extra : "nothing");
  results_number(row, cell_best_rate(c));
  results_text(row, text);
  results_number(row, added ? cell_behind(c, without) : NAN);
  results_number(row, added ? gain.difference.mean : NAN);
  results_number(row, added ? run_mean_margin(gain.difference) : NAN);
  results_text(row, added ? cell_verdict(e, c, without) : "");
  results_number(row, added ? gain.steps.value : NAN);
  cell_name_runs(e, c, figure);
}

/* Both with the same: is what Mousse adds still there? */
static void add_pair(const study_evidence *e, const char *extra, json_t *table, json_t *series,
                     json_t *categories)
{
  const char *name = extra[0] != '\0' ? extra : "nothing";
  const study_cell *ours = find(e, bases[1], extra), *theirs = find(e, bases[0], extra);
  const cell_gain gain = cell_gain_over(e, ours, theirs);
  json_t *row = results_row(table);
  results_text(row, name);
  results_number(row, gain.difference.mean);
  results_number(row, run_mean_margin(gain.difference));
  const bool both_run = ours->seed_count > 0 && theirs->seed_count > 0;
  results_text(row, both_run ? cell_verdict(e, ours, theirs) : "not run");
  results_number(row, gain.steps.value);
  results_category(categories, name);
  results_point_between(series, (double)json_array_size(json_object_get(table, "rows")) - 1,
                        gain.steps.value, gain.steps.low, gain.steps.high);
}

static size_t count_better(const study_evidence *e, const char *base)
{
  size_t better = 0;
  for (size_t i = 0; i < study_extra_count; i++)
    better += cell_is_better(e, find(e, base, study_extras[i]), find(e, base, ""));
  return better;
}

void figure_extras(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {
      "contender",  "with", "learning rate", "final loss",     "in the search",
      "to without", "±95%", "in words",      "steps saved, %", NULL};
  static const char *const pairs[] = {"both with", "Mousse to Muon", "±95%",
                                      "in words",  "steps saved, %", NULL};
  json_t *categories = results_categories("both with");
  json_t *chart = results_chart(figure, "Steps that Mousse without grafting saves against Muon",
                                categories, results_axis("% of Muon's steps", "linear"));
  json_t *series = results_series(chart, bases[1], "bars");
  json_t *table = results_table(figure, "Each against the same without it", columns);
  json_t *both = results_table(figure, "Mousse without grafting against Muon", pairs);
  for (size_t k = 0; k < 2; k++) {
    add_row(e, bases[k], "", figure, table);
    for (size_t i = 0; i < study_extra_count; i++)
      add_row(e, bases[k], study_extras[i], figure, table);
  }
  add_pair(e, "", both, series, categories);
  for (size_t i = 0; i < study_extra_count; i++)
    add_pair(e, study_extras[i], both, series, categories);
  results_finding(figure,
                  "Of %zu extras %zu make Muon clearly better and %zu Mousse without grafting.",
                  study_extra_count, count_better(e, bases[0]), count_better(e, bases[1]));
}
