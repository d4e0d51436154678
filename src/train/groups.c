/* groups.c - the optimizer of a run: groups by role, options by name. */
#include "train/groups.h"

#include "train/lr_factors.h"
#include "train/recipe_laws.h"
#include "train/row_blocks.h"
#include "train/scalar_opt.h"
#include "train/unused_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool groups_are_alike(const train_options *run)
{
  return strcmp(run->optimizer, "adamw") == 0;
}

void groups_describe(const train_options *run, char *text, size_t size)
{
  if (run->lora_rank > 0)
    snprintf(text, size, "%s for the adapters", run->optimizer);
  else if (groups_are_alike(run))
    snprintf(text, size, "%s for all tensors", run->optimizer);
  else
    snprintf(text, size, "%s, %s for embedding and head", run->optimizer, options_scalar(run));
}

static bool has_option(const char *algorithm, const char *name)
{
  return options_of_algorithm(algorithm, name) != NULL;
}

/* Vectors have no singular values. */
const char *groups_algorithm(const train_options *run, gpt_role role)
{
  if (role == GPT_MATRIX || groups_are_alike(run)) return run->optimizer;
  const char *other = options_scalar(run);
  return role == GPT_VECTOR && optimizer_orthogonalises(other) ? "lion" : other;
}

const char *groups_role_name(gpt_role role)
{
  static const char *const names[GROUP_COUNT] = {[GPT_EMBED] = "embedding",
                                                 [GPT_HEAD] = "head",
                                                 [GPT_MATRIX] = "hidden matrix",
                                                 [GPT_VECTOR] = "gain or bias"};
  return names[role];
}

double groups_lr_factor(const train_options *run, gpt_role role, size_t width)
{
  const bool rows = !groups_are_alike(run) && optimizer_orthogonalises(options_scalar(run));
  const double root = sqrt((double)width);
  if (role == GPT_MATRIX || (role == GPT_VECTOR && rows)) return 1;
  if (role == GPT_HEAD) {
    if (run->head_lr_factor > 0) return run->head_lr_factor;
    return groups_are_alike(run) || rows ? 1 : 1 / root;
  }
  if (run->embed_lr_factor > 0) return run->embed_lr_factor;
  return rows ? 2 * root : 1; /* the rows of a new embedding are as long as the root */
}

mousse_status groups_fail(const train_groups *groups, mousse_status status, mo_error *error)
{
  return mo_fail(error, status, "optimizer: %s",
                 groups->optimizer != NULL ? mousse_error(groups->optimizer)
                                           : mousse_status_text(status));
}

/* What 'auto' stands for, by the laws that were measured for it; false: nothing. Weights from
 * elsewhere (--init) want smaller steps than new ones: the learning rate is the optimizer's own. */
static bool auto_value(const train_groups *groups, const train_options *run,
                       const char *algorithm, const char *name, double *value)
{
  const bool muon = strcmp(algorithm, "muon") == 0 || strcmp(algorithm, "mousse") == 0;
  if (strcmp(name, "mu") == 0)
    *value = momentum_by_length(run->num_iterations);
  else if (strcmp(name, "beta2") == 0 && strcmp(algorithm, "lion") == 0)
    *value = lion_beta2_by_length(run->num_iterations);
  else if (strcmp(name, "lr") == 0 && muon)
    *value = run->init[0] == '\0' ? rate_by_width(groups->width, run->num_iterations)
                                  : options_of_algorithm(algorithm, name)->initial;
  else
    return false;
  return true;
}

/* The paper's words for values, where ours differ; and 'auto'. */
static const char *our_word(const train_groups *groups, const train_options *run, int group,
                            const char *name, const char *text, char number[32])
{
  const char *algorithm = mousse_group_algorithm(groups->optimizer, group);
  double value = 0;
  if (strcmp(text, "auto") == 0 && auto_value(groups, run, algorithm, name, &value)) {
    snprintf(number, 32, "%g", value);
    return number;
  }
  static const struct {
    const char *theirs, *ours;
  } words[] = {
      {"spectral_norm", "spectral"}, {"rms_norm", "rms"}, {"true", "on"}, {"false", "off"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(text, words[i].theirs) == 0) return words[i].ours;
  return text;
}

static mousse_status set_text(const train_groups *groups, const train_options *run, int group,
                              const char *key, const char *name, const char *value,
                              mo_error *error)
{
  char number[32];
  const mousse_status status = mousse_set_text(
      groups->optimizer, group, name, our_word(groups, run, group, name, value, number));
  if (status == MOUSSE_OK) return MOUSSE_OK;
  /* "group 2 (mousse) has no option ...": numbers of groups mean nothing to users. */
  const char *reason = mousse_error(groups->optimizer), *rest = strstr(reason, ") has no");
  const char *optimizer = mousse_group_algorithm(groups->optimizer, group);
  if (rest != NULL && strcasestr(rest, "mousse_") != NULL) /* nor do the library's calls */
    return mo_fail(error, status,
                   "the optimizer %s has no option '%s'; see 'mousse help optimizers %s'",
                   optimizer, name, optimizer);
  if (rest != NULL) return mo_fail(error, status, "the optimizer %s%s", optimizer, rest + 1);
  if (strcmp(key, name) == 0)
    return mo_fail(error, status, "optimizer %s: %s", optimizer, reason);
  return mo_fail(error, status, "optimizer %s: %s: %s", optimizer, key, reason);
}

/* The optimizer's rows of the run's table that are set. What the chosen algorithm does not
 * have is said, not refused: published files give all keys with every optimizer. */
static mousse_status set_named_options(const train_groups *groups, const train_options *run,
                                       int group, const run_notices *notices, mo_error *error)
{
  for (size_t i = 0; i < train_settings.count; i++) {
    char value[OPTION_TEXT_SIZE];
    const mo_setting *row = &train_settings.rows[i];
    const char *only = NULL, *name = option_row_name(i, &only);
    if (name == NULL || !mo_setting_text(row, run, value, sizeof value) || value[0] == '\0')
      continue;
    if ((only[0] != '\0' && strcmp(only, run->optimizer) != 0) ||
        !has_option(run->optimizer, name))
      run_notify(notices, "'%s' does not apply to the optimizer %s and is ignored", row->name,
                 run->optimizer);
    else
      MO_TRY(set_text(groups, run, group, row->name, name, value, error));
  }
  return MOUSSE_OK;
}

static mousse_status set_library_options(const train_groups *groups, const train_options *run,
                                         int group, bool scalar, mo_error *error)
{
  for (size_t i = 0; i < run->option_count; i++) {
    const train_option *option = &run->options[i];
    const bool own =
        !scalar || strcmp(groups_algorithm(run, (gpt_role)group), options_scalar(run)) == 0;
    if (option->scalar == scalar && own)
      MO_TRY(set_text(groups, run, group, option->name, option->name, option->value, error));
  }
  return MOUSSE_OK;
}

/* Where our measurements are clearly for another setting than the published one, and where the
 * library's default is not the published one. */
static const struct {
  int recipe;    /* a train_recipe */
  bool matrices; /* of the hidden matrices, or of what else there is */
  const char *optimizer, *option, *value;
} recipes[] = {{RECIPE_RECOMMENDED, true, "mousse", "nesterov", "on"},
               {RECIPE_RECOMMENDED, true, "mousse", "lr", "auto"},
               {RECIPE_RECOMMENDED, true, "mousse", "mu", "auto"},
               {RECIPE_RECOMMENDED, true, "muon", "lr", "auto"},
               {RECIPE_RECOMMENDED, true, "muon", "mu", "auto"},
               {RECIPE_RECOMMENDED, false, "lion", "beta2", "auto"},
               {RECIPE_RECOMMENDED, false, "normuon", "mu", "auto"},
               {RECIPE_PAPER, true, "mousse", "refresh_long", "1"}};

/* Gains and biases beside an embedding that is orthogonalised have Lion to themselves. A run's record
 * has no place for its options, so they must not follow from what may change when it is resumed. */
static bool is_recorded(const train_groups *groups, int group)
{
  return group != GPT_VECTOR ||
         strcmp(mousse_group_algorithm(groups->optimizer, group),
                mousse_group_algorithm(groups->optimizer, GPT_EMBED)) == 0;
}

static mousse_status set_recipe(const train_groups *groups, const train_options *run, int group,
                                mo_error *error)
{
  const char *algorithm = mousse_group_algorithm(groups->optimizer, group);
  const bool matrices = group == GPT_MATRIX;
  if (!is_recorded(groups, group)) return MOUSSE_OK;
  for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
    if (run->recipe == recipes[i].recipe && matrices == recipes[i].matrices &&
        strcmp(recipes[i].optimizer, algorithm) == 0)
      MO_TRY(
          set_text(groups, run, group, "recipe", recipes[i].option, recipes[i].value, error));
  /* Statistics of an adapter's long side would take more memory than the matrix beside it. */
  if (matrices && run->recipe == RECIPE_RECOMMENDED && run->lora_rank > 0 &&
      has_option(algorithm, "sides"))
    MO_TRY(set_text(groups, run, group, "recipe", "sides", "small", error));
  return MOUSSE_OK;
}

/* The options of the optimizer as a whole: what goes around all groups. */
static mousse_status set_wrapper(const train_groups *groups, const train_options *run,
                                 mo_error *error)
{
  const bool averaged = run->ema > 0 && options_wrapped(run);
  const struct {
    const char *name;
    double value;
  } options[] = {
      {"wrapper", run->wrapper},
      {"lookahead_decay", run->lookahead_decay},
      {"schedule_free_beta", run->schedule_free_beta},
      {"schedule_free_power", run->schedule_free_power},
      {"average", averaged},
      {"average_from", (double)run->ema_from},
      {"average_horizon", 1 / (1 - run->ema)},
      {"average_weight", run->ema_weight},
      {"overlap", run->overlap ? 1 : 0},
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    const mousse_status status =
        mousse_set(groups->optimizer, MOUSSE_OBJECT, options[i].name, options[i].value);
    if (status != MOUSSE_OK) return groups_fail(groups, status, error);
  }
  return MOUSSE_OK;
}

/* Embedding, head and vectors: a share of the learning rate and no decay, unless scalar.lr and
 * scalar.weight_decay say otherwise. Where all are alike, opt.lr and opt.weight_decay are the
 * hidden matrices' own. */
static mousse_status configure_other(const train_groups *groups, const train_options *run,
                                     int role, double lr, mo_error *error)
{
  const bool alike = groups_are_alike(run);
  if (alike) MO_TRY(set_library_options(groups, run, role, false, error));
  mousse_status status = mousse_set(groups->optimizer, role, "lr", lr);
  if (status == MOUSSE_OK) status = mousse_set(groups->optimizer, role, "weight_decay", 0);
  if (status != MOUSSE_OK) return groups_fail(groups, status, error);
  MO_TRY(set_recipe(groups, run, role, error));
  return alike ? MOUSSE_OK : set_library_options(groups, run, role, true, error);
}

static mousse_status configure(train_groups *groups, const train_options *run,
                               const run_notices *notices, mo_error *error)
{
  mousse_optimizer *optimizer = groups->optimizer;
  double lr = 0;
  unused_options_tell(run, notices);
  MO_TRY(set_wrapper(groups, run, error));
  /* In a run no step should wait for the refreshes of all matrices at once. */
  if (has_option(run->optimizer, "stagger"))
    MO_TRY(set_text(groups, run, GPT_MATRIX, "stagger", "stagger", "on", error));
  MO_TRY(set_recipe(groups, run, GPT_MATRIX, error));
  MO_TRY(set_named_options(groups, run, GPT_MATRIX, notices, error));
  MO_TRY(set_library_options(groups, run, GPT_MATRIX, false, error));
  mousse_status status = mousse_get(optimizer, GPT_MATRIX, "lr", &lr);
  for (int role = 0; role < groups->count && status == MOUSSE_OK; role++) {
    const double share = lr * groups_lr_factor(run, (gpt_role)role, groups->width);
    if (role != GPT_MATRIX) MO_TRY(configure_other(groups, run, role, share, error));
    status = mousse_get(optimizer, role, "lr", &groups->lr[role]);
  }
  return status == MOUSSE_OK ? MOUSSE_OK : groups_fail(groups, status, error);
}

/* The library's warnings are notices of the run. */
static void pass_on(void *user, int level, const char *text)
{
  (void)level;
  run_notify(user, "optimizer: %s", text);
}

static mousse_status find_factors(train_groups *groups, const train_options *run,
                                  const gpt_params *params, mo_error *error)
{
  groups->tensor_count = params->tensor_count;
  groups->factors = mo_allocate(NULL, params->tensor_count * sizeof *groups->factors);
  if (groups->factors == NULL)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a list of tensors");
  return lr_factors_find(run->lr_factor, params, groups->factors, error);
}

static mousse_status add_tensor(mousse_optimizer *optimizer, const gpt_tensor *t, double factor)
{
  const size_t count = row_block_count(optimizer, t);
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; i < count && status == MOUSSE_OK; i++) {
    const row_block block = row_block_at(t, count, i);
    const size_t first = block.first * t->cols; /* an outline has no memory */
    status = mousse_add_param(optimizer, (int)t->role, block.name, block.rows, t->cols,
                              t->value != NULL ? t->value + first : NULL,
                              t->gradient != NULL ? t->gradient + first : NULL);
    if (status == MOUSSE_OK && factor != 1)
      status = mousse_set_param(optimizer, block.name, "lr_factor", factor);
  }
  return status;
}

static mousse_status add_tensors(const train_groups *groups, const gpt_params *params)
{
  mousse_status status = MOUSSE_OK;
  for (size_t i = 0; i < params->tensor_count && status == MOUSSE_OK; i++)
    if (!params->tensors[i].frozen)
      status = add_tensor(groups->optimizer, &params->tensors[i], groups->factors[i]);
  return status;
}

static mousse_status build(train_groups *groups, const train_options *run, gpt_params *params,
                           const mousse_comm *comm, const run_notices *notices, mo_error *error)
{
  const mousse_env env = {.struct_size = sizeof env,
                          .threads = options_threads(run),
                          .comm = comm,
                          .log = pass_on,
                          .user = &groups->notices};
  MO_TRY(find_factors(groups, run, params, error));
  groups->width = params->config.n_embd;
  groups->count = GPT_VECTOR; /* the last role, which only some models have */
  for (size_t i = 0; i < params->tensor_count; i++)
    if (params->tensors[i].role == GPT_VECTOR) groups->count = GPT_ROLES;
  mousse_status status = mousse_create(&env, &groups->optimizer);
  for (int role = 0; role < groups->count && status == MOUSSE_OK; role++) {
    int group = 0; /* groups are numbered from 0 in order, as the roles are */
    status = mousse_add_group(groups->optimizer, groups_algorithm(run, (gpt_role)role), &group);
  }
  if (status == MOUSSE_OK) status = add_tensors(groups, params);
  if (status != MOUSSE_OK) return groups_fail(groups, status, error);
  return configure(groups, run, notices, error);
}

mousse_status groups_plan(train_groups *groups, const train_options *run, gpt_params *params,
                          const mousse_comm *comm, const run_notices *notices, mo_error *error)
{
  *groups = (train_groups){.notices = notices != NULL ? *notices : (run_notices){NULL, NULL}};
  const mousse_status status = build(groups, run, params, comm, notices, error);
  if (status != MOUSSE_OK) groups_close(groups);
  return status;
}

mousse_status groups_prepare(const train_groups *groups, mo_error *error)
{
  const mousse_status status = mousse_prepare(groups->optimizer);
  return status == MOUSSE_OK ? MOUSSE_OK : groups_fail(groups, status, error);
}

mousse_status groups_open(train_groups *groups, const train_options *run, gpt_params *params,
                          const run_notices *notices, mo_error *error)
{
  MO_TRY(groups_plan(groups, run, params, NULL, notices, error));
  const mousse_status status = groups_prepare(groups, error);
  if (status != MOUSSE_OK) groups_close(groups);
  return status;
}

void groups_close(train_groups *groups)
{
  mousse_destroy(groups->optimizer);
  mo_release(NULL, groups->factors, groups->tensor_count * sizeof *groups->factors);
  *groups = (train_groups){0};
}

mousse_status groups_schedule(train_groups *groups, double factor, mo_error *error)
{
  const mousse_status status =
      mousse_set(groups->optimizer, MOUSSE_OBJECT, "lr_factor", factor);
  return status == MOUSSE_OK ? MOUSSE_OK : groups_fail(groups, status, error);
}

mousse_status groups_look_ahead(train_groups *groups, const train_options *run, uint64_t step,
                                mo_error *error)
{
  const uint64_t from = (uint64_t)run->lookahead_from, until = (uint64_t)run->lookahead_until;
  const bool on = step >= from && (until == 0 || step < until);
  if (run->wrapper != WRAPPER_LOOKAHEAD) return MOUSSE_OK;
  const mousse_status status =
      mousse_set(groups->optimizer, MOUSSE_OBJECT, "lookahead", on ? run->lookahead : 0);
  return status == MOUSSE_OK ? MOUSSE_OK : groups_fail(groups, status, error);
}
