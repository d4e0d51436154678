/* figures_losses.c - final loss against peak learning rate, under both schedules, and what the
 * decay of the learning rate recovers. */
#include "paper/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_in_paper(const study_cell *c)
{
  return c->contender && study_contenders[c->who].in_paper;
}

/* Draws a value per learning rate for every optimizer of a schedule and regime. */
typedef double (*rate_value)(const study_evidence *evidence, const study_cell *cell,
                             size_t rate);

static void draw_rates(const study_evidence *e, study_schedule schedule, int regime,
                       rate_value value, json_t *chart)
{
  for (size_t i = 0; i < e->protocol->count; i++) {
    const study_cell *c = &e->protocol->cells[i];
    if (c->schedule != schedule || c->regime != regime || !is_in_paper(c)) continue;
    json_t *series = results_series(chart, c->label, "line");
    for (size_t k = 0; k < c->rate_count; k++)
      results_point(series, c->rates[k], value(e, c, k), NAN);
  }
}

static json_t *rate_chart(json_t *figure, const char *title, const char *value)
{
  return results_chart(figure, title, results_axis("peak learning rate", "log"),
                       results_axis(value, "linear"));
}

static void add_loss_rows(const study_evidence *e, study_schedule schedule, int regime,
                          json_t *figure, json_t *table)
{
  for (size_t i = 0; i < e->protocol->count; i++) {
    const study_cell *c = &e->protocol->cells[i];
    char text[64];
    if (c->schedule != schedule || c->regime != regime || !is_in_paper(c)) continue;
    json_t *row = results_row(table);
    const run_mean loss = cell_group(e, c)->final_loss;
    results_text(row, e->protocol->scale->regimes[regime].name);
    results_text(row, c->label);
    results_number(row, cell_best_rate(c));
    results_text(row, c->inside ? "no" : "yes");
    run_mean_text(loss, text);
    results_text(row, text);
    results_number(row, cell_group(e, c)->step_seconds.mean);
    cell_name_runs(e, c, figure);
  }
}

typedef struct ranked_loss {
  const char *label;
  run_mean loss;
} ranked_loss;

static int by_mean(const void *a, const void *b)
{
  const ranked_loss *x = a, *y = b;
  return number_order(x->loss.mean, y->loss.mean);
}

/* "mousse 4.1021; muon 4.1122; ..." from low to high. */
static void order_text(const study_evidence *e, study_schedule schedule, int regime, char *text,
                       size_t capacity)
{
  ranked_loss places[16];
  size_t count = 0, used = 0;
  for (size_t i = 0; i < e->protocol->count && count < 16; i++) {
    const study_cell *c = &e->protocol->cells[i];
    const run_mean loss = cell_group(e, c)->final_loss;
    if (c->schedule == schedule && c->regime == regime && is_in_paper(c) && loss.count > 0)
      places[count++] = (ranked_loss){c->label, loss};
  }
  /* cppcheck-suppress uninitvar - count of them are written */
  qsort(places, count, sizeof *places, by_mean);
  text[0] = '\0';
  for (size_t i = 0; i < count && used < capacity; i++)
    used += (size_t)snprintf(text + used, capacity - used, "%s%s %.4f", i > 0 ? "; " : "",
                             places[i].label, places[i].loss.mean);
}

static const char *const loss_columns[] = {
    "regime", "optimizer", "best lr", "at the grid's edge", "final loss", "s per step", NULL};

void figure_lr_sweep(const study_evidence *e, json_t *figure)
{
  char text[1024] = "", order[256];
  size_t used = 0;
  json_t *table = results_table(figure, "Best learning rate of each; mean and deviation (runs)",
                                loss_columns);
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++) {
    const char *name = e->protocol->scale->regimes[regime].name;
    draw_rates(e, STUDY_COSINE, regime, cell_rate_loss,
               rate_chart(figure, name, "final validation loss"));
    add_loss_rows(e, STUDY_COSINE, regime, figure, table);
    order_text(e, STUDY_COSINE, regime, order, sizeof order);
    if (used < sizeof text)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s: %s. ", name, order);
  }
  results_finding(figure, "From best to worst, %s", text);
}

void figure_wsd(const study_evidence *e, json_t *figure)
{
  const int regime = 0;
  const char *name = e->protocol->scale->regimes[regime].name;
  char order[256];
  draw_rates(e, STUDY_WSD, regime, cell_rate_loss,
             rate_chart(figure, name, "final validation loss"));
  json_t *table = results_table(figure, "Best learning rate of each; mean and deviation (runs)",
                                loss_columns);
  add_loss_rows(e, STUDY_WSD, regime, figure, table);
  order_text(e, STUDY_WSD, regime, order, sizeof order);
  results_finding(figure, "From best to worst, %s: %s.", name, order);
}

/* The last validation before the decay begins. */
static double excess(const study_evidence *e, const study_cell *c, size_t rate)
{
  const uint64_t steps = (uint64_t)c->run.num_iterations;
  const uint64_t stable = steps - (uint64_t)llround((double)steps * c->run.warmdown_ratio);
  const uint64_t every = (uint64_t)c->run.val_loss_every;
  return cell_loss_at(e, c, rate, stable - stable % every) - cell_rate_loss(e, c, rate);
}

void figure_excessive_loss(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {"optimizer", "at the best lr", "at the lowest lr",
                                        "at the highest lr", NULL};
  const int regime = 0;
  size_t growing = 0, all = 0;
  draw_rates(e, STUDY_WSD, regime, excess,
             rate_chart(figure, e->protocol->scale->regimes[regime].name,
                        "loss before the decay minus final loss"));
  json_t *table = results_table(figure, "Nats that the decay recovers", columns);
  for (size_t i = 0; i < e->protocol->count; i++) {
    const study_cell *c = &e->protocol->cells[i];
    if (c->schedule != STUDY_WSD || c->best == c->rate_count) continue;
    const double low = excess(e, c, 0), high = excess(e, c, c->rate_count - 1);
    json_t *row = results_row(table);
    results_text(row, c->label);
    results_number(row, excess(e, c, c->best));
    results_number(row, low);
    results_number(row, high);
    growing += high > low;
    all++;
    cell_name_runs(e, c, figure);
  }
  results_finding(
      figure,
      "It is larger at the highest learning rate than at the lowest for %zu of %zu optimizers.",
      growing, all);
}
