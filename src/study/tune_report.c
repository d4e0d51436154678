/* tune_report.c - the trials of 'mousse tune' as a document: loss over learning rates, one line
 * per momentum, and a table of all. */
#include "study/tune.h"

#include "study/run_mean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void draw(const tune_search *t, json_t *figure)
{
  json_t *chart =
      results_chart(figure, "Validation loss at the end of a trial",
                    results_axis("peak learning rate", "log"), results_axis("loss", "linear"));
  for (int at = -64; at <= 64; at++) {
    json_t *series = NULL;
    char name[64];
    for (size_t i = 0; i < t->search.count && i < t->search.budget; i++) {
      const search_trial *trial = &t->search.trials[i];
      if (trial->point.at[1] != at) continue;
      const study_setting s = tune_setting_at(t, &trial->point);
      if (t->momentum != NULL)
        snprintf(name, sizeof name, "%s %.4g", t->momentum, s.momentum);
      else
        snprintf(name, sizeof name, "trials");
      if (series == NULL) series = results_series(chart, name, "points");
      results_point(series, s.lr, trial->loss, NAN);
    }
  }
}

static int by_loss(const void *a, const void *b)
{
  return number_order(((const search_trial *)a)->loss, ((const search_trial *)b)->loss);
}

static void add_table(const tune_search *t, json_t *figure)
{
  static const char *const columns[] = {"learning rate", "momentum", "factors",
                                        "loss",          "state",    NULL};
  json_t *table = results_table(figure, "All trials, the best first", columns);
  search sorted = t->search;
  qsort(sorted.trials, sorted.count, sizeof *sorted.trials, by_loss);
  for (size_t i = 0; i < sorted.count; i++) {
    const search_trial *trial = &sorted.trials[i];
    const study_setting s = tune_setting_at(t, &trial->point);
    char details[96];
    json_t *row = results_row(table);
    details_text(s.details, details, sizeof details);
    results_number(row, s.lr);
    results_number(row, s.momentum);
    results_text(row, details[0] != '\0' ? details + 1 : "");
    results_number(row, trial->loss);
    results_text(row, study_state_name(t->runs.runs[trial->run].state));
    results_run(figure, t->runs.runs[trial->run].name);
  }
}

static void tell(const tune_search *t, json_t *figure)
{
  const search_trial *best = search_best(&t->search), *first = &t->search.trials[0];
  const study_setting s = tune_setting_at(t, &best->point);
  const bool inside =
      search_inside(&t->search, 0) && (t->search.together < 2 || search_inside(&t->search, 1));
  char gain[64] = "where the search began it diverged";
  if (isfinite(first->loss))
    snprintf(gain, sizeof gain, "%.4f below where the search began", first->loss - best->loss);
  results_finding(figure,
                  "Of %zu trials of %lld steps the best has learning rate %.4g and momentum "
                  "%.4g: loss %.4f, %s. It is %s the range tried.",
                  t->search.count, (long long)t->steps, s.lr, s.momentum, best->loss, gain,
                  inside ? "inside" : "at an edge of");
}

mousse_status tune_report(const tune_search *t, const char *command, json_t **results,
                          mo_error *error)
{
  char text[256];
  *results = results_new("A search for the best settings", command);
  snprintf(text, sizeof text, "Optimizer %s; trials of %lld steps for a run of %lld.%s",
           t->request->run.optimizer, (long long)t->steps,
           (long long)t->request->run.num_iterations,
           t->out_of_time ? " The time was up before all trials were made." : "");
  results_note(*results, text);
  json_t *figure = results_figure(*results, "tune", "Learning rate and momentum", "");
  draw(t, figure);
  add_table(t, figure);
  tell(t, figure);
  return results_check(*results, error);
}
