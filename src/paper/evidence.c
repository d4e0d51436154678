/* evidence.c - reads the runs of a protocol and summarises them per cell. */
#include "paper/evidence.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

mousse_status evidence_read(study_evidence *e, const study_protocol *protocol,
                            const study_runs *runs, mo_error *error)
{
  *e = (study_evidence){.protocol = protocol, .runs = runs};
  e->records = mo_allocate(NULL, (runs->count + 1) * sizeof *e->records);
  if (e->records == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %zu runs", runs->count);
  for (size_t i = 0; i < runs->count; i++) {
    const study_run *r = &runs->runs[i];
    const record_parts parts =
        r->run.telemetry_every > 0 ? RECORD_CURVES_AND_TELEMETRY : RECORD_CURVES;
    if (r->state == STUDY_COMPLETE)
      MO_TRY(run_record_read(&e->records[i], r->directory, parts, error));
  }
  return MOUSSE_OK;
}

void evidence_release(study_evidence *e)
{
  if (e->records == NULL) return;
  for (size_t i = 0; i < e->runs->count; i++) run_record_release(&e->records[i]);
  mo_release(NULL, e->records, (e->runs->count + 1) * sizeof *e->records);
  e->records = NULL;
}

static study_spread spread_of(const double *values, size_t count)
{
  study_spread s = {.mean = NAN, .deviation = NAN};
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(values[i])) continue;
    s.count++;
    sum += values[i];
  }
  if (s.count == 0) return s;
  s.mean = sum / (double)s.count;
  for (size_t i = 0; i < count; i++)
    if (isfinite(values[i])) squares += (values[i] - s.mean) * (values[i] - s.mean);
  if (s.count > 1) s.deviation = sqrt(squares / (double)(s.count - 1));
  return s;
}

/* The record of a seed's run at the best learning rate; NULL: it has none. */
static const run_record *seed_record(const study_evidence *e, const study_cell *c, size_t seed)
{
  if (c->best == c->rate_count) return NULL;
  const run_record *r = &e->records[c->seeds[seed]];
  return r->complete ? r : NULL;
}

static const run_record *rate_record(const study_evidence *e, const study_cell *c, size_t rate)
{
  const run_record *r = &e->records[c->grid[rate]];
  return r->complete ? r : NULL;
}

static double final_loss(const run_record *r)
{
  return r->final_loss;
}

static double step_seconds(const run_record *r)
{
  return r->step_seconds;
}

static study_spread over_seeds(const study_evidence *e, const study_cell *c,
                               double (*value)(const run_record *))
{
  double values[STUDY_MOST_SEEDS];
  for (size_t i = 0; i < c->seed_count; i++) {
    const run_record *r = seed_record(e, c, i);
    values[i] = r != NULL ? value(r) : NAN;
  }
  return spread_of(values, c->seed_count);
}

study_spread cell_loss(const study_evidence *e, const study_cell *c)
{
  return over_seeds(e, c, final_loss);
}

study_spread cell_step_seconds(const study_evidence *e, const study_cell *c)
{
  return over_seeds(e, c, step_seconds);
}

double cell_total_seconds(const study_evidence *e, const study_cell *c)
{
  return cell_step_seconds(e, c).mean * (double)c->run.num_iterations;
}

/* The i-th validation over the seeds; false: there is none. All seeds validate at the same
 * steps. */
static bool curve_point(const study_evidence *e, const study_cell *c, size_t i, double *step,
                        study_spread *loss)
{
  double values[STUDY_MOST_SEEDS];
  bool any = false;
  for (size_t k = 0; k < c->seed_count; k++) {
    const run_record *r = seed_record(e, c, k);
    const bool has = r != NULL && i < r->validation_count;
    values[k] = has ? r->validations[i].loss : NAN;
    if (has) *step = (double)r->validations[i].step;
    any = any || has;
  }
  *loss = spread_of(values, c->seed_count);
  return any;
}

double cell_steps_to(const study_evidence *e, const study_cell *c, double target)
{
  double step = 0, before_step = 0, before = INFINITY;
  study_spread loss;
  for (size_t i = 0; curve_point(e, c, i, &step, &loss); i++) {
    if (loss.mean <= target && !isfinite(before)) return step;
    if (loss.mean <= target)
      return before_step + (step - before_step) * (before - target) / (before - loss.mean);
    before = loss.mean;
    before_step = step;
  }
  return NAN;
}

void cell_draw_curve(const study_evidence *e, const study_cell *c, json_t *chart,
                     const char *name)
{
  /* The first third falls by nats and would hide what happens in hundredths of them. */
  const size_t first = 1 + (size_t)e->protocol->scale->validations / 3;
  json_t *series = results_series(chart, name, "line");
  double step = 0;
  study_spread loss;
  for (size_t i = first; curve_point(e, c, i, &step, &loss); i++)
    results_point(series, step, loss.mean, loss.deviation);
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

double cell_best_rate(const study_cell *c, bool *at_edge)
{
  *at_edge = c->best == 0 || c->best + 1 >= c->rate_count;
  return c->best < c->rate_count ? c->rates[c->best] : NAN;
}

void cell_name_runs(const study_evidence *e, const study_cell *c, json_t *figure)
{
  for (size_t i = 0; i < c->rate_count; i++)
    results_run(figure, e->runs->runs[c->grid[i]].name);
  for (size_t i = 0; c->best < c->rate_count && i < c->seed_count; i++)
    results_run(figure, e->runs->runs[c->seeds[i]].name);
}

void spread_text(study_spread s, char text[64])
{
  if (s.count == 0)
    snprintf(text, 64, "diverged");
  else if (s.count == 1)
    snprintf(text, 64, "%.4f (1)", s.mean);
  else
    snprintf(text, 64, "%.4f ± %.4f (%zu)", s.mean, s.deviation, s.count);
}

/* 97.5% quantiles of Student's t with 1, 2, ... degrees of freedom: what a difference must
 * exceed, in standard errors, to be called clear at 95%. */
static double quantile(size_t freedom)
{
  static const double values[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306};
  const size_t count = sizeof values / sizeof *values;
  return freedom == 0 ? INFINITY : freedom <= count ? values[freedom - 1] : 2.2;
}

static double margin(study_spread a, study_spread b)
{
  return quantile(a.count + b.count - 2) * sqrt(a.deviation * a.deviation / (double)a.count +
                                                b.deviation * b.deviation / (double)b.count);
}

const char *spread_verdict(study_spread variant, study_spread base)
{
  const double difference = variant.mean - base.mean;
  if (variant.count == 0) return "diverges";
  if (variant.count < 3 || base.count < 3) return "fewer than three runs";
  if (fabs(difference) <= margin(variant, base)) return "no clear difference";
  return difference > 0 ? "worse" : "better";
}
