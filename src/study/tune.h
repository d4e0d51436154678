/* tune.h - learning rate, momentum and the rates of embedding and head for somebody's own data and
 * model, within a given time: the search of the evidence (search.h) with trials as long as the time
 * allows.
 *
 *     DIR/runs/NAME/     the trials (runs.h); 'probe' times a few steps first
 *     DIR/trials.yaml    the length of a trial, decided once
 *     DIR/best.yaml      what was found: mousse train --config DIR/best.yaml
 *
 * Trials may be shorter than the run that is meant. The schedule is as long as the trial, and the
 * momentum is carried over by the law of recipe_laws.h: its memory grows as the square root of
 * the steps. A search that was stopped goes on; the time that counts is that of its trials.
 */
#ifndef MOUSSE_STUDY_TUNE_H
#define MOUSSE_STUDY_TUNE_H

#include "report/results.h"
#include "study/details.h"
#include "study/runs.h"
#include "study/search.h"

enum { TUNE_TRIALS = 12, TUNE_LEAST_STEPS = 40, TUNE_WAVE = 4 };

typedef struct tune_request {
  train_options run; /* what is meant: model, data, steps, optimizer */
  const char *directory;
  double seconds;
  study_execution execution;
} tune_request;

typedef struct tune_search {
  const tune_request *request;
  study_runs runs;
  int64_t steps;        /* of a trial */
  double step_seconds;  /* of the probe */
  size_t width;         /* of the model, as the probe found it */
  double elapsed;       /* seconds of the waves made so far, by the clock */
  double longest;       /* of a trial */
  double lr, rest;      /* where it starts; rest: 1 - momentum */
  const char *momentum; /* the option: "mu" or "beta1"; NULL: it has none */
  search search;
  size_t waiting[TUNE_WAVE];
  search_point points[TUNE_WAVE];
  size_t waiting_count;
  bool out_of_time; /* the search ended before its budget */
} tune_search;

/* What a point stands for. */
study_setting tune_setting_at(const tune_search *t, const search_point *point);

/* The same for a run of another length: the memory of the momentum grows with it. */
study_setting tune_carry(const tune_search *t, study_setting found, int64_t steps);

/* Makes the trials, then best.yaml. stopped: a signal asked to stop; the same call goes on. After
 * a failure as well, tune_close releases what there is. */
mousse_status tune_execute(tune_search *t, const tune_request *request, int *stopped,
                           mo_error *error);
void tune_close(tune_search *t);

/* tune_report.c: all trials as a document, owned by the caller. */
mousse_status tune_report(const tune_search *t, const char *command, json_t **results,
                          mo_error *error);

#endif
