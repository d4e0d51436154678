/* fractions.c - x^-power as a short sum of partial fractions.
 *
 * The sum is fitted on u = x / high in (0, 1], where its unknowns are all of the size of 1:
 *
 *     u^power (c_0 + c_1 u + sum_j c_j s_j^(1-power) / (u + s_j)) = 1 - residual(u)
 *
 * in c and log s. First by Gauss-Newton steps to the least sum of squares, which needs no luck,
 * then by Newton steps to a residual that alternates between equal extremes (Remez's method),
 * which has the least maximum. The best sum on the way is the result, so that a step that goes
 * astray costs nothing but time.
 */
#include "linalg/fractions.h"

#include <math.h>
#include <stdbool.h>

enum {
  POINTS = 160,                             /* of the grid, even in log u */
  MOST_UNKNOWNS = 2 * MO_MAX_FRACTIONS + 2, /* c, then log s */
  MOST_EQUATIONS = MOST_UNKNOWNS + 1
};

typedef struct fit {
  double power;
  int count, coefficients, unknowns;
  double step; /* the first guess's distance of two log shifts */
  double u[POINTS], scale[POINTS], residual[POINTS];
  double c[MO_MAX_FRACTIONS + 2], log_shift[MO_MAX_FRACTIONS];
  double shift[MO_MAX_FRACTIONS], value[MO_MAX_FRACTIONS]; /* s_j and s_j^-power */
} fit;

typedef struct equations {
  int count;
  double a[MOST_EQUATIONS][MOST_EQUATIONS], b[MOST_EQUATIONS];
} equations;

double mo_fractions_at(const mo_fractions *f, double x)
{
  double sum = f->constant + f->linear * x;
  for (int j = 0; j < f->count; j++) sum += f->weight[j] / (x + f->shift[j]);
  return sum;
}

/* The guess is a straight line through what the best fits have in common. */
static fit first_guess(double power, double low, double high, int count)
{
  fit f = {.power = power, .count = count, .coefficients = count + 2};
  const double length = log(high) - log(low);
  f.unknowns = f.coefficients + count;
  for (int i = 0; i < POINTS; i++) {
    const double log_u = -length * (POINTS - 1 - i) / (POINTS - 1);
    f.u[i] = exp(log_u);
    f.scale[i] = exp(power * log_u);
  }
  const double h = length / (count + 0.5);
  const double first = 0.75 * h - 1.1 - 2.8 * power - length;
  const double last = -1.15 * h + 0.95 - 0.8 * power;
  f.step = count > 1 ? fmax((last - first) / (count - 1), 0.1) : 1.0;
  for (int j = 0; j < count; j++)
    f.log_shift[j] = 0.5 * (first + last) + f.step * (j - 0.5 * (count - 1));
  return f;
}

/* Shifts and residuals from the unknowns; returns the largest magnitude of a residual. */
static double evaluate_fit(fit *f)
{
  double worst = 0.0, factor[MO_MAX_FRACTIONS];
  for (int j = 0; j < f->count; j++) {
    f->shift[j] = exp(f->log_shift[j]);
    f->value[j] = exp(-f->power * f->log_shift[j]);
    factor[j] = f->c[2 + j] * f->shift[j] * f->value[j];
  }
  for (int i = 0; i < POINTS; i++) {
    double sum = f->c[0] + f->c[1] * f->u[i];
    for (int j = 0; j < f->count; j++) sum += factor[j] / (f->u[i] + f->shift[j]);
    f->residual[i] = 1.0 - sum * f->scale[i];
    if (!(fabs(f->residual[i]) <= worst)) worst = fabs(f->residual[i]);
  }
  return worst;
}

/* How the sum at point i changes with the unknowns. */
static void slopes(const fit *f, int i, double row[MOST_UNKNOWNS])
{
  const double u = f->u[i], scale = f->scale[i];
  row[0] = scale;
  row[1] = scale * u;
  for (int j = 0; j < f->count; j++) {
    const double s = f->shift[j], part = s / (u + s);
    row[2 + j] = scale * f->value[j] * part;
    row[f->coefficients + j] = f->c[2 + j] * row[2 + j] * (1.0 - f->power - part);
  }
}

/* Solves in place of b by Gaussian elimination with row pivoting; false when singular. */
static bool solve(equations *e)
{
  const int n = e->count;
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(e->a[i][k]) > fabs(e->a[pivot][k])) pivot = i;
    if (!(fabs(e->a[pivot][k]) > 0.0)) return false;
    for (int j = 0; j < n; j++) {
      const double swapped = e->a[k][j];
      e->a[k][j] = e->a[pivot][j];
      e->a[pivot][j] = swapped;
    }
    const double swapped = e->b[k];
    e->b[k] = e->b[pivot];
    e->b[pivot] = swapped;
    for (int i = k + 1; i < n; i++) {
      const double factor = e->a[i][k] / e->a[k][k];
      for (int j = k; j < n; j++) e->a[i][j] -= factor * e->a[k][j];
      e->b[i] -= factor * e->b[k];
    }
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++) e->b[i] -= e->a[i][j] * e->b[j];
    e->b[i] /= e->a[i][i];
  }
  return true;
}

/* The least squares step. The ridge keeps coefficients small where terms are nearly the same
 * function: on short ranges, where far fewer of them would do. */
static bool squares_step(const fit *f, equations *e)
{
  double row[MOST_UNKNOWNS];
  *e = (equations){.count = f->unknowns};
  for (int i = 0; i < POINTS; i++) {
    slopes(f, i, row);
    for (int j = 0; j < f->unknowns; j++) {
      for (int k = 0; k <= j; k++) e->a[j][k] += row[j] * row[k];
      e->b[j] += row[j] * f->residual[i];
    }
  }
  for (int j = 0; j < f->unknowns; j++) {
    e->a[j][j] += 1e-9 * POINTS;
    for (int k = 0; k < j; k++) e->a[k][j] = e->a[j][k];
  }
  return solve(e);
}

/* The points of the residual's extremes between changes of sign: exactly `wanted` of them, or
 * false. */
static bool find_extremes(const fit *f, int wanted, int at[POINTS])
{
  int count = 0, first = 0;
  const double *r = f->residual;
  for (int i = 0; i < POINTS; i++) {
    /* cppcheck-suppress uninitvar - the first of at is written while count is 0 */
    if (count == 0 || (r[i] < 0.0) != (r[at[count - 1]] < 0.0))
      at[count++] = i;
    else if (fabs(r[i]) > fabs(r[at[count - 1]]))
      at[count - 1] = i;
  }
  while (count - first > wanted) {
    if (fabs(r[at[first]]) < fabs(r[at[count - 1]]))
      first++;
    else
      count--;
  }
  for (int i = 0; i < count - first; i++) at[i] = at[first + i];
  return count - first == wanted;
}

/* The step to extremes of one magnitude, which is the last unknown. */
static bool extremes_step(const fit *f, equations *e)
{
  int at[POINTS];
  *e = (equations){.count = f->unknowns + 1};
  if (!find_extremes(f, e->count, at)) return false;
  for (int i = 0; i < e->count; i++) {
    slopes(f, at[i], e->a[i]);
    e->a[i][f->unknowns] = i % 2 ? -1.0 : 1.0;
    e->b[i] = f->residual[at[i]];
  }
  return solve(e);
}

/* Takes the step, or as much of it as moves no shift by more than half a distance; returns how
 * far a shift wanted to go in such distances. */
static double take(fit *f, const double step[])
{
  double furthest = 0.0;
  for (int j = 0; j < f->count; j++)
    furthest = fmax(furthest, fabs(step[f->coefficients + j]) / f->step);
  const double part = furthest > 0.5 ? 0.5 / furthest : 1.0;
  for (int j = 0; j < f->coefficients; j++) f->c[j] += part * step[j];
  for (int j = 0; j < f->count; j++) f->log_shift[j] += part * step[f->coefficients + j];
  return furthest;
}

/* Steps of one kind until they hardly move; keeps the best fit. */
static void improve(fit *f, bool (*find_step)(const fit *, equations *), int steps, fit *best,
                    double *error)
{
  double moved = 1.0;
  equations e;
  for (int i = 0; i < steps && moved > 0.02 && find_step(f, &e); i++) {
    moved = i == 0 ? 1.0 : 0.0; /* the first one finds the coefficients */
    moved = fmax(moved, take(f, e.b));
    const double worst = evaluate_fit(f);
    if (!isfinite(worst)) return;
    if (worst >= *error) continue;
    *best = *f;
    *error = worst;
  }
}

mo_fractions mo_fractions_fit(double power, double low, double high, int count)
{
  enum { SQUARES_STEPS = 12, EXTREMES_STEPS = 6 };
  fit f = first_guess(power, low, high, count), best = f;
  double error = INFINITY;
  evaluate_fit(&f);
  improve(&f, squares_step, SQUARES_STEPS, &best, &error);
  improve(&f, extremes_step, EXTREMES_STEPS, &best, &error);
  const double value = pow(high, -power);
  mo_fractions result = {.count = count,
                         .constant = value * best.c[0],
                         .linear = value * best.c[1] / high,
                         .error = error};
  for (int j = 0; j < count; j++) {
    result.shift[j] = high * best.shift[j];
    result.weight[j] = value * best.c[2 + j] * best.value[j] * result.shift[j];
  }
  return result;
}
