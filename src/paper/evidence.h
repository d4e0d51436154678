/* evidence.h - the finished runs of a protocol, and what figures ask of them. */
#ifndef MOUSSE_PAPER_EVIDENCE_H
#define MOUSSE_PAPER_EVIDENCE_H

#include "paper/protocol.h"
#include "report/results.h"
#include "study/run_group.h"

typedef struct study_evidence {
  const study_protocol *protocol;
  const study_runs *runs;
  run_record *records; /* owned, by the runs' indices; of diverged and failed runs zeroed */
  const struct fine_tuning *fine; /* borrowed, for its figure; NULL: not asked for */
  run_group *groups; /* owned, by the cells' indices: the seeds at the best learning rate */
} study_evidence;

mousse_status evidence_read(study_evidence *evidence, const study_protocol *protocol,
                            const study_runs *runs, mo_error *error);
void evidence_release(study_evidence *evidence);

/* The seeds of a cell at its best learning rate; empty: all its runs diverged, or none decide. */
const run_group *cell_group(const study_evidence *evidence, const study_cell *cell);
/* The mean of their final losses, and what became of a cell that has none. */
void cell_loss_text(const study_evidence *evidence, const study_cell *cell, char text[64]);
double cell_total_seconds(const study_evidence *evidence, const study_cell *cell);

/* The validation curve from a third of the run on, as a series of a chart. */
void cell_draw_curve(const study_evidence *evidence, const study_cell *cell, json_t *chart,
                     const char *name);

/* The validation loss of the first seed's run at a learning rate and step; NaN: none. */
double cell_loss_at(const study_evidence *evidence, const study_cell *cell, size_t rate,
                    uint64_t step);
double cell_rate_loss(const study_evidence *evidence, const study_cell *cell, size_t rate);

double cell_best_rate(const study_cell *cell); /* NaN: all diverged */

/* What a contender gains over another in the same regime, by pairs of seeds. */
typedef struct cell_gain {
  run_mean difference; /* of the final losses */
  run_ratio steps;     /* per cent of the steps, with its 95% interval */
} cell_gain;
cell_gain cell_gain_over(const study_evidence *evidence, const study_cell *cell,
                         const study_cell *opponent);

/* Nats that a per cent of the steps is worth in a regime, by Muon with a shorter schedule of its
 * own; NaN: not measured, or not above 0. */
double regime_slope(const study_evidence *evidence, int regime);

/* The difference in words (run_mean_verdict). Seeds that diverged would drop out of the pairs and
 * leave the others to decide: then it says so, and nobody is better. So it is with a cell that was not
 * run with them, as it was behind in its search. */
const char *cell_verdict(const study_evidence *evidence, const study_cell *cell,
                         const study_cell *opponent);
bool cell_is_better(const study_evidence *evidence, const study_cell *cell,
                    const study_cell *opponent);

/* Whether Muon reaches AdamW's loss with at least 15% fewer steps, beyond the 95% interval of 0:
 * a regime in which it does not cannot answer who is better. */
bool regime_is_fit(const study_evidence *evidence, int regime, cell_gain *gain);

/* Notes the runs that a figure is made from. */
void cell_name_runs(const study_evidence *evidence, const study_cell *cell, json_t *figure);

/* The one function per figure of figures.def. */
#define FIGURE(name, id, title, paper)                                                         \
  void figure_##name(const study_evidence *evidence, json_t *figure);
#include "paper/figures.def"

#endif
