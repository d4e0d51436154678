/* figures_verdict.c - who needs fewer steps, in which regime, and how everybody was tuned. Runs of a
 * study share the machine with each other, so nothing is said about seconds: benchmarks/step-time
 * measures those on a quiet one.
 *
 *     steps saved = 1 - s ^ (what the opponent is behind / what Muon loses with a share s of its steps)
 *
 * both by pairs of seeds, in the same regime; s is 88%, but for the rounding to whole steps. A regime
 * counts only when its control holds: Muon, against AdamW, saves at least 15%.
 */
#include "paper/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const study_cell *find(const study_evidence *e, int regime, const char *label)
{
  return protocol_find(e->protocol, STUDY_COSINE, regime, label);
}

static const char *regime_name(const study_evidence *e, int regime)
{
  return e->protocol->scale->regimes[regime].name;
}

/* "-0.0346 ± 0.0081": a paired difference with its 95% interval. */
static void difference_text(const run_mean *difference, char text[64])
{
  const double margin = run_mean_margin(*difference);
  if (difference->count == 0)
    snprintf(text, 64, "diverged");
  else if (isfinite(margin))
    snprintf(text, 64, "%+.4f ± %.4f", difference->mean, margin);
  else
    snprintf(text, 64, "%+.4f (one pair)", difference->mean);
}

static bool is_control(const char *label)
{
  return strcmp(label, "muon") == 0 || strcmp(label, "adamw") == 0;
}

static void add_control_row(const study_evidence *e, int regime, json_t *figure, json_t *table)
{
  cell_gain gain;
  char text[64];
  const bool fit = regime_is_fit(e, regime, &gain);
  const study_regime *r = &e->protocol->scale->regimes[regime];
  json_t *row = results_row(table);
  difference_text(&gain.difference, text);
  results_text(row, r->name);
  results_number(row, r->steps);
  results_number(row, (double)r->steps * r->batch_size * e->protocol->scale->sequence_length /
                          study_regime_weights(e->protocol->scale, r));
  results_number(row, regime_slope(e, regime));
  results_text(row, text);
  results_number(row, gain.steps.value);
  results_number(row, gain.steps.low);
  results_number(row, gain.steps.high);
  results_text(row, fit ? "fit" : "unfit");
  cell_name_runs(e, find(e, regime, "adamw"), figure);
  cell_name_runs(e, find(e, regime, "muon, shorter"), figure);
}

static void add_control(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {"regime",           "steps",
                                        "tokens / weight",  "nats per % of steps",
                                        "Muon to AdamW",    "steps saved, %",
                                        "95%: from",        "to",
                                        "for the question", NULL};
  json_t *table = results_table(
      figure, "The control: Muon must save 15% of AdamW's steps, or the regime is unfit",
      columns);
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++)
    add_control_row(e, regime, figure, table);
}

static void add_verdict_row(const study_evidence *e, const study_cell *c, json_t *figure,
                            json_t *table)
{
  const study_cell *muon = find(e, c->regime, "muon"), *adamw = find(e, c->regime, "adamw");
  const cell_gain gain = cell_gain_over(e, c, muon);
  char loss[64], difference[64];
  json_t *row = results_row(table);
  cell_loss_text(e, c, loss);
  difference_text(&gain.difference, difference);
  results_text(row, c->label);
  results_text(row, regime_name(e, c->regime));
  results_text(row, loss);
  results_text(row, c == muon ? "" : difference);
  results_text(row, c == muon ? "" : cell_verdict(e, c, muon));
  results_number(row, c == muon ? NAN : gain.steps.value);
  results_number(row, c == muon ? NAN : gain.steps.low);
  results_number(row, c == muon ? NAN : gain.steps.high);
  results_number(row, c == adamw ? NAN : cell_gain_over(e, c, adamw).steps.value);
  cell_name_runs(e, c, figure);
}

static void add_verdicts(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {
      "contender",      "regime",    "final loss", "to Muon, ±95%",           "in words",
      "steps saved, %", "95%: from", "to",         "steps saved to AdamW, %", NULL};
  json_t *table = results_table(
      figure, "Against Muon tuned with the same care; differences by pairs of seeds", columns);
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++)
    for (size_t i = 0; i < e->protocol->count; i++) {
      const study_cell *c = &e->protocol->cells[i];
      if (c->contender && c->schedule == STUDY_COSINE && c->regime == regime)
        add_verdict_row(e, c, figure, table);
    }
}

/* Both with the same optimizer for embedding and head: is what Mousse adds still there? */
static void add_throughout(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {
      "regime", "Mousse to Muon, ±95%", "in words", "steps saved, %", "95%: from", "to", NULL};
  json_t *table = NULL;
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++) {
    const study_cell *ours = find(e, regime, "mousse throughout"),
                     *theirs = find(e, regime, "muon throughout");
    char text[64];
    if (ours == NULL || theirs == NULL) continue;
    const cell_gain gain = cell_gain_over(e, ours, theirs);
    if (table == NULL)
      table = results_table(
          figure,
          "Mousse throughout against Muon throughout: both orthogonalise embedding and head",
          columns);
    json_t *row = results_row(table);
    difference_text(&gain.difference, text);
    results_text(row, regime_name(e, regime));
    results_text(row, text);
    results_text(row, cell_verdict(e, ours, theirs));
    results_number(row, gain.steps.value);
    results_number(row, gain.steps.low);
    results_number(row, gain.steps.high);
  }
}

/* Directly, without the slope: fewer steps of ours against all of Muon's. */
static void add_shorter_row(const study_evidence *e, int regime, const char *ours,
                            const char *theirs, json_t *figure, json_t **table)
{
  static const char *const columns[] = {
      "contender",        "regime",   "steps", "final loss", "against all steps of",
      "difference, ±95%", "in words", NULL};
  char label[96], loss[64], text[64];
  snprintf(label, sizeof label, "%s, shorter", ours);
  const study_cell *c = find(e, regime, label), *opponent = find(e, regime, theirs);
  if (c == NULL || opponent == NULL) return;
  if (*table == NULL)
    *table = results_table(figure, "With fewer steps against all of the opponent's", columns);
  const run_mean difference = run_group_paired(cell_group(e, c), cell_group(e, opponent));
  json_t *row = results_row(*table);
  cell_loss_text(e, c, loss);
  difference_text(&difference, text);
  results_text(row, ours);
  results_text(row, regime_name(e, regime));
  results_number(row, (double)c->run.num_iterations);
  results_text(row, loss);
  results_text(row, theirs);
  results_text(row, text);
  results_text(row, cell_verdict(e, c, opponent));
  cell_name_runs(e, c, figure);
}

static void add_shorter(const study_evidence *e, json_t *figure)
{
  static const struct {
    const char *ours, *theirs;
  } pairs[] = {{"mousse no-graft", "muon"},
               {"mousse nesterov", "muon"},
               {"mousse throughout", "muon"},
               {"mousse throughout", "muon throughout"}};
  json_t *table = NULL;
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++)
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
      add_shorter_row(e, regime, pairs[i].ours, pairs[i].theirs, figure, &table);
}

/* The ends of the runs, a chart for each regime. */
static void draw_curves(const study_evidence *e, json_t *figure)
{
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++) {
    char title[64];
    snprintf(title, sizeof title, "Validation loss, %s", regime_name(e, regime));
    json_t *chart = results_chart(figure, title, results_axis("step", "linear"),
                                  results_axis("validation loss", "linear"));
    for (size_t i = 0; i < e->protocol->count; i++) {
      const study_cell *c = &e->protocol->cells[i];
      if (c->contender && c->schedule == STUDY_COSINE && c->regime == regime)
        cell_draw_curve(e, c, chart, c->label);
    }
  }
}

/* Steps saved over the regimes, from small to large: does the gain grow or vanish? */
static void draw_scaling(const study_evidence *e, json_t *figure)
{
  json_t *axis = results_categories("regime");
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++)
    results_category(axis, regime_name(e, regime));
  json_t *chart = results_chart(figure, "Steps saved against Muon, with 95% intervals", axis,
                                results_axis("% of Muon's steps", "linear"));
  for (size_t who = 0; who < study_contender_count; who++) {
    const char *label = study_contenders[who].label;
    if (is_control(label) || find(e, 0, label) == NULL) continue;
    json_t *series = results_series(chart, label, "bars");
    for (int regime = 0; regime < e->protocol->scale->regime_count; regime++) {
      const study_cell *c = find(e, regime, label);
      if (c == NULL) continue;
      const cell_gain gain = cell_gain_over(e, c, find(e, regime, "muon"));
      results_point_between(series, regime, gain.steps.value, gain.steps.low, gain.steps.high);
    }
  }
}

static int count_fit(const study_evidence *e)
{
  int fit = 0;
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++) {
    cell_gain control;
    fit += regime_is_fit(e, regime, &control);
  }
  return fit;
}

/* In how many fit regimes, of those in which it took part, a contender is ahead beyond its
 * interval. */
static int count_wins(const study_evidence *e, const char *label, int *took_part)
{
  int wins = 0;
  *took_part = 0;
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++) {
    cell_gain control;
    const study_cell *c = find(e, regime, label);
    if (c == NULL || !regime_is_fit(e, regime, &control)) continue;
    (*took_part)++;
    wins += cell_is_better(e, c, find(e, regime, "muon"));
  }
  return wins;
}

void figure_verdict(const study_evidence *e, json_t *figure)
{
  char text[1024] = "";
  size_t used = 0;
  int took_part = 0;
  const int fit = count_fit(e);
  draw_scaling(e, figure);
  add_control(e, figure);
  add_verdicts(e, figure);
  add_throughout(e, figure);
  add_shorter(e, figure);
  draw_curves(e, figure);
  for (size_t who = 0; who < study_contender_count && used + 80 < sizeof text; who++) {
    const char *label = study_contenders[who].label;
    if (is_control(label) || find(e, 0, label) == NULL) continue;
    const int wins = count_wins(e, label, &took_part);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s: %d of %d",
                             used > 0 ? "; " : "", label, wins, took_part);
  }
  if (fit == 0)
    results_finding(figure, "In no regime does Muon save 15%% of AdamW's steps: these runs "
                            "cannot say who is better.");
  else
    results_finding(figure,
                    "Of %d regimes %d are fit for the question. In so many of those it took "
                    "part in a contender is clearly ahead of Muon: %s.",
                    e->protocol->scale->regime_count, fit, used > 0 ? text : "none took part");
}

/* One line per momentum that was tried: final loss over learning rates. */
static void draw_search(const study_evidence *e, const study_cell *c, json_t *figure)
{
  json_t *chart = results_chart(figure, c->label, results_axis("peak learning rate", "log"),
                                results_axis("final validation loss", "linear"));
  for (int at = -64; at <= 64; at++) {
    json_t *series = NULL;
    char name[64];
    for (size_t i = 0; i < c->tuning.count && i < c->tuning.budget; i++) {
      const search_trial *t = &c->tuning.trials[i];
      if (t->point.at[1] != at) continue;
      const train_options *run = &e->runs->runs[t->run].run;
      snprintf(name, sizeof name, "momentum %.4g", cell_setting(c, &t->point).momentum);
      if (series == NULL) series = results_series(chart, name, "points");
      results_point(series, strtod(run->lr, NULL), t->loss, NAN);
    }
  }
}

static void add_search_row(const study_evidence *e, const study_cell *c, json_t *table)
{
  size_t stopped = 0;
  const study_setting best = cell_best(c);
  char details[96];
  json_t *row = results_row(table);
  details_text(best.details, details, sizeof details);
  for (size_t i = 0; i < c->tuning.count; i++)
    stopped += e->runs->runs[c->tuning.trials[i].run].state != STUDY_COMPLETE;
  results_text(row, c->label);
  results_text(row, regime_name(e, c->regime));
  results_number(row, cell_best_rate(c));
  results_number(row, best.momentum);
  results_text(row, details[0] != '\0' ? details + 1 : "as they are");
  results_text(row, c->inside ? "inside" : "at an edge");
  results_number(row, (double)c->tuning.count);
  results_number(row, (double)stopped);
}

void figure_tuning(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {"contender", "regime",        "learning rate",
                                        "momentum",  "factors",       "rate and momentum",
                                        "runs",      "stopped early", NULL};
  size_t edges = 0, all = 0;
  json_t *table = results_table(figure, "What the searches found", columns);
  for (size_t i = 0; i < e->protocol->count; i++) {
    const study_cell *c = &e->protocol->cells[i];
    if (!c->contender || c->schedule != STUDY_COSINE) continue;
    if (c->home) draw_search(e, c, figure);
    add_search_row(e, c, table);
    cell_name_runs(e, c, figure);
    edges += !c->inside;
    all++;
  }
  results_finding(
      figure,
      "The best learning rate and momentum lie inside those tried in %zu of %zu "
      "searches. Factors are tried one step up and one down: one that is given lies "
      "at the end of its range.",
      all - edges, all);
}
