/* reproduce.c - tokens, then the runs of the protocol stage by stage, then the figures. */
#include "paper/reproduce.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "data/shards/dataset.h"
#include "paper/fine_tuning.h"
#include "paper/reproduce_notes.h"
#include "paper/synthetic_text.h"
#include "study/run_archive.h"
#include "study/study_directory.h"
#include "support/signals.h"
#include "train/run_data.h"

#include <stdio.h>
#include <unistd.h>

enum { MADE_BYTES = 2000000 };

/* The text to tokenize: the one given, or one that is made in DIR. */
static mousse_status find_text(const reproduction *what, const char *given, text_kind kind,
                               char path[MO_SETTING_PATH], mo_error *error)
{
  if (given != NULL) {
    snprintf(path, MO_SETTING_PATH, "%s", given);
    return MOUSSE_OK;
  }
  MO_TRY(mo_path_join(path, MO_SETTING_PATH, what->directory,
                      kind == TEXT_TALES ? "text.txt" : "other.txt", error));
  /* One that is there is complete, and the tokens are made from it. */
  if (access(path, R_OK) == 0) return MOUSSE_OK;
  return synthetic_text_write(path, kind, MADE_BYTES, error);
}

static mousse_status tokenize(const char *path, const char *tokenizer, const char *out,
                              mo_error *error)
{
  const char *inputs[1] = {path};
  mo_dataset made;
  bool existed = false;
  const dataset_options options = {.inputs = inputs,
                                   .input_count = 1,
                                   .tokenizer = tokenizer,
                                   .out = out,
                                   .name = "text",
                                   .val_fraction = 0.02,
                                   .shard_tokens = 100000000,
                                   .field = "text",
                                   .separator = "<|endoftext|>",
                                   .threads = mo_threads_available()};
  return dataset_build(&options, &made, &existed, error);
}

static mousse_status make_data(const reproduction *what, const char *out, mo_error *error)
{
  char path[MO_SETTING_PATH], tokenizer[32];
  MO_TRY(find_text(what, what->text, TEXT_TALES, path, error));
  snprintf(tokenizer, sizeof tokenizer, "train:%d", what->scale->vocabulary);
  return tokenize(path, tokenizer, out, error);
}

/* The other text, in the tokens of the first one. */
static mousse_status make_other_data(const reproduction *what, const char *data_dir,
                                     const char *out, mo_error *error)
{
  char path[MO_SETTING_PATH];
  if (!reproduce_fine_tunes(what)) return MOUSSE_OK;
  MO_TRY(find_text(what, what->other_text, TEXT_QUESTIONS, path, error));
  return tokenize(path, data_dir, out, error);
}

/* Where the tokens are or will be. */
static mousse_status data_directory(const reproduction *what, char data_dir[MO_SETTING_PATH],
                                    mo_error *error)
{
  if (what->data_dir == NULL)
    return mo_path_join(data_dir, MO_SETTING_PATH, what->directory, "data", error);
  snprintf(data_dir, MO_SETTING_PATH, "%s", what->data_dir);
  return MOUSSE_OK;
}

static mousse_status check_ends(const study_runs *runs, mo_error *error)
{
  for (size_t i = 0; i < runs->count; i++)
    if (runs->runs[i].state == STUDY_FAILED)
      return mo_fail(error, MOUSSE_IO,
                     "%zu runs failed, the first is %s: see its output.txt; the same command "
                     "tries them again",
                     study_count(runs, STUDY_FAILED), runs->runs[i].directory);
  return MOUSSE_OK;
}

/* What is done while runs are made. */
typedef struct running_stage {
  const reproduction *what;
  study_protocol *searches; /* NULL: all runs are known */
  study_stage stage;
  double archived; /* when runs were last, in seconds */
} running_stage;

static mousse_status archive_runs(const study_runs *runs, const reproduction *what,
                                  mo_error *error)
{
  const archived_study study = {what->directory, runs->directory, what->data_dir};
  return what->archive == NULL ? MOUSSE_OK : run_archive_write(&study, what->archive, error);
}

/* No search waits for another one's runs. What ends this program without warning costs the archive
 * the runs of some seconds: one that ended just after it was written must not wait for the next end,
 * which may be an hour away. */
static mousse_status go_on(void *source, study_runs *runs, bool *again, mo_error *error)
{
  enum { SECONDS_BETWEEN = 10 };
  running_stage *r = source;
  bool more;
  *again = r->what->archive != NULL && mo_seconds() - r->archived < SECONDS_BETWEEN;
  if (!*again) {
    MO_TRY(archive_runs(runs, r->what, error));
    r->archived = mo_seconds();
  }
  if (r->searches == NULL) return MOUSSE_OK;
  return protocol_tune(r->searches, r->stage, runs, &more, error);
}

static mousse_status execute(study_runs *runs, running_stage *stage, int *stopped,
                             mo_error *error)
{
  study_execution how = stage->what->execution;
  how.ended = go_on;
  how.source = stage;
  MO_TRY(study_execute(runs, &how, stopped, error));
  return *stopped != 0 ? MOUSSE_OK : check_ends(runs, error);
}

/* Until every search of the stage has used its budget. */
static mousse_status tune(study_protocol *p, study_stage stage, study_runs *runs,
                          const reproduction *what, int *stopped, mo_error *error)
{
  running_stage running = {what, p, stage, 0};
  bool more = true;
  while (more && *stopped == 0) {
    MO_TRY(protocol_tune(p, stage, runs, &more, error));
    if (more) MO_TRY(execute(runs, &running, stopped, error));
  }
  return MOUSSE_OK;
}

static mousse_status make_seeds(study_runs *runs, const reproduction *what, int *stopped,
                                mo_error *error)
{
  running_stage running = {.what = what};
  return execute(runs, &running, stopped, error);
}

/* The runs that were asked for, and where their tokens are. */
typedef struct reproduction_work {
  study_protocol protocol;
  fine_tuning fine;
  study_runs runs, archived; /* the latter for a plan */
  char data_dir[MO_SETTING_PATH], other_dir[MO_SETTING_PATH];
} reproduction_work;

/* After all others: it goes on from them. */
static mousse_status fine_tune(reproduction_work *w, const reproduction *what, int *stopped,
                               mo_error *error)
{
  if (!reproduce_fine_tunes(what)) return MOUSSE_OK;
  MO_TRY(fine_tuning_plan(&w->fine, &w->protocol, &w->runs, w->data_dir, w->other_dir, error));
  MO_TRY(tune(&w->fine.protocol, (study_stage){.regime = 0}, &w->runs, what, stopped, error));
  if (*stopped != 0) return MOUSSE_OK;
  MO_TRY(fine_tuning_add_seeds(&w->fine, &w->runs, error));
  return make_seeds(&w->runs, what, stopped, error);
}

/* Regime by regime, so that the first verdict is there long before the last. */
static mousse_status make_runs(study_protocol *p, study_runs *runs, const reproduction *what,
                               int *stopped, mo_error *error)
{
  *stopped = 0;
  MO_TRY(tune(p, (study_stage){.home = true}, runs, what, stopped, error));
  for (int regime = 0; regime < what->scale->regime_count && *stopped == 0; regime++) {
    MO_TRY(tune(p, (study_stage){.regime = regime}, runs, what, stopped, error));
    if (*stopped != 0) break;
    MO_TRY(protocol_add_seeds(p, regime, runs, error));
    MO_TRY(make_seeds(runs, what, stopped, error));
  }
  return MOUSSE_OK;
}

static mousse_status make_figures(const reproduction *what, const study_evidence *evidence,
                                  json_t **results, mo_error *error)
{
  typedef void (*maker)(const study_evidence *, json_t *);
  static const maker makers[FIGURE_COUNT] = {
#define FIGURE(name, id, title, paper) figure_##name,
#include "paper/figures.def"
  };
  *results = results_new("Mousse against Muon, SOAP and AdamW", what->command);
  reproduce_notes(what, *results);
  for (size_t i = 0; i < FIGURE_COUNT; i++)
    if ((what->request.figures & (1u << i)) != 0)
      makers[i](evidence, results_figure(*results, figure_rows[i].id, figure_rows[i].title,
                                         figure_rows[i].paper));
  return results_check(*results, error);
}

static mousse_status finish(const reproduction *what, reproduction_work *w, json_t **results,
                            mo_error *error)
{
  study_evidence evidence;
  mousse_status status = evidence_read(&evidence, &w->protocol, &w->runs, error);
  evidence.fine = &w->fine;
  if (status == MOUSSE_OK && reproduce_fine_tunes(what))
    status = fine_tuning_read(&w->fine, &w->runs, error);
  if (status == MOUSSE_OK) status = make_figures(what, &evidence, results, error);
  evidence_release(&evidence);
  return status;
}

/* Directories and cells; nothing is written. */
static mousse_status open_work(reproduction_work **out, const reproduction *what,
                               mo_error *error)
{
  reproduction_work *w = mo_allocate(NULL, sizeof *w);
  *out = w;
  if (w == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a list of runs");
  MO_TRY(mo_path_join(w->runs.directory, sizeof w->runs.directory, what->directory, "runs",
                      error));
  MO_TRY(data_directory(what, w->data_dir, error));
  MO_TRY(mo_path_join(w->other_dir, sizeof w->other_dir, what->directory, "other", error));
  return protocol_plan(&w->protocol, what->scale, what->request, w->data_dir, error);
}

static void close_work(reproduction_work *w)
{
  if (w == NULL) return;
  fine_tuning_release(&w->fine);
  study_release(&w->runs);
  study_release(&w->archived);
  protocol_release(&w->protocol);
  mo_release(NULL, w, sizeof *w);
}

static bool all_ended(const study_runs *runs)
{
  for (size_t i = 0; i < runs->count; i++)
    if (!study_run_ended(&runs->runs[i])) return false;
  return true;
}

static mousse_status plan_stage(study_protocol *p, study_stage stage, study_runs *runs,
                                bool *ended, mo_error *error)
{
  bool more = true;
  while (more) {
    MO_TRY(protocol_tune(p, stage, runs, &more, error));
    MO_TRY(study_look(runs, error));
  }
  *ended = all_ended(runs);
  return MOUSSE_OK;
}

static mousse_status plan_fine_tuning(reproduction_work *w, const reproduction *what,
                                      mo_error *error)
{
  bool ended = true;
  if (!reproduce_fine_tunes(what)) return MOUSSE_OK;
  MO_TRY(fine_tuning_plan(&w->fine, &w->protocol, &w->runs, w->data_dir, w->other_dir, error));
  MO_TRY(plan_stage(&w->fine.protocol, (study_stage){.regime = 0}, &w->runs, &ended, error));
  if (!ended) return MOUSSE_OK;
  MO_TRY(fine_tuning_add_seeds(&w->fine, &w->runs, error));
  return study_look(&w->runs, error);
}

/* A plan writes nothing, so archived runs are not unpacked for it. */
static mousse_status look_into_archive(reproduction_work *w, const reproduction *what,
                                       mo_error *error)
{
  const archived_study study = {what->directory, w->runs.directory, what->data_dir};
  if (what->archive == NULL) return MOUSSE_OK;
  w->runs.archived = &w->archived;
  return run_archive_list(&study, what->archive, what->notices, &w->archived, error);
}

/* Goes through the stages as far as the runs that are there allow. */
static mousse_status plan_runs(reproduction_work *w, const reproduction *what, mo_error *error)
{
  study_protocol *p = &w->protocol;
  bool ended = true;
  MO_TRY(look_into_archive(w, what, error));
  MO_TRY(plan_stage(p, (study_stage){.home = true}, &w->runs, &ended, error));
  for (int regime = 0; regime < p->scale->regime_count && ended; regime++) {
    MO_TRY(plan_stage(p, (study_stage){.regime = regime}, &w->runs, &ended, error));
    if (!ended) break;
    MO_TRY(protocol_add_seeds(p, regime, &w->runs, error));
    MO_TRY(study_look(&w->runs, error));
    ended = all_ended(&w->runs);
  }
  return ended ? plan_fine_tuning(w, what, error) : MOUSSE_OK;
}

mousse_status reproduce_plan(const reproduction *what, study_runs *runs, mo_error *error)
{
  reproduction_work *work = NULL;
  *runs = (study_runs){.runs = NULL};
  mousse_status status = open_work(&work, what, error);
  if (status == MOUSSE_OK) status = plan_runs(work, what, error);
  if (status == MOUSSE_OK) {
    *runs = work->runs;
    runs->archived = NULL; /* released here, and looked at already */
    work->runs = (study_runs){.runs = NULL};
  }
  close_work(work);
  return status;
}

static mousse_status train_all(reproduction_work *w, const reproduction *what, int *stopped,
                               mo_error *error)
{
  MO_TRY(make_runs(&w->protocol, &w->runs, what, stopped, error));
  return *stopped == 0 ? fine_tune(w, what, stopped, error) : MOUSSE_OK;
}

/* Signals are watched between the stages as well, so that none ends an archive half written. */
static mousse_status train_and_archive(reproduction_work *w, const reproduction *what,
                                       int *stopped, mo_error *error)
{
  const archived_study study = {what->directory, w->runs.directory, what->data_dir};
  if (what->archive == NULL) return train_all(w, what, stopped, error);
  MO_TRY(run_archive_unpack(&study, what->archive, what->notices, error));
  /* Where it cannot be written, that is told now and not when the first run has ended. */
  MO_TRY(archive_runs(&w->runs, what, error));
  signals_watch();
  const mousse_status status = train_all(w, what, stopped, error);
  *stopped = signals_stop();
  signals_ignore();
  const mousse_status kept = archive_runs(&w->runs, what, status == MOUSSE_OK ? error : NULL);
  return status != MOUSSE_OK ? status : kept;
}

static mousse_status work(reproduction_work *w, const reproduction *what, json_t **results,
                          int *stopped, mo_error *error)
{
  if (what->data_dir != NULL)
    MO_TRY(run_data_has_validation(what->data_dir, "mousse reproduce", error));
  MO_TRY(study_directory_take(what->directory, error));
  if (what->data_dir == NULL) MO_TRY(make_data(what, w->data_dir, error));
  MO_TRY(make_other_data(what, w->data_dir, w->other_dir, error));
  MO_TRY(train_and_archive(w, what, stopped, error));
  return *stopped == 0 ? finish(what, w, results, error) : MOUSSE_OK;
}

mousse_status reproduce(const reproduction *what, json_t **results, int *stopped,
                        mo_error *error)
{
  reproduction_work *w = NULL;
  *results = NULL;
  mousse_status status = open_work(&w, what, error);
  if (status == MOUSSE_OK) status = work(w, what, results, stopped, error);
  close_work(w);
  return status;
}
