/* hf_names.c - names and layouts of tensors, by the table of hf_names.def. */
#include "formats/hf_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  model_family family;
  const char *ours, *theirs;
  int part;
  bool transposed;
} names[] = {
#define HF_NAME(family, ours, theirs, part, transposed)                                        \
  {family, ours, theirs, part, transposed},
#include "formats/hf_names.def"
};

/* Whether name is pattern with a number for "#", which is stored. */
static bool fits(const char *pattern, const char *name, size_t *number)
{
  const char *mark = strchr(pattern, '#');
  if (mark == NULL) return strcmp(pattern, name) == 0;
  const size_t before = (size_t)(mark - pattern);
  if (strncmp(pattern, name, before) != 0) return false;
  char *end = NULL;
  *number = strtoul(name + before, &end, 10);
  return end != name + before && strcmp(mark + 1, end) == 0;
}

static void fill_in(char *text, size_t size, const char *pattern, size_t number)
{
  const char *mark = strchr(pattern, '#');
  if (mark == NULL)
    snprintf(text, size, "%s", pattern);
  else
    snprintf(text, size, "%.*s%zu%s", (int)(mark - pattern), pattern, number, mark + 1);
}

hf_placement hf_place(model_family family, const gpt_tensor *tensor)
{
  hf_placement place = {.part = 0, .parts = 1};
  const model_family table = family == FAMILY_GPT2 ? FAMILY_GPT2 : FAMILY_LLAMA;
  snprintf(place.name, sizeof place.name, "%s", tensor->name);
  for (size_t i = 0; family != FAMILY_NONE && i < sizeof names / sizeof *names; i++) {
    size_t number = 0;
    if (names[i].family != table || !fits(names[i].ours, tensor->name, &number)) continue;
    fill_in(place.name, sizeof place.name, names[i].theirs, number);
    place.transposed = names[i].transposed;
    place.parts = names[i].part < 0 ? 1 : 3;
    place.part = names[i].part < 0 ? 0 : (size_t)names[i].part;
    break;
  }
  return place;
}

void hf_shape(const hf_placement *place, const gpt_tensor *tensor, size_t *rows, size_t *cols)
{
  if (tensor->role == GPT_VECTOR) {
    *rows = 0;
    *cols = place->parts * tensor->cols;
  } else if (place->transposed) {
    *rows = tensor->cols;
    *cols = place->parts * tensor->rows;
  } else {
    *rows = place->parts * tensor->rows;
    *cols = tensor->cols;
  }
}

/* Their number that is ours at [row][col]. */
static size_t position(const hf_placement *p, const gpt_tensor *t, size_t row, size_t col)
{
  if (p->transposed) return col * p->parts * t->rows + p->part * t->rows + row;
  return p->part * t->rows * t->cols + row * t->cols + col;
}

void hf_take(const hf_placement *place, const gpt_tensor *tensor, const float *theirs)
{
  for (size_t row = 0; row < tensor->rows; row++)
    for (size_t col = 0; col < tensor->cols; col++)
      tensor->value[row * tensor->cols + col] = theirs[position(place, tensor, row, col)];
}

void hf_give(const hf_placement *place, const gpt_tensor *tensor, float *theirs)
{
  for (size_t row = 0; row < tensor->rows; row++)
    for (size_t col = 0; col < tensor->cols; col++)
      theirs[position(place, tensor, row, col)] = tensor->value[row * tensor->cols + col];
}
