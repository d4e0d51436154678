/* session.h - the objects of a run: everything that is opened before the first step, closed
 * after the last, and borrowed by the loop in between. */
#ifndef MOUSSE_TRAIN_SESSION_H
#define MOUSSE_TRAIN_SESSION_H

#include "support/run_lock.h"
#include "train/background_save.h"
#include "train/gradient.h"
#include "train/groups.h"
#include "train/run_data.h"
#include "train/step_inputs.h"

typedef struct train_session {
  const train_options *given; /* borrowed: as asked for */
  train_options options;      /* the same, resolved */
  const train_options *run;   /* these */
  const mousse_comm *comm;    /* borrowed */
  char directory[4096], checkpoints[4096];
  run_lock lock;
  run_data data;
  gpt_params *params;
  gpt_pass *pass;
  train_groups groups;
  train_gradient gradient;
  step_inputs inputs;
  weight_average average;
  trainer_state state;
  uint64_t checkpoint_bytes; /* what a checkpoint takes, about, */
  size_t state_bytes;        /* and of these the optimizer's state */
  background_save writer;    /* of checkpoints; off: they are written in place */
} train_session;

/* Opens all, and brings weights and state to where the run continues: its newest checkpoint
 * that is in order, or --init, or random weights. [collective] Rank 0 alone looks at the run
 * directory; the data are read by every rank. The session must not move until it is closed. */
mousse_status session_open(train_session *session, const train_options *run,
                           const mousse_comm *comm, const run_notices *notices,
                           mo_error *error);
/* Whether no step is left to take: then session_open has made no model, and nothing is written. */
bool session_is_over(const train_session *session);
void session_close(train_session *session); /* accepts a zeroed or closed one */

/* What a checkpoint of the session holds. */
checkpoint_content session_content(train_session *session);

#endif
