/* runs.h - many training runs, each a child process in a directory of its own.
 *
 *     DIR/lock                one study at a time
 *     DIR/NAME/run.yaml       what the run was asked to do
 *     DIR/NAME/output.txt     what the child printed
 *     DIR/NAME/result.json    how it ended (run_result.h); there only when it is complete or has
 *                             diverged
 *     DIR/NAME/...            what `mousse train` writes
 *
 * A run that has a result.json is never repeated; one that was killed goes on from its last
 * checkpoint, with the same bits. So a killed study, started again, ends as if it had never
 * been killed.
 */
#ifndef MOUSSE_STUDY_RUNS_H
#define MOUSSE_STUDY_RUNS_H

#include "study/study_data.h"
#include "train/options.h"

#include <sys/types.h>

enum { STUDY_NAME = 192, STUDY_WINDOW = 10, STUDY_LIMITS = 32 };

typedef enum study_state {
  STUDY_WAITING,
  STUDY_STOPPED, /* begun, and asked to stop or killed: it goes on from its last checkpoint */
  STUDY_RUNNING,
  STUDY_COMPLETE,
  STUDY_DIVERGED, /* stopped early: see loss_watch.h */
  STUDY_HOPELESS, /* likewise: it was too far behind where it was to be compared with */
  STUDY_FAILED    /* the child ended with an error; tried again when the study is repeated */
} study_state;

const char *study_state_name(study_state state);

/* What is known of a run's losses while it goes on. */
typedef struct loss_watch {
  long offset; /* of metrics.jsonl that is read already */
  uint64_t step;
  double loss;     /* of the last step; infinite when it was skipped */
  double val_loss; /* of the validation after that step; NAN: none */
  double first, window[STUDY_WINDOW];
  uint64_t seen, skipped; /* steps, and the last ones of them in a row without a gradient */
} loss_watch;

/* When a run is stopped before its end. */
typedef struct loss_rule {
  uint64_t most_skipped; /* steps in a row without a finite gradient */
  bool any_loss;         /* however far its losses are above the first */
  size_t limit_count;
  struct {
    uint64_t step;
    double loss;
  } limits[STUDY_LIMITS]; /* a validation at this step that is above this loss */
} loss_rule;

typedef struct study_run {
  char name[STUDY_NAME], directory[MO_SETTING_PATH];
  train_options run;
  study_state state;
  loss_rule rule;
  loss_watch course;
  pid_t child;
  double started;        /* by this process; 0: it was not */
  uint64_t steps_before; /* that it had then */
  bool asked_to_stop;    /* since it was started */
  bool archived;         /* known from an archive alone: it has no files */
} study_run;

/* Runs that are not in a list yet but will be: how many, and their work (progress.h). */
typedef struct study_expected {
  size_t count;
  double work;
} study_expected;

/* A growing list of runs in one directory. */
typedef struct study_runs {
  char directory[MO_SETTING_PATH];
  study_run *runs; /* owned */
  size_t count, capacity;
  study_expected expected;           /* as whoever adds runs says; for the progress alone */
  study_data data;                   /* that of the runs that were begun */
  const struct study_runs *archived; /* borrowed: they count as if they were here; NULL: none */
} study_runs;

/* Adds a run unless one of that name is there; then it must be the same. index may be NULL. */
mousse_status study_add(study_runs *runs, const char *name, const train_options *run,
                        size_t *index, mo_error *error);
void study_release(study_runs *runs);

typedef struct study_execution {
  const char *program; /* the mousse that trains */
  int jobs;            /* runs at a time; those that name no threads have a fair share each */
  bool stop_diverged;
  void (*watch)(void *user, const study_runs *runs); /* now and then; may be NULL */
  void *user;
  /* After runs have ended, while others may go on: may add runs. *again, false before: a moment later as
   * well, whatever happens. May be NULL. */
  mousse_status (*ended)(void *source, study_runs *runs, bool *again, mo_error *error);
  void *source;
} study_execution;

/* How many runs like this one have a core for each of their threads; at least 1. */
int study_jobs(const train_options *run);

/* What is in the directory already: states and steps of the runs that were begun, or as the archived ones
 * have them. A run made there with other options or data is refused. */
mousse_status study_look(study_runs *runs, mo_error *error);

/* Whether a run has ended for good: complete, diverged or hopeless. */
bool study_run_ended(const study_run *run);
/* What a search compares: the validation at the end of a complete run; infinite for any other, and
 * where a full disk cost the run its last lines. */
double study_run_loss(const study_run *run);

/* Takes every run that has not ended to its end. A failed run does not stop the
 * others. stopped: a signal asked to stop; all is saved. */
mousse_status study_execute(study_runs *runs, const study_execution *how, int *stopped,
                            mo_error *error);

/* How many are in a state. */
size_t study_count(const study_runs *runs, study_state state);

#endif
