/* protocol.h - what is compared, in which regime, and how each contender is tuned.
 *
 * A cell is one contender under one schedule in one regime: an optimizer, or Mousse with a
 * switch turned. All see the same tokens. A cell goes through three stages:
 *
 *     home     in the first regime every contender searches for its learning rate and momentum
 *              together (search.h), then for its details (details.h), with as many runs as
 *              everybody
 *     rates    every other cell takes all of it over and searches for its learning rate again
 *     verdict  the best setting, with seeds that chose nothing
 *
 * What a cell says is the mean over the seeds of its verdict. docs/evidence-protocol.md says the
 * same for readers, with the rule by which results are called results.
 */
#ifndef MOUSSE_PAPER_PROTOCOL_H
#define MOUSSE_PAPER_PROTOCOL_H

#include "paper/figures.h"
#include "paper/scales.h"
#include "study/details.h"
#include "study/runs.h"
#include "study/search.h"

enum {
  STUDY_MOST_SEEDS = 8,
  STUDY_SEARCH_SEED = 1,    /* of the runs that choose */
  STUDY_FIRST_SEED = 101,   /* of the verdict's */
  STUDY_SHORT_PERCENT = 88, /* of the steps, rounded down: what measures their worth */
  STUDY_WAVE = 4            /* runs of a search between two looks at it */
};

/* Nats, with one seed: further behind after a search, the runs that decide would only confirm it.
 * What is added to a contender is to help; of a switch it is asked what it costs. */
#define STUDY_BEHIND       0.03
#define STUDY_EXTRA_BEHIND 0.01

typedef enum study_schedule { STUDY_COSINE, STUDY_WSD } study_schedule;

/* Who takes part: contenders.def. */
typedef struct study_contender {
  const char *label, *optimizer, *options;
  const char *momentum, *memory; /* the options, as opt.mu */
  double lr;                     /* where the search starts */
  bool in_paper;                 /* one of the paper's own */
  bool everywhere;               /* in all regimes, not only the first */
} study_contender;
extern const study_contender study_contenders[];
extern const size_t study_contender_count;

/* What goes with Muon and with Mousse: extras.def. Its cells are "muon, NAME" and "mousse no-graft,
 * NAME". */
extern const char *const study_extras[];
extern const size_t study_extra_count;

typedef struct study_cell {
  char name[96];         /* "cosine,64x3,8k,mousse": the first part of its runs' names */
  const char *optimizer; /* "mousse" */
  const char *label;     /* in charts: the contender, or the switch that is turned */
  bool contender;        /* compared in every regime, not only one switch */
  bool home;             /* finds the momentum and the details as well */
  size_t who;       /* of the contenders: whose momentum and learning rate it starts with */
  size_t follows;   /* the cell whose learning rate it takes; SIZE_MAX: it finds its own */
  unsigned figures; /* bits of enum figure_id that need it; 0: only its home search */
  int regime;
  study_schedule schedule;
  train_options run;          /* without learning rate, momentum and seed */
  double lr, rest;            /* where its search starts; rest: 1 - momentum */
  int details[STUDY_DETAILS]; /* what home has found; at home where its search starts */
  search tuning; /* dimensions: the learning rate and, at home, the rest and the details */
  size_t waiting[STUDY_WAVE]; /* runs of the last wave */
  search_point points[STUDY_WAVE];
  size_t waiting_count;
  /* What the search says at the best momentum, by rising learning rate: */
  double rates[SEARCH_MOST];
  size_t grid[SEARCH_MOST], rate_count;
  size_t best; /* of the rates; rate_count: all diverged */
  bool inside; /* the best values are at no edge of those tried */
  size_t seeds[STUDY_MOST_SEEDS], seed_count; /* runs of the verdict; 0: none decide */
} study_cell;

typedef struct study_protocol {
  const study_scale *scale;
  study_cell *cells; /* owned */
  size_t count, capacity;
  int decided; /* regimes whose seeds are among the runs */
} study_protocol;

/* What is asked for, in bits: figures, and contenders for those that compare them all. */
typedef struct study_request {
  unsigned figures, contenders; /* contenders 0: everybody */
} study_request;

/* Adds a contender by its name, with a suggestion when there is none. */
mousse_status contenders_add(unsigned *contenders, const char *name, mo_error *error);

/* The cells that are needed for it. */
mousse_status protocol_plan(study_protocol *protocol, const study_scale *scale,
                            study_request request, const char *data_dir, mo_error *error);
void protocol_release(study_protocol *protocol);

/* NULL: there is none. */
const study_cell *protocol_find(const study_protocol *protocol, study_schedule schedule,
                                int regime, const char *label);

/* One part of the work: the searches at home, or all others of a regime. */
typedef struct study_stage {
  int regime;
  bool home;
} study_stage;

/* tuning.c: adds the next runs of a stage's searches, of those whose last ones have ended. more:
 * some were added; to be called again when runs have ended. */
mousse_status protocol_tune(study_protocol *protocol, study_stage stage, study_runs *runs,
                            bool *more, mo_error *error);
/* The runs of a regime's verdict, after its searches. An option added to a contender, or a switch
 * turned, that is behind the contender in the search gets none. */
mousse_status protocol_add_seeds(study_protocol *protocol, int regime, study_runs *runs,
                                 mo_error *error);

/* Tells the runs how many more this protocol will add, if no contender drops out. */
void protocol_expect(const study_protocol *protocol, study_runs *runs);

/* The best loss of a search less that of another; NaN: one of them has none. */
double cell_behind(const study_cell *cell, const study_cell *other);
/* What a point of its search stands for. */
study_setting cell_setting(const study_cell *cell, const search_point *point);
study_setting cell_best(const study_cell *cell); /* of its search; where it starts before */
study_setting cell_best_together(const study_cell *cell); /* the same before the details */
void cell_start_from(study_cell *cell, const study_cell *other); /* from what that has found */
/* A run of a cell; its name says all that differs but for where it starts. */
mousse_status cell_add_run(const study_cell *cell, const study_setting *with, int seed,
                           study_runs *runs, size_t *index, mo_error *error);

#endif
