/* cmd_plan.c - mousse plan: what a run takes on several ranks, before they are rented. */
#include "base/wording.h"
#include "cli/next_step.h"
#include "cli/rank_session.h"
#include "cli/run_options.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "comm/ranks.h"
#include "train/rank_plan.h"
#include "train/run_model.h"

#include <stdio.h>

typedef struct plan_values {
  run_values options;
  int64_t ranks, batch;
  char model[32];
  double gflops, bandwidth, latency;
} plan_values;

static const mo_setting rows[] = {
    RUN_CONFIG_ROW,
    MO_SETTING_INTEGER(plan_values, ranks, "1", 1, 1024, "processes, as in mpirun -n"),
    MO_SETTING_TEXT(plan_values, model, "", "another name for --preset"),
    MO_SETTING_INTEGER(
        plan_values, batch, "0", 0, 1e12,
        "tokens in a step, rounded to whole sequences for every rank; 0: set by --batch-size"),
    MO_SETTING_NUMBER(plan_values, gflops, "0", 0, 1e9,
                      "speed of matrix products on a rank; 0: measure it on this machine, "
                      "together with the speed of the model and the optimizer"),
    MO_SETTING_NUMBER(plan_values, bandwidth, "1", 1e-6, 1e6,
                      "GB per second that a rank sends; measured instead under mpirun"),
    MO_SETTING_NUMBER(plan_values, latency, "20", 0, 1e9,
                      "microseconds that a message takes; measured instead under mpirun"),
};

static double part_or_usual(double part)
{
  return 100 * (part > 0 ? part : PLAN_EFFICIENCY);
}

static void print_rates(const plan_machine *m)
{
  char text[128];
  snprintf(text, sizeof text, "model at %.0f%% of that, optimizer at %.0f%% (%s)",
           part_or_usual(m->model), part_or_usual(m->optimizer),
           m->model > 0 ? "measured" : "assumed");
  terminal_label(stdout, "rates", text);
}

static void print_head(const train_options *run, const gpt_config *c, const plan_machine *m)
{
  char text[256];
  const double tokens = (double)run->batch_size * (double)c->sequence_len;
  snprintf(text, sizeof text, "%.2f M parameters: width %zu, %s, context %s, vocabulary %s",
           (double)gpt_parameter_count(c) / 1e6, c->n_embd, MO_COUNT(c->n_layer, "layer"),
           MO_NUMBER(c->sequence_len), MO_NUMBER(c->vocab_size));
  terminal_label(stdout, "model", text);
  snprintf(text, sizeof text, "%s, %s, %s TFLOP forward and backward",
           MO_COUNT(run->batch_size, "sequence"), MO_COUNT(tokens, "token"),
           TABLE_NUMBER(gpt_flops_per_token(c, c->sequence_len) * tokens / 1e12));
  terminal_label(stdout, "step", text);
  groups_describe(run, text, sizeof text);
  terminal_label(stdout, "optimizer", text);
  snprintf(text, sizeof text, "%s, %s GFLOP/s, %.3g GB/s, %.3g us per message",
           MO_COUNT(options_threads(run), "thread"), TABLE_NUMBER(m->flops / 1e9),
           m->bandwidth / 1e9, 1e6 * m->latency);
  terminal_label(stdout, "rank", text);
  print_rates(m);
  printf("\n");
}

/* Two tables, which fit 60 columns each. */
typedef struct plan_tables {
  cli_table load, time;
} plan_tables;

static const table_column load_columns[] = {{.title = "ranks"},
                                            {.title = "model GB"},
                                            {.title = "optimizer GB"},
                                            {.title = "state GB"},
                                            {.title = "copy GB"},
                                            {.title = "sent GB"},
                                            {.title = "compute TF", .spare = 1},
                                            {.title = "optimizer TF", .spare = 2}},
                          time_columns[] = {{.title = "ranks"},
                                            {.title = "compute s"},
                                            {.title = "optimizer s"},
                                            {.title = "exchange s"},
                                            {.title = "step s"},
                                            {.title = "tokens/s"},
                                            {.title = "overlapped s", .spare = 1}};

static plan_tables start_tables(void)
{
  return (plan_tables){{.columns = load_columns, .column_count = 8},
                       {.columns = time_columns, .column_count = 7}};
}

static void add_row(plan_tables *t, double tokens, const rank_plan *p)
{
  const double seconds = p->compute_seconds + p->optimizer_seconds + p->exchange_seconds;
  const double load[] = {(double)p->model_bytes / 1e9, (double)p->optimizer_bytes / 1e9,
                         (double)p->state_bytes / 1e9, (double)p->copy_bytes / 1e9,
                         p->sent_bytes / 1e9,          p->compute_flops / 1e12,
                         p->optimizer_flops / 1e12};
  const double time[] = {p->compute_seconds,  p->optimizer_seconds,
                         p->exchange_seconds, seconds,
                         tokens / seconds,    seconds - p->hidden_seconds};
  table_cell(&t->load, "%d", p->ranks);
  for (size_t i = 0; i < 7; i++) table_cell(&t->load, "%s", TABLE_NUMBER(load[i]));
  table_cell(&t->time, "%d", p->ranks);
  for (size_t i = 0; i < 6; i++) table_cell(&t->time, "%s", TABLE_NUMBER(time[i]));
}

static mousse_status print_tables(plan_tables *t, mo_error *error)
{
  const mousse_status first = table_print(&t->load, error);
  printf("\n");
  const mousse_status second = table_print(&t->time, error);
  return first != MOUSSE_OK ? first : second;
}

/* 1, 2, 4, ... and the number asked for, as far as each rank gets equally many sequences. */
static bool is_shown(int ranks, int64_t asked, int64_t batch)
{
  return (ranks == asked || (ranks & (ranks - 1)) == 0) && batch % ranks == 0;
}

static mousse_status print_plan(const plan_values *v, const train_options *run,
                                const gpt_config *config, const plan_machine *machine,
                                mo_error *error)
{
  const int most = v->ranks > 1 ? 1024 : 1;
  plan_tables tables = start_tables();
  mousse_status status = MOUSSE_OK;
  if (run->batch_size % v->ranks != 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%lld sequences in a step cannot be divided among %lld ranks; give a "
                   "--batch-size that is a multiple of the number of ranks, or --batch TOKENS",
                   (long long)run->batch_size, (long long)v->ranks);
  print_head(run, config, machine);
  for (int ranks = 1; ranks <= most && status == MOUSSE_OK; ranks++) {
    rank_plan p;
    if (!is_shown(ranks, v->ranks, run->batch_size)) continue;
    status = rank_plan_make(&p, run, config, ranks, machine, error);
    if (status == MOUSSE_OK)
      add_row(&tables, (double)run->batch_size * (double)config->sequence_len, &p);
  }
  const mousse_status printed = print_tables(&tables, error);
  return status != MOUSSE_OK ? status : printed;
}

/* The run that was planned. */
static void suggest(const cli_invocation *call, const train_options *run, int64_t ranks)
{
  char command[sizeof run->preset + 64];
  snprintf(command, sizeof command, "train --preset %s --batch-size %lld%s", run->preset,
           (long long)run->batch_size, run->data_dir[0] != '\0' ? "" : " --data-dir DATA");
  next_step_on_ranks(call, ranks, command,
                     "preset= model= batch= batch_size= ranks= gflops= bandwidth= latency=");
}

static mousse_status no_memory(mo_error *error)
{
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to measure with");
}

/* [collective] All ranks measure at the same time, as they would compute; the first one's figures
 * count. */
static mousse_status measure(const plan_values *v, const train_options *run,
                             const gpt_config *config, const mousse_comm *comm,
                             plan_machine *machine, mo_error *error)
{
  *machine = (plan_machine){
      .flops = 1e9 * v->gflops, .bandwidth = 1e9 * v->bandwidth, .latency = 1e-6 * v->latency};
  const bool given = machine->flops > 0;
  if (!given) machine->flops = estimate_speed(options_threads(run));
  MO_TRY(mo_ranks_agree(comm, machine->flops > 0 ? MOUSSE_OK : no_memory(error), error));
  if (!given) MO_TRY(rank_plan_rates(machine, run, config, comm, error));
  return comm->size > 1 ? rank_plan_measure(machine, comm, error) : MOUSSE_OK;
}

/* Tokens become sequences, as many for each of the ranks. */
static void set_batch(train_options *run, int64_t tokens, int64_t ranks, size_t length)
{
  const int64_t shares = tokens / (int64_t)length / ranks;
  run->batch_size = (shares > 0 ? shares : 1) * ranks;
}

static mousse_status plan(const cli_invocation *call, const mousse_comm *comm, mo_error *error)
{
  const plan_values *v = call->values;
  const bool tells = comm->rank == 0 && !call->quiet;
  const run_notices *notices = tells ? &run_notices_print : &run_notices_none;
  train_options options = v->options.run, first;
  gpt_config config = {0};
  plan_machine machine;
  if (v->model[0] != '\0') MO_TRY(options_set(&options, "preset", v->model, notices, error));
  first = options;
  if (v->batch > 0) first.device_batch_size = first.slices = 0; /* they divide another batch */
  MO_TRY(mo_ranks_agree(comm, run_model_expect(&first, notices, &config, error), error));
  if (v->batch > 0) set_batch(&options, v->batch, v->ranks, config.sequence_len);
  MO_TRY(mo_ranks_agree(comm, options_check(&options, error), error));
  MO_TRY(measure(v, &options, &config, comm, &machine, error));
  if (comm->rank > 0) return MOUSSE_OK;
  MO_TRY(print_plan(v, &options, &config, &machine, error));
  suggest(call, &options, v->ranks);
  return MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  mo_launch cluster;
  mousse_status status = rank_session_open(&cluster, 0, error);
  if (status == MOUSSE_OK) status = plan(call, &cluster.comm, error);
  rank_session_close(&cluster, status, error);
  return status;
}

const cli_command command_plan = {
    .name = "plan",
    .summary = "Predict memory, traffic and time of a run on several ranks",
    .arguments = "",
    .details =
        "Shows the same batch on 1, 2, 4, ... ranks, up to 1024 or as many as can share the "
        "batch equally, and on as many as --ranks says; on one rank only, without --ranks. "
        "Figures are those of the rank that has the most; 'copy' is the copy on rank 0 from "
        "which checkpoints are written; GB is 10^9 bytes, TF 10^12 operations, and all are per "
        "step. 'overlapped s' is the time of a step with --overlap.\n\n"
        "  mousse plan --ranks 8 --model 834M --batch 2M\n"
        "  mousse plan --ranks 8 --model 834M --batch 2M --gflops 2000 --bandwidth 12\n",
    .settings = MO_SETTINGS(rows),
    .base = &train_settings,
    .values_bytes = sizeof(plan_values),
    .run = run,
    .configure = run_options_configure,
    .take = run_options_take,
    .more_help = run_options_help,
};
