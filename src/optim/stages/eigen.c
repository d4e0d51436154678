/* eigen.c - what the stages that work in an eigenbasis share. */
#include "optim/stages/eigen.h"

#include "optim/stages/kron.h"

mo_eigenbasis mo_eigen_basis_in(const mo_step *s, float *const *arrays)
{
  const mo_shape shape = s->u->shape;
  return mo_eigenbasis_in(shape, mo_kron_side(s->o, shape, false),
                          mo_kron_side(s->o, shape, true), arrays);
}

mo_eigenbasis mo_eigen_basis(const mo_step *s, size_t first)
{
  return mo_eigen_basis_in(s, s->state + first);
}

size_t mo_eigen_work_floats(const mo_stage_options *o, mo_shape shape)
{
  return mo_eigenbasis_work_floats(mo_kron_side(o, shape, false), mo_kron_side(o, shape, true));
}

double mo_eigen_flops(const mo_stage_options *o, mo_shape shape)
{
  const double left = (double)mo_kron_side(o, shape, false).size;
  const double right = (double)mo_kron_side(o, shape, true).size;
  const double moves = 8.0 * (left * left * left + right * right * right) / o->refresh_every;
  return 5.0 * (double)mo_elements(shape) * (left + right) + moves;
}

bool mo_eigen_due(const mo_step *s)
{
  return mo_due(s->u, s->o->refresh_every, s->o->stagger != 0.0);
}

static mo_renewal way(const mo_step *s, mo_side side, mo_renewal later)
{
  const bool eigh =
      s->o->refresh == MO_REFRESH_EIGH ||
      (s->o->refresh == MO_REFRESH_AUTO && side.size < 512 && later != MO_BASIS_TURN);
  const bool unspanned = mo_spanned(s->u) < (double)side.size;
  if (mo_first(s->u)) return MO_BASIS_FIND;
  if (later == MO_BASIS_TURN) return eigh || unspanned ? MO_BASIS_PLACE : later;
  if (eigh) return MO_BASIS_REPLACE;
  return unspanned ? MO_BASIS_FIND : later;
}

void mo_eigen_renew(mo_step *s, const mo_eigenbasis *b, mo_renewal later, float *follows)
{
  if (!mo_eigen_due(s)) return;
  mo_eigenbasis_renew(b, way(s, b->left, later), way(s, b->right, later), s->o->refresh_tol,
                      follows, s->buffers[2], s->work, s->u->counts);
}
