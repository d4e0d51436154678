/* algorithm.h - what an optimization algorithm is.
 *
 * One file in algorithms/ defines one mo_algorithm. It works on one matrix at a time and knows
 * no ranks, groups, files or allocator: options, memory, sharding, saving, reports and --help
 * are all driven from the tables below.
 */
#ifndef MOUSSE_OPTIM_ALGORITHM_H
#define MOUSSE_OPTIM_ALGORITHM_H

#include "optim/side.h"

#include <mousse/mousse.h>

/* An option is a double at `offset` in the algorithm's own config struct. A `fixed` one shapes
 * memory and cannot be changed after prepare. */
typedef struct mo_option {
  mousse_option info;
  size_t offset;
} mo_option;

#define MO_NUMBER(config, field, first, low, high, text)                                       \
  {                                                                                            \
    .info = {.name = #field, .help = text, .initial = first, .min = low, .max = high},         \
    .offset = offsetof(config, field)                                                          \
  }
#define MO_WHOLE(config, field, first, low, high, is_fixed, text)                              \
  {                                                                                            \
    .info = {.name = #field,                                                                   \
             .help = text,                                                                     \
             .initial = first,                                                                 \
             .min = low,                                                                       \
             .max = high,                                                                      \
             .integer = 1,                                                                     \
             .fixed = is_fixed},                                                               \
    .offset = offsetof(config, field)                                                          \
  }
/* names: an array of strings that ends in NULL; the value is the index of a name. */
#define MO_CHOICE(config, field, names, first, is_fixed, text)                                 \
  {                                                                                            \
    .info = {.name = #field,                                                                   \
             .help = text,                                                                     \
             .choices = names,                                                                 \
             .initial = first,                                                                 \
             .min = 0,                                                                         \
             .max = (double)(sizeof names / sizeof *names) - 2.0,                              \
             .integer = 1,                                                                     \
             .fixed = is_fixed},                                                               \
    .offset = offsetof(config, field)                                                          \
  }

/* Options that several algorithms have, with one wording and one range. */
extern const char *const mo_off_on[3];
#define MO_SWITCH(config, field, first, is_fixed, text)                                        \
  MO_CHOICE(config, field, mo_off_on, first, is_fixed, text)
#define MO_OPTION_LR(config, first) MO_NUMBER(config, lr, first, 0, 1e3, "learning rate")
#define MO_OPTION_WEIGHT_DECAY(config, first)                                                  \
  MO_NUMBER(config, weight_decay, first, 0, 1e3,                                               \
            "decoupled decay: weights shrink by lr * weight_decay each step")
#define MO_BETA_MAX 0.999999

/* One named array of an algorithm's memory about one matrix, e.g. "momentum". Its degree is the
 * power of the gradient that it grows with: 1 for a momentum, 2 for statistics, 0 for a basis
 * and for what needs no scale (see grad_scale.h). */
typedef struct mo_state_array {
  const char *name;
  size_t count; /* floats */
  int degree;
  mo_side side; /* size > 0: a pair, whose degree is that of its statistics */
} mo_state_array;

enum { MO_MAX_STATE_ARRAYS = 16 };

/* Most arrays that an algorithm may ask of the caller beside the gradient (mousse_input). */
enum { MO_MAX_INPUTS = 4 };

/* What happened to one matrix so far; saved with its state. */
typedef struct mo_counts {
  uint64_t refreshes; /* of a preconditioner, due and tried */
  uint64_t retries;   /* times a solver failed and the next one was tried */
  uint64_t fallbacks; /* times every solver failed and the previous result was kept */
} mo_counts;

/* What an observer is told about one matrix in one step; see telemetry.h. */
typedef struct mo_telemetry mo_telemetry;

typedef struct mo_update {
  mo_shape shape;
  uint64_t step;         /* 1 in the first call, unless the caller has set another number */
  uint64_t blank;        /* of these, the ones whose gradient was 0, or never here */
  bool first;            /* what a first step makes is not there yet, whatever the number */
  bool changed;          /* the state was saved under another fixed option, and just loaded */
  double stagger_offset; /* in [0, 1): this matrix's place among others that share a rhythm */
  float *value;
  const float *grad;
  /* inputs[i] is the algorithm's input i, row-major, finite, not scaled; NULL only where
   * needs_input says that it may be. */
  const float *const *inputs;
  float *const *state; /* state[i] is part i of layout() */
  float *work;         /* work_floats() floats, 64-byte aligned, contents undefined */
  float grad_scale; /* a power of two, nearly always 1: state holds grad_scale * gradient, see
                     * grad_scale.h */
  mo_counts *counts;
  mo_telemetry *telemetry; /* NULL: nobody is watching */
} mo_update;

typedef struct mo_algorithm {
  const char *name, *help;
  const mo_option *options;
  size_t option_count, config_bytes;
  /* What becomes of an element depends on that element's own gradient, value and state; every
   * part of the state has one float per element; the only quantity noted is a root mean square
   * over elements. Then parameters can be cut anywhere and divided among ranks. */
  bool element_wise;
  /* NULL: any shape is accepted. Otherwise NULL for yes, or why not. */
  const char *(*refuses)(mo_shape shape);
  size_t (*layout)(const void *config, mo_shape shape,
                   mo_state_array arrays[MO_MAX_STATE_ARRAYS]);
  size_t (*work_floats)(const void *config, mo_shape shape); /* NULL: none */
  double (*flops)(const void *config, mo_shape shape);       /* weighs the sharding */
  /* Arrays that the caller binds to each parameter by name (mousse_bind_input), such as the
   * covariance of a layer's inputs. needs_input NULL: a step needs them all. */
  const mousse_input *inputs;
  size_t input_count; /* at most MO_MAX_INPUTS */
  bool (*needs_input)(const void *config, size_t input);
  /* Cannot fail: gradients are finite, memory is there, numerical trouble has fall-backs. */
  void (*update)(const void *config, const mo_update *u);
} mo_algorithm;

/* refuses() of the algorithms that need both sides of a matrix to be longer than 1. */
const char *mo_refuse_vectors(mo_shape shape);

/* registry.c: the algorithms of algorithms.def, in that order. */
size_t mo_algorithm_count(void);
const mo_algorithm *mo_algorithm_at(size_t index);
const mo_algorithm *mo_algorithm_find(const char *name); /* NULL: no such name */

/* Whether there is nothing yet of what a first step makes, such as a basis. */
static inline bool mo_first(const mo_update *u)
{
  return u->first || u->step == 1;
}

/* The largest rank that statistics of a side can have by now: each gradient adds at most its own.
 * Vectors beyond that are arbitrary, and QR would turn them by rounding. */
static inline double mo_spanned(const mo_update *u)
{
  return (double)(u->step - u->blank) * (double)mo_shorter(u->shape);
}

/* Whether what happens every `every` steps, from the first one on, is due. Staggered, a matrix
 * is late by its phase after the first time, so that not all are due at once. */
bool mo_due(const mo_update *u, double every, bool stagger);

static inline size_t mo_larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

/* Cutting a workspace into arrays: the sizes given to mo_scratch_floats, in any order, are what
 * mo_scratch_take will need. */
size_t mo_scratch_floats(size_t count); /* count rounded up to whole cache lines */
float *mo_scratch_take(float **work, size_t count);

/* grad_scale * gradient: the gradient itself when grad_scale is 1, otherwise a copy in `spare`. */
const float *mo_scaled_gradient(const mo_update *u, float *spare);

#endif
