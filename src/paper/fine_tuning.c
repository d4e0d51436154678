/* fine_tuning.c - the cells of fine-tuning, their runs, and what is left of the old text. */
#include "paper/fine_tuning.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

static const char *const origins[FINE_ORIGINS] = {"adamw", "mousse"};
static const char *const tuners[FINE_TUNERS] = {"adamw", "muon", "mousse"};

/* The tuner's run of pretraining, but shorter, on the other text, from a checkpoint. */
static mousse_status set_run(train_options *run, const study_scale *scale, const char *data,
                             mo_error *error)
{
  const double steps = fmax(1, (double)(run->num_iterations / FINE_STEPS));
  const double part = fmax(1, floor(steps / FINE_PARTS));
  MO_TRY(options_set_number(run, "num_iterations", steps, error));
  MO_TRY(options_set_number(run, "val_loss_every", fmax(1, floor(steps / scale->validations)),
                            error));
  MO_TRY(options_set_number(run, "checkpoint_freq", part, error));
  MO_TRY(options_set_number(run, "keep_every", part, error));
  MO_TRY(options_set_number(run, "telemetry_every", 0, error));
  return options_set(run, "data_dir", data, NULL, error);
}

/* The model that a run ended with, by its step: one that was begun here and came from an archive has
 * checkpoints of before. */
static mousse_status start_from(train_options *run, const study_runs *runs, size_t index,
                                mo_error *error)
{
  char model[MO_SETTING_PATH + 32];
  const study_run *origin = &runs->runs[index];
  snprintf(model, sizeof model, "%s@%lld", origin->directory,
           (long long)origin->run.num_iterations);
  return options_set(run, "init", model, NULL, error);
}

static mousse_status add_cell(fine_tuning *f, const study_cell *origin, const study_cell *tuner,
                              const study_runs *runs, const char *data, mo_error *error)
{
  study_protocol *p = &f->protocol;
  study_cell *cell = &p->cells[p->count];
  *cell = (study_cell){.optimizer = tuner->optimizer,
                       .label = tuner->label,
                       .who = tuner->who,
                       .follows = SIZE_MAX,
                       .figures = FIGURE_BIT(fine_tuning),
                       .seed_count = FINE_SEEDS,
                       .run = tuner->run};
  cell_start_from(cell, tuner);
  cell->lr /= FINE_STEPS;
  cell->tuning.together = 1;
  cell->tuning.budget = (size_t)p->scale->fine_rates;
  snprintf(cell->name, sizeof cell->name, "fine,%.60s,%.16s", origin->name, tuner->label);
  MO_TRY(set_run(&cell->run, p->scale, data, error));
  MO_TRY(start_from(&cell->run, runs, origin->grid[origin->best], error));
  f->origins[p->count++] = origin;
  return MOUSSE_OK;
}

static const study_cell *find_home(const study_protocol *p, const char *label)
{
  const study_cell *cell = protocol_find(p, STUDY_COSINE, 0, label);
  return cell != NULL && cell->best < cell->rate_count ? cell : NULL;
}

mousse_status fine_tuning_plan(fine_tuning *f, const study_protocol *home,
                               const study_runs *runs, const char *old_data,
                               const char *other_data, mo_error *error)
{
  *f = (fine_tuning){.home = home, .old_data = old_data, .protocol = {.scale = home->scale}};
  f->protocol.capacity = FINE_CELLS;
  f->protocol.cells = mo_allocate(NULL, FINE_CELLS * sizeof *f->protocol.cells);
  if (f->protocol.cells == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %d cells", FINE_CELLS);
  for (size_t i = 0; i < FINE_CELLS; i++) {
    const study_cell *origin = find_home(home, origins[i / FINE_TUNERS]);
    const study_cell *tuner = find_home(home, tuners[i % FINE_TUNERS]);
    if (origin != NULL && tuner != NULL)
      MO_TRY(add_cell(f, origin, tuner, runs, other_data, error));
  }
  return MOUSSE_OK;
}

/* Seeds whose pretraining did not end well are left out. */
static mousse_status add_seeds(study_cell *cell, const study_cell *origin, study_runs *runs,
                               mo_error *error)
{
  const study_setting best = cell_best(cell);
  cell->seed_count = 0;
  if (cell->best == cell->rate_count) return MOUSSE_OK;
  for (size_t k = 0; k < origin->seed_count && k < FINE_SEEDS; k++) {
    if (runs->runs[origin->seeds[k]].state != STUDY_COMPLETE) continue;
    MO_TRY(start_from(&cell->run, runs, origin->seeds[k], error));
    MO_TRY(cell_add_run(cell, &best, STUDY_FIRST_SEED + (int)k, runs,
                        &cell->seeds[cell->seed_count++], error));
  }
  return MOUSSE_OK;
}

mousse_status fine_tuning_add_seeds(fine_tuning *f, study_runs *runs, mo_error *error)
{
  for (size_t i = 0; i < f->protocol.count; i++)
    MO_TRY(add_seeds(&f->protocol.cells[i], f->origins[i], runs, error));
  f->protocol.decided = 1;
  protocol_expect(&f->protocol, runs);
  return MOUSSE_OK;
}

/* One run: the model it began with, then its checkpoints. */
static mousse_status read_old(fine_tuning *f, size_t cell, const study_run *run,
                              mo_error *error)
{
  const uint64_t steps = (uint64_t)run->run.num_iterations;
  const uint64_t every = (uint64_t)run->run.keep_every;
  double first = NAN, loss = NAN;
  size_t count = 0;
  for (uint64_t step = 0; step <= steps && count < SEARCH_MOST; count++) {
    char model[MO_SETTING_PATH + 32];
    if (step == 0)
      snprintf(model, sizeof model, "%s", run->run.init);
    else
      snprintf(model, sizeof model, "%s@%llu", run->directory, (unsigned long long)step);
    MO_TRY(old_text_loss(model, f->old_data, (uint64_t)f->protocol.scale->val_tokens, &loss,
                         error));
    fine_loss *entry = &f->old[cell][count];
    if (count >= f->old_count[cell]) *entry = (fine_loss){step, run_mean_of_none()};
    if (count >= f->old_count[cell]) f->old_count[cell] = count + 1;
    run_mean_add(&entry->loss, loss);
    if (step == 0) first = loss;
    if (step == steps) break;
    step = step + every < steps ? step + every : steps;
  }
  run_mean_add(&f->forgotten[cell], loss - first);
  return MOUSSE_OK;
}

mousse_status fine_tuning_read(fine_tuning *f, const study_runs *runs, mo_error *error)
{
  MO_TRY(evidence_read(&f->evidence, &f->protocol, runs, error));
  for (size_t i = 0; i < f->protocol.count; i++) {
    const study_cell *cell = &f->protocol.cells[i];
    f->forgotten[i] = run_mean_of_none();
    for (size_t k = 0; k < cell->seed_count; k++)
      if (runs->runs[cell->seeds[k]].state == STUDY_COMPLETE)
        MO_TRY(read_old(f, i, &runs->runs[cell->seeds[k]], error));
  }
  return MOUSSE_OK;
}

void fine_tuning_release(fine_tuning *f)
{
  if (f->evidence.runs != NULL) evidence_release(&f->evidence);
  protocol_release(&f->protocol);
  *f = (fine_tuning){.home = NULL};
}
