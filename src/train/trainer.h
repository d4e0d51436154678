/* trainer.h - a run under way: shared by the line of its steps (train.c) and by what happens
 * between them (milestones.c). */
#ifndef MOUSSE_TRAIN_TRAINER_H
#define MOUSSE_TRAIN_TRAINER_H

#include "train/alarms.h"
#include "train/session.h"
#include "train/train.h"

typedef struct trainer {
  train_session session;
  train_metrics metrics;
  const train_options *run;
  const mousse_comm *comm;
  const train_display *display;
  train_schedule schedule;
  run_notices notices; /* to the display and into log.txt */
  char early[2048];    /* notices, in lines, from before log.txt was open */
  uint64_t saved;      /* the step of the newest checkpoint; 0: none */
  uint64_t saving;     /* the step of the one that is being written; 0: none */
  bool saving_asked;   /* a signal asked for that one */
  int stop;            /* the signal that ends the run; 0: none */
  bool save_wanted;    /* a signal asked for a checkpoint */
  bool best_wanted;    /* a new lowest validation loss asks for one */
  bool due;            /* one was due since the last, at a step that was skipped perhaps */
  run_alarms alarms;
} trainer;

static inline bool trainer_due(uint64_t step, int64_t every)
{
  return every > 0 && step % (uint64_t)every == 0;
}

/* milestones.c: each does its work when the step asks for it. All are [collective]; a sample that
 * cannot be made is no failure. */
mousse_status milestone_validate(trainer *t, mo_error *error);
mousse_status milestone_sample(trainer *t, mo_error *error);
mousse_status milestone_save(trainer *t, mo_error *error);

/* The checkpoint that a thread may be writing, on the rank that has one: told when it is there,
 * and, before a run ends, waited for. Not collective: the others hear of it at the next save. */
void milestone_look_at_save(trainer *t);
void milestone_end_save(trainer *t);

#endif
