/* hf_names.h - where in the files of others each of our tensors is. */
#ifndef MOUSSE_FORMATS_HF_NAMES_H
#define MOUSSE_FORMATS_HF_NAMES_H

#include "formats/formats.h"

typedef struct hf_placement {
  char name[128];
  size_t part, parts; /* ours is part of `parts` equal ones in theirs */
  bool transposed;    /* theirs is inputs x outputs */
} hf_placement;

/* FAMILY_NONE: our own names. */
hf_placement hf_place(model_family family, const gpt_tensor *tensor);
/* The shape of their tensor; rows 0 for a vector. */
void hf_shape(const hf_placement *place, const gpt_tensor *tensor, size_t *rows, size_t *cols);
/* Copies ours out of, or into, all of theirs. */
void hf_take(const hf_placement *place, const gpt_tensor *tensor, const float *theirs);
void hf_give(const hf_placement *place, const gpt_tensor *tensor, float *theirs);

#endif
