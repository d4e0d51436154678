/* tune.c - a probe, then trials in waves, then the best setting as a configuration. */
#include "study/tune.h"

#include "base/file.h"
#include "study/hopeless.h"
#include "study/progress.h"
#include "study/run_record.h"
#include "study/study_directory.h"
#include "train/recipe_laws.h"

#include <math.h>
#include <mousse/mousse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBE_STEPS = 6, VALIDATIONS = 6 };

/* The option's default in the library; NaN: the algorithm has no such option. */
static double default_of(const char *algorithm, const char *name)
{
  const mousse_option *option = options_of_algorithm(algorithm, name);
  return option != NULL ? option->initial : NAN;
}

static double number_or_nan(const char *text)
{
  return text[0] != '\0' && strcmp(text, "auto") != 0 ? strtod(text, NULL) : NAN;
}

/* What was given as opt.NAME, which stands over `text`, that of a row of its own; NaN: nothing. */
static double given(const train_options *run, const char *text, const char *name)
{
  for (size_t i = 0; i < run->option_count; i++)
    if (!run->options[i].scalar && strcmp(run->options[i].name, name) == 0)
      return number_or_nan(run->options[i].value);
  return number_or_nan(text);
}

/* Where the search starts: what was given, else the recipe's, which the probe used; of the
 * momentum the law. */
static void choose_start(tune_search *t)
{
  const train_options *run = &t->request->run;
  const double lr = given(run, run->lr, "lr");
  t->lr = isfinite(lr) && lr > 0 ? lr : t->lr;
  t->momentum = isfinite(default_of(run->optimizer, "mu"))      ? "mu"
                : isfinite(default_of(run->optimizer, "beta1")) ? "beta1"
                                                                : NULL;
  const bool is_mu = t->momentum != NULL && strcmp(t->momentum, "mu") == 0;
  const double asked =
      t->momentum != NULL ? given(run, is_mu ? run->mu : "", t->momentum) : NAN;
  t->rest = 1 - (isfinite(asked) ? asked : momentum_by_length(t->steps));
  t->search.together = t->momentum != NULL ? 2 : 1;
  t->search.budget = TUNE_TRIALS;
  t->search.alone = t->search.together == 2 ? 2 : 0; /* embedding and head */
}

study_setting tune_setting_at(const tune_search *t, const search_point *point)
{
  study_setting s = {.lr = t->lr * pow(2, 0.5 * point->at[0]), .momentum = NAN};
  if (t->momentum != NULL)
    s.momentum = 1 - fmin(fmax(t->rest * pow(2, 0.5 * point->at[1]), 0.002), 0.8);
  for (size_t i = 0; i < t->search.alone; i++) s.details[i] = point->at[2 + i];
  return s;
}

study_setting tune_carry(const tune_search *t, study_setting found, int64_t steps)
{
  const double longer = sqrt((double)steps / (double)t->steps);
  found.momentum = 1 - fmax((1 - found.momentum) / longer, fmin(0.05, 1 - found.momentum));
  return found;
}

static mousse_status apply(const tune_search *t, study_setting s, train_options *run,
                           mo_error *error)
{
  char key[32];
  options_drop(run, "lr"); /* what was given so was the start, and would stand over the rows */
  options_drop(run, "mu");
  MO_TRY(options_set_number(run, "lr", s.lr, error));
  if (t->momentum != NULL) {
    const bool is_mu = strcmp(t->momentum, "mu") == 0; /* it has a row of its own */
    snprintf(key, sizeof key, "%s%s", is_mu ? "" : "opt.", t->momentum);
    MO_TRY(options_set_number(run, key, s.momentum, error));
  }
  return details_set(run, t->width, s.details, "", error);
}

/* A run as it is meant, but short, quiet and without a place of its own. */
static mousse_status trial_options(const tune_search *t, int64_t steps, int64_t validations,
                                   train_options *run, mo_error *error)
{
  *run = t->request->run;
  run->out[0] = run->checkpoint_dir[0] = '\0';
  run->num_iterations = steps;
  run->val_loss_every = validations > 0 ? (steps + validations - 1) / validations : 0;
  run->checkpoint_freq = steps > 100 ? steps / 4 : 0;
  run->keep_last = 1;
  run->sample_every = run->telemetry_every = run->patience = 0;
  return options_check(run, error);
}

/* Trials at a time; a wave has no more. */
static size_t tune_jobs(const tune_search *t)
{
  const int jobs = t->request->execution.jobs;
  return jobs < 1 ? 1 : jobs < TUNE_WAVE ? (size_t)jobs : TUNE_WAVE;
}

static mousse_status execute(tune_search *t, int *stopped, mo_error *error)
{
  MO_TRY(study_execute(&t->runs, &t->request->execution, stopped, error));
  for (size_t i = 0; i < t->runs.count && *stopped == 0; i++)
    if (t->runs.runs[i].state == STUDY_FAILED)
      return mo_fail(error, MOUSSE_IO,
                     "%s failed: see its output.txt; the same command tries it again",
                     t->runs.runs[i].directory);
  return MOUSSE_OK;
}

/* How long a trial took, by the clock. */
static mousse_status trial_seconds(const tune_search *t, size_t run, double *seconds,
                                   mo_error *error)
{
  run_record record;
  MO_TRY(run_record_read(&record, t->runs.runs[run].directory, RECORD_CURVES, error));
  *seconds = isfinite(record.result.wall_seconds) ? record.result.wall_seconds : 0;
  run_record_release(&record);
  return MOUSSE_OK;
}

/* Adds the time of a wave that was made: each of its trials began when one of the jobs was free.
 * From what the trials say, so that a search that goes on comes to the same sum. */
static mousse_status count_wave(tune_search *t, mo_error *error)
{
  double busy[TUNE_WAVE] = {0}, wave = 0;
  const size_t jobs = tune_jobs(t);
  for (size_t i = 0; i < t->waiting_count; i++) {
    size_t first = 0;
    double seconds = 0;
    MO_TRY(trial_seconds(t, t->waiting[i], &seconds, error));
    for (size_t k = 1; k < jobs; k++)
      if (busy[k] < busy[first]) first = k;
    busy[first] += seconds;
    wave = fmax(wave, busy[first]);
    t->longest = fmax(t->longest, seconds);
  }
  t->elapsed += wave;
  return MOUSSE_OK;
}

static mousse_status probe(tune_search *t, int *stopped, mo_error *error)
{
  train_options run;
  size_t at = 0;
  MO_TRY(trial_options(t, PROBE_STEPS, 0, &run, error));
  MO_TRY(study_add(&t->runs, "probe", &run, &at, error));
  MO_TRY(execute(t, stopped, error));
  if (*stopped != 0) return MOUSSE_OK;
  run_record record;
  MO_TRY(run_record_read(&record, t->runs.runs[at].directory, RECORD_CURVES, error));
  t->step_seconds = record.step_seconds;
  t->width = (size_t)record.options.model_dim;
  t->lr = run_record_lr(&record);
  run_record_release(&record);
  return MOUSSE_OK;
}

/* As long as the time allows for all trials, a third of it left for validations, for jobs that
 * find no trial, and for trials that slow each other down. */
static mousse_status choose_steps(tune_search *t, mo_error *error)
{
  const tune_request *r = t->request;
  const double trials = TUNE_TRIALS + 2 * 2, jobs = (double)tune_jobs(t), share = 2.0 / 3;
  const double fit = share * r->seconds * jobs / (trials * t->step_seconds);
  const double least = fmin((double)r->run.num_iterations, TUNE_LEAST_STEPS);
  if (fit < least)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "--minutes %g is too short: %g trials of at least %g steps take about %.0f "
                   "minutes here",
                   r->seconds / 60, trials, least,
                   ceil(least * trials * t->step_seconds / (share * jobs * 60)));
  t->steps = (int64_t)fmin((double)r->run.num_iterations, fit);
  return MOUSSE_OK;
}

/* trials.yaml: decided once, or a search that goes on would compare other lengths. */
static mousse_status settle_steps(tune_search *t, mo_error *error)
{
  char path[MO_SETTING_PATH], text[64], *known = NULL;
  size_t size = 0;
  MO_TRY(mo_path_join(path, sizeof path, t->request->directory, "trials.yaml", error));
  if (access(path, F_OK) != 0) {
    MO_TRY(choose_steps(t, error));
    snprintf(text, sizeof text, "steps: %lld\n", (long long)t->steps);
    return mo_file_write(path, text, strlen(text), error);
  }
  MO_TRY(mo_file_read(NULL, path, 4096, &known, &size, error));
  static const char key[] = "steps: ";
  const long long steps =
      strncmp(known, key, strlen(key)) == 0 ? strtoll(known + strlen(key), NULL, 10) : 0;
  const bool read = steps > 0 && steps <= t->request->run.num_iterations;
  mo_release(NULL, known, size + 1);
  t->steps = steps;
  return read ? MOUSSE_OK
              : mo_fail(error, MOUSSE_BAD_FORMAT,
                        "%s: 'steps: N' is expected, at most the %lld steps of the run; choose "
                        "another --out for another search",
                        path, (long long)t->request->run.num_iterations);
}

static mousse_status add_trial(tune_search *t, size_t i, mo_error *error)
{
  const study_setting s = tune_setting_at(t, &t->points[i]);
  train_options run;
  char name[STUDY_NAME], more[64], momentum[32] = "";
  MO_TRY(trial_options(t, t->steps, VALIDATIONS, &run, error));
  MO_TRY(apply(t, s, &run, error));
  details_text(s.details, more, sizeof more);
  if (t->momentum != NULL)
    snprintf(momentum, sizeof momentum, ",%s=%.4g", t->momentum, s.momentum);
  snprintf(name, sizeof name, "lr=%.4g%s%s", s.lr, momentum, more);
  MO_TRY(study_add(&t->runs, name, &run, &t->waiting[i], error));
  if (t->search.count == 0) return MOUSSE_OK;
  return hopeless_limits(&t->runs.runs[t->waiting[i]], &t->runs.runs[t->search.trials[0].run],
                         error);
}

/* The next wave, unless the time would not last for it; the first three trials are always made. */
static mousse_status add_wave(tune_search *t, mo_error *error)
{
  const size_t count = search_next(&t->search, t->points, TUNE_WAVE), jobs = tune_jobs(t);
  const size_t rounds = (count + jobs - 1) / jobs;
  const double wave = (double)rounds * fmax(t->longest, (double)t->steps * t->step_seconds);
  t->waiting_count = 0;
  t->runs.expected = (study_expected){0};
  t->out_of_time = count > 0 && t->search.count >= 3 && t->elapsed + wave > t->request->seconds;
  for (size_t i = 0; i < count && !t->out_of_time; i++) {
    MO_TRY(add_trial(t, i, error));
    t->waiting_count++;
  }
  if (t->waiting_count > 0)
    study_expect(&t->runs, &t->runs.runs[t->waiting[0]].run,
                 search_left(&t->search) - t->waiting_count);
  return MOUSSE_OK;
}

static mousse_status make_trials(tune_search *t, int *stopped, mo_error *error)
{
  MO_TRY(add_wave(t, error));
  while (t->waiting_count > 0) {
    MO_TRY(execute(t, stopped, error));
    if (*stopped != 0) return MOUSSE_OK;
    MO_TRY(count_wave(t, error));
    for (size_t i = 0; i < t->waiting_count; i++)
      search_add(&t->search, t->points[i], study_run_loss(&t->runs.runs[t->waiting[i]]),
                 t->waiting[i]);
    MO_TRY(add_wave(t, error));
  }
  return MOUSSE_OK;
}

static mousse_status write_best(const tune_search *t, mo_error *error)
{
  char path[MO_SETTING_PATH];
  train_options run = t->request->run;
  const search_trial *best = search_best(&t->search);
  if (best == NULL)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE,
                   "all %zu trials diverged; try a lower --lr, or look at the data",
                   t->search.count);
  run.out[0] = run.checkpoint_dir[0] = '\0';
  MO_TRY(apply(t, tune_carry(t, tune_setting_at(t, &best->point), run.num_iterations), &run,
               error));
  MO_TRY(mo_path_join(path, sizeof path, t->request->directory, "best.yaml", error));
  return options_write(&run, path, error);
}

mousse_status tune_execute(tune_search *t, const tune_request *request, int *stopped,
                           mo_error *error)
{
  *t = (tune_search){.request = request};
  *stopped = 0;
  MO_TRY(study_directory_take(request->directory, error));
  MO_TRY(mo_path_join(t->runs.directory, sizeof t->runs.directory, request->directory, "runs",
                      error));
  MO_TRY(probe(t, stopped, error));
  if (*stopped != 0) return MOUSSE_OK;
  MO_TRY(settle_steps(t, error));
  choose_start(t);
  MO_TRY(make_trials(t, stopped, error));
  return *stopped != 0 ? MOUSSE_OK : write_best(t, error);
}

void tune_close(tune_search *t)
{
  study_release(&t->runs);
}
