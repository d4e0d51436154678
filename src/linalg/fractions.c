/* fractions.c - x^-power as a short sum of partial fractions.
 *
 * Shifts in geometric progression whose two ends are searched for on a small grid around low
 * and high; constant and weights by least squares of the relative error. With five terms the
 * error is 1 to 2% over eight decades and less over fewer.
 */
#include "linalg/fractions.h"

#include <math.h>

enum { UNKNOWNS = MO_MAX_FRACTIONS + 1 };

double mo_fractions_at(const mo_fractions *f, double x)
{
  double sum = f->constant;
  for (int j = 0; j < f->count; j++) sum += f->weight[j] / (x + f->shift[j]);
  return sum;
}

/* Solves a x = b in place of b by Gaussian elimination with row pivoting; 0 when singular. */
static int solve(int n, double a[UNKNOWNS][UNKNOWNS], double b[UNKNOWNS])
{
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(a[i][k]) > fabs(a[pivot][k])) pivot = i;
    if (a[pivot][k] == 0.0) return 0;
    for (int j = 0; j < n; j++) {
      const double swapped = a[k][j];
      a[k][j] = a[pivot][j];
      a[pivot][j] = swapped;
    }
    const double swapped = b[k];
    b[k] = b[pivot];
    b[pivot] = swapped;
    for (int i = k + 1; i < n; i++) {
      const double factor = a[i][k] / a[k][k];
      for (int j = k; j < n; j++) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++) b[i] -= a[i][j] * b[j];
    b[i] /= a[i][i];
  }
  return 1;
}

/* The grid on which sums are fitted and judged: even in log x. */
enum { POINTS = 160 };

typedef struct target {
  double x[POINTS], scale[POINTS]; /* scale = x^power: the sum times it is to be 1 */
} target;

static target make_target(double power, double low, double high)
{
  target t;
  for (int i = 0; i < POINTS; i++) {
    t.x[i] = exp(log(low) + (log(high) - log(low)) * i / (POINTS - 1));
    t.scale[i] = pow(t.x[i], power);
  }
  return t;
}

/* Constant and weights with the least sum of squared relative errors on the grid, from the
 * normal equations; terms are scaled by their shift to be of one size. */
static int fit_weights(mo_fractions *f, const target *t)
{
  double a[UNKNOWNS][UNKNOWNS] = {{0}}, b[UNKNOWNS] = {0}, term[UNKNOWNS];
  const int n = f->count + 1;
  for (int i = 0; i < POINTS; i++) {
    const double x = t->x[i], scale = t->scale[i];
    term[0] = scale;
    for (int j = 1; j < n; j++) term[j] = scale * f->shift[j - 1] / (x + f->shift[j - 1]);
    for (int j = 0; j < n; j++) {
      for (int k = 0; k < n; k++) a[j][k] += term[j] * term[k];
      b[j] += term[j];
    }
  }
  if (!solve(n, a, b)) return 0;
  f->constant = b[0];
  for (int j = 1; j < n; j++) f->weight[j - 1] = b[j] * f->shift[j - 1];
  return 1;
}

static double worst_error(const mo_fractions *f, const target *t)
{
  double worst = 0.0;
  for (int i = 0; i < POINTS; i++) {
    const double error = fabs(mo_fractions_at(f, t->x[i]) * t->scale[i] - 1.0);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

mo_fractions mo_fractions_fit(double power, double low, double high, int count)
{
  enum { GRID = 10 };
  const target t = make_target(power, low, high);
  mo_fractions best = {.error = INFINITY};
  for (int a = 0; a <= GRID; a++) {
    for (int b = 0; b <= GRID; b++) {
      const double first = log(low) + 0.4 * a - 1.0, last = log(high) - 0.4 * b + 1.0;
      if (!(first < last)) continue;
      mo_fractions f = {.count = count};
      for (int j = 0; j < count; j++)
        f.shift[j] =
            exp(count > 1 ? first + (last - first) * j / (count - 1) : 0.5 * (first + last));
      if (!fit_weights(&f, &t)) continue;
      f.error = worst_error(&f, &t);
      if (f.error < best.error) best = f;
    }
  }
  return best;
}
