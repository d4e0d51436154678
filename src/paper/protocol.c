/* protocol.c - the scales, and the cells of every figure. */
#include "paper/protocol.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const study_scale scales[] = {
    {
        .name = "smoke",
        .help = "minutes: everything once, nothing learned",
        .sizes =
            {{"16x1", 16, 1, 1}, {"24x1", 24, 1, 1}, {"24x2", 24, 2, 1}, {"32x2", 32, 2, 2}},
        .ablation_size = 1,
        .vocabulary = 300,
        .sequence_length = 32,
        .batch_size = 4,
        .steps = 40,
        .val_tokens = 1024,
        .validations = 10,
        .rates = 2,
        .seeds = 2,
        .variant_rates = 2,
    },
    {
        .name = "laptop",
        .help = "one to two hours on two cores",
        .sizes =
            {{"32x2", 32, 2, 2}, {"48x2", 48, 2, 3}, {"64x3", 64, 3, 4}, {"96x4", 96, 4, 6}},
        .ablation_size = 2,
        .vocabulary = 1024,
        .sequence_length = 128,
        .batch_size = 32,
        .steps = 200,
        .val_tokens = 32768,
        .validations = 10,
        .rates = 4,
        .seeds = 3,
        .variant_rates = 2,
    },
    {
        .name = "overnight",
        .help = "about twelve hours on two cores",
        .sizes = {{"64x3", 64, 3, 4},
                  {"96x4", 96, 4, 6},
                  {"128x5", 128, 5, 8},
                  {"192x6", 192, 6, 6}},
        .ablation_size = 1,
        .vocabulary = 2048,
        .sequence_length = 256,
        .batch_size = 32,
        .steps = 600,
        .val_tokens = 65536,
        .validations = 20,
        .rates = 5,
        .seeds = 3,
        .variant_rates = 3,
    },
};

const char *const study_scale_names[] = {"smoke", "laptop", "overnight", NULL};

const study_scale *study_scale_find(const char *name)
{
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
    if (strcmp(scales[i].name, name) == 0) return &scales[i];
  return NULL;
}

/* The contenders, and the lowest peak learning rate of their grids, which go up by factors of
 * two: found so that the best is inside at the laptop's sizes. */
typedef struct contender {
  const char *label, *optimizer, *options;
  double lowest;
} contender;

static const contender contenders[] = {
    {"adamw", "adamw", "", 0.008},
    {"muon", "muon", "", 0.02},
    {"soap", "soap", "", 0.016},
    {"mousse", "mousse", "", 0.02},
    {"mousse, nesterov", "mousse", "opt.nesterov=on", 0.02},
};
enum { MOUSSE = 3, CONTENDERS = sizeof contenders / sizeof *contenders };

typedef struct variant {
  unsigned figures;
  const char *label, *options;
  int percent;
} variant;

static const variant variants[] = {
#define VARIANT(figure, label, options, percent) {FIGURE_BIT(figure), label, options, percent},
#include "paper/variants.def"
};

enum {
  COSINE_FIGURES =
      FIGURE_BIT(lr_sweep) | FIGURE_BIT(steps_saved) | FIGURE_BIT(pareto) | FIGURE_BIT(memory),
  WSD_FIGURES = FIGURE_BIT(wsd) | FIGURE_BIT(excessive_loss),
  /* what Mousse with a switch turned is compared with */
  BASELINE_FIGURES = FIGURE_BIT(grafting) | FIGURE_BIT(trace_norm) | FIGURE_BIT(tempering) |
                     FIGURE_BIT(sides) | FIGURE_BIT(refresh) | FIGURE_BIT(preconditioner) |
                     FIGURE_BIT(beyond),
  /* needed of a run beside its losses */
  TELEMETRY_FIGURES = FIGURE_BIT(grafting) | FIGURE_BIT(preconditioner),
  /* Coprime to the steps between preconditioners: every matrix is seen as it is refreshed. */
  TELEMETRY_EVERY = 3
};

static mousse_status set(train_options *run, const char *key, const char *text, mo_error *error)
{
  static const run_notices nowhere = {NULL, NULL};
  return options_set(run, key, text, &nowhere, error);
}

static mousse_status set_number(train_options *run, const char *key, double value,
                                mo_error *error)
{
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return set(run, key, text, error);
}

static mousse_status set_size(train_options *run, const study_scale *scale, int size,
                              mo_error *error)
{
  const study_size *s = &scale->sizes[size];
  MO_TRY(set(run, "preset", "nano", error)); /* every part of it is set below */
  MO_TRY(set_number(run, "model_dim", s->width, error));
  MO_TRY(set_number(run, "n_layer", s->layers, error));
  MO_TRY(set_number(run, "n_head", s->heads, error));
  MO_TRY(set_number(run, "sequence_length", scale->sequence_length, error));
  return set_number(run, "batch_size", scale->batch_size, error);
}

static mousse_status set_course(train_options *run, const study_scale *scale, int percent,
                                mo_error *error)
{
  const int steps = scale->steps * percent / 100;
  MO_TRY(set_number(run, "num_iterations", steps, error));
  MO_TRY(set_number(run, "val_loss_every", fmax(1, steps / scale->validations), error));
  MO_TRY(set_number(run, "val_tokens", scale->val_tokens, error));
  MO_TRY(set_number(run, "checkpoint_freq", 100, error));
  MO_TRY(set_number(run, "keep_last", 1, error));
  return set(run, "shuffle", "true", error);
}

/* "opt.graft=off opt.eps=1e-3" */
static mousse_status set_all(train_options *run, const char *options, mo_error *error)
{
  char key[64], value[64];
  int used = 0;
  while (sscanf(options, " %63[^= ]=%63s%n", key, value, &used) == 2) {
    MO_TRY(set(run, key, value, error));
    options += used;
  }
  return MOUSSE_OK;
}

static mousse_status new_cell(study_protocol *p, const contender *who, const char *label,
                              study_schedule schedule, int size, int percent,
                              const char *data_dir, study_cell **made, mo_error *error)
{
  const char *course = schedule == STUDY_WSD ? "wsd" : "cosine";
  if (!mo_grow(NULL, &p->cells, &p->capacity, p->count + 1, sizeof *p->cells))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %zu cells", p->count + 1);
  study_cell *cell = &p->cells[p->count];
  *cell = (study_cell){.optimizer = who->optimizer,
                       .label = label,
                       .size = size,
                       .schedule = schedule,
                       .rate_count = (size_t)p->scale->rates,
                       .seed_count = (size_t)p->scale->seeds};
  snprintf(cell->name, sizeof cell->name, "%s,%s,%s", course, p->scale->sizes[size].name,
           label);
  for (char *c = cell->name; *c != '\0'; c++)
    if (*c == ' ') *c = '_';
  for (size_t i = 0; i < cell->rate_count; i++) cell->rates[i] = ldexp(who->lowest, (int)i);
  MO_TRY(options_defaults(&cell->run, error));
  MO_TRY(set_size(&cell->run, p->scale, size, error));
  MO_TRY(set_course(&cell->run, p->scale, percent, error));
  MO_TRY(set(&cell->run, "recipe", "paper", error)); /* what differs is said by the cell */
  MO_TRY(set(&cell->run, "scheduler_type", course, error));
  MO_TRY(set(&cell->run, "optimizer", who->optimizer, error));
  MO_TRY(set(&cell->run, "data_dir", data_dir, error));
  p->count++;
  *made = cell;
  return MOUSSE_OK;
}

static mousse_status add_contenders(study_protocol *p, study_schedule schedule, int size,
                                    unsigned figures, const char *data_dir, mo_error *error)
{
  const unsigned shown = schedule == STUDY_WSD ? WSD_FIGURES : COSINE_FIGURES;
  const bool ablations = schedule == STUDY_COSINE && size == p->scale->ablation_size;
  for (size_t i = 0; i < CONTENDERS; i++) {
    const contender *who = &contenders[i];
    const bool baseline = ablations && i == MOUSSE;
    const bool ours = ablations && i > MOUSSE; /* not the paper's, and shown with our own */
    study_cell *cell = NULL;
    const unsigned needed =
        shown | (baseline ? BASELINE_FIGURES : 0) | (ours ? FIGURE_BIT(beyond) : 0);
    if ((needed & figures) == 0) continue;
    MO_TRY(new_cell(p, who, who->label, schedule, size, 100, data_dir, &cell, error));
    MO_TRY(set_all(&cell->run, who->options, error));
    cell->figures = needed;
    cell->contender = true;
    if (baseline) MO_TRY(set_number(&cell->run, "telemetry_every", TELEMETRY_EVERY, error));
  }
  return MOUSSE_OK;
}

/* Only so many of the learning rates, those in the middle. */
static void take_middle(study_cell *cell, size_t count)
{
  const size_t first = (cell->rate_count - count) / 2;
  memmove(cell->rates, cell->rates + first, count * sizeof *cell->rates);
  cell->rate_count = count;
}

static mousse_status add_variants(study_protocol *p, unsigned figures, const char *data_dir,
                                  mo_error *error)
{
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    const variant *v = &variants[i];
    study_cell *cell = NULL;
    if ((v->figures & figures) == 0) continue;
    MO_TRY(new_cell(p, &contenders[MOUSSE], v->label, STUDY_COSINE, p->scale->ablation_size,
                    v->percent, data_dir, &cell, error));
    cell->figures = v->figures;
    take_middle(cell, (size_t)p->scale->variant_rates);
    MO_TRY(set_all(&cell->run, v->options, error));
    if ((v->figures & TELEMETRY_FIGURES) != 0)
      MO_TRY(set_number(&cell->run, "telemetry_every", TELEMETRY_EVERY, error));
  }
  return MOUSSE_OK;
}

mousse_status protocol_plan(study_protocol *p, const study_scale *scale, unsigned figures,
                            const char *data_dir, mo_error *error)
{
  *p = (study_protocol){.scale = scale};
  MO_TRY(add_contenders(p, STUDY_COSINE, scale->ablation_size, figures, data_dir, error));
  MO_TRY(add_variants(p, figures, data_dir, error));
  MO_TRY(add_contenders(p, STUDY_WSD, scale->ablation_size, figures, data_dir, error));
  for (int size = 0; size < STUDY_SIZES; size++)
    if (size != scale->ablation_size)
      MO_TRY(add_contenders(p, STUDY_COSINE, size, figures & COSINE_FIGURES, data_dir, error));
  return MOUSSE_OK;
}

void protocol_release(study_protocol *p)
{
  mo_release(NULL, p->cells, p->capacity * sizeof *p->cells);
  *p = (study_protocol){.cells = NULL};
}

const study_cell *protocol_find(const study_protocol *p, study_schedule schedule, int size,
                                const char *label)
{
  for (size_t i = 0; i < p->count; i++) {
    const study_cell *c = &p->cells[i];
    if (c->schedule == schedule && c->size == size && strcmp(c->label, label) == 0) return c;
  }
  return NULL;
}

static mousse_status add_run(const study_cell *cell, double rate, size_t seed, study_runs *runs,
                             size_t *index, mo_error *error)
{
  char name[STUDY_NAME];
  train_options run = cell->run;
  MO_TRY(set_number(&run, "lr", rate, error));
  MO_TRY(set_number(&run, "seed", (double)seed, error));
  snprintf(name, sizeof name, "%s,lr=%g,seed=%zu", cell->name, rate, seed);
  return study_add(runs, name, &run, index, error);
}

mousse_status cell_add_grid(study_cell *cell, study_runs *runs, mo_error *error)
{
  for (size_t i = 0; i < cell->rate_count; i++)
    MO_TRY(add_run(cell, cell->rates[i], 1, runs, &cell->grid[i], error));
  return MOUSSE_OK;
}

mousse_status cell_add_seeds(study_cell *cell, study_runs *runs, mo_error *error)
{
  double lowest = INFINITY;
  cell->best = cell->rate_count;
  for (size_t i = 0; i < cell->rate_count; i++) {
    const study_run *r = &runs->runs[cell->grid[i]];
    if (r->state != STUDY_COMPLETE || !(r->course.val_loss < lowest)) continue;
    lowest = r->course.val_loss;
    cell->best = i;
  }
  if (cell->best == cell->rate_count) return MOUSSE_OK;
  cell->seeds[0] = cell->grid[cell->best];
  for (size_t seed = 2; seed <= cell->seed_count; seed++)
    MO_TRY(add_run(cell, cell->rates[cell->best], seed, runs, &cell->seeds[seed - 1], error));
  return MOUSSE_OK;
}
