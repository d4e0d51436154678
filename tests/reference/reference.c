/* reference.c - creating, stepping and freeing a reference optimizer; reading its options. */
#include "reference/reference.h"

#include "reference/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ref_algorithm *const algorithms[] = {
    &ref_mousse, &ref_muon,     &ref_soap,       &ref_shampoo,   &ref_adamw,  &ref_lion,
    &ref_sgd,    &ref_normuon,  &ref_adamuon,    &ref_polargrad, &ref_namo,   &ref_muon2,
    &ref_asgo,   &ref_dasgo,    &ref_fismo,      &ref_klshampoo, &ref_klsoap, &ref_caspr,
    &ref_pmuon,  &ref_soapmuon, &ref_sinksoap,   &ref_dion2,     &ref_sumo,   &ref_limuon,
    &ref_stages, &ref_kfac,     &ref_newtonmuon,
};

static const ref_algorithm *find_algorithm(const char *name)
{
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
    if (strcmp(algorithms[i]->name, name) == 0) return algorithms[i];
  return NULL;
}

bool ref_exists(const char *algorithm)
{
  return find_algorithm(algorithm) != NULL;
}

ref_optimizer *ref_create(const char *algorithm, size_t rows, size_t cols, const char *options)
{
  ref_optimizer *r = calloc(1, sizeof *r);
  if (r == NULL) abort();
  r->options = options != NULL ? options : "";
  r->rows = rows;
  r->cols = cols;
  r->algorithm = find_algorithm(algorithm);
  if (r->algorithm == NULL) abort();
  size_t counts[REF_PARTS] = {0};
  r->algorithm->layout(r, counts);
  for (size_t i = 0; i < REF_PARTS; i++)
    if (counts[i] > 0) r->part[i] = ref_zeros(counts[i]);
  return r;
}

void ref_step(ref_optimizer *r, double *w, const double *g)
{
  r->t++;
  r->seen += ref_norm(g, r->rows * r->cols) > 0;
  r->algorithm->step(r, w, g);
}

void ref_free(ref_optimizer *r)
{
  for (size_t i = 0; i < REF_PARTS; i++) free(r->part[i]);
  free(r);
}

/* Where the value of the option begins, or NULL. */
static const char *find(const ref_optimizer *r, const char *name)
{
  const size_t length = strlen(name);
  const char *at = r->options;
  while (at != NULL && *at != '\0') {
    at += strspn(at, " ");
    if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
    at = strchr(at, ' ');
  }
  return NULL;
}

double ref_number(const ref_optimizer *r, const char *name, double otherwise)
{
  const char *value = find(r, name);
  return value != NULL ? strtod(value, NULL) : otherwise;
}

size_t ref_choice(const ref_optimizer *r, const char *name, const char *const *choices,
                  size_t otherwise)
{
  const char *value = find(r, name);
  if (value == NULL) return otherwise;
  const size_t length = strcspn(value, " ");
  for (size_t i = 0; choices[i] != NULL; i++)
    if (strlen(choices[i]) == length && strncmp(choices[i], value, length) == 0) return i;
  abort();
}

double ref_correction(const ref_optimizer *r, double beta, uint64_t t)
{
  return ref_number(r, "bias_correction", 1) != 0 ? 1 - pow(beta, (double)t) : 1;
}
