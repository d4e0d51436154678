/* reference.h - every optimizer again, in double and as plainly as possible.
 *
 *     ref_optimizer *r = ref_create("mousse", rows, cols, "lr=0.02 sides=left");
 *     ref_step(r, weights, gradient);   // both double, rows x cols, row-major
 *     ref_free(r);
 *
 * Written from the published formulas alone, never from the library, so that an error would
 * have to be made twice to pass the tests. Options are text, "name=value" separated by
 * blanks, with the names, choices and defaults of the library; unknown names are ignored.
 */
#ifndef MOUSSE_TESTS_REFERENCE_H
#define MOUSSE_TESTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REF_PARTS = 8, REF_INPUTS = 2 };

typedef struct ref_optimizer ref_optimizer;

/* One algorithm: sizes of its state arrays (zero at the start), and its step. */
typedef struct ref_algorithm {
  const char *name;
  void (*layout)(const ref_optimizer *r, size_t counts[REF_PARTS]);
  void (*step)(ref_optimizer *r, double *w, const double *g);
} ref_algorithm;

struct ref_optimizer {
  const ref_algorithm *algorithm;
  const char *options; /* borrowed */
  size_t rows, cols;
  uint64_t t;    /* 1 in the first step */
  uint64_t seen; /* of these, those whose gradient was not 0 */
  double *part[REF_PARTS];
  const double *input[REF_INPUTS]; /* borrowed: what the algorithm needs beside the gradient */
};

/* Whether there is a reference of that name. */
bool ref_exists(const char *algorithm);

ref_optimizer *ref_create(const char *algorithm, size_t rows, size_t cols, const char *options);
void ref_step(ref_optimizer *r, double *w, const double *g);
void ref_free(ref_optimizer *r);

/* The value of an option, or `otherwise`. A choice is the index of its name. */
double ref_number(const ref_optimizer *r, const char *name, double otherwise);
size_t ref_choice(const ref_optimizer *r, const char *name, const char *const *choices,
                  size_t otherwise);

/* Shared by muon and mousse: out = NS(x) with the coefficient set of option newton_schulz, and
 * w <- w*(1 - lr*weight_decay) - lr*shape(rows, cols)*u. */
void ref_newton_schulz(const ref_optimizer *r, const double *x, double *out);
void ref_apply_spectral(const ref_optimizer *r, double *w, const double *u);

/* The same for any m x n matrix, and with the caller's defaults. */
enum { REF_YOU5, REF_JORDAN5, REF_POLAR5, REF_EXACT, REF_EXACT12, REF_POLAR8 };
enum { REF_FROBENIUS, REF_SCHATTEN4 };
enum { REF_SPECTRAL, REF_RMS, REF_JORDAN, REF_NONE };
void ref_orthogonalise(const ref_optimizer *r, size_t set, size_t divisor, size_t m, size_t n,
                       const double *x, double *out);
typedef struct ref_finish {
  double lr, weight_decay;
  size_t shape;
} ref_finish;
void ref_apply(const ref_optimizer *r, ref_finish defaults, double *w, const double *u);

/* beta^t, and its complement unless option bias_correction is 0, when it is 1. */
double ref_correction(const ref_optimizer *r, double beta, uint64_t t);

extern const ref_algorithm ref_mousse, ref_muon, ref_soap, ref_shampoo, ref_adamw, ref_lion,
    ref_sgd, ref_normuon, ref_adamuon, ref_polargrad, ref_namo, ref_muon2, ref_asgo, ref_dasgo,
    ref_fismo, ref_klshampoo, ref_klsoap, ref_caspr, ref_pmuon, ref_soapmuon, ref_sinksoap,
    ref_dion2, ref_stages, ref_sumo, ref_limuon, ref_kfac, ref_newtonmuon;

#endif
