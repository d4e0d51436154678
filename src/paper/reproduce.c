/* reproduce.c - tokens, then the runs of the protocol stage by stage, then the figures. */
#include "paper/reproduce.h"

#include "base/file.h"
#include "base/parallel.h"
#include "data/shards/dataset.h"
#include "paper/evidence.h"
#include "paper/synthetic_text.h"

#include <stdio.h>
#include <unistd.h>

enum { MADE_BYTES = 2000000 };

/* The text to tokenize: the one given, or DIR/text.txt. */
static mousse_status find_text(const reproduction *what, char path[MO_SETTING_PATH],
                               mo_error *error)
{
  if (what->text != NULL) {
    snprintf(path, MO_SETTING_PATH, "%s", what->text);
    return MOUSSE_OK;
  }
  MO_TRY(mo_path_join(path, MO_SETTING_PATH, what->directory, "text.txt", error));
  /* One that is there is complete, and the tokens are made from it. */
  return access(path, R_OK) == 0 ? MOUSSE_OK : synthetic_text_write(path, MADE_BYTES, error);
}

static mousse_status make_data(const reproduction *what, const char *out, mo_error *error)
{
  char path[MO_SETTING_PATH], tokenizer[32];
  const char *inputs[1] = {path};
  mo_dataset made;
  bool existed = false;
  MO_TRY(find_text(what, path, error));
  snprintf(tokenizer, sizeof tokenizer, "train:%d", what->scale->vocabulary);
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

static mousse_status execute(study_runs *runs, const reproduction *what, int *stopped,
                             mo_error *error)
{
  MO_TRY(study_execute(runs, &what->execution, stopped, error));
  return *stopped != 0 ? MOUSSE_OK : check_ends(runs, error);
}

/* Wave after wave, until every search has used its budget. */
static mousse_status tune(study_protocol *p, bool home, study_runs *runs,
                          const reproduction *what, int *stopped, mo_error *error)
{
  bool more = true;
  while (more && *stopped == 0) {
    MO_TRY(protocol_tune(p, home, runs, &more, error));
    if (more) MO_TRY(execute(runs, what, stopped, error));
  }
  return MOUSSE_OK;
}

static mousse_status make_runs(study_protocol *p, study_runs *runs, const reproduction *what,
                               int *stopped, mo_error *error)
{
  *stopped = 0;
  MO_TRY(tune(p, true, runs, what, stopped, error));
  MO_TRY(tune(p, false, runs, what, stopped, error));
  if (*stopped != 0) return MOUSSE_OK;
  MO_TRY(protocol_add_seeds(p, runs, error));
  return execute(runs, what, stopped, error);
}

static void describe(const reproduction *what, json_t *results)
{
  const study_scale *s = what->scale;
  char text[640];
  snprintf(text, sizeof text,
           "Scale '%s' of docs/evidence-protocol.md. Every contender searches for its learning "
           "rate and momentum together, with %d runs of one seed in the regime %s; in every "
           "other regime it keeps the momentum and searches for its learning rate with %d. The "
           "best is then trained with %d other seeds, which chose nothing; losses and "
           "differences, paired by seed, are over those, at the end of the schedule.",
           s->name, s->search_runs, s->regimes[0].name, s->rates, s->seeds);
  results_note(results, text);
  results_note(results, "Embedding and head are trained with Lion (with AdamW in the runs of "
                        "AdamW), the head's learning rate divided by the root of the width.");
  results_note(results, "Seconds are steps times the median time of a step, each run on its "
                        "share of the machine's cores.");
  snprintf(text, sizeof text, "Text: %.200s.",
           what->data_dir != NULL ? what->data_dir
           : what->text != NULL
               ? what->text
               : "sentences made up by a few rules; give --text for real ones");
  results_note(results, text);
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
  describe(what, *results);
  for (size_t i = 0; i < FIGURE_COUNT; i++)
    if ((what->figures & (1u << i)) != 0)
      makers[i](evidence, results_figure(*results, figure_rows[i].id, figure_rows[i].title,
                                         figure_rows[i].paper));
  return results_check(*results, error);
}

static mousse_status finish(const reproduction *what, const study_protocol *protocol,
                            const study_runs *runs, json_t **results, mo_error *error)
{
  study_evidence evidence;
  mousse_status status = evidence_read(&evidence, protocol, runs, error);
  if (status == MOUSSE_OK) status = make_figures(what, &evidence, results, error);
  evidence_release(&evidence);
  return status;
}

static mousse_status open_runs(const reproduction *what, study_runs *runs, mo_error *error)
{
  *runs = (study_runs){.runs = NULL};
  return mo_path_join(runs->directory, sizeof runs->directory, what->directory, "runs", error);
}

/* Goes through the stages as far as the runs that are there allow. */
static mousse_status plan_runs(study_protocol *p, study_runs *runs, mo_error *error)
{
  for (int home = 1; home >= 0; home--) {
    bool more = true;
    while (more) {
      MO_TRY(protocol_tune(p, home == 1, runs, &more, error));
      MO_TRY(study_look(runs, error));
      for (size_t i = 0; i < runs->count; i++)
        if (!study_run_ended(&runs->runs[i])) return MOUSSE_OK;
    }
  }
  MO_TRY(protocol_add_seeds(p, runs, error));
  return study_look(runs, error);
}

mousse_status reproduce_plan(const reproduction *what, study_runs *runs, mo_error *error)
{
  char data_dir[MO_SETTING_PATH];
  study_protocol protocol = {.cells = NULL};
  MO_TRY(open_runs(what, runs, error));
  MO_TRY(data_directory(what, data_dir, error));
  mousse_status status = protocol_plan(&protocol, what->scale, what->figures, data_dir, error);
  if (status == MOUSSE_OK) status = plan_runs(&protocol, runs, error);
  protocol_release(&protocol);
  return status;
}

mousse_status reproduce(const reproduction *what, json_t **results, int *stopped,
                        mo_error *error)
{
  char data_dir[MO_SETTING_PATH];
  study_protocol protocol = {.cells = NULL};
  study_runs runs;
  *results = NULL;
  MO_TRY(mo_make_directories(what->directory, error));
  MO_TRY(data_directory(what, data_dir, error));
  if (what->data_dir == NULL) MO_TRY(make_data(what, data_dir, error));
  MO_TRY(open_runs(what, &runs, error));
  mousse_status status = protocol_plan(&protocol, what->scale, what->figures, data_dir, error);
  if (status == MOUSSE_OK) status = make_runs(&protocol, &runs, what, stopped, error);
  if (status == MOUSSE_OK && *stopped == 0)
    status = finish(what, &protocol, &runs, results, error);
  study_release(&runs);
  protocol_release(&protocol);
  return status;
}
