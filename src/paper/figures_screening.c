/* figures_screening.c - the whole field after its first runs: who is worth the rest of the search.
 *
 * Everybody has searched for learning rate and momentum, with the same number of runs of one seed,
 * and for nothing else. What the details gain later is known from those that went through them:
 * nobody gained more than Muon. So one that is behind Muon here by more than the margin,
 * which allows for one seed, would not be ahead of it in the end.
 */
#include "paper/evidence.h"

#include <math.h>
#include <string.h>

static double loss_of(const study_cell *c)
{
  const search_trial *best = c != NULL ? search_best_together(&c->tuning) : NULL;
  return best != NULL ? best->loss : NAN;
}

static bool goes_on(const study_cell *c, const study_cell *muon)
{
  return loss_of(c) <= loss_of(muon) + STUDY_BEHIND;
}

static void add_row(const study_evidence *e, const study_cell *c, const study_cell *muon,
                    json_t *figure, json_t *table)
{
  json_t *row = results_row(table);
  const study_setting best = cell_best_together(c);
  results_text(row, c->label);
  results_number(row, best.lr);
  results_number(row, best.momentum);
  results_number(row, loss_of(c));
  results_number(row, c == muon ? NAN : loss_of(c) - loss_of(muon));
  results_text(row, c == muon ? "" : goes_on(c, muon) ? "yes" : "no");
  for (size_t i = 0; i < c->tuning.count && i < c->tuning.budget; i++)
    results_run(figure, e->runs->runs[c->tuning.trials[i].run].name);
}

void figure_screening(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {"contender", "learning rate", "momentum", "loss",
                                        "to Muon",   "goes on",       NULL};
  const study_cell *muon = protocol_find(e->protocol, STUDY_COSINE, 0, "muon");
  size_t others = 0, on = 0;
  double place = 0;
  json_t *axis = results_categories("contender");
  json_t *chart = results_chart(figure, "Best loss of the first runs", axis,
                                results_axis("final validation loss", "linear"));
  json_t *series = results_series(chart, "one seed", "points");
  json_t *table =
      results_table(figure, "Learning rate and momentum searched, nothing else", columns);
  for (size_t i = 0; i < e->protocol->count; i++) {
    const study_cell *c = &e->protocol->cells[i];
    if (!c->home) continue;
    results_category(axis, c->label);
    results_point(series, place++, loss_of(c), NAN);
    add_row(e, c, muon, figure, table);
    others += c != muon;
    on += c != muon && goes_on(c, muon);
  }
  results_finding(
      figure,
      "After %d runs each, %zu of %zu contenders are less than %.2f behind Muon and "
      "worth the rest of the search.",
      e->protocol->scale->search_runs, on, others, STUDY_BEHIND);
}
