/* figures_momentum.c - the best momentum against the length of the run.
 *
 *     memory = 1 / (1 - mu) steps
 *
 * found together with the learning rate at each length. If memory grows as a power of the number
 * of steps, the power is what the finding says. One seed per trial: a direction with steps of a
 * factor of 2 in 1 - mu, not a measurement to the last digit.
 */
#include "paper/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_shown(const study_cell *c, const char *who)
{
  return c->schedule == STUDY_COSINE && c->regime == 0 && c->tuning.together == 2 &&
         strcmp(study_contenders[c->who].label, who) == 0;
}

static void add_length_row(const study_evidence *e, const study_cell *c, json_t *figure,
                           json_t *table)
{
  json_t *row = results_row(table);
  const search_trial *best =
      search_best(&c->tuning); /* whose learning rate and momentum it is */
  results_text(row, study_contenders[c->who].label);
  results_number(row, (double)c->run.num_iterations);
  results_number(row, cell_best_rate(c));
  results_number(row, cell_best(c).momentum);
  results_number(row, 1 / (1 - cell_best(c).momentum));
  results_number(row, best != NULL ? best->loss : NAN);
  results_text(row, c->inside ? "inside" : "at an edge");
  for (size_t i = 0; i < c->tuning.count; i++)
    results_run(figure, e->runs->runs[c->tuning.trials[i].run].name);
}

/* The power p of memory = c steps^p, by least squares of logarithms over the lengths. */
static double power_of(const study_evidence *e, const char *who)
{
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (size_t i = 0; i < e->protocol->count; i++) {
    const study_cell *c = &e->protocol->cells[i];
    if (!is_shown(c, who)) continue;
    const double steps = log((double)c->run.num_iterations);
    const double memory = -log(1 - cell_best(c).momentum);
    n += 1, x += steps, y += memory, xx += steps * steps, xy += steps * memory;
  }
  return n > 1 ? (n * xy - x * y) / (n * xx - x * x) : NAN;
}

void figure_momentum(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {"contender",      "steps",
                                        "learning rate",  "momentum",
                                        "memory, steps",  "loss of the best trial",
                                        "of those tried", NULL};
  static const char *const who[] = {"muon", "mousse no-graft"};
  json_t *chart = results_chart(figure, "Memory of the best momentum",
                                results_axis("steps of the run", "log"),
                                results_axis("1 / (1 - mu)", "log"));
  json_t *table = results_table(figure, "What the searches found at each length", columns);
  for (size_t k = 0; k < 2; k++) {
    json_t *series = results_series(chart, who[k], "points");
    for (size_t i = 0; i < e->protocol->count; i++) {
      const study_cell *c = &e->protocol->cells[i];
      if (!is_shown(c, who[k])) continue;
      results_point(series, (double)c->run.num_iterations, 1 / (1 - cell_best(c).momentum),
                    NAN);
      add_length_row(e, c, figure, table);
    }
  }
  results_finding(
      figure,
      "The best memory of the momentum grows with the length of the run to the power "
      "%.2f (Muon) and %.2f (Mousse without grafting).",
      power_of(e, who[0]), power_of(e, who[1]));
}
