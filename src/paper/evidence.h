/* evidence.h - the finished runs of a protocol, and what figures ask of them. */
#ifndef MOUSSE_PAPER_EVIDENCE_H
#define MOUSSE_PAPER_EVIDENCE_H

#include "paper/protocol.h"
#include "report/results.h"
#include "study/run_record.h"

typedef struct study_evidence {
  const study_protocol *protocol;
  const study_runs *runs;
  run_record *records; /* owned, by the runs' indices; of diverged and failed runs zeroed */
} study_evidence;

mousse_status evidence_read(study_evidence *evidence, const study_protocol *protocol,
                            const study_runs *runs, mo_error *error);
void evidence_release(study_evidence *evidence);

/* Mean and standard deviation of some runs' values; NaN are left out. */
typedef struct study_spread {
  double mean, deviation; /* NaN: no value; the deviation of one value is NaN, too */
  size_t count;
} study_spread;

/* Over the seeds of a cell at its best learning rate. */
study_spread cell_loss(const study_evidence *evidence, const study_cell *cell);
study_spread cell_step_seconds(const study_evidence *evidence, const study_cell *cell);
double cell_total_seconds(const study_evidence *evidence, const study_cell *cell);
/* The step at which the mean validation curve first is at most target; NaN: never. */
double cell_steps_to(const study_evidence *evidence, const study_cell *cell, double target);

/* The validation curve from a third of the run on: points (step, mean, deviation) over the
 * seeds, as a series of a chart. */
void cell_draw_curve(const study_evidence *evidence, const study_cell *cell, json_t *chart,
                     const char *name);

/* The validation loss of the first seed's run at a learning rate and step; NaN: none. */
double cell_loss_at(const study_evidence *evidence, const study_cell *cell, size_t rate,
                    uint64_t step);
double cell_rate_loss(const study_evidence *evidence, const study_cell *cell, size_t rate);

/* The best learning rate; NaN: all diverged. at_edge: of its grid. */
double cell_best_rate(const study_cell *cell, bool *at_edge);

/* Notes the runs that a figure is made from. */
void cell_name_runs(const study_evidence *evidence, const study_cell *cell, json_t *figure);

/* "4.1961 +- 0.0032 (3)" as a cell of a table. */
void spread_text(study_spread spread, char text[64]);

/* Whether a mean is clearly above ("worse") or below another, at 95% by Student's t; at least
 * three runs each are asked for. */
const char *spread_verdict(study_spread spread, study_spread reference);

/* The one function per figure of figures.def. */
#define FIGURE(name, id, title, paper)                                                         \
  void figure_##name(const study_evidence *evidence, json_t *figure);
#include "paper/figures.def"

#endif
