/* figures_fine_tuning.c - models that AdamW and Mousse pretrained, fine-tuned by others: what
 * they learn of the other text, and what they forget of the old one. */
#include "paper/fine_tuning.h"

#include <math.h>
#include <stdio.h>

static run_mean to_adamw(const fine_tuning *f, size_t cell)
{
  const size_t reference = cell / FINE_TUNERS * FINE_TUNERS;
  const study_cell *cells = f->protocol.cells;
  if (cell == reference || f->protocol.count != FINE_CELLS) return run_mean_of_none();
  return run_group_paired(cell_group(&f->evidence, &cells[cell]),
                          cell_group(&f->evidence, &cells[reference]));
}

static void mean_cell(json_t *row, run_mean mean)
{
  char text[64];
  run_mean_text(mean, text);
  results_text(row, text);
}

static void add_row(const fine_tuning *f, size_t i, json_t *table)
{
  const study_cell *cell = &f->protocol.cells[i];
  const run_group *group = cell_group(&f->evidence, cell);
  const run_mean difference = to_adamw(f, i);
  uint64_t step = 0;
  run_mean before = run_mean_of_none();
  json_t *row = results_row(table);
  run_group_validation(group, 0, &step, &before);
  results_text(row, f->origins[i]->label);
  results_text(row, cell->label);
  results_number(row, cell_best_rate(cell));
  results_text(row, cell->inside ? "no" : "yes");
  results_number(row, before.mean);
  mean_cell(row, group->final_loss);
  results_number(row, difference.mean);
  results_number(row, run_mean_margin(difference));
  results_number(row, f->old_count[i] > 0 ? f->old[i][0].loss.mean : NAN);
  mean_cell(row, f->forgotten[i]);
}

static void draw_new(const fine_tuning *f, size_t i, json_t *chart)
{
  const run_group *group = cell_group(&f->evidence, &f->protocol.cells[i]);
  json_t *series = results_series(chart, f->protocol.cells[i].label, "line");
  uint64_t step = 0;
  run_mean loss;
  for (size_t k = 0; run_group_validation(group, k, &step, &loss); k++)
    results_point(series, (double)step, loss.mean, loss.spread);
}

static void draw_old(const fine_tuning *f, size_t i, json_t *chart)
{
  json_t *series = results_series(chart, f->protocol.cells[i].label, "line");
  for (size_t k = 0; k < f->old_count[i]; k++)
    results_point(series, (double)f->old[i][k].step, f->old[i][k].loss.mean,
                  f->old[i][k].loss.spread);
}

/* Old against new loss at the end: low and to the left is good. */
static void draw_ends(const fine_tuning *f, size_t i, json_t *chart)
{
  const run_group *group = cell_group(&f->evidence, &f->protocol.cells[i]);
  json_t *series = results_series(chart, f->protocol.cells[i].label, "points");
  if (f->old_count[i] > 0)
    results_point(series, group->final_loss.mean, f->old[i][f->old_count[i] - 1].loss.mean,
                  NAN);
}

static void draw_origin(const fine_tuning *f, const study_cell *origin, json_t *figure)
{
  static const struct {
    const char *title, *x, *y;
    void (*draw)(const fine_tuning *f, size_t cell, json_t *chart);
  } charts[] = {
      {"other text", "step", "validation loss on the other text", draw_new},
      {"old text", "step", "validation loss on the old text", draw_old},
      {"both at the end", "loss on the other text", "loss on the old text", draw_ends}};
  for (size_t k = 0; k < sizeof charts / sizeof *charts; k++) {
    char title[128];
    snprintf(title, sizeof title, "Pretrained by %s: %s", origin->label, charts[k].title);
    json_t *chart = results_chart(figure, title, results_axis(charts[k].x, "linear"),
                                  results_axis(charts[k].y, "linear"));
    for (size_t i = 0; i < f->protocol.count; i++)
      if (f->origins[i] == origin) charts[k].draw(f, i, chart);
  }
}

static void tell(const fine_tuning *f, json_t *figure)
{
  char text[1024] = "";
  size_t used = 0;
  for (size_t i = 0; i < f->protocol.count && used < sizeof text; i++) {
    const study_cell *cell = &f->protocol.cells[i];
    const run_mean difference = to_adamw(f, i);
    const bool first = i == 0 || f->origins[i] != f->origins[i - 1];
    if (first)
      used += (size_t)snprintf(text + used, sizeof text - used,
                               "%sPretrained by %s:", i > 0 ? " " : "", f->origins[i]->label);
    if (used >= sizeof text) break;
    const run_mean loss = cell_group(&f->evidence, cell)->final_loss;
    if (loss.count > 0)
      used += (size_t)snprintf(text + used, sizeof text - used, " %s %.4f, old text %+.4f",
                               cell->label, loss.mean, f->forgotten[i].mean);
    else
      used += (size_t)snprintf(text + used, sizeof text - used, " %s diverged", cell->label);
    if (used < sizeof text && difference.count > 0)
      used += (size_t)snprintf(text + used, sizeof text - used, " (against AdamW: %s)",
                               run_mean_verdict(difference));
    const bool last = i + 1 == f->protocol.count || f->origins[i + 1] != f->origins[i];
    if (used < sizeof text)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s", last ? "." : ";");
  }
  results_finding(figure, "%s", text[0] != '\0' ? text : "No pretraining ended well.");
}

void figure_fine_tuning(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {
      "pretrained by",     "fine-tuned by", "best lr",  "at the grid's edge",
      "other text before", "after",         "to AdamW", "±95%",
      "old text before",   "change",        NULL};
  const fine_tuning *f = e->fine;
  json_t *table = results_table(
      figure, "Validation losses; mean and deviation (runs), by pairs of seeds", columns);
  for (size_t i = 0; i < f->protocol.count; i++) {
    add_row(f, i, table);
    if (i == 0 || f->origins[i] != f->origins[i - 1]) draw_origin(f, f->origins[i], figure);
    cell_name_runs(&f->evidence, &f->protocol.cells[i], figure);
  }
  tell(f, figure);
}
