/* figures_cost.c - Mousse against Muon in steps, seconds and bytes. */
#include "paper/evidence.h"
#include "train/estimate.h"
#include "train/run_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *regime_name(const study_evidence *e, int regime)
{
  return e->protocol->scale->regimes[regime].name;
}

static const study_cell *cosine(const study_evidence *e, int regime, const char *label)
{
  return protocol_find(e->protocol, STUDY_COSINE, regime, label);
}

/* Per cent of Muon's steps that Mousse needs less to reach Muon's final loss; NaN: it never
 * does. */
static double saved_steps(const study_evidence *e, const study_cell *muon,
                          const study_cell *mousse)
{
  const double steps =
      run_group_steps_to(cell_group(e, mousse), cell_group(e, muon)->final_loss.mean);
  return 100 * (1 - steps / (double)muon->run.num_iterations);
}

static void add_saved_row(const study_evidence *e, int regime, const char *label,
                          json_t *figure, json_t *table)
{
  const study_cell *muon = cosine(e, regime, "muon"), *mousse = cosine(e, regime, label);
  char text[64];
  json_t *row = results_row(table);
  results_text(row, regime_name(e, regime));
  results_text(row, label);
  cell_loss_text(e, muon, text);
  results_text(row, text);
  cell_loss_text(e, mousse, text);
  results_text(row, text);
  results_text(row, cell_verdict(e, mousse, muon));
  results_number(
      row, run_group_steps_to(cell_group(e, mousse), cell_group(e, muon)->final_loss.mean));
  results_number(row, saved_steps(e, muon, mousse));
  cell_name_runs(e, muon, figure);
  cell_name_runs(e, mousse, figure);
}

/* Does Mousse with a schedule of fewer steps end where Muon ends? */
static void compare_shorter(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {"run", "steps", "final loss", NULL};
  static const char *const labels[] = {"muon", "mousse", "mousse, shorter"};
  const int regime = 0;
  json_t *table = results_table(figure, "A schedule of its own with 12% fewer steps", columns);
  for (size_t i = 0; i < 3; i++) {
    const study_cell *c = cosine(e, regime, labels[i]);
    char text[64];
    json_t *row = results_row(table);
    cell_loss_text(e, c, text);
    results_text(row, labels[i]);
    results_number(row, (double)c->run.num_iterations);
    results_text(row, text);
    cell_name_runs(e, c, figure);
  }
}

/* "mousse: at 2 of 4 regimes, at the largest 4.1% of the steps." */
static size_t saved_text(const study_evidence *e, const char *label, char *text,
                         size_t capacity)
{
  const int largest = e->protocol->scale->regime_count - 1;
  const double saved = saved_steps(e, cosine(e, largest, "muon"), cosine(e, largest, label));
  size_t ahead = 0;
  int length = 0;
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++)
    ahead += saved_steps(e, cosine(e, regime, "muon"), cosine(e, regime, label)) > 0;
  if (isfinite(saved))
    length =
        snprintf(text, capacity, "%s: at %zu of %d regimes, at %s %.1f%% of the steps. ", label,
                 ahead, e->protocol->scale->regime_count, regime_name(e, largest), saved);
  else
    length = snprintf(text, capacity, "%s: at %zu of %d regimes, and not at %s. ", label, ahead,
                      e->protocol->scale->regime_count, regime_name(e, largest));
  return length > 0 ? (size_t)length : 0;
}

void figure_steps_saved(const study_evidence *e, json_t *figure)
{
  static const char *const columns[] = {
      "regime",         "optimizer",   "Muon's final loss",
      "its final loss", "than Muon's", "its steps to Muon's final loss",
      "steps saved, %", NULL};
  static const char *const labels[] = {"mousse", "mousse no-graft"};
  char text[512];
  json_t *table = results_table(figure, "At the best learning rate of each", columns);
  for (int regime = 0; regime < e->protocol->scale->regime_count; regime++) {
    json_t *chart =
        results_chart(figure, regime_name(e, regime), results_axis("step", "linear"),
                      results_axis("validation loss", "linear"));
    cell_draw_curve(e, cosine(e, regime, "muon"), chart, "muon");
    for (size_t i = 0; i < 2; i++) {
      cell_draw_curve(e, cosine(e, regime, labels[i]), chart, labels[i]);
      add_saved_row(e, regime, labels[i], figure, table);
    }
  }
  compare_shorter(e, figure);
  const size_t used = saved_text(e, labels[0], text, sizeof text / 2);
  saved_text(e, labels[1], text + used, sizeof text - used);
  results_finding(figure, "Muon's final loss is reached before the end: %s", text);
}

void figure_pareto(const study_evidence *e, json_t *figure)
{
  static const char *const names[] = {"adamw", "muon", "soap", "mousse"};
  static const char *const columns[] = {"regime",  "optimizer", "final loss",
                                        "seconds", "to Muon's", NULL};
  json_t *chart = results_chart(figure, "Loss against the time of the whole run",
                                results_axis("seconds", "log"),
                                results_axis("final validation loss", "linear"));
  json_t *table = results_table(figure, "Seconds are steps times the median step", columns);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    json_t *series = results_series(chart, names[i], "line");
    for (int regime = 0; regime < e->protocol->scale->regime_count; regime++) {
      const study_cell *c = cosine(e, regime, names[i]);
      const run_mean loss = cell_group(e, c)->final_loss;
      const double seconds = cell_total_seconds(e, c);
      json_t *row = results_row(table);
      results_point(series, seconds, loss.mean, loss.spread);
      results_text(row, regime_name(e, regime));
      results_text(row, names[i]);
      results_number(row, loss.mean);
      results_number(row, seconds);
      results_number(row, seconds / cell_total_seconds(e, cosine(e, regime, "muon")));
      cell_name_runs(e, c, figure);
    }
  }
  const int largest = e->protocol->scale->regime_count - 1;
  const double ratio = cell_total_seconds(e, cosine(e, largest, "mousse")) /
                       cell_total_seconds(e, cosine(e, largest, "muon"));
  if (isfinite(ratio))
    results_finding(figure,
                    "At %s a run with Mousse takes %.2f times as long as one with Muon.",
                    regime_name(e, largest), ratio);
  else
    results_finding(figure, "At %s all runs of Mousse or of Muon diverged.",
                    regime_name(e, largest));
}

/* One line of the table of planned memory. */
typedef struct memory_form {
  const char *label, *optimizer, *sides;
} memory_form;

static const memory_form forms[] = {{"muon", "muon", ""},
                                    {"mousse, both sides", "mousse", "both"},
                                    {"mousse, smaller side", "mousse", "small"},
                                    {"soap", "soap", ""},
                                    {"adamw", "adamw", ""}};
enum { FORMS = sizeof forms / sizeof *forms };

/* Bytes that training a preset takes, as planned: nothing is run. NaN: no memory to plan. */
static double planned_bytes(const char *preset, const memory_form *form)
{
  train_options run;
  train_estimate estimate;
  gpt_config config;
  double bytes = NAN;
  if (options_defaults(&run, NULL) != MOUSSE_OK ||
      options_set(&run, "preset", preset, NULL, NULL) != MOUSSE_OK ||
      options_set(&run, "optimizer", form->optimizer, NULL, NULL) != MOUSSE_OK ||
      options_set(&run, "device_batch_size", "4", NULL, NULL) != MOUSSE_OK ||
      options_set(&run, "slices", "1", NULL, NULL) != MOUSSE_OK ||
      options_set(&run, "save_in_background", "false", NULL, NULL) != MOUSSE_OK)
    return NAN;
  if (form->sides[0] != '\0' &&
      options_set(&run, "opt.sides", form->sides, NULL, NULL) != MOUSSE_OK)
    return NAN;
  if (run_model_from(&run, NULL, 0, &config, NULL) == MOUSSE_OK &&
      estimate_open(&estimate, &run, &config, 1, NULL, NULL) == MOUSSE_OK) {
    bytes = (double)estimate_bytes(&estimate);
    estimate_close(&estimate);
  }
  return bytes;
}

static void add_measured_memory(const study_evidence *e, json_t *figure)
{
  static const char *const names[] = {"adamw", "muon", "soap", "mousse"};
  static const char *const columns[] = {"regime", "optimizer", "peak, MB", "to Muon's", NULL};
  const int largest = e->protocol->scale->regime_count - 1;
  json_t *table = results_table(figure, "Peak memory of this study's largest runs", columns);
  const study_cell *muon = cosine(e, largest, "muon");
  const double reference = cell_group(e, muon)->peak_bytes.mean;
  for (size_t i = 0; i < 4; i++) {
    const study_cell *c = cosine(e, largest, names[i]);
    const double peak = cell_group(e, c)->peak_bytes.mean;
    json_t *row = results_row(table);
    results_text(row, regime_name(e, largest));
    results_text(row, names[i]);
    results_number(row, peak / 1e6);
    results_number(row, peak / reference);
    cell_name_runs(e, c, figure);
  }
}

void figure_memory(const study_evidence *e, json_t *figure)
{
  static const char *const presets[] = {"162M", "834M"};
  static const char *const columns[] = {"model",     "optimizer", "GB",
                                        "to Muon's", "to SOAP's", NULL};
  double small = NAN, both = NAN;
  json_t *table = results_table(figure,
                                "Planned for the paper's models, 4 sequences of 1,024 tokens "
                                "at a time: weights, gradients, activations, optimizer",
                                columns);
  for (size_t p = 0; p < 2; p++) {
    json_t *axis = results_categories("optimizer");
    for (size_t i = 0; i < FORMS; i++) results_category(axis, forms[i].label);
    json_t *chart = results_chart(figure, presets[p], axis,
                                  results_axis("memory relative to Muon's", "linear"));
    json_t *series = results_series(chart, presets[p], "bars");
    const double muon = planned_bytes(presets[p], &forms[0]);
    const double soap = planned_bytes(presets[p], &forms[3]);
    for (size_t i = 0; i < FORMS; i++) {
      const double bytes = planned_bytes(presets[p], &forms[i]);
      json_t *row = results_row(table);
      results_point(series, (double)i, bytes / muon, NAN);
      results_text(row, presets[p]);
      results_text(row, forms[i].label);
      results_number(row, bytes / 1e9);
      results_number(row, bytes / muon);
      results_number(row, bytes / soap);
      if (i == 1) both = bytes / muon;
      if (i == 2) small = bytes / muon;
    }
  }
  add_measured_memory(e, figure);
  results_finding(figure,
                  "Of the 834M model Mousse needs %.2f times Muon's memory with both sides, "
                  "%.2f times with the smaller side only.",
                  both, small);
}
