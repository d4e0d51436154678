/* tuning.c - the searches of a protocol, each in waves of its own, and the seeds of its verdict. */
#include "paper/protocol.h"
#include "study/hopeless.h"
#include "study/progress.h"
#include "study/run_mean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double least_rest = 0.002, most_rest = 0.8;

static double lr_at(const study_cell *cell, const search_point *point)
{
  return cell->lr * pow(2, 0.5 * point->at[0]);
}

static double rest_at(const study_cell *cell, const search_point *point)
{
  const double rest = cell->rest * (cell->tuning.together > 1 ? pow(2, 0.5 * point->at[1]) : 1);
  return fmin(fmax(rest, least_rest), most_rest);
}

/* Whether a contender has no memory but its momentum and that of embedding and head, or that of
 * all alike. */
static bool has_few_memories(const study_contender *who)
{
  return strcmp(who->optimizer, "adamw") == 0 || strncmp(who->memory, "scalar.", 7) == 0;
}

/* After the details come the learning rate again and, of a contender that had one detail less, the
 * momentum, each by half a step: what the details changed may want others. */
study_setting cell_setting(const study_cell *cell, const search_point *point)
{
  int at[PAPER_DETAILS] = {0};
  const bool few = has_few_memories(&study_contenders[cell->who]);
  study_setting s = {.lr = lr_at(cell, point)};
  for (size_t i = 0; i < cell->tuning.alone; i++) at[i] = point->at[2 + i];
  const int rate = at[few ? STUDY_DETAILS - 1 : STUDY_DETAILS],
            rest = few ? at[STUDY_DETAILS] : 0;
  s.lr *= pow(2, 0.25 * rate);
  s.momentum =
      1 - fmin(fmax(rest_at(cell, point) * pow(2, 0.25 * rest), least_rest), most_rest);
  for (size_t i = 0; i < STUDY_DETAILS; i++)
    s.details[i] = cell->details[i] + (few && i == STUDY_DETAILS - 1 ? 0 : at[i]);
  return s;
}

study_setting cell_best(const study_cell *cell)
{
  const search_trial *best = search_best(&cell->tuning);
  return cell_setting(cell, best != NULL ? &best->point : &(search_point){{0}});
}

study_setting cell_best_together(const study_cell *cell)
{
  const search_trial *best = search_best_together(&cell->tuning);
  return cell_setting(cell, best != NULL ? &best->point : &(search_point){{0}});
}

/* Names say all that differs, so that a run that two cells need is made once. */
mousse_status cell_add_run(const study_cell *cell, const study_setting *with, int seed,
                           study_runs *runs, size_t *index, mo_error *error)
{
  char name[STUDY_NAME + 64], more[96]; /* too long a one is refused when it is added */
  const study_contender *who = &study_contenders[cell->who];
  train_options run = cell->run;
  MO_TRY(options_set_number(&run, "lr", with->lr, error));
  MO_TRY(options_set_number(&run, who->momentum, with->momentum, error));
  MO_TRY(details_set(&run, (size_t)run.model_dim, with->details, who->memory, error));
  MO_TRY(options_set_number(&run, "seed", seed, error));
  details_text(with->details, more, sizeof more);
  snprintf(name, sizeof name, "%s,lr=%.4g,momentum=%.4g%s,seed=%d", cell->name, with->lr,
           with->momentum, more, seed);
  return study_add(runs, name, &run, index, error);
}

static bool waits(const study_cell *cell, const study_runs *runs)
{
  for (size_t i = 0; i < cell->waiting_count; i++)
    if (!study_run_ended(&runs->runs[cell->waiting[i]])) return true;
  return false;
}

static void take_results(study_cell *cell, const study_runs *runs)
{
  for (size_t i = 0; i < cell->waiting_count; i++)
    search_add(&cell->tuning, cell->points[i], study_run_loss(&runs->runs[cell->waiting[i]]),
               cell->waiting[i]);
  cell->waiting_count = 0;
}

static mousse_status add_wave(study_cell *cell, study_runs *runs, mo_error *error)
{
  cell->waiting_count = search_next(&cell->tuning, cell->points, STUDY_WAVE);
  for (size_t i = 0; i < cell->waiting_count; i++) {
    const search_point *point = &cell->points[i];
    const study_setting with = cell_setting(cell, point);
    MO_TRY(cell_add_run(cell, &with, STUDY_SEARCH_SEED, runs, &cell->waiting[i], error));
    study_run *r = &runs->runs[cell->waiting[i]];
    if (cell->tuning.count > 0)
      MO_TRY(hopeless_limits(r, &runs->runs[cell->tuning.trials[0].run], error));
  }
  return MOUSSE_OK;
}

typedef struct tried_rate {
  double lr;
  size_t run;
  bool best;
} tried_rate;

static int by_lr(const void *a, const void *b)
{
  return number_order(((const tried_rate *)a)->lr, ((const tried_rate *)b)->lr);
}

/* Whether a lower and a higher value than the best one were tried, of learning rate and momentum,
 * in whatever run: the last details try both again. */
static bool is_inside(const study_cell *cell)
{
  const double margin = 1e-6; /* the same value can come about in two ways */
  const study_setting best = cell_best(cell);
  bool lower[2] = {false}, higher[2] = {false};
  for (size_t i = 0; i < cell->tuning.count; i++) {
    const study_setting s = cell_setting(cell, &cell->tuning.trials[i].point);
    const double ratio[2] = {s.lr / best.lr, (1 - s.momentum) / (1 - best.momentum)};
    for (size_t k = 0; k < 2; k++) {
      lower[k] = lower[k] || ratio[k] < 1 - margin;
      higher[k] = higher[k] || ratio[k] > 1 + margin;
    }
  }
  return lower[0] && higher[0] && (cell->tuning.together < 2 || (lower[1] && higher[1]));
}

/* The search at its best momentum, as a line over learning rates. The details that come after
 * it leave both as they are. */
static void conclude(study_cell *cell)
{
  const search_trial *best = search_best_together(&cell->tuning);
  const size_t most = cell->tuning.budget;
  tried_rate tried[SEARCH_MOST];
  size_t count = 0;
  for (size_t i = 0; i < cell->tuning.count && i < most; i++) {
    const search_trial *t = &cell->tuning.trials[i];
    if (best != NULL && t->point.at[1] != best->point.at[1]) continue;
    tried[count++] = (tried_rate){lr_at(cell, &t->point), t->run, t == best};
  }
  /* cppcheck-suppress uninitvar - count of them are written */
  qsort(tried, count, sizeof *tried, by_lr);
  cell->best = cell->rate_count = count;
  for (size_t i = 0; i < count; i++) {
    cell->rates[i] = tried[i].lr;
    cell->grid[i] = tried[i].run;
    if (tried[i].best) cell->best = i;
  }
  cell->inside = is_inside(cell);
}

void cell_start_from(study_cell *cell, const study_cell *other)
{
  const study_setting found = cell_best(other);
  cell->lr = found.lr;
  cell->rest = 1 - found.momentum;
  memcpy(cell->details, found.details, sizeof cell->details);
}

/* What a contender found at home. In another regime the memory of its momentum follows the length of
 * the run, as `mu: auto` does (train/recipe_laws.h). */
static void start_from_home(const study_protocol *p, study_cell *cell)
{
  for (size_t i = 0; i < p->count; i++) {
    const study_cell *home = &p->cells[i];
    if (!home->home || home->who != cell->who || home->best == home->rate_count) continue;
    cell_start_from(cell, home);
    if (cell->regime != home->regime)
      cell->rest *= sqrt((double)home->run.num_iterations / (double)cell->run.num_iterations);
  }
}

void protocol_expect(const study_protocol *p, study_runs *runs)
{
  runs->expected = (study_expected){0};
  for (size_t i = 0; i < p->count; i++) {
    const study_cell *cell = &p->cells[i];
    const size_t trials =
        cell->follows == SIZE_MAX ? search_left(&cell->tuning) - cell->waiting_count : 0;
    study_expect(runs, &cell->run, trials + (cell->regime < p->decided ? 0 : cell->seed_count));
  }
}

mousse_status protocol_tune(study_protocol *p, study_stage stage, study_runs *runs, bool *more,
                            mo_error *error)
{
  *more = false;
  for (size_t i = 0; i < p->count; i++) {
    study_cell *cell = &p->cells[i];
    if (cell->regime != stage.regime || cell->home != stage.home || cell->follows != SIZE_MAX)
      continue;
    if (waits(cell, runs)) continue;
    if (!cell->home && cell->tuning.count == 0 && cell->waiting_count == 0)
      start_from_home(p, cell);
    take_results(cell, runs);
    MO_TRY(add_wave(cell, runs, error));
    *more = *more || cell->waiting_count > 0;
    conclude(cell);
  }
  protocol_expect(p, runs);
  return MOUSSE_OK;
}

static void follow(const study_protocol *p, study_cell *cell)
{
  const study_cell *leader = &p->cells[cell->follows];
  const bool known = leader->best < leader->rate_count;
  cell->rate_count = known;
  cell->best = 0;
  cell_start_from(cell, leader);
  if (!known) return;
  cell->rates[0] = leader->rates[leader->best];
  cell->grid[0] = leader->grid[leader->best];
  cell->inside = leader->inside;
}

/* What a contender found at home, or NULL. */
static const study_cell *home_of(const study_protocol *p, const study_cell *cell)
{
  for (size_t i = 0; i < p->count; i++)
    if (p->cells[i].home && p->cells[i].who == cell->who) return &p->cells[i];
  return NULL;
}

double cell_behind(const study_cell *cell, const study_cell *other)
{
  const search_trial *ours = search_best(&cell->tuning), *theirs = search_best(&other->tuning);
  return ours != NULL && theirs != NULL ? ours->loss - theirs->loss : NAN;
}

/* Of what is added to a contender at home; lengths and parts of its steps are not. */
static bool lost_its_search(const study_protocol *p, const study_cell *cell)
{
  const study_cell *home = home_of(p, cell);
  return !cell->contender && cell->follows == SIZE_MAX && home != NULL &&
         cell->regime == home->regime && cell->schedule == home->schedule &&
         cell_behind(cell, home) >
             (cell->figures & FIGURE_BIT(extras) ? STUDY_EXTRA_BEHIND : STUDY_BEHIND);
}

/* Seed by seed, so that a study that is cut off has pairs to compare. */
mousse_status protocol_add_seeds(study_protocol *p, int regime, study_runs *runs,
                                 mo_error *error)
{
  for (size_t i = 0; i < p->count; i++) {
    study_cell *cell = &p->cells[i];
    if (cell->regime == regime && cell->follows != SIZE_MAX) follow(p, cell);
    if (cell->regime == regime && lost_its_search(p, cell)) cell->seed_count = 0;
  }
  for (size_t k = 0; k < STUDY_MOST_SEEDS; k++)
    for (size_t i = 0; i < p->count; i++) {
      study_cell *cell = &p->cells[i];
      const bool decides = cell->best < cell->rate_count && cell->figures != 0;
      if (cell->regime != regime || !decides || k >= cell->seed_count) continue;
      const study_setting best = cell_best(cell);
      MO_TRY(
          cell_add_run(cell, &best, STUDY_FIRST_SEED + (int)k, runs, &cell->seeds[k], error));
    }
  p->decided = regime + 1;
  protocol_expect(p, runs);
  return MOUSSE_OK;
}
