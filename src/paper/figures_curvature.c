/* figures_curvature.c - condition and size of the preconditioners' statistics over a run. */
#include "paper/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct quantity {
  const char *name, *title, *axis;
} quantity;

static const quantity quantities[] = {
    {"left_condition", "Condition number of L", "condition number"},
    {"right_condition", "Condition number of R", "condition number"},
    {"left_rms", "Size of L (RMS of its entries)", "RMS"},
    {"right_rms", "Size of R (RMS of its entries)", "RMS"},
};

/* "h.0.attn.c_q" of "transformer.h.0.attn.c_q.weight" */
static void short_name(const char *matrix, char text[64])
{
  const char *start = strncmp(matrix, "transformer.", 12) == 0 ? matrix + 12 : matrix;
  snprintf(text, 64, "%s", start);
  char *end = strstr(text, ".weight");
  if (end != NULL) *end = '\0';
}

/* One matrix's course of a quantity as a series; returns how many points it has. */
static size_t draw_matrix(const run_record *r, const char *matrix, const char *quantity_name,
                          json_t *chart)
{
  char name[64];
  size_t count = 0;
  json_t *series = NULL;
  short_name(matrix, name);
  for (size_t i = 0; i < r->telemetry_count; i++) {
    const record_telemetry *t = &r->telemetry[i];
    if (strcmp(t->matrix, matrix) != 0 || strcmp(t->quantity, quantity_name) != 0) continue;
    if (series == NULL) series = results_series(chart, name, "line");
    results_point(series, (double)t->step, t->value, NAN);
    count++;
  }
  return count;
}

/* Every matrix of the first and the last layer. */
static bool is_drawn(const char *matrix, int layers)
{
  const char *layer = strstr(matrix, ".h.");
  if (layer == NULL) return false;
  const long number = strtol(layer + 3, NULL, 10); /* a name from a file: any number */
  return number == 0 || number == layers - 1;
}

static void draw_quantity(const run_record *r, const quantity *q, int layers, json_t *figure)
{
  json_t *chart = results_chart(figure, q->title, results_axis("step", "linear"),
                                results_axis(q->axis, "log"));
  char done[64] = "";
  for (size_t i = 0; i < r->telemetry_count; i++) {
    const record_telemetry *t = &r->telemetry[i];
    /* Matrices come in the same order at every step: the first step names them all. */
    if (t->step != r->telemetry[0].step) break;
    if (strcmp(t->matrix, done) == 0 || !is_drawn(t->matrix, layers)) continue;
    memcpy(done, t->matrix, sizeof done);
    draw_matrix(r, t->matrix, q->name, chart);
  }
}

static void extremes(const run_record *r, const char *quantity_name, double *low, double *high)
{
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t i = 0; i < r->telemetry_count; i++) {
    const record_telemetry *t = &r->telemetry[i];
    if (strcmp(t->quantity, quantity_name) != 0 || !isfinite(t->value)) continue;
    *low = fmin(*low, t->value);
    *high = fmax(*high, t->value);
  }
}

void figure_preconditioner(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {"quantity", "lowest", "highest", NULL};
  const study_cell *c = protocol_find(e->protocol, STUDY_COSINE, 0, "mousse");
  const run_record *r = &e->records[c->seeds[0]];
  if (c->best == c->rate_count || r->telemetry_count == 0) {
    results_finding(figure, "The run of Mousse diverged: nothing to show.");
    return;
  }
  double ranges[4][2];
  json_t *table = results_table(figure, "Over all matrices and the whole run", columns);
  for (size_t i = 0; i < 4; i++) {
    json_t *row = results_row(table);
    draw_quantity(r, &quantities[i], e->protocol->scale->regimes[0].layers, figure);
    extremes(r, quantities[i].name, &ranges[i][0], &ranges[i][1]);
    results_text(row, quantities[i].title);
    results_number(row, ranges[i][0]);
    results_number(row, ranges[i][1]);
  }
  results_run(figure, r->name);
  results_finding(
      figure,
      "Condition numbers lie between %.2g and %.2g on the left, %.2g and %.2g on the "
      "right; the statistics' sizes span a factor of %.2g.",
      ranges[0][0], ranges[0][1], ranges[1][0], ranges[1][1],
      fmax(ranges[2][1], ranges[3][1]) / fmin(ranges[2][0], ranges[3][0]));
}
