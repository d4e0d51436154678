/* run_mean.c - mean, spread and intervals. */
#include "study/run_mean.h"

#include <math.h>
#include <stdio.h>

run_mean run_mean_of_none(void)
{
  return (run_mean){.mean = NAN, .spread = NAN};
}

/* Welford's update: no second pass over the values. */
void run_mean_add(run_mean *m, double value)
{
  if (!isfinite(value)) return;
  const double before = m->count > 0 ? m->mean : 0;
  m->count++;
  m->mean = before + (value - before) / (double)m->count;
  m->squares += (value - before) * (value - m->mean);
  if (m->count > 1) m->spread = sqrt(m->squares / (double)(m->count - 1));
}

/* 97.5% quantiles of Student's t with 1, 2, ... degrees of freedom; beyond 20 that of 20, which
 * is a little larger. */
static double quantile(double freedom)
{
  static const double values[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646,
                                  2.3060,  2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
                                  2.1314,  2.1199, 2.1098, 2.1009, 2.0930, 2.0860};
  const double count = sizeof values / sizeof *values;
  if (!(freedom >= 1)) return INFINITY;
  return values[(size_t)(fmin(freedom, count) - 1)];
}

double run_mean_margin(run_mean m)
{
  if (m.count == 0) return NAN;
  if (m.count == 1) return INFINITY;
  return quantile((double)m.count - 1) * m.spread / sqrt((double)m.count);
}

/* Ends of { r : |mean(upper - r lower)| <= t times its standard error }, a quadratic in r. */
run_ratio run_ratio_of(const double *upper, const double *lower, size_t count)
{
  run_mean u = run_mean_of_none(), l = run_mean_of_none();
  double products = 0;
  for (size_t i = 0; i < count; i++) {
    const double before = l.count > 0 ? l.mean : 0;
    run_mean_add(&u, upper[i]);
    run_mean_add(&l, lower[i]);
    products += (upper[i] - u.mean) * (lower[i] - before); /* as the squares of run_mean_add */
  }
  if (count == 0) return (run_ratio){NAN, NAN, NAN};
  const run_ratio open = {u.mean / l.mean, -INFINITY, INFINITY};
  if (count < 2) return open;
  const double n = (double)count, t = quantile(n - 1), scale = t * t / (n * (n - 1));
  const double a = l.mean * l.mean - scale * l.squares;
  const double b = u.mean * l.mean - scale * products;
  const double c = u.mean * u.mean - scale * u.squares;
  const double root = sqrt(fmax(b * b - a * c, 0));
  return a > 0 ? (run_ratio){open.value, (b - root) / a, (b + root) / a} : open;
}

const char *run_mean_verdict(run_mean difference)
{
  if (difference.count == 0) return "no pairs";
  if (difference.count < 3) return "fewer than three pairs";
  if (fabs(difference.mean) <= run_mean_margin(difference)) return "no clear difference";
  return difference.mean > 0 ? "worse" : "better";
}

void run_mean_text(run_mean m, char text[64])
{
  if (m.count == 0)
    snprintf(text, 64, "diverged");
  else if (m.count == 1)
    snprintf(text, 64, "%.4f (1)", m.mean);
  else
    snprintf(text, 64, "%.4f ± %.4f (%zu)", m.mean, m.spread, m.count);
}

int number_order(double a, double b)
{
  if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
  return (a > b) - (a < b);
}
