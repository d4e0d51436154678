/* cmd_params.c - mousse params: every tensor with its role, shape, algorithm and memory. */
#include "base/wording.h"
#include "cli/run_options.h"
#include "train/estimate.h"
#include "train/run_model.h"

#include <jansson.h>
#include <stdio.h>

typedef struct values {
  run_values options;
  bool json;
} values;

static const mo_setting rows[] = {
    RUN_CONFIG_ROW,
    MO_SETTING_SWITCH(values, json, "false", "as JSON"),
};

static void print_table(const train_estimate *e)
{
  printf("%-36s %-14s %14s  %-8s %10s %7s %12s\n", "tensor", "role", "shape", "by", "lr",
         "decay", "state bytes");
  for (size_t i = 0; i < e->tensor_count; i++) {
    char shape[32];
    const estimate_tensor *t = &e->tensors[i];
    snprintf(shape, sizeof shape, "%zu x %zu", t->rows, t->cols);
    printf("%-36s %-14s %14s  %-8s %10.4g %7.3g %12zu\n", t->name, groups_role_name(t->role),
           shape, t->algorithm, t->lr, t->weight_decay, t->state_bytes);
  }
  printf("%s, %s, %s held by the optimizer\n", MO_COUNT(e->tensor_count, "tensor"),
         MO_COUNT(e->parameters, "parameter"), MO_BYTES(e->optimizer_bytes));
}

static void print_json(const train_estimate *e)
{
  json_t *list = json_array();
  for (size_t i = 0; i < e->tensor_count; i++) {
    const estimate_tensor *t = &e->tensors[i];
    json_array_append_new(list,
                          json_pack("{s:s, s:s, s:[I,I], s:s, s:f, s:f, s:I}", "name", t->name,
                                    "role", groups_role_name(t->role), "shape",
                                    (json_int_t)t->rows, (json_int_t)t->cols, "algorithm",
                                    t->algorithm, "lr", t->lr, "weight_decay", t->weight_decay,
                                    "state_bytes", (json_int_t)t->state_bytes));
  }
  json_t *root = json_pack("{s:I, s:I, s:o}", "parameters", (json_int_t)e->parameters,
                           "optimizer_bytes", (json_int_t)e->optimizer_bytes, "tensors", list);
  json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  printf("\n");
  json_decref(root);
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const values *v = call->values;
  const train_options *options = &v->options.run;
  const run_notices *notices = call->quiet ? &run_notices_none : &run_notices_print;
  gpt_config config = {0};
  train_estimate e;
  MO_TRY(run_model_expect(options, notices, &config, error));
  MO_TRY(estimate_open(&e, options, &config, 1, notices, error));
  if (v->json)
    print_json(&e);
  else
    print_table(&e);
  estimate_close(&e);
  return MOUSSE_OK;
}

const cli_command command_params = {
    .name = "params",
    .summary = "List every tensor with its role, shape, optimizer, learning rate and memory",
    .arguments = "",
    .details = "  mousse params --preset 162M --optimizer soap\n",
    .settings = MO_SETTINGS(rows),
    .base = &train_settings,
    .values_bytes = sizeof(values),
    .run = run,
    .configure = run_options_configure,
    .take = run_options_take,
    .more_help = run_options_help,
};
