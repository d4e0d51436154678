/* test_exact_family.c - the spectral family against its float64 references, and what its members
 * become when part of them is switched off, through the public header. */
#include "property/against.h"
#include "reference/dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t shapes[][2] = {{40, 40}, {24, 48}, {48, 24}, {33, 17}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct row {
  const char *algorithm, *options;
  double tolerance;
} row;

static const row table[] = {
    {"normuon", "", 1e-3},
    {"normuon", "axis=long nesterov=0 newton_schulz=polar5 beta2=0.5 weight_decay=0.1", 1e-3},
    {"adamuon", "", 1e-2},
    {"adamuon", "sign=0 nesterov=0 beta2=0.8 eps=0.01 weight_decay=0.1", 1e-2},
    {"namo", "", 1e-3},
    {"namo", "bias_correction=1 nesterov=1 beta2=0.8 eps=0.1 shape=rms", 1e-3},
    {"polargrad", "", 1e-3},
    {"polargrad", "order=polar_first mu=0.8 weight_decay=0.1", 1e-3},
    {"polargrad", "nesterov=1 newton_schulz=polar8", 1e-3},
    {"muon2", "", 1e-2},
    {"muon2", "outer=1", 1e-2},
    {"muon2", "outer=1 graft=0 eps_rel=0.1 alpha=0.25 lr=0.01 shape=none", 1e-2},
    {"asgo", "", 1e-2},
    {"asgo", "mu=0.5 nesterov=1 beta2=0.95 refresh_every=4", 1e-2},
    {"dasgo", "", 1e-3},
    {"dasgo", "eps=0.1 nesterov=1 beta2=0.5", 1e-3},
    {"caspr", "", 1e-2},
    {"caspr", "graft=sgd refresh_every=3 beta=0.9 eps=0.001 nesterov=0 weight_decay=0.1", 1e-2},
    {"caspr", "graft=none refresh_every=1 beta=0.95", 1e-2},
    {"caspr", "block=20 graft=sgd", 1e-2},
    {"caspr", "sides=small graft=none", 1e-2},
    {"caspr", "sides=right block=9 refresh_every=2", 1e-2},
    {"shampoo", "block=20 refresh_every=3", 1e-2},
    {"shampoo", "sides=small", 1e-2},
    {"shampoo", "sides=left block=15 graft=none max_precond_dim=40", 1e-2},
    {"fismo", "", 1e-2},
    {"fismo", "trace_norm=1 mu=0.8 refresh_every=3 graft=0 lr=0.001", 1e-2},
    {"fismo", "outer=0 beta=0.8 eps=0.1 newton_schulz=exact", 1e-2},
    {"klshampoo", "", 2e-2},
    {"klshampoo", "floors=absolute refresh_every=1 eps=0.01 beta=0.9 weight_decay=1", 2e-2},
    {"klsoap", "", 2e-2},
    {"klsoap", "floors=absolute refresh_every=3 eps=0.01 beta2=0.9 mu=0.5", 2e-2},
    {"pmuon", "", 1e-2},
    {"pmuon", "sides=small alpha=0.125 refresh_every=4 nesterov=0 shape=none", 1e-2},
    {"pmuon", "eps=0.1 beta=0.8 newton_schulz=you5", 1e-2},
    {"soapmuon", "", 2e-2},
    {"soapmuon", "sides=small refresh_every=10 beta=0.95 beta2=0.95", 2e-2},
    {"soapmuon", "sides=right refresh_every=3 newton_schulz=you5 divisor=frobenius", 2e-2},
    {"soapmuon", "eps=0.01 nesterov=0 shape=none weight_decay=0.1", 2e-2},
    {"sinksoap", "", 2e-2},
    {"sinksoap", "floors=absolute eps=0.0001 sinkhorn=3 refresh_every=4 beta=0.9", 2e-2},
    {"dion2", "", 1e-2},
    {"dion2", "fraction=0.6 mu=0.5 shape=rms newton_schulz=jordan5 weight_decay=0.1", 1e-2},
    {"sumo", "", 1e-2},
    {"sumo", "rank=5 refresh_every=4 residual=0.1 limit=0 shape=spectral", 1e-2},
    {"sumo", "rank=7 limit=0.99 newton_schulz=exact12 weight_decay=0.1", 1e-2},
    {"limuon", "", 1e-2},
    {"limuon", "rank=3 mu=0.8 newton_schulz=polar8 shape=jordan weight_decay=0.1", 1e-2},
    {"limuon", "rank=0", 1e-2},
    {"kfac", "", 2e-2},
    {"kfac", "kl_clip=0 nesterov=1 eps=0.1 beta=0.5 refresh_every=4 weight_decay=0.1", 2e-2},
    {"newtonmuon", "", 1e-2},
    {"newtonmuon", "eps=0.01 beta=0.5 refresh_every=3 nesterov=0", 1e-2},
    {"namo", "decay=cautious weight_decay=1", 1e-3},
    {"soapmuon", "decay=corrected weight_decay=1 lr_peak=0.1", 2e-2},
    /* parts that are none of these algorithms' */
    {"spectral", "decay=corrected weight_decay=1 lr_peak=0.1", 1e-3},
    {"spectral", "decay=independent weight_decay=0.01 lr_peak=0.1", 1e-3},
    {"spectral", "decay=cautious weight_decay=1", 1e-3},
    {"spectral", "radius=brake weight_decay=1", 1e-3},
    {"spectral", "radius=pin weight_decay=1", 1e-3},
    {"spectral", "radius=pin decay=cautious weight_decay=1", 1e-3},
    {"spectral", "radius=brake_pin decay=cautious weight_decay=1 floor=row", 1e-3},
    {"spectral", "radius=brake floor=matrix floor_target=4", 1e-3},
    {"spectral", "floor=row floor_target=1.5 shape=jordan", 1e-3},
    {"spectral", "radius=ball lr=0.1", 1e-3},
    {"spectral", "inner=rows", 1e-3},
    {"spectral", "inner=columns nesterov=0", 1e-3},
    {"spectral", "kernel=two mu2=0.8 mix=0.3", 1e-3},
    {"spectral", "kernel=two mix=0.9 mix_end=0.2 mix_fall=5 mix_last=20 nesterov=0", 1e-3},
    {"spectral", "kernel=many mix=0.857369", 1e-3},
    {"spectral", "kernel=many momenta=3 oldest=30 mix_end=0.3 mix_fall=4 mix_last=12", 1e-3},
    {"spectral", "kernel=many nesterov=0 youngest=1", 1e-3},
    {"spectral", "mu_schedule=warmup mu_warmup=12", 1e-3},
    {"spectral", "mu_schedule=cycle mu_warmup=6 mu_fall=10 mu_last=20 mu_end=0.5", 1e-3},
    {"spectral", "post=rows", 1e-3},
    {"spectral", "post=element", 1e-2},
    {"spectral", "post=element graft=0 beta2=0.8", 1e-2},
    {"spectral", "post=scalar", 1e-3},
    {"spectral", "post=scalar mu=0.8 beta2=0.7 inner=rows nesterov=0", 1e-3},
    {"spectral", "post=scalar mu_schedule=warmup mu_warmup=12 norm=keep", 1e-3},
    {"spectral", "post=scalar inner=sign", 1e-2},
    {"spectral", "post=scalar ortho=none", 1e-3},
    {"spectral", "post=scalar ortho=none inner=sign", 1e-2},
    {"spectral", "post=scalar kernel=two mix=0.3 mu2=0.8", 1e-3},
    {"spectral", "norm=rms", 1e-3},
    {"spectral", "norm=relative", 1e-3},
    {"spectral", "norm=sqrt_rows shape=none", 1e-3},
    {"spectral", "norm=sqrt_min newton_schulz=jordan5", 1e-3},
    {"spectral", "norm=nuclear", 1e-3},
    {"spectral", "norm=nuclear mu=0.5 post=scalar", 1e-3},
    {"spectral", "norm=nuclear inner=sign lr=0.001", 1e-2},
    {"spectral", "norm=nuclear ortho=none kernel=many", 1e-3},
    {"soapmuon", "gate=1", 2e-2},
    {"soapmuon", "gate=1 gate_floor=0.45 gate_cap=0.85 sides=small", 2e-2},
    /* the records of 2026: gate, brake, floor, pin, cautious decay, scheduled mu */
    {"soapmuon",
     "gate=1 gate_floor=0.45 gate_cap=0.85 radius=brake_pin floor=row decay=cautious "
     "weight_decay=0.025 mu_schedule=cycle mu_warmup=8 mu_fall=15 mu_last=25",
     2e-2},
};

static void test_against_the_references(void **state)
{
  (void)state;
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    for (size_t s = 0; s < SHAPES; s++)
      wrong += check(table[i].algorithm, shapes[s], table[i].options, FULL, table[i].tolerance);
  assert_int_equal(wrong, 0);
}

/* Few columns, so that each one's share of a trace or a norm counts. */
static void test_narrow_matrices_against_the_references(void **state)
{
  (void)state;
  static const row narrow[] = {{"newtonmuon", "eps=1", 1e-2},
                               {"kfac", "eps=1", 2e-2},
                               {"limuon", "rank=1", 1e-2},
                               {"mousse", "eps=0.1", 1e-2},
                               {"shampoo", "eps=0.1", 1e-2},
                               {"normuon", "", 1e-3},
                               {"soapmuon", "eps=0.01", 2e-2},
                               {"muon2", "", 1e-2},
                               {"fismo", "trace_norm=1", 1e-2},
                               {"pmuon", "eps=0.1", 1e-2},
                               {"klshampoo", "eps=1", 2e-2},
                               {"muon2", "outer=1 graft=0 eps_rel=1 lr=0.01 shape=none", 1e-3}};
  static const size_t narrow_shapes[][2] = {{9, 2}, {3, 8}};
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
    for (size_t s = 0; s < 2; s++)
      wrong += check(narrow[i].algorithm, narrow_shapes[s], narrow[i].options, FULL,
                     narrow[i].tolerance);
  assert_int_equal(wrong, 0);
}

/* Most eigenvalues are then 0, and the floors under them count. */
static void test_low_rank_against_the_references(void **state)
{
  (void)state;
  static const row low[] = {{"klshampoo", "", 2e-2}, {"kfac", "", 2e-2}};
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof low / sizeof *low; i++)
    for (size_t s = 1; s < SHAPES; s++)
      wrong += check(low[i].algorithm, shapes[s], low[i].options, 2, low[i].tolerance);
  assert_int_equal(wrong, 0);
}

/* Rows from 1 to 1e-4. */
static void fill_graded(rig_param *p, const void *context, uint64_t step)
{
  (void)context;
  gradient(p, FULL, step);
  for (size_t i = 0; i < p->count; i++)
    p->grad[i] *= (float)pow(10, -4 * (double)(i / p->cols) / (double)(p->rows - 1));
}

/* Directions of small singular values are directions. */
static void test_small_directions_against_the_references(void **state)
{
  (void)state;
  static const against pairs[] = {
      {"sumo", "rank=99 limit=0", "sumo", "rank=99 limit=0"},
      {"sumo", "rank=12 mu=0.5", "sumo", "rank=12 mu=0.5"},
      {"spectral", "ortho=low_rank rank=99 newton_schulz=exact", "muon", "newton_schulz=exact"},
  };
  static const size_t small[][2] = {{12, 30}, {30, 12}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    for (size_t s = 0; s < 2; s++) {
      const double error = error_of(&pairs[i], small[s], STEPS, fill_graded, NULL);
      if (error > 1e-3)
        fail_msg("%s '%s' %zux%zu: error %.2g", pairs[i].algorithm, pairs[i].options,
                 small[s][0], small[s][1], error);
    }
}

/* A side that the first gradients cannot span has its basis by a rule while that is so: QR of
 * statistics that have not full rank would be rounding. */
static void test_roots_by_qr_against_the_references(void **state)
{
  (void)state;
  static const row by_qr[] = {
      {"mousse", "refresh=qr refresh_every=1", 1e-2},
      {"mousse", "refresh=qr refresh_every=2 alpha=0.25 eps=0.001 block=30", 1e-2},
      {"mousse", "refresh=qr refresh_every=3 outer=0 alpha=0.4 eps=0.01", 1e-2},
      {"shampoo", "refresh=qr refresh_every=1 eps=0.001 graft=none", 1e-2},
      {"shampoo", "refresh=qr refresh_every=4", 1e-2},
      {"caspr", "refresh=qr refresh_every=2 eps=0.01 beta=0.9", 1e-2},
      {"pmuon", "refresh=qr", 1e-2},
      {"pmuon", "refresh=qr refresh_every=2 eps=0.001", 1e-2},
  };
  static const size_t longer[][2] = {{8, 50}, {50, 8}, {24, 48}, {20, 20}};
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof by_qr / sizeof *by_qr; i++)
    for (size_t s = 0; s < 4; s++)
      wrong += check(by_qr[i].algorithm, longer[s], by_qr[i].options, FULL, by_qr[i].tolerance);
  assert_int_equal(wrong, 0);
}

/* Gradients of 0 come first, as for LoRA's A, whose B starts at 0. They span nothing: the steps in
 * which a long side has its basis by a rule do not count them. */
static void fill_late(rig_param *p, const void *context, uint64_t step)
{
  (void)context;
  gradient(p, FULL, step);
  if (step <= 2) memset(p->grad, 0, p->count * sizeof *p->grad);
}

static void test_late_gradients_against_the_references(void **state)
{
  (void)state;
  static const row late[] = {
      {"adamw", "", 1e-4},
      {"lion", "", 1e-3},
      {"sgd", "", 1e-4},
      {"muon", "", 1e-3},
      {"mousse", "", 1e-2},
      {"shampoo", "", 1e-2},
      {"soap", "", 3e-2},
      {"soap", "refresh_every=1", 2e-2},
      {"mousse", "refresh=qr refresh_every=1", 1e-2},
      {"klshampoo", "refresh_every=1", 2e-2},
      {"soapmuon", "", 2e-2},
      {"normuon", "", 1e-3},
      {"adamuon", "", 1e-2},
      {"namo", "", 1e-3},
      {"polargrad", "", 1e-3},
      {"muon2", "", 1e-2},
      {"asgo", "", 1e-2},
      {"dasgo", "", 1e-3},
      {"caspr", "", 1e-2},
      {"fismo", "", 1e-2},
      {"klshampoo", "", 2e-2},
      {"klshampoo", "refresh_every=3", 2e-2},
      {"klsoap", "", 2e-2},
      {"klsoap", "refresh_every=3 mu=0.5", 2e-2},
      {"klsoap", "refresh_every=1", 1e-3},
      {"pmuon", "", 1e-2},
      {"soapmuon", "refresh_every=20", 2e-2},
      {"sinksoap", "", 2e-2},
      {"dion2", "", 1e-2},
      {"sumo", "", 1e-2},
      {"limuon", "", 1e-2},
      {"kfac", "", 2e-2},
      {"newtonmuon", "", 1e-2},
      {"spectral", "", 1e-3},
  };
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof late / sizeof *late; i++)
    for (size_t s = 0; s < SHAPES; s++) {
      const row *q = &late[i];
      const double error =
          error_against(q->algorithm, shapes[s], q->options, STEPS, fill_late, NULL);
      if (error < q->tolerance) continue;
      print_error("%s %zux%zu '%s' after gradients of 0: error %.2g\n", q->algorithm,
                  shapes[s][0], shapes[s][1], q->options, error);
      wrong++;
    }
  assert_int_equal(wrong, 0);
}

/* No gradient from the second step to the fourth: statistics fade and keep their rank. */
static void fill_with_a_pause(rig_param *p, const void *context, uint64_t step)
{
  (void)context;
  gradient(p, FULL, step);
  if (step >= 2 && step <= 4) memset(p->grad, 0, p->count * sizeof *p->grad);
}

/* A basis that is found anew meanwhile has a null space again, in whose places nothing tells one vector
 * from another but rounding. */
static void test_a_pause_against_the_references(void **state)
{
  (void)state;
  static const row paused[] = {{"klsoap", "refresh_every=1", 1e-3},
                               {"klsoap", "refresh_every=3 mu=0.5", 1e-3},
                               {"klshampoo", "refresh_every=1", 1e-3},
                               {"soap", "refresh_every=1", 1e-3}};
  static const size_t longer[][2] = {{8, 50}, {50, 8}, {24, 48}};
  for (size_t i = 0; i < sizeof paused / sizeof *paused; i++)
    for (size_t s = 0; s < 3; s++) {
      const row *q = &paused[i];
      const double error =
          error_against(q->algorithm, longer[s], q->options, 12, fill_with_a_pause, NULL);
      if (error > q->tolerance)
        fail_msg("%s %zux%zu '%s': error %.2g", q->algorithm, longer[s][0], longer[s][1],
                 q->options, error);
    }
}

/* Eigenvalues that are kept for places follow vectors that are found anew. klshampoo has no update in
 * the first step, where inner = kl has momentum's. */
static void test_kl_by_eigh_against_the_reference(void **state)
{
  (void)state;
#define KL "mu=0 eps=1e-10 beta=0.8 refresh_every=1 weight_decay=0 refresh=eigh "
  for (size_t s = 0; s < SHAPES; s++) {
    rig r;
    rig_single(&r, NULL, "spectral", shapes[s][0], shapes[s][1],
               KL "inner=kl outer=0 nesterov=0 ortho=none graft=0 lr=0");
    rig_param *p = &r.params[0];
    ref_optimizer *reference = ref_create("klshampoo", p->rows, p->cols, KL);
    double *start = to_double(p->value, p->count), *expected = ref_zeros(p->count);
    for (uint64_t t = 1; t <= STEPS; t++) {
      gradient(p, FULL, t);
      double *g = to_double(p->grad, p->count);
      ref_step(reference, expected, g);
      assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
      if (t == 1) assert_int_equal(mousse_set(r.opt, 0, "lr", 1), MOUSSE_OK);
      free(g);
    }
    double *moved = to_double(p->value, p->count);
    for (size_t i = 0; i < p->count; i++) moved[i] -= start[i];
    ref_scale(moved, p->count, 1 / ref_norm(moved, p->count));
    ref_scale(expected, p->count, 1 / ref_norm(expected, p->count));
    const double error = distance(moved, expected, p->count);
    if (error > 1e-3) fail_msg("%zux%zu: error %.2g", p->rows, p->cols, error);
    free(moved);
    free(expected);
    free(start);
    ref_free(reference);
    rig_stop(&r);
  }
}

typedef struct reduction {
  const char *algorithm, *options, *to, *to_options;
  double tolerance;
  const char *where; /* of "swt": square, wide, tall */
} reduction;

static const reduction reductions[] = {
    {"normuon", "newton_schulz=exact", "muon",
     "newton_schulz=exact shape=jordan weight_decay=0", 1e-4, "sw"},
    {"normuon", "newton_schulz=exact axis=long", "muon",
     "newton_schulz=exact shape=jordan weight_decay=0", 1e-4, "s"},
    {"namo", "mu=0 beta2=0 weight_decay=0", "muon", "mu=0 newton_schulz=jordan5 weight_decay=0",
     1e-4, "swt"},
    {"muon2", "alpha=0 lr=0.02 weight_decay=0", "muon",
     "newton_schulz=jordan5 shape=jordan weight_decay=0", 1e-4, "swt"},
    {"muon2", "alpha=0 outer=1 lr=0.02 weight_decay=0", "muon",
     "newton_schulz=jordan5 shape=jordan weight_decay=0", 1e-4, "swt"},
    {"asgo", "mu=0 beta2=0 eps=1e-12 lr=0.02 weight_decay=0", "muon",
     "mu=0 newton_schulz=exact shape=rms weight_decay=0", 1e-2, "swt"},
    {"caspr", "beta=0 mu=0 eps=1e-10 graft=none lr=0.005 refresh_every=1", "muon",
     "mu=0 newton_schulz=exact shape=none weight_decay=0", 1e-2, "swt"},
    {"pmuon", "alpha=0 lr=0.02", "muon",
     "newton_schulz=exact12 shape=jordan weight_decay=0.025", 1e-4, "swt"},
    {"sinksoap", "mu=0 beta=0 lr=0.02 weight_decay=0", "muon",
     "mu=0 newton_schulz=exact shape=jordan weight_decay=0", 1e-2, "s"},
    {"dion2", "fraction=1 newton_schulz=jordan5 lr=0.02", "muon",
     "nesterov=0 newton_schulz=jordan5", 1e-4, "swt"},
    {"sumo", "rank=99 limit=0 refresh_every=2", "muon",
     "nesterov=0 newton_schulz=exact shape=none weight_decay=0", 1e-4, "swt"},
    {"mousse", "alpha=0 nesterov=1", "muon", "", 1e-4, "swt"},
    {"pmuon", "mu=0 beta=0 alpha=0.2 eps=0.001 newton_schulz=you5 weight_decay=0.01 lr=0.02",
     "mousse", "mu=0 beta=0 alpha=0.2 eps=0.0005 outer=0 refresh_every=1 shape=jordan", 1e-3,
     "swt"},
    {"namo", "decay=corrected", "namo", "", 1e-6, "s"}, /* at a constant lr */
    /* a basis that is always near enough is never renewed */
    {"soap", "refresh_tol=1 refresh_every=1", "soap", "refresh_every=1000", 1e-6, "s"},
    {"soapmuon", "refresh_tol=1", "soapmuon", "refresh_every=1000", 1e-6, "s"},
    {"sinksoap", "refresh_tol=1", "sinksoap", "refresh_every=1000", 1e-6, "s"},
    {"klshampoo", "refresh_tol=1 refresh_every=1", "klshampoo", "refresh_every=1000", 1e-6,
     "swt"},
    {"klsoap", "refresh_tol=1 refresh_every=1", "klsoap", "refresh_every=1000", 1e-4, "swt"},
    /* every algorithm is a choice of options of the stages */
    {"spectral", "", "muon", "", 1e-6, "swt"},
    {"spectral", "inner=kron nesterov=0", "mousse", "", 1e-6, "swt"},
    {"spectral", "inner=kron nesterov=0 post=rows", "mousse", "post=rows", 1e-6, "swt"},
    {"spectral", "post=rows axis=rows newton_schulz=jordan5 shape=jordan weight_decay=0",
     "normuon", "", 1e-3, "swt"},
    {"spectral",
     "inner=diag outer=0 alpha=0.5 eps=1e-10 newton_schulz=jordan5 shape=jordan lr=0.1 "
     "weight_decay=0.0125",
     "muon2", "", 1e-3, "swt"},
    {"spectral",
     "inner=rms beta=0.9 beta2=0.9 eps=1e-8 refresh=qr refresh_every=1 newton_schulz=exact12 "
     "divisor=schatten4 shape=jordan lr=0.0375 weight_decay=0",
     "soapmuon", "", 1e-3, "swt"},
    {"spectral",
     "inner=sinkhorn eps=1e-8 refresh_every=1 ortho=none graft=0 norm=sqrt_min shape=jordan "
     "lr=0.04 weight_decay=0.025",
     "sinksoap", "", 1e-3, "s"},
    {"spectral",
     "inner=fisher graft=1 nesterov=0 eps=0.001 trace_norm=0 weight_decay=0 refresh_every=1 "
     "mu=0",
     "fismo", "mu=0", 1e-3, "swt"},
    /* the length of the momentum, as an average, whatever is orthogonalised */
    {"spectral", "post=scalar nesterov=0 newton_schulz=jordan5", "namo",
     "bias_correction=1 eps=1e-10", 1e-4, "swt"},
    {"spectral", "post=scalar nesterov=0 newton_schulz=jordan5 inner=diag alpha=0 outer=0",
     "namo", "bias_correction=1 eps=1e-10", 1e-4, "swt"},
    {"spectral", "post=scalar ortho=topk fraction=1 nesterov=0 newton_schulz=jordan5", "namo",
     "bias_correction=1 eps=1e-10", 1e-4, "swt"},
    {"mousse", "alpha=0 post=scalar newton_schulz=jordan5", "namo",
     "bias_correction=1 eps=1e-10", 1e-4, "swt"},
    {"spectral", "norm=nuclear nesterov=0 newton_schulz=exact shape=none weight_decay=0",
     "polargrad", "", 1e-4, "swt"},
    {"spectral",
     "norm=nuclear nesterov=0 newton_schulz=exact shape=none weight_decay=0 ortho=low_rank "
     "rank=99 refresh_every=3",
     "polargrad", "", 1e-4, "swt"},
    {"mousse", "alpha=0 nesterov=1 post=element", "spectral", "post=element", 1e-4, "swt"},
    {"mousse", "alpha=0 nesterov=1 post=element graft=0", "spectral", "post=element graft=0",
     1e-4, "swt"},
    /* all lines, all directions */
    {"spectral", "ortho=topk fraction=1", "muon", "", 1e-4, "swt"},
    {"spectral", "ortho=topk fraction=1 inner=kron outer=0 form=plain", "spectral",
     "inner=kron outer=0 form=plain", 1e-4, "swt"},
    {"spectral", "ortho=low_rank rank=99 refresh_every=3 newton_schulz=exact", "muon",
     "newton_schulz=exact", 1e-4, "swt"},
    /* ASGO, and then Newton-Schulz, is Mousse on one side, alone */
    {"spectral",
     "inner=kron sides=small alpha=0.5 outer=0 graft=0 refresh_every=1 nesterov=0 lr=0.01",
     "mousse", "sides=small alpha=0.5 outer=0 graft=0 refresh_every=1 lr=0.01", 1e-4, "swt"},
    /* no memory: the fourth root of both sides, and half a root of one, are the polar factor */
    {"spectral",
     "mu=0 beta=0 inner=kron alpha=0.25 eps=1e-10 refresh_every=1 ortho=none outer=0 graft=0 "
     "norm=sqrt_min",
     "muon", "mu=0 newton_schulz=exact", 1e-2, "s"},
    {"spectral",
     "mu=0 beta=0 inner=kron alpha=0.5 sides=small eps=1e-10 refresh_every=1 ortho=none "
     "outer=0 "
     "graft=0 norm=sqrt_min",
     "muon", "mu=0 newton_schulz=exact", 1e-2, "swt"},
    /* momenta of the same age; a norm that an exact factor has already; rows that are equal */
    {"spectral", "kernel=two mu2=0.95", "muon", "", 1e-4, "swt"},
    {"spectral", "kernel=many youngest=19 oldest=19", "muon", "", 1e-4, "swt"},
    {"spectral", "newton_schulz=exact norm=sqrt_min", "muon", "newton_schulz=exact", 1e-4,
     "swt"},
    {"soapmuon", "gate=1 gate_cap=0 lr=0.02", "muon",
     "newton_schulz=exact12 shape=jordan weight_decay=0", 1e-2, "swt"},
};

/* |A - B| / |B - W_0| after STEPS steps. */
static double apart(const reduction *q, const size_t shape[2])
{
  rig a, b;
  rig_single(&a, NULL, q->algorithm, shape[0], shape[1], q->options);
  rig_single(&b, NULL, q->to, shape[0], shape[1], q->to_options);
  const size_t count = shape[0] * shape[1];
  double *start = to_double(b.params[0].value, count);
  for (uint64_t t = 1; t <= STEPS; t++) {
    gradient(&a.params[0], FULL, t);
    gradient(&b.params[0], FULL, t);
    assert_int_equal(mousse_step(a.opt), MOUSSE_OK);
    assert_int_equal(mousse_step(b.opt), MOUSSE_OK);
  }
  double *found = to_double(a.params[0].value, count);
  double *expected = to_double(b.params[0].value, count);
  const double part = distance(found, expected, count) / distance(expected, start, count);
  free(expected);
  free(found);
  free(start);
  rig_stop(&b);
  rig_stop(&a);
  return part;
}

static void test_reductions(void **state)
{
  (void)state;
  size_t wrong = 0;
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
    for (size_t s = 0; s < 3; s++) {
      const reduction *q = &reductions[i];
      const double part = strchr(q->where, "swt"[s]) != NULL ? apart(q, shapes[s]) : 0;
      if (part < q->tolerance) continue;
      print_error("%s '%s' %zux%zu is not %s '%s': %.2g\n", q->algorithm, q->options,
                  shapes[s][0], shapes[s][1], q->to, q->to_options, part);
      wrong++;
    }
  assert_int_equal(wrong, 0);
}

/* CASPR's operator applied twice is L^-1/2 X + 2 L^-1/4 X R^-1/4 + X R^-1/2: without the squares it
 * is Shampoo's. */
static void test_the_sum_is_made_of_its_parts(void **state)
{
  (void)state;
#define ALIKE "ortho=none outer=0 graft=0 weight_decay=0 trace_norm=0 eps=0.01 refresh_every=1 "
  static const char *const parts[4] = {
      ALIKE "inner=sum alpha=0.25", ALIKE "inner=kron alpha=0.25",
      ALIKE "inner=kron alpha=0.5 sides=left", ALIKE "inner=kron alpha=0.5 sides=right"};
  for (size_t s = 0; s < 3; s++) {
    const size_t count = shapes[s][0] * shapes[s][1];
    double *moved[4];
    for (size_t k = 0; k < 4; k++) {
      rig r;
      rig_single(&r, NULL, "spectral", shapes[s][0], shapes[s][1], parts[k]);
      double *start = to_double(r.params[0].value, count);
      for (uint64_t t = 1; t <= 5; t++) {
        gradient(&r.params[0], FULL, t);
        assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
      }
      moved[k] = to_double(r.params[0].value, count);
      for (size_t i = 0; i < count; i++) moved[k][i] -= start[i];
      free(start);
      rig_stop(&r);
    }
    for (size_t i = 0; i < count; i++)
      moved[1][i] = 2 * moved[1][i] + moved[2][i] + moved[3][i];
    assert_true(distance(moved[0], moved[1], count) < 1e-3 * ref_norm(moved[1], count));
    for (size_t k = 0; k < 4; k++) free(moved[k]);
  }
}

enum { BRAKED = 12 * 17 };

/* How far W went along itself in one step whose gradient is this multiple of W. */
static double went_along(const char *radius, double multiple, float weights[BRAKED])
{
  rig r;
  double along = 0;
  char options[80];
  snprintf(options, sizeof options, "radius=%s weight_decay=0 lr=0.01", radius);
  rig_single(&r, NULL, "spectral", 12, 17, options);
  rig_param *p = &r.params[0];
  float *start = rig_weights(&r);
  for (size_t i = 0; i < BRAKED; i++) p->grad[i] = (float)(multiple * (double)start[i]);
  assert_int_equal(mousse_step(r.opt), MOUSSE_OK);
  for (size_t i = 0; i < BRAKED; i++)
    along += ((double)p->value[i] - (double)start[i]) * (double)start[i];
  memcpy(weights, p->value, BRAKED * sizeof(float));
  free(start);
  rig_stop(&r);
  return along;
}

/* The brake halves what would make W longer, and leaves alone what makes it shorter. */
static void test_the_brake(void **state)
{
  (void)state;
  float free_weights[BRAKED], braked_weights[BRAKED];
  const double longer = went_along("free", -1, free_weights);
  const double braked = went_along("brake", -1, braked_weights);
  assert_true(longer > 0);
  assert_true(fabs(braked - longer / 2) < 1e-3 * longer);
  assert_true(went_along("free", 1, free_weights) < 0);
  went_along("brake", 1, braked_weights);
  assert_memory_equal(free_weights, braked_weights, sizeof free_weights);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_the_references),
      cmocka_unit_test(test_narrow_matrices_against_the_references),
      cmocka_unit_test(test_low_rank_against_the_references),
      cmocka_unit_test(test_small_directions_against_the_references),
      cmocka_unit_test(test_roots_by_qr_against_the_references),
      cmocka_unit_test(test_late_gradients_against_the_references),
      cmocka_unit_test(test_a_pause_against_the_references),
      cmocka_unit_test(test_kl_by_eigh_against_the_reference),
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_the_sum_is_made_of_its_parts),
      cmocka_unit_test(test_the_brake),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
