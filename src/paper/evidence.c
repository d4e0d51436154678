/* evidence.c - reads the runs of a protocol and summarises them per cell. */
#include "paper/evidence.h"

#include "base/memory.h"
#include "study/curves.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static mousse_status read_runs(study_evidence *e, mo_error *error)
{
  for (size_t i = 0; i < e->runs->count; i++) {
    const study_run *r = &e->runs->runs[i];
    const record_parts parts =
        r->run.telemetry_every > 0 ? RECORD_CURVES_AND_TELEMETRY : RECORD_CURVES;
    if (r->state == STUDY_COMPLETE)
      MO_TRY(run_record_read(&e->records[i], r->directory, parts, error));
  }
  return MOUSSE_OK;
}

static mousse_status group_cells(study_evidence *e, mo_error *error)
{
  for (size_t i = 0; i < e->protocol->count; i++) {
    const study_cell *c = &e->protocol->cells[i];
    run_group_start(&e->groups[i]);
    for (size_t k = 0; c->best < c->rate_count && c->figures != 0 && k < c->seed_count; k++)
      if (e->records[c->seeds[k]].complete)
        MO_TRY(run_group_add(&e->groups[i], &e->records[c->seeds[k]], error));
  }
  return MOUSSE_OK;
}

mousse_status evidence_read(study_evidence *e, const study_protocol *protocol,
                            const study_runs *runs, mo_error *error)
{
  *e = (study_evidence){.protocol = protocol, .runs = runs};
  e->records = mo_allocate(NULL, (runs->count + 1) * sizeof *e->records);
  e->groups = mo_allocate(NULL, (protocol->count + 1) * sizeof *e->groups);
  if (e->records == NULL || e->groups == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %zu runs", runs->count);
  MO_TRY(read_runs(e, error));
  return group_cells(e, error);
}

void evidence_release(study_evidence *e)
{
  for (size_t i = 0; e->records != NULL && i < e->runs->count; i++)
    run_record_release(&e->records[i]);
  for (size_t i = 0; e->groups != NULL && i < e->protocol->count; i++)
    run_group_release(&e->groups[i]);
  mo_release(NULL, e->records, (e->runs->count + 1) * sizeof *e->records);
  mo_release(NULL, e->groups, (e->protocol->count + 1) * sizeof *e->groups);
  *e = (study_evidence){0};
}

const run_group *cell_group(const study_evidence *e, const study_cell *c)
{
  return &e->groups[c - e->protocol->cells];
}

void cell_loss_text(const study_evidence *e, const study_cell *c, char text[64])
{
  if (c->seed_count > 0)
    run_mean_text(cell_group(e, c)->final_loss, text);
  else
    snprintf(text, 64, "not run");
}

double cell_total_seconds(const study_evidence *e, const study_cell *c)
{
  return cell_group(e, c)->step_seconds.mean * (double)c->run.num_iterations;
}

void cell_draw_curve(const study_evidence *e, const study_cell *c, json_t *chart,
                     const char *name)
{
  curve_views(chart);
  /* The first third falls by nats and would hide what happens in hundredths of them. */
  curve_validation(results_series(chart, name, "line"), cell_group(e, c),
                   (double)c->run.num_iterations / 3, CURVE_POINTS);
}

static const run_record *rate_record(const study_evidence *e, const study_cell *c, size_t rate)
{
  const run_record *r = &e->records[c->grid[rate]];
  return r->complete ? r : NULL;
}

double cell_loss_at(const study_evidence *e, const study_cell *c, size_t rate, uint64_t step)
{
  const run_record *r = rate_record(e, c, rate);
  for (size_t i = 0; r != NULL && i < r->validation_count; i++)
    if (r->validations[i].step == step) return r->validations[i].loss;
  return NAN;
}

double cell_rate_loss(const study_evidence *e, const study_cell *c, size_t rate)
{
  const run_record *r = rate_record(e, c, rate);
  return r != NULL ? r->final_loss : NAN;
}

double cell_best_rate(const study_cell *c)
{
  return c->best < c->rate_count ? cell_best(c).lr : NAN;
}

/* Of the steps; whole ones, so it is not just STUDY_SHORT_PERCENT. */
static double shorter_share(const study_cell *whole, const study_cell *shorter)
{
  return (double)shorter->run.num_iterations / (double)whole->run.num_iterations;
}

double regime_slope(const study_evidence *e, int regime)
{
  const study_cell *whole = protocol_find(e->protocol, STUDY_COSINE, regime, "muon");
  const study_cell *shorter = protocol_find(e->protocol, STUDY_COSINE, regime, "muon, shorter");
  if (whole == NULL || shorter == NULL) return NAN;
  const run_mean lost = run_group_paired(cell_group(e, shorter), cell_group(e, whole));
  return lost.mean > 0 ? lost.mean / (100 * (1 - shorter_share(whole, shorter))) : NAN;
}

/* A schedule of `share` of the steps costs Muon some nats, and each further one of `share` of what is
 * left about as much again: loss falls with the logarithm of the steps. Along a straight line, what
 * is far ahead would seem further. */
static double percent_saved(double share, double times)
{
  return 100 * (1 - pow(share, times));
}

/* What the opponent is behind, in what Muon loses by a shorter schedule. */
static run_ratio steps_saved(const study_evidence *e, const study_cell *c,
                             const study_cell *opponent)
{
  const study_cell *whole = protocol_find(e->protocol, STUDY_COSINE, c->regime, "muon");
  const study_cell *shorter =
      protocol_find(e->protocol, STUDY_COSINE, c->regime, "muon, shorter");
  if (!isfinite(regime_slope(e, c->regime))) return (run_ratio){NAN, NAN, NAN};
  const double share = shorter_share(whole, shorter);
  const run_ratio r = run_group_ratio(cell_group(e, opponent), cell_group(e, c),
                                      cell_group(e, shorter), cell_group(e, whole));
  return (run_ratio){percent_saved(share, r.value), percent_saved(share, r.low),
                     percent_saved(share, r.high)};
}

cell_gain cell_gain_over(const study_evidence *e, const study_cell *c,
                         const study_cell *opponent)
{
  return (cell_gain){.difference = run_group_paired(cell_group(e, c), cell_group(e, opponent)),
                     .steps = steps_saved(e, c, opponent)};
}

static bool has_all_seeds(const study_evidence *e, const study_cell *c)
{
  return cell_group(e, c)->final_loss.count == c->seed_count;
}

const char *cell_verdict(const study_evidence *e, const study_cell *c,
                         const study_cell *opponent)
{
  if (c->seed_count == 0) return "behind in the search";
  if (!has_all_seeds(e, c) || !has_all_seeds(e, opponent)) return "not all seeds ended";
  return run_mean_verdict(run_group_paired(cell_group(e, c), cell_group(e, opponent)));
}

bool cell_is_better(const study_evidence *e, const study_cell *c, const study_cell *opponent)
{
  return strcmp(cell_verdict(e, c, opponent), "better") == 0;
}

bool regime_is_fit(const study_evidence *e, int regime, cell_gain *gain)
{
  static const double least = 15; /* per cent */
  const study_cell *muon = protocol_find(e->protocol, STUDY_COSINE, regime, "muon");
  const study_cell *adamw = protocol_find(e->protocol, STUDY_COSINE, regime, "adamw");
  *gain = cell_gain_over(e, muon, adamw);
  return gain->steps.value >= least && cell_is_better(e, muon, adamw);
}

void cell_name_runs(const study_evidence *e, const study_cell *c, json_t *figure)
{
  for (size_t i = 0; i < c->rate_count; i++)
    results_run(figure, e->runs->runs[c->grid[i]].name);
  for (size_t i = 0; c->best < c->rate_count && c->figures != 0 && i < c->seed_count; i++)
    results_run(figure, e->runs->runs[c->seeds[i]].name);
}
