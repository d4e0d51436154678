/* cmd_train.c - mousse train: one command from data to a model. */
#include "base/wording.h"
#include "cli/next_step.h"
#include "cli/rank_session.h"
#include "cli/run_options.h"
#include "cli/train_display.h"
#include "support/signals.h"
#include "train/estimate.h"
#include "train/model_files.h"
#include "train/rank_checks.h"
#include "train/resolve.h"
#include "train/run_model.h"
#include "train/run_out.h"
#include "watch/watch.h"

#include <stdio.h>

typedef struct train_values {
  run_values options;
  bool dry_run, json, watch;
} train_values;

static const mo_setting rows[] = {
    RUN_CONFIG_ROW,
    MO_SETTING_SWITCH(train_values, dry_run, "false",
                      "show the resolved run, its memory and its time, and stop"),
    MO_SETTING_SWITCH(train_values, json, "false",
                      "one JSON object per step and validation on standard output"),
    MO_SETTING_SWITCH(train_values, watch, "false",
                      "show the run on a page, as 'mousse watch' does, until it ends"),
};

static void print_run(const train_options *run)
{
  for (size_t i = 0; i < train_settings.count; i++) {
    char text[MO_SETTING_PATH];
    if (!mo_setting_text(&train_settings.rows[i], run, text, sizeof text)) continue;
    printf("%s: %s\n", train_settings.rows[i].name, text[0] != '\0' ? text : "(none)");
  }
  for (size_t i = 0; i < run->option_count; i++)
    printf("%s.%s: %s\n", run->options[i].scalar ? "scalar" : "opt", run->options[i].name,
           run->options[i].value);
}

static void print_estimate(const train_options *run, const train_estimate *e)
{
  const gpt_config *c = &e->config;
  const int threads = options_threads(run);
  const double speed = estimate_speed(threads);
  /* Layers reach about two thirds of a plain matrix product. */
  const double seconds = speed > 0 ? e->flops_per_step / (0.65 * speed) : 0;
  const double tokens = (double)run->batch_size * (double)c->sequence_len;
  printf("\nmodel: %.2f M parameters: width %zu, %s, %s, context %zu, vocabulary %zu\n",
         (double)e->parameters / 1e6, c->n_embd, MO_COUNT(c->n_layer, "layer"),
         MO_COUNT(c->n_head, "head"), c->sequence_len, c->vocab_size);
  if (e->trained < e->parameters) printf("trained: %.2f M of them\n", (double)e->trained / 1e6);
  printf("memory: %s of weights, gradients and activations, %s of sums of gradients, %s of the "
         "optimizer\n",
         MO_BYTES(e->model_bytes), MO_BYTES(e->gradient_bytes), MO_BYTES(e->optimizer_bytes));
  printf("checkpoints: %s a copy of %s\n",
         e->copied                 ? "written in the background, from"
         : run->save_in_background ? "training waits for them: there is no memory for"
                                   : "training waits for them; --save-in-background takes",
         MO_BYTES(e->copy_bytes));
  if (e->recompute)
    printf("recompute: on, which saves %s and takes about a quarter more time\n",
           MO_BYTES(e->less_bytes));
  else if (e->less_bytes > 0)
    printf("recompute: off; --recompute on saves %s and takes about a quarter more time\n",
           MO_BYTES(e->less_bytes));
  printf("tokens: %s in a step, %s in all\n", MO_NUMBER(tokens),
         MO_NUMBER(tokens * (double)run->num_iterations));
  printf("time: about %s on %s (%.3g s per step), forward and backward only\n",
         MO_DURATION(seconds * (double)run->num_iterations), MO_COUNT(threads, "thread"),
         seconds);
}

static mousse_status dry_run(const cli_invocation *call, const train_options *run,
                             mo_error *error)
{
  const run_notices *notices = call->quiet ? &run_notices_none : &run_notices_print;
  gpt_config config = {0};
  train_estimate e;
  train_options resolved = *run;
  if (run_out_choose(&resolved, notices, NULL) != MOUSSE_OK) /* data that are not there yet */
    MO_TRY(options_directory(run, resolved.out, sizeof resolved.out, error));
  MO_TRY(run_model_expect(run, notices, &config, error));
  MO_TRY(options_resolve(&resolved, &config, error));
  MO_TRY(estimate_open(&e, &resolved, &config, 1, notices, error));
  print_run(&resolved);
  print_estimate(&resolved, &e);
  estimate_close(&e);
  if (run->data_dir[0] == '\0')
    next_step(call, "tokenize TEXT --tokenizer train:4096 --out data/text");
  else
    next_step_again(call, "train", "dry_run");
  return MOUSSE_OK;
}

static void print_outcome(const train_outcome *o, const train_options *run)
{
  if (o->idle && o->early)
    printf("%s: already stopped early, at step %s; to continue, give a larger --patience\n",
           o->directory, MO_NUMBER(o->state.step));
  else if (o->idle)
    printf("%s: already complete, at step %s; to continue, give more --num-iterations\n",
           o->directory, MO_NUMBER(o->state.step));
  else if (o->early && o->state.best.step == 0) /* of which there is no checkpoint */
    printf("%s: stopped early at step %s: the loss never fell below its value before step 1; "
           "try a smaller --lr\n",
           o->directory, MO_NUMBER(o->state.step));
  else if (o->early && o->best == 0)
    printf("%s: stopped early at step %s; no checkpoint with a validation loss was kept\n",
           o->directory, MO_NUMBER(o->state.step));
  else if (o->early)
    printf("%s: stopped early at step %s; %s@best is that of step %s\n", o->directory,
           MO_NUMBER(o->state.step), o->directory, MO_NUMBER(o->best));
  else if (o->complete)
    printf("%s: complete: %s, %s\n", o->directory, MO_COUNT(o->state.step, "step"),
           MO_COUNT(o->state.tokens, "token"));
  else
    printf("%s: stopped at step %s of %s and saved%s\n", o->directory, MO_NUMBER(o->state.step),
           MO_NUMBER(run->num_iterations), run->resume ? "; the same command continues" : "");
  if (o->state.skipped > 0)
    printf("%s skipped: loss or gradient not finite\n", MO_COUNT(o->state.skipped, "step"));
}

static void suggest(const cli_invocation *call, const train_outcome *outcome)
{
  char best[MO_SETTING_PATH + 8];
  snprintf(best, sizeof best, "%s@best", outcome->directory);
  const bool has_best = outcome->early && outcome->best > 0;
  if (!outcome->complete && !outcome->early)
    next_step(call, "train --out %s", outcome->directory);
  else if ((has_best || !outcome->early) && model_files_can_write(outcome->directory))
    next_step(call, "generate --init %s", has_best ? best : outcome->directory);
  if (outcome->complete || outcome->early)
    next_step(call, "report %s --text", outcome->directory);
  if ((outcome->complete || outcome->early) && ((const train_values *)call->values)->watch)
    next_step(call, "watch %s", outcome->directory);
}

static mousse_status train(const cli_invocation *call, const mousse_comm *comm,
                           train_outcome *outcome, mo_error *error)
{
  static const train_display nobody = {.user = NULL};
  const train_values *v = call->values;
  const run_values *given = &v->options;
  train_options run = given->run;
  MO_TRY(ranks_take_options(&run, given->continues ? &given->flags : &given->run, comm, error));
  cli_train_display watcher = train_display_start(call->quiet, v->json);
  watcher.watch = v->watch;
  const train_display display = comm->rank == 0 ? train_display_functions(&watcher) : nobody;
  const mousse_status status = train_execute(&run, comm, &display, outcome, error);
  train_display_end(&watcher);
  if (status == MOUSSE_OK && comm->rank == 0 && !call->quiet && !v->json)
    print_outcome(outcome, &run);
  if (status == MOUSSE_OK && comm->rank == 0 && !v->json) suggest(call, outcome);
  fflush(NULL);
  return status;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const train_values *v = call->values;
  const train_options *options = &v->options.run;
  train_outcome outcome = {.signal = 0};
  mo_launch cluster;
  if (v->dry_run) return dry_run(call, options, error);
  if (v->watch && !watch_is_built(error)) return MOUSSE_INVALID_ARGUMENT;
  signals_expect_save();
  mousse_status status = rank_session_open(&cluster, (double)options->rank_timeout, error);
  if (status == MOUSSE_OK) status = train(call, &cluster.comm, &outcome, error);
  rank_session_close(&cluster, status, error);
  if (status == MOUSSE_OK && outcome.signal != 0 && !outcome.complete)
    signals_end(outcome.signal); /* all is saved */
  return status;
}

const cli_command command_train = {
    .name = "train",
    .summary = "Train a model",
    .arguments = "",
    .details = "If the run directory has a checkpoint, the run continues exactly as if it had "
               "never stopped. On SIGINT, SIGTERM or SIGHUP it finishes the step, saves and "
               "ends; on SIGUSR1 it saves and continues. Under mpirun or srun the ranks share "
               "each batch and the optimizer's work.\n\n"
               "  mousse train --data-dir data/book --out runs/book --num-iterations 2000\n"
               "  mousse train --config examples/configs/mousse-tiny.yaml --lr 0.01\n"
               "  mousse train --out runs/book                      (continues it)\n"
               "  mpirun -n 4 mousse train --data-dir data/book --out runs/book\n",
    .settings = MO_SETTINGS(rows),
    .base = &train_settings,
    .values_bytes = sizeof(train_values),
    .run = run,
    .configure = run_options_configure,
    .take = run_options_take,
    .more_help = run_options_help,
};
