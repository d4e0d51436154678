/* stages.c - Muon with the parts that no algorithm of its own has, as the library's `spectral`:
 * row equilibration, several momenta, a scheduled mu.
 *
 *     mu(t):  constant; warmup: mu_start + (mu - mu_start)*t/mu_warmup for t < mu_warmup; cycle:
 *             and from mu at mu_fall to mu_end at mu_last, linearly (mu_last 0: never)
 *     single  M <- mu*M + G;  X0 = mu*M + G                        (nesterov [on], else M)
 *     two     the same with mu2 on (1-mu2)/(1-mu)*G; X0 = (1-mix)*X0 + mix*X2
 *     many    beta_k = t_k/(1+t_k), t_k from youngest to oldest in equal ratios, k = 1..momenta;
 *             M_k <- beta_k*M_k + (1-beta_k)*G;  X0 = (1-mu)*G + mu*sum w_k M_k (else the sum),
 *             w_K = mix, w_k = (1-mix)*k/(1+2+...+(K-1)) before
 *             (the library's is 1/(1-mu) times as long: Newton-Schulz does not see that)
 *     inner rows: X_i = X0_i*||X0||/sqrt(m)/max(||X0_i||, 1e-6*||X0||); columns likewise
 *     W by NS(X) as Muon
 *
 * Defaults: lr .02, mu .95, you5, shape spectral, weight_decay .01.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOMENTA };
enum { MOST = 8 };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTA] = MOST * r->rows * r->cols;
}

static double course(double from, double to, double first, double last, double t)
{
  if (last == 0 || t <= first) return from;
  if (t >= last) return to;
  return from + (to - from) * (t - first) / (last - first);
}

double ref_mu(const ref_optimizer *r)
{
  static const char *const names[] = {"constant", "warmup", "cycle", NULL};
  const size_t rule = ref_choice(r, "mu_schedule", names, 0);
  const double mu = ref_number(r, "mu", 0.95), t = (double)r->t;
  const double warm = ref_number(r, "mu_warmup", 300), start = ref_number(r, "mu_start", 0.85);
  if (rule > 0 && t < warm) return start + (mu - start) * t / warm;
  if (rule < 2) return mu;
  return course(mu, ref_number(r, "mu_end", 0.85), ref_number(r, "mu_fall", 1000),
                ref_number(r, "mu_last", 0), t);
}

/* m <- beta*m + add*g; x = m, or beta*m + add*g */
static void heavy_ball(size_t count, const double *g, double beta, double add, int nesterov,
                       double *m, double *x)
{
  for (size_t i = 0; i < count; i++) {
    m[i] = beta * m[i] + add * g[i];
    x[i] = nesterov ? beta * m[i] + add * g[i] : m[i];
  }
}

static void many(ref_optimizer *r, const double *g, double mu, double mix, double *x)
{
  const size_t count = r->rows * r->cols, all = (size_t)ref_number(r, "momenta", 8);
  const double young = ref_number(r, "youngest", 3), old = ref_number(r, "oldest", 64);
  const int nesterov = ref_number(r, "nesterov", 1) != 0;
  double places = 0;
  for (size_t k = 1; k < all; k++) places += (double)k;
  for (size_t i = 0; i < count; i++) x[i] = nesterov ? (1 - mu) * g[i] : 0;
  for (size_t k = 1; k <= all; k++) {
    const double age = young * pow(old / young, (double)(k - 1) / (double)(all - 1));
    const double weight = k == all ? mix : (1 - mix) * (double)k / places;
    double *m = r->part[MOMENTA] + (k - 1) * count;
    ref_average(count, g, age / (1 + age), m);
    for (size_t i = 0; i < count; i++) x[i] += (nesterov ? mu : 1) * weight * m[i];
  }
}

static void momentum(ref_optimizer *r, const double *g, double *x)
{
  static const char *const kernels[] = {"single", "two", "many", NULL};
  const size_t count = r->rows * r->cols, kernel = ref_choice(r, "kernel", kernels, 0);
  const double mu = ref_mu(r), mu2 = ref_number(r, "mu2", 0.99);
  const double mix =
      course(ref_number(r, "mix", 0.5), ref_number(r, "mix_end", 0.1),
             ref_number(r, "mix_fall", 1000), ref_number(r, "mix_last", 0), (double)r->t);
  const int nesterov = ref_number(r, "nesterov", 1) != 0;
  if (kernel == 2) {
    many(r, g, mu, mix, x);
    return;
  }
  heavy_ball(count, g, mu, 1, nesterov, r->part[MOMENTA], x);
  if (kernel == 0) return;
  double *second = ref_zeros(count);
  heavy_ball(count, g, mu2, (1 - mu2) / (1 - mu), nesterov, r->part[MOMENTA] + count, second);
  for (size_t i = 0; i < count; i++) x[i] = (1 - mix) * x[i] + mix * second[i];
  free(second);
}

static void equilibrate(const ref_optimizer *r, int rows, double *x)
{
  const size_t m = r->rows, n = r->cols, lines = rows ? m : n;
  const double norm = ref_norm(x, m * n);
  double *squares = ref_zeros(lines);
  for (size_t i = 0; i < m * n; i++) squares[rows ? i / n : i % n] += x[i] * x[i];
  for (size_t i = 0; i < m * n; i++) {
    const double line = sqrt(squares[rows ? i / n : i % n]);
    x[i] *= norm / sqrt((double)lines) / fmax(line, 1e-6 * norm);
  }
  free(squares);
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  static const char *const inners[] = {"none", "rows", "columns", NULL};
  const size_t count = r->rows * r->cols, inner = ref_choice(r, "inner", inners, 0);
  double *x = ref_zeros(count), *u = ref_zeros(count);
  momentum(r, g, x);
  if (inner > 0) equilibrate(r, inner == 1, x);
  ref_newton_schulz(r, x, u);
  ref_apply_spectral(r, w, u);
  free(u);
  free(x);
}

const ref_algorithm ref_stages = {"spectral", layout, step};
