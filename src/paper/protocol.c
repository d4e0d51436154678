/* protocol.c - the contenders, and the cells of every figure. */
#include "paper/protocol.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const study_contender study_contenders[] = {
#define PAPER true, true
#define OURS  false, true
#define HOME  false, false
#define CONTENDER(label, optimizer, options, momentum, memory, lr, where)                      \
  {label, optimizer, options, momentum, memory, lr, where},
#include "paper/contenders.def"
};
const size_t study_contender_count = sizeof study_contenders / sizeof *study_contenders;

/* Where every search of a momentum starts: 1 - 0.9. */
static const double first_rest = 0.1;

typedef struct variant {
  unsigned figures;
  const char *label, *options;
} variant;

static const variant variants[] = {
#define VARIANT(figure, label, options) {FIGURE_BIT(figure), label, options},
#include "paper/variants.def"
};

const char *const study_extras[] = {
#define EXTRA(label, muon, mousse) label,
#include "paper/extras.def"
};
const size_t study_extra_count = sizeof study_extras / sizeof *study_extras;

/* The options of one, over each contender that has it. */
static const struct {
  const char *who, *label, *options;
} extra_cells[] = {
#define EXTRA(label, muon, mousse)                                                             \
  {"muon", "muon, " label, muon}, {"mousse no-graft", "mousse no-graft, " label, mousse},
#include "paper/extras.def"
};

enum {
  /* of all contenders in all regimes; of the paper's own only */
  VERDICT_FIGURES = FIGURE_BIT(verdict) | FIGURE_BIT(tuning) | FIGURE_BIT(steps_saved),
  COSINE_FIGURES = FIGURE_BIT(lr_sweep) | FIGURE_BIT(pareto) | FIGURE_BIT(memory),
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
  return options_set(run, key, text, NULL, error);
}

static mousse_status set_regime(train_options *run, const study_scale *scale, int regime,
                                int percent, mo_error *error)
{
  const study_regime *r = &scale->regimes[regime];
  const int steps = r->steps * percent / 100;
  MO_TRY(set(run, "preset", "nano", error)); /* every part of it is set below */
  MO_TRY(options_set_number(run, "model_dim", r->width, error));
  MO_TRY(options_set_number(run, "n_layer", r->layers, error));
  MO_TRY(options_set_number(run, "n_head", r->heads, error));
  MO_TRY(options_set_number(run, "sequence_length", scale->sequence_length, error));
  MO_TRY(options_set_number(run, "batch_size", r->batch_size, error));
  MO_TRY(options_set_number(run, "num_iterations", steps, error));
  MO_TRY(options_set_number(run, "val_loss_every", fmax(1, steps / scale->validations), error));
  MO_TRY(options_set_number(run, "val_tokens", scale->val_tokens, error));
  MO_TRY(options_set_number(run, "checkpoint_freq", 100, error));
  MO_TRY(options_set_number(run, "keep_last", 1, error));
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

/* "cosine,64x3,8k,mousse,_no_graft" */
static void name_cell(study_cell *cell, const study_scale *scale)
{
  snprintf(cell->name, sizeof cell->name, "%s,%s,%s",
           cell->schedule == STUDY_WSD ? "wsd" : "cosine", scale->regimes[cell->regime].name,
           cell->label);
  size_t used = 0;
  for (const char *c = cell->name; *c != '\0'; c++)
    if (*c != ' ') cell->name[used++] = *c;
  cell->name[used] = '\0';
}

/* What a cell is made from. */
typedef struct cell_plan {
  size_t who;
  const char *label, *options; /* over the contender's; options NULL: it is the contender */
  study_schedule schedule;
  int regime, percent;
  size_t
      length_runs; /* trials of learning rate and momentum at this length; 0: no such search */
  unsigned figures;
  bool screened;  /* only learning rate and momentum are searched, and no seeds decide */
  bool telemetry; /* whatever figures are asked for: a run is the same for all of them */
  const char *data_dir;
} cell_plan;

static mousse_status set_cell(study_cell *cell, const study_scale *scale, const cell_plan *plan,
                              mo_error *error)
{
  const study_contender *who = &study_contenders[plan->who];
  MO_TRY(options_defaults(&cell->run, error));
  MO_TRY(set_regime(&cell->run, scale, plan->regime, plan->percent, error));
  MO_TRY(set(&cell->run, "recipe", "paper", error)); /* what differs is said by the cell */
  MO_TRY(
      set(&cell->run, "scheduler_type", plan->schedule == STUDY_WSD ? "wsd" : "cosine", error));
  MO_TRY(set(&cell->run, "optimizer", who->optimizer, error));
  /* Published, and what archived runs have. */
  MO_TRY(set(&cell->run, "scalar_opt", "lion", error));
  MO_TRY(set(&cell->run, "embed_lr_factor", "1", error));
  MO_TRY(set(&cell->run, "data_dir", plan->data_dir, error));
  MO_TRY(set_all(&cell->run, who->options, error));
  if (plan->options != NULL) MO_TRY(set_all(&cell->run, plan->options, error));
  if (plan->telemetry)
    MO_TRY(options_set_number(&cell->run, "telemetry_every", TELEMETRY_EVERY, error));
  return MOUSSE_OK;
}

static int regime_rates(const study_scale *scale, int regime)
{
  const int own = scale->regimes[regime].rates;
  return own > 0 ? own : scale->rates;
}

static mousse_status add_cell(study_protocol *p, const cell_plan *plan, study_cell **made,
                              mo_error *error)
{
  const study_contender *who = &study_contenders[plan->who];
  const bool home =
      plan->options == NULL && plan->schedule == STUDY_COSINE && plan->regime == 0;
  const bool decides = plan->length_runs == 0 && (plan->figures & ~FIGURE_BIT(screening)) != 0;
  if (!mo_grow(NULL, &p->cells, &p->capacity, p->count + 1, sizeof *p->cells))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %zu cells", p->count + 1);
  study_cell *cell = &p->cells[p->count];
  *cell = (study_cell){.optimizer = who->optimizer,
                       .label = plan->options == NULL ? who->label : plan->label,
                       .contender = plan->options == NULL,
                       .home = home,
                       .who = plan->who,
                       .follows = SIZE_MAX,
                       .figures = plan->figures,
                       .regime = plan->regime,
                       .schedule = plan->schedule,
                       .lr = who->lr,
                       .rest = first_rest,
                       .seed_count = decides ? (size_t)p->scale->seeds : 0};
  cell->tuning.together = home || plan->length_runs > 0 ? 2 : 1;
  cell->tuning.alone = home && !plan->screened ? (size_t)p->scale->details : 0;
  cell->tuning.budget = plan->length_runs > 0   ? plan->length_runs
                        : home                  ? (size_t)p->scale->search_runs
                        : plan->options == NULL ? (size_t)regime_rates(p->scale, plan->regime)
                                                : (size_t)p->scale->variant_rates;
  name_cell(cell, p->scale);
  MO_TRY(set_cell(cell, p->scale, plan, error));
  p->count++;
  if (made != NULL) *made = cell;
  return MOUSSE_OK;
}

static size_t find_contender(const char *label)
{
  size_t i = 0;
  while (i < study_contender_count && strcmp(study_contenders[i].label, label) != 0) i++;
  return i;
}

/* The figures that need a contender under a schedule in a regime. */
static unsigned figures_of(size_t who, study_schedule schedule, int regime)
{
  const bool in_paper = study_contenders[who].in_paper, first = regime == 0;
  if (schedule == STUDY_WSD) return in_paper && first ? WSD_FIGURES : 0;
  if (!first && !study_contenders[who].everywhere) return 0;
  unsigned needed = VERDICT_FIGURES | (in_paper ? COSINE_FIGURES : 0);
  if (first) needed |= FIGURE_BIT(screening);
  if (first && who == find_contender("mousse")) needed |= BASELINE_FIGURES;
  if (first && !in_paper) needed |= FIGURE_BIT(beyond);
  if (first && (who == find_contender("muon") || who == find_contender("mousse no-graft")))
    needed |= FIGURE_BIT(extras); /* with nothing added */
  if (first && (who == find_contender("mousse") || who == find_contender("adamw")))
    needed |= FIGURE_BIT(fine_tuning); /* Muon is tuned at home only */
  return needed;
}

/* Whether something else of a contender is asked for, so that its momentum must be found. */
static bool needs_home(size_t who, unsigned figures)
{
  unsigned elsewhere = figures_of(who, STUDY_WSD, 0) | figures_of(who, STUDY_COSINE, 1);
  if (who == find_contender("mousse")) elsewhere = ~FIGURE_BIT(screening); /* its switches */
  if (who == find_contender("muon")) elsewhere |= FIGURE_BIT(fine_tuning);
  if (who == find_contender("muon") || who == find_contender("mousse no-graft"))
    elsewhere |= FIGURE_BIT(momentum);
  return (elsewhere & figures) != 0;
}

/* Those that were asked for, and Mousse as published where its switches are compared with it. */
static bool takes_part(size_t who, study_request request)
{
  return request.contenders == 0 || (request.contenders >> who & 1u) != 0 ||
         (who == find_contender("mousse") && (request.figures & BASELINE_FIGURES) != 0);
}

/* Everybody at home first: the others need what they find there. */
static mousse_status add_contenders(study_protocol *p, study_schedule schedule, int regime,
                                    study_request request, const char *data_dir,
                                    mo_error *error)
{
  const unsigned figures = request.figures;
  for (size_t who = 0; who < study_contender_count; who++) {
    const unsigned all = figures_of(who, schedule, regime), needed = figures & all;
    if (!takes_part(who, request)) continue;
    const bool is_home = schedule == STUDY_COSINE && regime == 0;
    const bool goes_on = is_home && needs_home(who, figures);
    const cell_plan plan = {.who = who,
                            .screened = needed == FIGURE_BIT(screening) && !goes_on,
                            .telemetry = (all & TELEMETRY_FIGURES) != 0,
                            .schedule = schedule,
                            .regime = regime,
                            .percent = 100,
                            .figures = needed,
                            .data_dir = data_dir};
    if (needed != 0 || goes_on) MO_TRY(add_cell(p, &plan, NULL, error));
  }
  return MOUSSE_OK;
}

/* A contender with a schedule of fewer steps, at the learning rate of the whole one. */
static mousse_status add_shorter(study_protocol *p, const char *who, const char *label,
                                 int regime, unsigned figures, const char *data_dir,
                                 mo_error *error)
{
  study_cell *cell = NULL;
  const cell_plan plan = {.who = find_contender(who),
                          .label = label,
                          .options = "",
                          .schedule = STUDY_COSINE,
                          .regime = regime,
                          .percent = STUDY_SHORT_PERCENT,
                          .figures = figures,
                          .data_dir = data_dir};
  const study_cell *whole = protocol_find(p, STUDY_COSINE, regime, who);
  if (whole == NULL || figures == 0) return MOUSSE_OK;
  const size_t follows = (size_t)(whole - p->cells);
  MO_TRY(add_cell(p, &plan, &cell, error));
  cell->follows = follows;
  return MOUSSE_OK;
}

/* Muon and Mousse at a quarter and at three times the length: what becomes of their memory? */
static mousse_status add_lengths(study_protocol *p, unsigned figures, const char *data_dir,
                                 mo_error *error)
{
  static const struct {
    const char *who, *label;
    int percent;
  } lengths[] = {{"muon", "muon, 25% of the steps", 25},
                 {"muon", "muon, 300% of the steps", 300},
                 {"mousse no-graft", "mousse no-graft, 25% of the steps", 25},
                 {"mousse no-graft", "mousse no-graft, 300% of the steps", 300}};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const cell_plan plan = {.who = find_contender(lengths[i].who),
                            .label = lengths[i].label,
                            .options = "",
                            .schedule = STUDY_COSINE,
                            .percent = lengths[i].percent,
                            .length_runs = (size_t)p->scale->length_runs,
                            .figures = figures & FIGURE_BIT(momentum),
                            .data_dir = data_dir};
    if (plan.figures != 0) MO_TRY(add_cell(p, &plan, NULL, error));
  }
  return MOUSSE_OK;
}

static mousse_status add_variants(study_protocol *p, unsigned figures, const char *data_dir,
                                  mo_error *error)
{
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    const variant *v = &variants[i];
    const cell_plan plan = {.who = find_contender("mousse"),
                            .label = v->label,
                            .options = v->options,
                            .schedule = STUDY_COSINE,
                            .percent = 100,
                            .figures = v->figures,
                            .telemetry = (v->figures & TELEMETRY_FIGURES) != 0,
                            .data_dir = data_dir};
    if ((v->figures & figures) != 0) MO_TRY(add_cell(p, &plan, NULL, error));
  }
  return MOUSSE_OK;
}

static mousse_status add_extras(study_protocol *p, unsigned figures, const char *data_dir,
                                mo_error *error)
{
  for (size_t i = 0; i < sizeof extra_cells / sizeof *extra_cells; i++) {
    const cell_plan plan = {.who = find_contender(extra_cells[i].who),
                            .label = extra_cells[i].label,
                            .options = extra_cells[i].options,
                            .schedule = STUDY_COSINE,
                            .percent = 100,
                            .figures = FIGURE_BIT(extras),
                            .data_dir = data_dir};
    if ((figures & FIGURE_BIT(extras)) != 0) MO_TRY(add_cell(p, &plan, NULL, error));
  }
  return MOUSSE_OK;
}

/* Muon and AdamW belong to every comparison: they are its control. */
mousse_status contenders_add(unsigned *contenders, const char *name, mo_error *error)
{
  const size_t found = find_contender(name);
  mo_suggestion near = mo_suggest(name);
  for (size_t i = 0; i < study_contender_count; i++)
    mo_suggest_from(&near, study_contenders[i].label);
  if (found == study_contender_count && near.best != NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no contender '%s'; did you mean '%s'?",
                   name, near.best);
  if (found == study_contender_count)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                   "there is no contender '%s'; 'mousse reproduce --help' lists them", name);
  *contenders |= 1u << found | 1u << find_contender("muon") | 1u << find_contender("adamw");
  return MOUSSE_OK;
}

/* Run with fewer steps in every regime, to be compared with all of Muon's. */
static const struct {
  const char *who, *label;
} shortened[] = {{"mousse no-graft", "mousse no-graft, shorter"},
                 {"mousse nesterov", "mousse nesterov, shorter"},
                 {"mousse throughout", "mousse throughout, shorter"}};

mousse_status protocol_plan(study_protocol *p, const study_scale *scale, study_request request,
                            const char *data_dir, mo_error *error)
{
  const unsigned figures = request.figures;
  const unsigned slope = figures & (VERDICT_FIGURES | FIGURE_BIT(extras)),
                 own = figures & FIGURE_BIT(steps_saved);
  *p = (study_protocol){.scale = scale};
  for (int regime = 0; regime < scale->regime_count; regime++) {
    MO_TRY(add_contenders(p, STUDY_COSINE, regime, request, data_dir, error));
    MO_TRY(add_shorter(p, "muon", "muon, shorter", regime, slope, data_dir, error));
    for (size_t i = 0; i < sizeof shortened / sizeof *shortened; i++)
      MO_TRY(add_shorter(p, shortened[i].who, shortened[i].label, regime,
                         slope & FIGURE_BIT(verdict), data_dir, error));
  }
  MO_TRY(add_shorter(p, "mousse", "mousse, shorter", 0, own, data_dir, error));
  MO_TRY(add_lengths(p, figures, data_dir, error));
  MO_TRY(add_extras(p, figures, data_dir, error));
  MO_TRY(add_variants(p, figures, data_dir, error));
  return add_contenders(p, STUDY_WSD, 0, request, data_dir, error);
}

void protocol_release(study_protocol *p)
{
  mo_release(NULL, p->cells, p->capacity * sizeof *p->cells);
  *p = (study_protocol){.cells = NULL};
}

const study_cell *protocol_find(const study_protocol *p, study_schedule schedule, int regime,
                                const char *label)
{
  for (size_t i = 0; i < p->count; i++) {
    const study_cell *c = &p->cells[i];
    if (c->schedule == schedule && c->regime == regime && strcmp(c->label, label) == 0)
      return c;
  }
  return NULL;
}
