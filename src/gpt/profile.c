/* profile.c - see profile.h. */
#include "gpt/profile.h"

#include "gpt/pass.h"

static const struct {
  const char *name;
  gpt_profile_limit limit;
} kinds[] = {
#define GPT_PROFILED(member, name, limit) {name, GPT_LIMIT_##limit},
#include "gpt/profile.def"
};

const char *gpt_profile_name(gpt_profile_kind kind)
{
  return kinds[kind].name;
}

gpt_profile_limit gpt_profile_limited_by(gpt_profile_kind kind)
{
  return kinds[kind].limit;
}

double gpt_profile_seconds(const gpt_profile *profile, gpt_profile_kind kind)
{
  return 1e-9 * (double)atomic_load(&profile->nanoseconds[kind]);
}

/* Numbers in the hidden matrices of all layers. */
static double hidden_numbers(const gpt_config *c)
{
  const double C = (double)c->n_embd, A = (double)(c->n_head * c->head_size);
  const double inputs = (double)(gpt_qkv_width(c) + gpt_hidden_width(c));
  return (double)c->n_layer * (C * inputs + C * (A + (double)c->mlp_width));
}

double gpt_profile_work(const gpt_config *c, size_t batch, size_t sequence,
                        gpt_profile_kind kind)
{
  const double N = (double)(batch * sequence), T = (double)sequence, C = (double)c->n_embd;
  const double L = (double)c->n_layer, V = (double)c->vocab_size, D = (double)c->head_size;
  const double heads = (double)c->n_head, all_heads = heads + (double)c->n_kv_head;
  const double floats = sizeof(float) * N, F = (double)gpt_hidden_width(c);
  switch (kind) {
  case GPT_PROFILE_EMBEDDING: /* read and written; both read, one written */
    return 5 * floats * C;
  case GPT_PROFILE_NORM: /* x, y; add, d_y, y, d_x */
    return 6 * floats * C * (2 * L + 1);
  case GPT_PROFILE_ROTATION: /* in place; d twice, y */
    return 5 * floats * L * all_heads * D;
  case GPT_PROFILE_MLP: /* the output; the gradient twice, the input */
    return floats * L * (3 * F + (double)c->mlp_width + F);
  case GPT_PROFILE_LINEAR_FORWARD:
  case GPT_PROFILE_LINEAR_BACKWARD:
  case GPT_PROFILE_LINEAR_WEIGHTS:
    return 2 * N * hidden_numbers(c);
  case GPT_PROFILE_ATTENTION_FORWARD:
    return 2 * N * T * L * heads * D;
  case GPT_PROFILE_ATTENTION_BACKWARD:
    return 4 * N * T * L * heads * D;
  case GPT_PROFILE_HEAD:
    return 6 * N * C * V;
  case GPT_PROFILE_LOSS:
    return 2 * floats * V;
  case GPT_PROFILE_KINDS:
    break;
  }
  return 0;
}

void gpt_pass_profile(gpt_pass *pass, gpt_profile *profile)
{
  pass->profile = profile;
}

static void run_timed(void *context, size_t item, int thread)
{
  const gpt_timed_task *timed = context;
  gpt_lap lap = gpt_lap_start(timed->profile);
  timed->task.body(timed->task.context, item, thread);
  gpt_lap_end(&lap, timed->kind);
}

mo_task gpt_time_task(gpt_profile *profile, gpt_timed_task *timed, mo_task task,
                      gpt_profile_kind kind)
{
  if (profile == NULL) return task;
  *timed = (gpt_timed_task){profile, task, kind};
  return (mo_task){task.count, run_timed, timed};
}
