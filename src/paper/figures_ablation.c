/* figures_ablation.c - Mousse with one switch turned, against the paper's defaults. */
#include "paper/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const study_cell *baseline(const study_evidence *e)
{
  return protocol_find(e->protocol, STUDY_COSINE, 0, "mousse");
}

/* By pairs of seeds; nothing of the baseline itself. */
static run_mean to_baseline(const study_evidence *e, const study_cell *c)
{
  if (c == baseline(e)) return run_mean_of_none();
  return run_group_paired(cell_group(e, c), cell_group(e, baseline(e)));
}

static void add_row(const study_evidence *e, const study_cell *c, const char *name,
                    json_t *figure, json_t *table)
{
  char text[64];
  const run_mean to_base = to_baseline(e, c);
  json_t *row = results_row(table);
  results_text(row, name);
  results_number(row, cell_best_rate(c));
  cell_loss_text(e, c, text);
  results_text(row, text);
  results_number(row, c == baseline(e) ? NAN : cell_behind(c, baseline(e)));
  results_number(row, to_base.mean);
  results_number(row, run_mean_margin(to_base));
  results_text(row, c == baseline(e) ? "" : cell_verdict(e, c, baseline(e)));
  results_number(row, cell_group(e, c)->step_seconds.mean);
  cell_name_runs(e, c, figure);
}

typedef struct ablation_table {
  json_t *series, *categories, *table, *curves;
  char finding[1024];
  size_t used, count;
} ablation_table;

static void compare(const study_evidence *e, const study_cell *c, const char *name,
                    ablation_table *to, json_t *figure)
{
  const run_mean loss = cell_group(e, c)->final_loss, to_base = to_baseline(e, c);
  results_category(to->categories, name);
  results_point(to->series, (double)to->count++, loss.mean, loss.spread);
  cell_draw_curve(e, c, to->curves, name);
  add_row(e, c, name, figure, to->table);
  if (c == baseline(e) || to->used >= sizeof to->finding) return;
  const double change = c->seed_count > 0 ? to_base.mean : cell_behind(c, baseline(e));
  to->used +=
      (size_t)snprintf(to->finding + to->used, sizeof to->finding - to->used, "%s: %+.4f, %s. ",
                       name, change, cell_verdict(e, c, baseline(e)));
}

/* The baseline and every variant of a figure: bars, curves, a table. */
static void draw_ablation(const study_evidence *e, figure_id id, const char *base_name,
                          json_t *figure)
{
  static const char *const columns[] = {"setting",       "best lr",        "final loss",
                                        "in the search", "to the default", "±95%",
                                        "in words",      "s per step",     NULL};
  ablation_table to = {.table =
                           results_table(figure,
                                         "Each at its best learning rate; mean and deviation "
                                         "(runs), differences by pairs of seeds",
                                         columns),
                       .categories = results_categories("setting")};
  const study_cell *base = baseline(e);
  json_t *bars = results_chart(figure, "Final validation loss", to.categories,
                               results_axis("final validation loss", "linear"));
  to.series = results_series(bars, "mousse", "bars");
  to.curves = results_chart(figure, "Over the run", results_axis("step", "linear"),
                            results_axis("validation loss", "linear"));
  compare(e, base, base_name, &to, figure);
  for (size_t i = 0; i < e->protocol->count; i++) {
    const study_cell *c = &e->protocol->cells[i];
    if (c != base && (c->figures & (1u << id)) != 0) compare(e, c, c->label, &to, figure);
  }
  results_finding(figure, "Change of the final loss against '%s'. %s", base_name, to.finding);
}

/* The mean over the hidden matrices of the size of the update, over the steps. */
static void draw_update_size(const study_evidence *e, const study_cell *c, const char *name,
                             json_t *chart)
{
  json_t *series = results_series(chart, name, "line");
  if (c->best == c->rate_count) return;
  const run_record *r = &e->records[c->seed_count > 0 ? c->seeds[0] : c->grid[c->best]];
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < r->telemetry_count; i++) {
    const record_telemetry *t = &r->telemetry[i];
    if (strcmp(t->quantity, "update_rms") == 0 && strstr(t->matrix, ".h.") != NULL) {
      sum += t->value;
      count++;
    }
    const bool last = i + 1 == r->telemetry_count || r->telemetry[i + 1].step != t->step;
    if (!last || count == 0) continue;
    results_point(series, (double)t->step, sum / (double)count, NAN);
    sum = 0;
    count = 0;
  }
}

void figure_grafting(const study_evidence *e, json_t *figure)
{
  draw_ablation(e, FIGURE_grafting, "graft (default)", figure);
  json_t *chart =
      results_chart(figure, "Root mean square of the update, before the learning rate",
                    results_axis("step", "linear"), results_axis("update RMS", "log"));
  draw_update_size(e, baseline(e), "graft (default)", chart);
  draw_update_size(e, protocol_find(e->protocol, STUDY_COSINE, 0, "no graft"), "no graft",
                   chart);
}

void figure_trace_norm(const study_evidence *e, json_t *figure)
{
  draw_ablation(e, FIGURE_trace_norm, "trace norm (default)", figure);
}

void figure_tempering(const study_evidence *e, json_t *figure)
{
  draw_ablation(e, FIGURE_tempering, "alpha 0.125, eps 1e-5 (default)", figure);
}

void figure_sides(const study_evidence *e, json_t *figure)
{
  draw_ablation(e, FIGURE_sides, "both (default)", figure);
}

void figure_refresh(const study_evidence *e, json_t *figure)
{
  draw_ablation(e, FIGURE_refresh, "T = 10 (default)", figure);
}

void figure_beyond(const study_evidence *e, json_t *figure)
{
  draw_ablation(e, FIGURE_beyond, "the paper's Mousse", figure);
}
