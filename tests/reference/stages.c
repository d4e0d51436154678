/* stages.c - Muon with the parts that no algorithm of its own has, as the library's `spectral`:
 * row equilibration, several momenta, a scheduled mu; and with what comes after Newton-Schulz in
 * others: post scalings, norms.
 *
 *     mu(t):  constant; warmup: mu_start + (mu - mu_start)*t/mu_warmup for t < mu_warmup; cycle:
 *             and from mu at mu_fall to mu_end at mu_last, linearly (mu_last 0: never)
 *     single  M <- mu*M + G;  X0 = (1-mu)*(mu*M + G)               (nesterov [on], else M)
 *     two     the same with mu2 on (1-mu2)/(1-mu)*G; X0 = (1-mix)*X0 + mix*X2
 *     many    beta_k = t_k/(1+t_k), t_k from youngest to oldest in equal ratios, k = 1..momenta;
 *             t = 1: M_k = (1-mu)*G, as the single M;  later M_k <- beta_k*M_k + (1-beta_k)*G;
 *             X0 = (1-mu)*G + mu*sum w_k M_k (else the sum),
 *             w_K = mix, w_k = (1-mix)*k/(1+2+...+(K-1)) before
 *     (X0 is the average for post = scalar and norm = nuclear; else, 1/(1-mu) times as long, a sum)
 *     inner rows: X_i = X0_i*||X0||/sqrt(m)/max(||X0_i||, 1e-6*||X0||); columns likewise; sign: the
 *             signs of X0
 *     N = NS(X); ortho none: N = X
 *     post rows: normuon's, on the longer side, eps 1e-10; element: v <- beta2*v + (1-beta2)*N^2,
 *             N/(sqrt(v)+1e-10); scalar: v <- beta2*v + (1-beta2)*||G||^2,
 *             N*||X0||/(1-mu^t)/(sqrt(v/(1-beta2^t))+1e-10), ortho none: of N/||N||; graft [on]: rows
 *             and element leave ||N|| as it is
 *     norm sqrt_min, sqrt_rows, rms, relative: sqrt(min(m,n)), sqrt(m), 0.2*sqrt(m*n), ||W||, or
 *             as it is where W = 0; nuclear: times <X, NS(X)>
 *     W as Muon
 *
 * Defaults: lr .02, mu .95, you5, shape spectral, weight_decay .01.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOMENTA, SECOND };
enum { MOST = 8 };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTA] = MOST * r->rows * r->cols;
  counts[SECOND] = r->rows * r->cols;
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
    if (r->t == 1)
      ref_average(count, g, mu, m); /* of 0 */
    else
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
  if (kernel == 0) {
    ref_scale(x, count, 1 - mu);
    return;
  }
  double *second = ref_zeros(count);
  heavy_ball(count, g, mu2, (1 - mu2) / (1 - mu), nesterov, r->part[MOMENTA] + count, second);
  for (size_t i = 0; i < count; i++) x[i] = (1 - mix) * x[i] + mix * second[i];
  ref_scale(x, count, 1 - mu);
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

enum { NONE, ROWS, COLUMNS, SIGN };

static void precondition(const ref_optimizer *r, double *x)
{
  static const char *const inners[] = {"none", "rows", "columns", "sign", NULL};
  const size_t inner = ref_choice(r, "inner", inners, NONE);
  if (inner == ROWS || inner == COLUMNS) equilibrate(r, inner == ROWS, x);
  for (size_t i = 0; i < r->rows * r->cols && inner == SIGN; i++)
    x[i] = x[i] > 0 ? 1 : x[i] < 0 ? -1 : 0;
}

/* What u is multiplied by; norm is that of X0. */
static double scalar(ref_optimizer *r, const double *g, double norm)
{
  const double mu = ref_number(r, "mu", 0.95), beta2 = ref_number(r, "beta2", 0.95);
  const double squares = ref_dot(r->rows * r->cols, g, g), t = (double)r->t;
  ref_average(1, &squares, beta2, r->part[SECOND]);
  return norm / (1 - pow(mu, t)) / (sqrt(r->part[SECOND][0] / (1 - pow(beta2, t))) + 1e-10);
}

static void scale_after(ref_optimizer *r, const double *g, const double *x0, int orthogonal,
                        double *u)
{
  static const char *const posts[] = {"none", "rows", "element", "scalar", NULL};
  const size_t count = r->rows * r->cols, post = ref_choice(r, "post", posts, 0);
  const double beta2 = ref_number(r, "beta2", 0.95);
  double *v = r->part[SECOND];
  const double norm = ref_norm(u, count);
  if (post == 1) ref_equalise(r, r->rows >= r->cols, beta2, 1e-10, v, u);
  for (size_t i = 0; i < count && post == 2; i++) {
    v[i] = beta2 * v[i] + (1 - beta2) * u[i] * u[i];
    u[i] /= sqrt(v[i]) + 1e-10;
  }
  if (orthogonal && ref_number(r, "graft", 1) != 0) ref_rescale(count, norm, u);
  if (post == 3 && !orthogonal) ref_rescale(count, 1, u);
  if (post == 3) ref_scale(u, count, scalar(r, g, ref_norm(x0, count)));
}

static void set_norm(const ref_optimizer *r, const double *w, double nuclear, double *u)
{
  static const char *const norms[] = {"keep",     "sqrt_min", "sqrt_rows", "rms",
                                      "relative", "nuclear",  NULL};
  const double m = (double)r->rows, n = (double)r->cols;
  const double wanted[] = {0, sqrt(fmin(m, n)), sqrt(m), 0.2 * sqrt(m * n),
                           ref_norm(w, r->rows * r->cols)};
  const size_t norm = ref_choice(r, "norm", norms, 0);
  if (norm == 5)
    ref_scale(u, r->rows * r->cols, nuclear);
  else if (wanted[norm] > 0)
    ref_rescale(r->rows * r->cols, wanted[norm], u);
}

static int sees_length(const ref_optimizer *r)
{
  static const char *const posts[] = {"none", "rows", "element", "scalar", NULL};
  static const char *const norms[] = {"keep",     "sqrt_min", "sqrt_rows", "rms",
                                      "relative", "nuclear",  NULL};
  return ref_choice(r, "post", posts, 0) == 3 || ref_choice(r, "norm", norms, 0) == 5;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  static const char *const orthos[] = {"newton_schulz", "none", NULL};
  const size_t count = r->rows * r->cols, ortho = ref_choice(r, "ortho", orthos, 0);
  double *x0 = ref_zeros(count), *u = ref_zeros(count);
  momentum(r, g, x0);
  if (!sees_length(r)) ref_scale(x0, count, 1 / (1 - ref_mu(r)));
  double *x = ref_copy(x0, count);
  precondition(r, x);
  if (ortho == 0)
    ref_newton_schulz(r, x, u);
  else
    for (size_t i = 0; i < count; i++) u[i] = x[i];
  const double nuclear = ortho == 0 ? ref_dot(count, x, u) : 1;
  scale_after(r, g, x0, ortho == 0, u);
  set_norm(r, w, nuclear, u);
  ref_apply_spectral(r, w, u);
  free(x);
  free(u);
  free(x0);
}

const ref_algorithm ref_stages = {"spectral", layout, step};
