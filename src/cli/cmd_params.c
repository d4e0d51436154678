/* cmd_params.c - mousse params: every tensor with its role, shape, algorithm and memory. */
#include "base/wording.h"
#include "cli/next_step.h"
#include "cli/run_options.h"
#include "cli/table.h"
#include "train/estimate.h"
#include "train/run_model.h"

#include <jansson.h>
#include <stdio.h>

typedef struct params_values {
  run_values options;
  bool json;
} params_values;

static const mo_setting rows[] = {
    RUN_CONFIG_ROW,
    MO_SETTING_SWITCH(params_values, json, "false", "as JSON"),
};

static const table_column columns[] = {{.title = "tensor", .is_text = true, .is_cut = true},
                                       {.title = "role", .is_text = true, .spare = 2},
                                       {.title = "shape"},
                                       {.title = "by", .is_text = true},
                                       {.title = "lr"},
                                       {.title = "decay", .spare = 1},
                                       {.title = "state"}};

static mousse_status print_table(const train_estimate *e, mo_error *error)
{
  cli_table table = {.columns = columns, .column_count = 7};
  for (size_t i = 0; i < e->tensor_count; i++) {
    const estimate_tensor *t = &e->tensors[i];
    table_cell(&table, "%s", t->name);
    table_cell(&table, "%s", groups_role_name(t->role));
    table_cell(&table, "%zux%zu", t->rows, t->cols);
    table_cell(&table, "%s", t->algorithm);
    table_cell(&table, "%.3g", t->lr);
    table_cell(&table, "%.3g", t->weight_decay);
    table_cell(&table, "%s", MO_BYTES(t->state_bytes));
  }
  MO_TRY(table_print(&table, error));
  printf("%s, %s; optimizer: %s\n", MO_COUNT(e->tensor_count, "tensor"),
         MO_COUNT(e->parameters, "parameter"), MO_BYTES(e->optimizer_bytes));
  return MOUSSE_OK;
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
  const params_values *v = call->values;
  const train_options *options = &v->options.run;
  const run_notices *notices = call->quiet ? &run_notices_none : &run_notices_print;
  gpt_config config = {0};
  train_estimate e;
  MO_TRY(run_model_expect(options, notices, &config, error));
  MO_TRY(estimate_open(&e, options, &config, 1, notices, error));
  mousse_status status = MOUSSE_OK;
  if (v->json)
    print_json(&e);
  else
    status = print_table(&e, error);
  estimate_close(&e);
  if (status == MOUSSE_OK && !v->json) next_step_again(call, "train --dry-run", "");
  return status;
}

const cli_command command_params = {
    .name = "params",
    .summary = "List every tensor with its role, shape, optimizer, learning rate and memory",
    .arguments = "",
    .details = "  mousse params --preset 162M --optimizer soap\n",
    .settings = MO_SETTINGS(rows),
    .base = &train_settings,
    .values_bytes = sizeof(params_values),
    .run = run,
    .configure = run_options_configure,
    .take = run_options_take,
    .more_help = run_options_help,
};
