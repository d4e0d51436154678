/* run_groups.c - grouping runs by their options. */
#include "study/run_groups.h"

#include "study/option_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_row(size_t row, const train_options *a, const train_options *b)
{
  char x[MO_SETTING_PATH], y[MO_SETTING_PATH];
  const mo_setting *setting = &train_settings.rows[row];
  return mo_setting_text(setting, a, x, sizeof x) && mo_setting_text(setting, b, y, sizeof y) &&
         strcmp(x, y) == 0;
}

/* Whether the runs differ in an option that makes another model, task or length. */
static bool differs(const run_records *records, size_t row)
{
  const char *name = train_settings.rows[row].name;
  if (!option_makes_model(name) && strcmp(name, "num_iterations") != 0) return false;
  for (size_t i = 1; i < records->count; i++)
    if (!same_row(row, &records->list[0].options, &records->list[i].options)) return true;
  return false;
}

bool run_records_unlike(const run_records *records, char *names, size_t capacity)
{
  size_t used = 0, more = 0;
  names[0] = '\0';
  for (size_t row = 0; row < train_settings.count; row++) {
    const char *name = train_settings.rows[row].name;
    if (!differs(records, row)) continue;
    if (more > 0 || used + strlen(name) + 24 >= capacity)
      more++;
    else
      used +=
          (size_t)snprintf(names + used, capacity - used, "%s%s", used > 0 ? ", " : "", name);
  }
  if (more > 0) snprintf(names + used, capacity - used, " and %zu more", more);
  return used > 0;
}

static mousse_status no_memory(mo_error *error)
{
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to group the runs");
}

static mousse_status add_to_group(run_groups *groups, option_tree *tree,
                                  const run_record *record, mo_error *error)
{
  size_t at = 0;
  uint32_t leaf = 0;
  const double lr = run_record_lr(record);
  if (!option_tree_add(tree, &record->options, &leaf)) return no_memory(error);
  while (at < groups->count &&
         (groups->list[at].options != leaf || number_order(groups->list[at].lr, lr) != 0))
    at++;
  if (at == groups->count) {
    if (!mo_grow(NULL, &groups->list, &groups->capacity, at + 1, sizeof *groups->list))
      return no_memory(error);
    groups->count++;
    run_group_start(&groups->list[at]);
    groups->list[at].lr = lr;
    groups->list[at].options = leaf;
  }
  return run_group_add(&groups->list[at], record, error);
}

static size_t algorithm_rank(const run_group *group)
{
  size_t rank = 0;
  for (const char *name = NULL; (name = mousse_algorithm_name(rank)) != NULL; rank++)
    if (strcmp(name, group->runs[0]->options.optimizer) == 0) break;
  return rank;
}

/* By optimizer, in the library's order, then variant, then learning rate. */
static int compare_groups(const void *a, const void *b)
{
  const run_group *x = a, *y = b;
  const size_t p = algorithm_rank(x), q = algorithm_rank(y);
  if (p != q) return p < q ? -1 : 1;
  if (x->variant != y->variant) return x->variant < y->variant ? -1 : 1;
  return number_order(x->lr, y->lr);
}

static mousse_status find_variants(run_groups *groups, mo_error *error)
{
  for (size_t i = 0; i < groups->count; i++) {
    run_group *group = &groups->list[i];
    size_t same = 0;
    while (same < i && groups->list[same].options != group->options) same++;
    if (same < i) {
      group->variant = groups->list[same].variant;
      continue;
    }
    if (!mo_grow(NULL, &groups->variants, &groups->variant_capacity, groups->variant_count + 1,
                 sizeof *groups->variants))
      return no_memory(error);
    group->variant = groups->variant_count++;
  }
  return MOUSSE_OK;
}

/* What does not fit is left out: a label need not be complete. */
static void add_to_label(char label[RUN_LABEL], const char *name, const char *value)
{
  const size_t length = strlen(label);
  const int added = snprintf(label + length, RUN_LABEL - length, " %s %s", name, value);
  if (added < 0 || (size_t)added >= RUN_LABEL - length) label[length] = '\0';
}

/* An option is in a label when it tells this run from one that is alike in all before. */
static void label_variant(const option_tree *tree, const train_options *run,
                          char label[RUN_LABEL])
{
  option_walk walk = option_walk_start(tree, run);
  snprintf(label, RUN_LABEL, "%s", run->optimizer);
  for (size_t row = 0; row < train_settings.count; row++) {
    char value[MO_SETTING_PATH];
    if (option_walk_row(&walk, row, value) && value[0] != '\0')
      add_to_label(label, train_settings.rows[row].name, value);
  }
  for (size_t i = 0; i < run->option_count; i++) {
    char name[OPTION_TEXT_SIZE + 8];
    const train_option *option = &run->options[i];
    snprintf(name, sizeof name, "%s%s", option->scalar ? "scalar." : "", option->name);
    if (!option_is_lr(option) && option_walk_option(&walk, option))
      add_to_label(label, name, option->value);
  }
}

static void choose_best(run_groups *groups, run_variant *variant, size_t number)
{
  variant->best = SIZE_MAX;
  for (size_t i = 0; i < groups->count; i++) {
    const run_group *group = &groups->list[i];
    if (group->variant != number || group->final_loss.count == 0) continue;
    if (variant->best == SIZE_MAX ||
        group->final_loss.mean < groups->list[variant->best].final_loss.mean)
      variant->best = i;
  }
}

static void label_all(run_groups *groups, const option_tree *tree)
{
  for (size_t v = 0; v < groups->variant_count; v++)
    choose_best(groups, &groups->variants[v], v);
  for (size_t i = 0; i < groups->count; i++) {
    char lr[32];
    run_group *group = &groups->list[i];
    const bool before = i > 0 && groups->list[i - 1].variant == group->variant;
    const bool after = i + 1 < groups->count && groups->list[i + 1].variant == group->variant;
    run_variant *variant = &groups->variants[group->variant];
    if (!before) label_variant(tree, &group->runs[0]->options, variant->label);
    memcpy(group->label, variant->label, RUN_LABEL);
    snprintf(lr, sizeof lr, "%g", group->lr);
    if (before || after) add_to_label(group->label, "lr", lr);
  }
}

static mousse_status make(run_groups *groups, option_tree *tree, const run_records *records,
                          mo_error *error)
{
  for (size_t i = 0; i < records->count; i++)
    MO_TRY(add_to_group(groups, tree, &records->list[i], error));
  if (groups->count == 0) return MOUSSE_OK;
  /* Sorted by optimizer, so that variants are numbered in that order, and then by these. */
  qsort(groups->list, groups->count, sizeof *groups->list, compare_groups);
  MO_TRY(find_variants(groups, error));
  qsort(groups->list, groups->count, sizeof *groups->list, compare_groups);
  label_all(groups, tree);
  return MOUSSE_OK;
}

mousse_status run_groups_make(run_groups *groups, const run_records *records, mo_error *error)
{
  option_tree tree = {0};
  *groups = (run_groups){0};
  const mousse_status status = make(groups, &tree, records, error);
  option_tree_close(&tree);
  if (status != MOUSSE_OK) run_groups_release(groups);
  return status;
}

void run_groups_release(run_groups *groups)
{
  for (size_t i = 0; i < groups->count; i++) run_group_release(&groups->list[i]);
  mo_release(NULL, groups->list, groups->capacity * sizeof *groups->list);
  mo_release(NULL, groups->variants, groups->variant_capacity * sizeof *groups->variants);
  *groups = (run_groups){0};
}
