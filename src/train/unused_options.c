/* unused_options.c - which options need which others, or go badly with them. */
#include "train/unused_options.h"

#include "train/groups.h"
#include "train/step_inputs.h"

#include <string.h>

static bool looks_ahead(const train_options *run)
{
  return run->wrapper == WRAPPER_LOOKAHEAD;
}

static bool is_schedule_free(const train_options *run)
{
  return run->wrapper == WRAPPER_SCHEDULE_FREE;
}

static bool has_average(const train_options *run)
{
  return run->ema > 0;
}

static bool has_adapters(const train_options *run)
{
  return run->lora_rank > 0;
}

static bool falls_at_the_end(const train_options *run)
{
  return run->scheduler_type == TRAIN_WSD;
}

static bool makes_samples(const train_options *run)
{
  return run->sample_every > 0;
}

static bool validates_on_the_way(const train_options *run)
{
  return run->val_loss_every > 0;
}

static bool takes_covariances(const train_options *run)
{
  step_demand demand;
  return step_demand_find(run, &demand, NULL) != MOUSSE_OK || /* told elsewhere */
         demand.input_covariance || demand.output_covariance;
}

static const struct {
  const char *name;
  bool (*used)(const train_options *run);
  const char *needs;
} needs[] = {
    {"lora_alpha", has_adapters, "lora_rank"},
    {"lora_targets", has_adapters, "lora_rank"},
    {"warmdown_ratio", falls_at_the_end, "scheduler_type wsd"},
    {"ema_from", has_average, "ema"},
    {"ema_weight", has_average, "ema"},
    {"lookahead", looks_ahead, "wrapper lookahead"},
    {"lookahead_decay", looks_ahead, "wrapper lookahead"},
    {"lookahead_from", looks_ahead, "wrapper lookahead"},
    {"lookahead_until", looks_ahead, "wrapper lookahead"},
    {"schedule_free_beta", is_schedule_free, "wrapper schedule_free"},
    {"schedule_free_power", is_schedule_free, "wrapper schedule_free"},
    {"covariance_tokens", takes_covariances, "an optimizer that takes covariances"},
    {"save_best", validates_on_the_way, "val_loss_every"},
    {"patience", validates_on_the_way, "val_loss_every"},
    {"sample_tokens", makes_samples, "sample_every"},
    {"sample_prompt", makes_samples, "sample_every"},
};

static bool is_given(const train_options *run, const char *name)
{
  char text[MO_SETTING_PATH];
  const mo_setting *row = mo_settings_find(&train_settings, name);
  return mo_setting_text(row, run, text, sizeof text) && strcmp(text, row->initial) != 0;
}

/* Where one optimizer is used for all tensors. */
static void tell_scalar(const train_options *run, const run_notices *notices)
{
  const bool given = strcmp(run->scalar_opt, "auto") != 0 &&
                     strcmp(run->scalar_opt, "lion") != 0 &&
                     strcmp(run->scalar_opt, run->optimizer) != 0;
  if (given)
    run_notify(notices, "%s is used for all tensors: scalar_opt is ignored", run->optimizer);
  for (size_t i = 0; i < run->option_count; i++)
    if (run->options[i].scalar)
      run_notify(notices, "'scalar.%s' is ignored: %s is used for all tensors",
                 run->options[i].name, run->optimizer);
}

static bool is_opt(const train_options *run, const char *name, const char *value)
{
  bool is = false; /* the last one counts */
  for (size_t i = 0; i < run->option_count; i++)
    if (!run->options[i].scalar && strcmp(run->options[i].name, name) == 0)
      is = strcmp(run->options[i].value, value) == 0;
  return is;
}

void unused_options_tell(const train_options *run, const run_notices *notices)
{
  if (groups_are_alike(run)) tell_scalar(run, notices);
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (!needs[i].used(run) && is_given(run, needs[i].name))
      run_notify(notices, "'%s' has no effect without %s", needs[i].name, needs[i].needs);
  if (has_adapters(run) && run->init[0] == '\0')
    run_notify(notices,
               "lora_rank without init: the adapters are trained beside random weights, "
               "which stay as they are");
  if (is_schedule_free(run) && run->scheduler_type != TRAIN_CONSTANT)
    run_notify(notices, "wrapper schedule_free replaces a schedule, but scheduler_type is not "
                        "constant and acts on top of it");
  if (has_adapters(run) && is_opt(run, "radius", "ball"))
    run_notify(notices, "opt.radius = ball keeps the norm of weights, but adapters start at 0: "
                        "theirs is that of their first step");
}
