/* bench_models.h - the models that are measured, and how often. */
#ifndef MOUSSE_BENCH_BENCH_MODELS_H
#define MOUSSE_BENCH_BENCH_MODELS_H

#include "bench/bench.h"

typedef struct bench_model {
  const char *preset;
  size_t batch, sequence, quick_rounds, rounds;
} bench_model;

static const bench_model bench_models[BENCH_MODELS] = {
    {"162M", 1, 1024, 1, 3},
    {"tiny", 16, 256, 2, 9},
    {"nano", 16, 256, 5, 25},
};

#endif
