/* cmd_plan.c - mousse plan: what a run takes on several ranks, before they are rented. */
#include "base/wording.h"
#include "cli/rank_session.h"
#include "cli/run_options.h"
#include "comm/ranks.h"
#include "train/rank_plan.h"
#include "train/run_model.h"

#include <stdio.h>

typedef struct values {
  run_values options;
  int64_t ranks, batch;
  char model[32];
  double gflops, bandwidth, latency;
} values;

static const mo_setting rows[] = {
    RUN_CONFIG_ROW,
    MO_SETTING_INTEGER(values, ranks, "1", 1, 1024, "processes, as in mpirun -n"),
    MO_SETTING_TEXT(values, model, "", "the same as preset"),
    MO_SETTING_INTEGER(values, batch, "0", 0, 1e12,
                       "tokens in a step, rounded to whole sequences for every rank; 0: "
                       "batch_size says it"),
    MO_SETTING_NUMBER(values, gflops, "0", 0, 1e9,
                      "speed of a matrix product on a rank; 0: that of this machine, measured"),
    MO_SETTING_NUMBER(values, bandwidth, "1", 1e-6, 1e6,
                      "GB per second that a rank sends; measured instead under mpirun"),
    MO_SETTING_NUMBER(values, latency, "20", 0, 1e9,
                      "microseconds that a message takes; measured instead under mpirun"),
};

static void print_head(const train_options *run, const gpt_config *c, const plan_machine *m)
{
  const double tokens = (double)run->batch_size * (double)c->sequence_len;
  printf("model      %.1f M parameters: width %zu, %s, context %zu, vocabulary %zu\n"
         "step       %s, %s, %.4g flops forward and backward\n"
         "optimizer  %s%s%s%s\n"
         "rank       %s, %.0f GFLOP/s, %.3g GB/s, %.3g us per message\n\n",
         (double)gpt_parameter_count(c) / 1e6, c->n_embd, MO_COUNT(c->n_layer, "layer"),
         c->sequence_len, c->vocab_size, MO_COUNT(run->batch_size, "sequence"),
         MO_COUNT(tokens, "token"), gpt_flops_per_token(c, c->sequence_len) * tokens,
         run->optimizer, groups_are_alike(run) ? "" : ", ",
         groups_are_alike(run) ? "" : run->scalar_opt,
         groups_are_alike(run) ? " for all tensors" : " for embedding and head",
         MO_COUNT(options_threads(run), "thread"), m->flops / 1e9, m->bandwidth / 1e9,
         1e6 * m->latency);
  printf("%6s %10s %12s %10s %12s %12s %10s | %9s %9s %10s %9s %9s\n", "ranks", "model GB",
         "optimizer GB", "state GB", "compute TF", "optimizer TF", "sent GB", "compute s",
         "optim. s", "exchange s", "step s", "tokens/s");
}

static void print_row(double tokens, const rank_plan *p)
{
  const double seconds = p->compute_seconds + p->optimizer_seconds + p->exchange_seconds;
  printf("%6d %10.3f %12.3f %10.3f %12.4g %12.4g %10.4g | %9.4g %9.4g %10.4g %9.4g %9.0f\n",
         p->ranks, (double)p->model_bytes / 1e9, (double)p->optimizer_bytes / 1e9,
         (double)p->state_bytes / 1e9, p->compute_flops / 1e12, p->optimizer_flops / 1e12,
         p->sent_bytes / 1e9, p->compute_seconds, p->optimizer_seconds, p->exchange_seconds,
         seconds, tokens / seconds);
}

/* 1, 2, 4, ... and the number asked for, as far as each rank gets equally many sequences. */
static bool is_shown(int ranks, int64_t asked, int64_t batch)
{
  return (ranks == asked || (ranks & (ranks - 1)) == 0) && batch % ranks == 0;
}

static mousse_status print_plan(const values *v, const train_options *run,
                                const plan_machine *machine, const run_notices *notices,
                                mo_error *error)
{
  const int most = v->ranks > 1 ? 1024 : 1;
  gpt_config config = {0};
  MO_TRY(run_model_expect(run, notices, &config, error));
  if (run->batch_size % v->ranks != 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "%lld sequences in a step cannot be divided among %lld ranks; give a "
                   "--batch-size that is a multiple of it, or --batch TOKENS",
                   (long long)run->batch_size, (long long)v->ranks);
  print_head(run, &config, machine);
  for (int ranks = 1; ranks <= most; ranks++) {
    rank_plan p;
    if (!is_shown(ranks, v->ranks, run->batch_size)) continue;
    MO_TRY(rank_plan_make(&p, run, &config, ranks, machine, error));
    print_row((double)run->batch_size * (double)config.sequence_len, &p);
  }
  return MOUSSE_OK;
}

/* All ranks measure at the same time, as they would compute; the first one's figures count. */
static mousse_status measure(const values *v, int threads, const mousse_comm *comm,
                             plan_machine *machine, mo_error *error)
{
  *machine = (plan_machine){
      .flops = 1e9 * v->gflops, .bandwidth = 1e9 * v->bandwidth, .latency = 1e-6 * v->latency};
  if (machine->flops <= 0) machine->flops = estimate_speed(threads);
  if (machine->flops <= 0) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to measure with");
  return comm->size > 1 ? rank_plan_measure(machine, comm, error) : MOUSSE_OK;
}

/* Tokens become sequences, as many for each of the ranks. */
static void set_batch(train_options *run, int64_t tokens, int64_t ranks, size_t length)
{
  const int64_t shares = tokens / (int64_t)length / ranks;
  run->batch_size = (shares > 0 ? shares : 1) * ranks;
}

static mousse_status plan(const values *v, const mousse_comm *comm, const run_notices *notices,
                          mo_error *error)
{
  train_options options = v->options.run;
  gpt_config config = {0};
  plan_machine machine;
  if (v->model[0] != '\0') MO_TRY(options_set(&options, "preset", v->model, notices, error));
  MO_TRY(run_model_from(&options, NULL, 0, &config, error));
  if (v->batch > 0) set_batch(&options, v->batch, v->ranks, config.sequence_len);
  MO_TRY(mo_ranks_agree(comm, measure(v, options_threads(&options), comm, &machine, error),
                        error));
  return comm->rank == 0 ? print_plan(v, &options, &machine, notices, error) : MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const run_notices *notices = call->quiet ? &run_notices_none : &run_notices_print;
  mo_launch cluster;
  mousse_status status = rank_session_open(&cluster, 0, error);
  if (status == MOUSSE_OK) status = plan(call->values, &cluster.comm, notices, error);
  rank_session_close(&cluster, status, error);
  return status;
}

const cli_command command_plan = {
    .name = "plan",
    .summary = "Predict memory, traffic and time of a run on several ranks",
    .arguments = "",
    .details = "The same batch on 1, 2, 4, ... 1024 ranks and on as many as asked for. Figures "
               "are those\nof the rank with most; GB is 10^9 bytes, TF 10^12 operations.\n\n"
               "  mousse plan --ranks 8 --model 834M --batch 2M\n"
               "  mousse plan --ranks 8 --model 834M --batch 2M --gflops 2000 --bandwidth 12\n",
    .settings = MO_SETTINGS(rows),
    .base = &train_settings,
    .values_bytes = sizeof(values),
    .run = run,
    .configure = run_options_configure,
    .take = run_options_take,
    .more_help = run_options_help,
};
