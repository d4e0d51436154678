/* tensors.c - what is registered: tensors, and the parameters in them.
 *
 * A tensor of `count` matrices of `row_blocks` blocks each becomes count * row_blocks parameters.
 * Names are found in a hash table, so that registering n of them takes about n steps. */
#include "base/text.h"
#include "optim/optimizer.h"
#include "optim/tensor_memory.h"

#include <stdio.h>
#include <string.h>

/* Most elements of one matrix: 4 TB of floats. */
#define MOST_ELEMENTS ((size_t)1 << 40)

/* Numbers in the table of names: parameters are even, tensors of several are odd. */
mo_param *mo_param_find(const mousse_optimizer *opt, const char *name)
{
  const mo_name *found = mo_names_find(&opt->names, name);
  return found != NULL && found->number % 2 == 0 ? &opt->params[found->number / 2] : NULL;
}

mo_tensor *mo_tensor_find(const mousse_optimizer *opt, const char *name)
{
  const mo_name *found = mo_names_find(&opt->names, name);
  if (found == NULL) return NULL;
  if (found->number % 2 == 1) return &opt->tensors[found->number / 2];
  mo_tensor *tensor = &opt->tensors[opt->params[found->number / 2].tensor];
  return tensor->name == NULL ? tensor : NULL;
}

mousse_status mo_param_unknown(const mousse_optimizer *opt, const char *name)
{
  mo_error *error = mo_error_of(opt);
  if (name == NULL)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "a parameter's name must not be NULL");
  mo_suggestion s = mo_suggest(name);
  for (size_t i = 0; i < opt->param_count; i++) mo_suggest_from(&s, opt->params[i].name);
  for (size_t i = 0; i < opt->tensor_count; i++)
    if (opt->tensors[i].name != NULL) mo_suggest_from(&s, opt->tensors[i].name);
  if (s.best != NULL && strcmp(s.best, name) != 0)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                   "there is no parameter '%.100s'; did you mean '%.100s'?", name, s.best);
  const mo_name *found = mo_names_find(&opt->names, name);
  if (found == NULL)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no parameter '%.200s'", name);
  if (found->number % 2 == 1)
    return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                   "'%.200s' is a tensor of several parameters; the first is '%.200s'", name,
                   opt->params[opt->tensors[found->number / 2].first_param].name);
  return mo_fail(error, MOUSSE_UNKNOWN_NAME,
                 "'%.100s' is a part of '%.100s'; tensors are rebound as they were added", name,
                 opt->tensors[opt->params[found->number / 2].tensor].name);
}

static mousse_status check_name(mousse_optimizer *opt, const char *name)
{
  if (name == NULL || *name == '\0' || strlen(name) > MO_NAME_LIMIT)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "a parameter needs a name of 1 to %d characters", MO_NAME_LIMIT);
  if (mo_names_find(&opt->names, name) != NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "there is already a parameter '%.200s'; names are keys in saved state",
                   name);
  return MOUSSE_OK;
}

/* rows = block_rows * row_blocks, and nothing overflows later on. */
static mousse_status check_sizes(mousse_optimizer *opt, const mo_tensor *t, const char *name)
{
  size_t elements = 0, end = 0;
  if (t->rows == 0 || t->cols == 0 || t->rows > INT32_MAX || t->cols > INT32_MAX ||
      !mo_multiply(t->rows, t->cols, &elements) || elements > MOST_ELEMENTS)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "parameter '%.200s': %zu x %zu is not a usable shape", name, t->rows,
                   t->cols);
  if (t->rows % t->row_blocks != 0)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "tensor '%.200s': %zu rows cannot be divided into %zu equal blocks", name,
                   t->rows, t->row_blocks);
  if (t->stride < elements)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "tensor '%.200s': its matrices have %zu elements and are only %zu apart",
                   name, elements, t->stride);
  if (!mo_multiply(t->stride, t->count, &end) || end > PTRDIFF_MAX / 4 ||
      !mo_multiply(t->count, t->row_blocks, &end) || end > UINT32_MAX - opt->param_count)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "tensor '%.200s': %zu matrices, %zu elements apart, are too many", name,
                   t->count, t->stride);
  return MOUSSE_OK;
}

static mousse_status check_group(mousse_optimizer *opt, int group, const char *name,
                                 mo_shape shape)
{
  if (group < 0 || (size_t)group >= opt->group_count)
    return mo_fail(&opt->error, MOUSSE_UNKNOWN_NAME,
                   "there is no group %d; mousse_add_group has made %zu", group,
                   opt->group_count);
  const mo_algorithm *algorithm = opt->groups[group].algorithm;
  const char *refusal = algorithm->refuses != NULL ? algorithm->refuses(shape) : NULL;
  if (refusal != NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "parameter '%.100s' (%zu x %zu) is not for %s: %s", name, shape.rows,
                   shape.cols, algorithm->name, refusal);
  return MOUSSE_OK;
}

/* name, name[i], name[b] or name[i][b]; the length it needs. */
static size_t part_name(const mo_tensor *t, const char *name, size_t k, char *text,
                        size_t capacity)
{
  const size_t i = k / t->row_blocks, block = k % t->row_blocks;
  int length = 0;
  if (t->count > 1 && t->row_blocks > 1)
    length = snprintf(text, capacity, "%s[%zu][%zu]", name, i, block);
  else if (t->count > 1 || t->row_blocks > 1)
    length = snprintf(text, capacity, "%s[%zu]", name, t->count > 1 ? i : block);
  else
    length = snprintf(text, capacity, "%s", name);
  return (size_t)length;
}

static mousse_status check_names(mousse_optimizer *opt, const mo_tensor *t, const char *name)
{
  char text[MO_NAME_LIMIT + 64];
  MO_TRY(check_name(opt, name));
  for (size_t k = 0; k < t->count * t->row_blocks && t->count * t->row_blocks > 1; k++) {
    part_name(t, name, k, text, sizeof text);
    MO_TRY(check_name(opt, text));
  }
  return MOUSSE_OK;
}

/* Room in every list for the tensor and its parameters. */
static bool reserve(mousse_optimizer *opt, const mo_tensor *t)
{
  const size_t parts = t->count * t->row_blocks;
  return mo_grow(&opt->allocator, &opt->params, &opt->param_capacity, opt->param_count + parts,
                 sizeof *opt->params) &&
         mo_grow(&opt->allocator, &opt->tensors, &opt->tensor_capacity, opt->tensor_count + 1,
                 sizeof *opt->tensors) &&
         mo_names_reserve(&opt->names, &opt->allocator, parts + 1) &&
         mo_ranges_reserve(&opt->values, &opt->allocator, opt->range_count + t->count) &&
         mo_ranges_reserve(&opt->gradients, &opt->allocator, opt->range_count + t->count);
}

static void release_names(mousse_optimizer *opt, const mo_tensor *t, size_t parts)
{
  for (size_t k = 0; k < parts; k++) {
    char *name = opt->params[opt->param_count + k].name;
    if (name != NULL) mo_release(&opt->allocator, name, strlen(name) + 1);
  }
  if (t->name != NULL) mo_release(&opt->allocator, t->name, strlen(t->name) + 1);
}

static char *copy_name(mousse_optimizer *opt, const char *name)
{
  char *copy = mo_allocate(&opt->allocator, strlen(name) + 1);
  if (copy != NULL) memcpy(copy, name, strlen(name) + 1);
  return copy;
}

/* The parameters at the end of the list, with their names; they are not counted yet. */
static bool make_params(mousse_optimizer *opt, mo_tensor *t, int group, const char *name,
                        mo_storage storage)
{
  char text[MO_NAME_LIMIT + 64];
  const size_t parts = t->count * t->row_blocks;
  const mo_shape shape = {t->rows / t->row_blocks, t->cols};
  mo_param model = {.group = group, .tensor = opt->tensor_count, .shape = shape, .owner = -1};
  model.storage = storage;
  model.storage.row_step = t->transposed ? 1 : t->cols;
  model.storage.col_step = t->transposed ? t->rows : 1;
  model.column_order =
      t->transposed && t->row_blocks == 1 && opt->groups[group].algorithm->element_wise;
  if (model.column_order) { /* the order of elements does not matter to it */
    model.storage.row_step = t->cols;
    model.storage.col_step = 1;
  }
  mo_options_start(mo_param_table, &model.options);
  if (parts > 1 && (t->name = copy_name(opt, name)) == NULL) return false;
  for (size_t k = 0; k < parts; k++) {
    part_name(t, name, k, text, sizeof text);
    model.name = copy_name(opt, text);
    opt->params[opt->param_count + k] = model;
    if (model.name != NULL) continue;
    release_names(opt, t, k);
    return false;
  }
  return true;
}

static mousse_status commit(mousse_optimizer *opt, const mo_tensor *t, mo_storage storage)
{
  const size_t parts = t->count * t->row_blocks;
  opt->tensors[opt->tensor_count++] = *t;
  const mousse_status status = mo_memory_occupy(opt, t, storage);
  if (status != MOUSSE_OK) {
    opt->tensor_count--;
    release_names(opt, t, parts);
    return status;
  }
  for (size_t k = 0; k < parts; k++)
    mo_names_add(&opt->names, opt->params[t->first_param + k].name, 2 * (t->first_param + k));
  if (t->name != NULL) mo_names_add(&opt->names, t->name, 2 * (opt->tensor_count - 1) + 1);
  opt->param_count += parts;
  opt->range_count += t->count;
  mo_memory_point(opt, t, storage.value, storage.grad);
  return MOUSSE_OK;
}

static mousse_status add(mousse_optimizer *opt, int group, const char *name, mo_tensor t,
                         mo_storage storage)
{
  t.first_param = opt->param_count;
  t.first_range = opt->range_count;
  MO_TRY(check_name(opt, name));
  MO_TRY(check_sizes(opt, &t, name));
  MO_TRY(check_group(opt, group, name, (mo_shape){t.rows / t.row_blocks, t.cols}));
  MO_TRY(check_names(opt, &t, name));
  MO_TRY(mo_memory_check(opt, name, storage));
  if (!reserve(opt, &t) || !make_params(opt, &t, group, name, storage))
    return mo_fail(&opt->error, MOUSSE_NO_MEMORY, "no memory for parameter '%.200s'", name);
  return commit(opt, &t, storage);
}

mousse_status mousse_add_param(mousse_optimizer *opt, int group, const char *name, size_t rows,
                               size_t cols, float *value, const float *grad)
{
  MO_TRY(mo_require(opt, MO_BUILDING, "mousse_add_param"));
  const mo_tensor t = {
      .rows = rows, .cols = cols, .count = 1, .row_blocks = 1, .stride = rows * cols};
  return add(opt, group, name, t, (mo_storage){.value = value, .grad = grad});
}

mousse_status mousse_add_tensor(mousse_optimizer *opt, int group, const mousse_tensor *tensor)
{
  MO_TRY(mo_require(opt, MO_BUILDING, "mousse_add_tensor"));
  if (tensor == NULL)
    return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                   "mousse_add_tensor: tensor must not be NULL");
  MO_TRY(mo_check_struct(&opt->error, "mousse_tensor", tensor, tensor->struct_size,
                         sizeof *tensor));
  if (mo_type_bytes(tensor->value_type) == 0 || mo_type_bytes(tensor->grad_type) == 0)
    return mo_fail(
        &opt->error, MOUSSE_INVALID_ARGUMENT,
        "mousse_add_tensor: value_type is %d and grad_type %d; they are 0 (float32), "
        "1 (bfloat16) or 2 (float16)",
        (int)tensor->value_type, (int)tensor->grad_type);
  const mo_tensor t = {.rows = tensor->rows,
                       .cols = tensor->cols,
                       .count = tensor->count > 0 ? tensor->count : 1,
                       .row_blocks = tensor->row_blocks > 0 ? tensor->row_blocks : 1,
                       .stride =
                           tensor->stride > 0 ? tensor->stride : tensor->rows * tensor->cols,
                       .transposed = tensor->transposed != 0};
  return add(opt, group, tensor->name, t,
             (mo_storage){.value = tensor->value,
                          .grad = tensor->grad,
                          .value_type = tensor->value_type,
                          .grad_type = tensor->grad_type});
}
