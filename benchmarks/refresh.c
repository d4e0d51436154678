/* refresh.c - the ways to a root P = A^-power: what they cost and how exact they are.
 *
 *     refresh [--quick] [SIZE...]
 *
 * A is a moving average of the Gram matrices of random gradients whose spectrum decays as 1/i
 * in a random basis; what is measured is the refresh at step 30, ten steps after the last one
 * (qr starts from that one's basis, "none" keeps that one's exact root). Cost: seconds relative
 * to a product of two n x n float matrices, both on one thread, in turns, the shortest of some
 * repetitions. Error against the decomposition
 * in double, over its eigenvectors q with eigenvalues l: overall ||(P - A^-power) Q|| /
 * ||A^-power||, and the worst direction, max ||P q - l^-power q|| / l^-power. Prints rows of a
 * Markdown table.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "linalg/blas.h"
#include "linalg/orthonormal.h"
#include "linalg/vector.h"
#include "optim/basis.h"
#include "optim/root.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double eps = 1e-5, beta = 0.95;
enum { STEPS = 30, PERIOD = 10 };

/* Everything for one size. */
typedef struct study {
  size_t n, columns;
  mo_side side;
  float *mixing;                    /* n x n: covariance root of the gradients */
  float *pair;                      /* the statistics at the last step */
  float *old;                       /* those of one period before it */
  float *trial;                     /* a copy that a refresh works on */
  float *basis;                     /* qr's, from one period before the last step */
  float *moved;                     /* a copy of it that a refresh works on */
  float *gradient;                  /* n x columns, and noise of the same size behind it */
  float *vectors, *dense, *product; /* n x n: eigenvectors as rows, P, P times them */
  double *matrix, *values, *solver; /* of the reference */
  float *work;
  mo_arena arena;
} study;

static void lay_out(study *s)
{
  const size_t n = s->n, square = n * n;
  mo_arena *a = &s->arena;
  size_t work = 0;
  for (int method = MO_REFRESH_EIGH; method <= MO_REFRESH_CHOLESKY; method++) {
    const size_t floats = mo_root_work_floats((mo_refresh)method, s->side);
    work = floats > work ? floats : work;
  }
  s->mixing = mo_arena_floats(a, square);
  s->pair = mo_arena_floats(a, n * (n + 1));
  s->old = mo_arena_floats(a, n * (n + 1));
  s->trial = mo_arena_floats(a, n * (n + 1));
  s->basis = mo_arena_floats(a, square);
  s->moved = mo_arena_floats(a, square);
  s->gradient = mo_arena_floats(a, 2 * n * s->columns);
  s->vectors = mo_arena_floats(a, square);
  s->dense = mo_arena_floats(a, square);
  s->product = mo_arena_floats(a, square);
  s->matrix = mo_arena_take(a, square, sizeof(double));
  s->values = mo_arena_take(a, n, sizeof(double));
  s->solver = mo_arena_take(a, mo_eigh_work_doubles(n), sizeof(double));
  s->work = mo_arena_floats(a, work);
}

static mo_root_rule rule_for(mo_refresh method, double power, int terms, int step)
{
  return (mo_root_rule){.power = power,
                        .correction = 1.0 / (1.0 - pow(beta, step)),
                        .grad_scale = 1.0f,
                        .trace_norm = true,
                        .damping = MO_DAMP_ABSOLUTE,
                        .eps = eps,
                        .method = method,
                        .terms = terms};
}

/* mixing = Q^T diag(1/i): gradients = mixing times noise. */
static void make_mixing(study *s)
{
  const size_t n = s->n;
  mo_random_fill(s->dense, n * n, 1.0, 1, 0);
  if (!mo_orthonormal_rows(n, s->dense, s->work)) exit(1);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) s->mixing[i * n + j] = s->dense[j * n + i] / (float)(j + 1);
}

static void average(study *s, int step)
{
  const size_t n = s->n, k = s->columns;
  float *noise = s->gradient + n * k;
  mo_random_fill(noise, n * k, 1.0, 2, (uint64_t)step);
  mo_gemm(MO_PLAIN, MO_PLAIN, n, k, n, 1.0f, s->mixing, n, noise, k, 0.0f, s->gradient, k);
  mo_side_average(s->side, (mo_shape){n, k}, s->gradient, beta, (uint64_t)step, s->pair);
}

static void collect_statistics(study *s)
{
  mo_counts counts = {0};
  make_mixing(s);
  for (int step = 1; step <= STEPS; step++) {
    average(s, step);
    if (step != STEPS - PERIOD) continue;
    const mo_root_rule rule = rule_for(MO_REFRESH_QR, 0.125, 0, step);
    memcpy(s->trial, s->pair, s->n * (s->n + 1) * sizeof *s->trial);
    memcpy(s->old, s->pair, s->n * (s->n + 1) * sizeof *s->old);
    mo_root_refresh(s->side, &rule, s->trial, s->basis, s->work, &counts, NULL);
  }
}

static void decompose(study *s)
{
  const size_t n = s->n;
  double trace = 0.0;
  mo_counts counts = {0};
  const double correction = rule_for(MO_REFRESH_EIGH, 0, 0, STEPS).correction;
  for (size_t i = 0; i < n; i++) trace += correction * (double)s->pair[i * (n + 1) + i];
  const double factor = correction * (double)n / (trace + eps);
  if (!mo_decompose(n, s->pair, factor, 2 * eps, NULL, s->matrix, s->values, s->solver,
                    &counts))
    exit(1);
  for (size_t i = 0; i < n * n; i++) s->vectors[i] = (float)s->matrix[i];
}

static double time_sgemm(study *s)
{
  const size_t n = s->n;
  const double start = mo_seconds();
  mo_gemm(MO_PLAIN, MO_PLAIN, n, n, n, 1.0f, s->mixing, n, s->vectors, n, 0.0f, s->product, n);
  return mo_seconds() - start;
}

/* What a row of the table measures. */
typedef struct costs {
  double sgemm, refresh; /* the shortest times in seconds */
} costs;

/* Leaves the root in s->trial. Once is enough for large sizes: each row has two powers. */
static void time_refresh(study *s, const mo_root_rule *rule, costs *best)
{
  mo_counts counts = {0};
  const int repeats = s->n <= 1024 ? 5 : 1;
  for (int i = 0; i < repeats; i++) {
    memcpy(s->trial, s->pair, s->n * (s->n + 1) * sizeof *s->trial);
    memcpy(s->moved, s->basis, s->n * s->n * sizeof *s->moved);
    best->sgemm = fmin(best->sgemm, time_sgemm(s));
    const double start = mo_seconds();
    mo_root_refresh(s->side, rule, s->trial, s->moved, s->work, &counts, NULL);
    best->refresh = fmin(best->refresh, mo_seconds() - start);
  }
}

typedef struct errors {
  double overall, worst;
} errors;

static errors measure_errors(study *s, double power)
{
  const size_t n = s->n;
  double difference = 0.0, reference = 0.0, worst = 0.0;
  mo_symm_right(MO_UPPER, n, n, s->trial + 1, n + 1, s->vectors, n, s->product, n);
  for (size_t i = 0; i < n; i++) {
    const double wanted = pow(s->values[i], -power);
    double squares = 0.0;
    for (size_t j = 0; j < n; j++) {
      const double d = (double)s->product[i * n + j] - wanted * (double)s->vectors[i * n + j];
      squares += d * d;
    }
    difference += squares;
    reference += wanted * wanted;
    worst = fmax(worst, sqrt(squares) / wanted);
  }
  return (errors){sqrt(difference / reference), worst};
}

static const double powers[2] = {0.125, 0.25};

static void print_row(const study *s, const char *name, double cost, const errors e[2])
{
  printf("| %zu | %s | %.1f | %.1e | %.1e | %.1e | %.1e |\n", s->n, name, cost, e[0].overall,
         e[0].worst, e[1].overall, e[1].worst);
  fflush(stdout);
}

static void row(study *s, const char *name, mo_refresh method, int terms)
{
  errors e[2];
  costs best = {INFINITY, INFINITY};
  for (int i = 0; i < 2; i++) {
    const mo_root_rule rule = rule_for(method, powers[i], terms, STEPS);
    time_refresh(s, &rule, &best);
    e[i] = measure_errors(s, powers[i]);
  }
  print_row(s, name, best.refresh / best.sgemm, e);
}

/* No refresh: the exact root of one period before. */
static void stale_row(study *s)
{
  errors e[2];
  mo_counts counts = {0};
  for (int i = 0; i < 2; i++) {
    const mo_root_rule rule = rule_for(MO_REFRESH_EIGH, powers[i], 0, STEPS - PERIOD);
    memcpy(s->trial, s->old, s->n * (s->n + 1) * sizeof *s->trial);
    mo_root_refresh(s->side, &rule, s->trial, s->basis, s->work, &counts, NULL);
    e[i] = measure_errors(s, powers[i]);
  }
  print_row(s, "none", 0.0, e);
}

static void study_size(size_t n)
{
  static const int terms[] = {4, 5, 6};
  study s = {.n = n, .columns = n / 4, .side = {false, n, n}, .arena = mo_arena_start(NULL)};
  lay_out(&s);
  if (!mo_arena_commit(&s.arena)) exit(1);
  lay_out(&s);
  collect_statistics(&s);
  decompose(&s);
  if (n <= 1024) stale_row(&s); /* it hardly depends on n, and is slow */
  row(&s, "eigh", MO_REFRESH_EIGH, 0);
  row(&s, "qr", MO_REFRESH_QR, 0);
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
    char name[32];
    snprintf(name, sizeof name, "cholesky, %d + linear", terms[i]);
    row(&s, name, MO_REFRESH_CHOLESKY, terms[i]);
  }
  row(&s, "auto", MO_REFRESH_AUTO, 0);
  mo_arena_release(&s.arena);
}

int main(int argc, char **argv)
{
  static const size_t usual[] = {256, 512, 768, 1024, 1536, 2048, 3072};
  const bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  const int first = quick ? 2 : 1;
  const size_t count = sizeof usual / sizeof *usual - (quick ? 3 : 0);
  mo_blas_enter();
  printf(
      "| n | refresh | cost in sgemm | error, power 1/8 | worst direction | error, power 1/4 "
      "| worst direction |\n|--:|---|--:|--:|--:|--:|--:|\n");
  for (size_t i = 0; first == argc && i < count; i++) study_size(usual[i]);
  for (int i = first; i < argc; i++) {
    const size_t n = strtoul(argv[i], NULL, 10);
    if (n < 16 || n > 8192) return 2;
    study_size(n);
  }
  mo_blas_leave();
  return 0;
}
