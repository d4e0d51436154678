/* normuon.c - NorMuon (Li et al., 2025): Muon whose rows get equal shares over time.
 *
 *     M <- mu*M + (1-mu)*G;  X0 = (1-mu)*G + mu*M        (nesterov [on], else M)
 *     O = NS(X0)
 *     q_i = mean_j O_ij^2;  V <- beta2*V + (1-beta2)*q;  U = O/(sqrt(V)+eps);  U <- U*||O||/||U||
 *     W <- W*(1 - lr*weight_decay) - lr*shape*U
 *
 * axis rows: V has one number per row. axis long: per row when m >= n, else per column.
 * Defaults: lr .02, mu .95, beta2 .95, eps 1e-10, weight_decay 0, jordan5, shape jordan.
 */
#include "reference/dense.h"
#include "reference/parts.h"

#include <stdlib.h>

enum { MOMENTUM, SECOND };

static void layout(const ref_optimizer *r, size_t counts[REF_PARTS])
{
  counts[MOMENTUM] = r->rows * r->cols;
  counts[SECOND] = r->rows > r->cols ? r->rows : r->cols;
}

static void step(ref_optimizer *r, double *w, const double *g)
{
  static const char *const axes[] = {"rows", "long", NULL};
  const size_t m = r->rows, n = r->cols;
  const int rows = ref_choice(r, "axis", axes, 0) == 0 || m >= n;
  double *x = ref_zeros(m * n), *u = ref_zeros(m * n);
  ref_momentum(m * n, g, ref_number(r, "mu", 0.95), ref_number(r, "nesterov", 1) != 0,
               r->part[MOMENTUM], x);
  ref_orthogonalise(r, REF_JORDAN5, REF_FROBENIUS, m, n, x, u);
  ref_equalise(r, rows, ref_number(r, "beta2", 0.95), ref_number(r, "eps", 1e-10),
               r->part[SECOND], u);
  ref_apply(r, (ref_finish){0.02, 0, REF_JORDAN}, w, u);
  free(u);
  free(x);
}

const ref_algorithm ref_normuon = {"normuon", layout, step};
