/* tensor_memory.c - see tensor_memory.h. */
#include "optim/tensor_memory.h"

#include <string.h>

static const char *tensor_name(const mousse_optimizer *opt, const mo_tensor *t)
{
  return t->name != NULL ? t->name : opt->params[t->first_param].name;
}

/* Of the tensor that a range of addresses belongs to: the last that begins at or before it. */
static const char *range_name(const mousse_optimizer *opt, size_t range)
{
  size_t low = 0, high = opt->tensor_count;
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    if (opt->tensors[middle].first_range <= range)
      low = middle;
    else
      high = middle;
  }
  return tensor_name(opt, &opt->tensors[low]);
}

typedef struct memory_span {
  uintptr_t start, end;
} memory_span;

/* Where matrix i lies when the tensor starts at `base`; NULL: nowhere. */
static memory_span span_of(const mo_tensor *t, const void *base, mousse_type type, size_t i)
{
  const size_t bytes = mo_type_bytes(type);
  const uintptr_t start = (uintptr_t)base + i * t->stride * bytes;
  return (memory_span){start, base != NULL ? start + t->rows * t->cols * bytes : start};
}

static mousse_status clash(mousse_optimizer *opt, const mo_tensor *t, const char *mine,
                           size_t range, const char *others)
{
  const char *name = tensor_name(opt, t), *other = range_name(opt, range);
  const bool both_values = strcmp(mine, others) == 0;
  if (strcmp(name, other) == 0)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "parameter '%.200s': its %s shares memory with its own %s", name, mine,
                   others);
  return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                 "parameter '%.150s': its %s shares memory with the %s of '%.150s'%s", name,
                 mine, others, other, both_values ? "; register a tied tensor once" : "");
}

static mousse_status occupy_values(mousse_optimizer *opt, const mo_tensor *t, mo_storage s)
{
  for (size_t i = 0; i < t->count; i++) {
    const memory_span at = span_of(t, s.value, s.value_type, i);
    size_t other = mo_ranges_find(&opt->values, at.start, at.end);
    if (other != MO_NO_RANGE) return clash(opt, t, "value", other, "value");
    other = mo_ranges_find(&opt->gradients, at.start, at.end);
    if (other != MO_NO_RANGE) return clash(opt, t, "value", other, "gradient");
    mo_ranges_add(&opt->values, t->first_range + i, at.start, at.end);
  }
  return MOUSSE_OK;
}

static mousse_status occupy_gradients(mousse_optimizer *opt, const mo_tensor *t, mo_storage s)
{
  for (size_t i = 0; i < t->count; i++) {
    const memory_span at = span_of(t, s.grad, s.grad_type, i);
    const size_t other = mo_ranges_find(&opt->values, at.start, at.end);
    if (other != MO_NO_RANGE) return clash(opt, t, "gradient", other, "value");
    mo_ranges_add(&opt->gradients, t->first_range + i, at.start, at.end);
  }
  return MOUSSE_OK;
}

static void leave(const mo_tensor *t, mo_ranges *set)
{
  for (size_t i = 0; i < t->count; i++) mo_ranges_remove(set, t->first_range + i);
}

mousse_status mo_memory_occupy(mousse_optimizer *opt, const mo_tensor *t, mo_storage s)
{
  mousse_status status = occupy_values(opt, t, s);
  if (status == MOUSSE_OK) status = occupy_gradients(opt, t, s);
  if (status == MOUSSE_OK) return MOUSSE_OK;
  leave(t, &opt->values);
  leave(t, &opt->gradients);
  return status;
}

mousse_status mo_memory_check(mousse_optimizer *opt, const char *name, mo_storage s)
{
  const size_t value_bytes = mo_type_bytes(s.value_type),
               grad_bytes = mo_type_bytes(s.grad_type);
  const bool bad_value = (uintptr_t)s.value % value_bytes != 0;
  if (!bad_value && (uintptr_t)s.grad % grad_bytes == 0) return MOUSSE_OK;
  return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                 "parameter '%.200s': its %s is at address %p, not at a multiple of %zu", name,
                 bad_value ? "value" : "gradient", bad_value ? s.value : s.grad,
                 bad_value ? value_bytes : grad_bytes);
}

void mo_memory_point(mousse_optimizer *opt, const mo_tensor *t, void *value, const void *grad)
{
  const size_t block_rows = t->rows / t->row_blocks;
  for (size_t k = 0; k < t->count * t->row_blocks; k++) {
    mo_storage *s = &opt->params[t->first_param + k].storage;
    const size_t block = k % t->row_blocks * block_rows;
    const size_t at = k / t->row_blocks * t->stride + block * (t->transposed ? 1 : t->cols);
    s->value = value != NULL ? (char *)value + at * mo_type_bytes(s->value_type) : NULL;
    s->grad = grad != NULL ? (const char *)grad + at * mo_type_bytes(s->grad_type) : NULL;
  }
}

/* What a tensor is bound to, and what it would be. */
static mo_storage bound(const mousse_optimizer *opt, const mo_tensor *t)
{
  return opt->params[t->first_param].storage;
}

static mo_storage wanted(const mousse_optimizer *opt, const mo_tensor *t,
                         const mousse_binding *b)
{
  mo_storage s = bound(opt, t);
  s.value = b->value;
  s.grad = b->grad;
  return s;
}

/* Marks the tensor as moving. */
static mousse_status check_binding(mousse_optimizer *opt, const mousse_binding *b)
{
  mo_tensor *t = mo_tensor_find(opt, b->name);
  if (t == NULL) return mo_param_unknown(opt, b->name);
  if (t->moving)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "mousse_rebind_all: '%.200s' is there twice", b->name);
  if (b->value == NULL && opt->prepared)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "parameter '%.200s': its value must not be NULL after mousse_prepare",
                   b->name);
  t->moving = true;
  return mo_memory_check(opt, b->name, wanted(opt, t, b));
}

/* One tensor of those that move. What stays where it is is not touched. */
typedef struct mover {
  const mo_tensor *tensor;
  mo_storage to;
  bool value, grad; /* whether it moves */
} mover;

static mover mover_of(const mousse_optimizer *opt, const mousse_binding *b)
{
  const mo_tensor *t = mo_tensor_find(opt, b->name);
  const mo_storage now = bound(opt, t);
  return (mover){t, wanted(opt, t, b), now.value != b->value, now.grad != b->grad};
}

static void mover_leaves(mousse_optimizer *opt, const mover *m)
{
  if (m->value) leave(m->tensor, &opt->values);
  if (m->grad) leave(m->tensor, &opt->gradients);
}

static mousse_status mover_arrives(mousse_optimizer *opt, const mover *m, mo_storage at)
{
  if (m->value) MO_TRY(occupy_values(opt, m->tensor, at));
  return m->grad ? occupy_gradients(opt, m->tensor, at) : MOUSSE_OK;
}

/* Back to where they were, which was free. */
static void move_back(mousse_optimizer *opt, const mousse_binding *bindings, size_t count)
{
  const mo_error why = opt->error;
  for (size_t i = 0; i < count; i++) {
    const mover m = mover_of(opt, &bindings[i]);
    mover_leaves(opt, &m);
  }
  for (size_t i = 0; i < count; i++) {
    const mover m = mover_of(opt, &bindings[i]);
    mover_arrives(opt, &m, bound(opt, m.tensor));
  }
  opt->error = why;
}

/* All leave before the first arrives: tensors may change places. */
static mousse_status move(mousse_optimizer *opt, const mousse_binding *bindings, size_t count)
{
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; i < count; i++) {
    const mover m = mover_of(opt, &bindings[i]);
    mover_leaves(opt, &m);
  }
  for (size_t i = 0; status == MOUSSE_OK && i < count; i++) {
    const mover m = mover_of(opt, &bindings[i]);
    status = mover_arrives(opt, &m, m.to);
  }
  if (status != MOUSSE_OK) move_back(opt, bindings, count);
  for (size_t i = 0; status == MOUSSE_OK && i < count; i++)
    mo_memory_point(opt, mo_tensor_find(opt, bindings[i].name), bindings[i].value,
                    bindings[i].grad);
  return status;
}

mousse_status mousse_rebind_all(mousse_optimizer *opt, const mousse_binding *bindings,
                                size_t count)
{
  if (opt == NULL) return MOUSSE_INVALID_ARGUMENT;
  if (bindings == NULL && count > 0)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "mousse_rebind_all: bindings must not be NULL");
  size_t checked = 0;
  mousse_status status = MOUSSE_OK;
  for (; status == MOUSSE_OK && checked < count; checked++)
    status = check_binding(opt, &bindings[checked]);
  for (size_t i = 0; i < checked; i++) {
    mo_tensor *t = mo_tensor_find(opt, bindings[i].name);
    if (t != NULL) t->moving = false;
  }
  return status == MOUSSE_OK ? move(opt, bindings, count) : status;
}

mousse_status mousse_rebind(mousse_optimizer *opt, const char *name, void *value,
                            const void *grad)
{
  const mousse_binding binding = {name, value, grad};
  return mousse_rebind_all(opt, &binding, 1);
}
