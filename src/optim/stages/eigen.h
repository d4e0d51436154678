/* eigen.h - what the stages that work in an eigenbasis share (eigenbasis.h). */
#ifndef MOUSSE_OPTIM_STAGES_EIGEN_H
#define MOUSSE_OPTIM_STAGES_EIGEN_H

#include "optim/eigenbasis.h"
#include "optim/stages/options.h"

/* The basis whose arrays begin at array `first` of the stage, or here. */
mo_eigenbasis mo_eigen_basis(const mo_step *s, size_t first);
mo_eigenbasis mo_eigen_basis_in(const mo_step *s, float *const *arrays);

size_t mo_eigen_work_floats(const mo_stage_options *o, mo_shape shape);
double mo_eigen_flops(const mo_stage_options *o, mo_shape shape);

bool mo_eigen_due(const mo_step *s);

/* Renews both sides if that is due, in the way that the option refresh says; `later` is the way
 * of refresh = qr, and of auto where order matters to those who follow (MO_BASIS_TURN). While the
 * gradients so far cannot span a side, and the first time, its basis is found anew: the QR factor
 * of a matrix that has not full rank is rounding. */
void mo_eigen_renew(mo_step *s, const mo_eigenbasis *b, mo_renewal later, float *follows);

#endif
