/* sending.c - see sending.h. */
#include "optim/sending.h"

#include "optim/exchange.h"

#include <stdlib.h>

static int earliest_first(const void *left, const void *right)
{
  const mo_sent *a = left, *b = right;
  if (a->ready != b->ready) return a->ready < b->ready ? -1 : 1;
  if (a->param != b->param) return a->param < b->param ? -1 : 1;
  return (a->share > b->share) - (a->share < b->share);
}

void mo_sending_plan(mousse_optimizer *opt, const double *cost, double *done)
{
  opt->sent_count = 0;
  for (size_t i = 0; i < opt->param_count; i++) {
    const mo_param *param = &opt->params[opt->order[i]];
    const double per_element = cost[opt->order[i]] / (double)mo_elements(param->shape);
    for (size_t s = 0; s < param->share_count; s++) {
      double *owner = &done[param->shares[s].owner];
      *owner += per_element * (double)param->shares[s].count;
      opt->sent[opt->sent_count++] = (mo_sent){*owner, (uint32_t)opt->order[i], (uint32_t)s};
    }
  }
  qsort(opt->sent, opt->sent_count, sizeof *opt->sent, earliest_first);
}

static void wait_for(mo_sending *s, const mo_param *param)
{
  pthread_mutex_lock(&s->mutex);
  while (param->items_left > 0) pthread_cond_wait(&s->ready, &s->mutex);
  pthread_mutex_unlock(&s->mutex);
}

static void send_all(mo_sending *s, bool ahead)
{
  mousse_optimizer *opt = s->opt;
  for (size_t i = 0; i < opt->sent_count && !s->failed; i++) {
    const mo_param *param = &opt->params[opt->sent[i].param];
    const mo_share *share = &param->shares[opt->sent[i].share];
    if (param->skipped) continue;
    if (ahead && share->owner == opt->comm.rank) wait_for(s, param);
    s->failed = mo_exchange_share(opt, param, share) != 0;
  }
}

static void *serve(void *argument)
{
  send_all(argument, true);
  return NULL;
}

static bool start_thread(mo_sending *s)
{
  if (pthread_mutex_init(&s->mutex, NULL) != 0) return false;
  if (pthread_cond_init(&s->ready, NULL) != 0) {
    pthread_mutex_destroy(&s->mutex);
    return false;
  }
  if (pthread_create(&s->thread, NULL, serve, s) == 0) return true;
  pthread_cond_destroy(&s->ready);
  pthread_mutex_destroy(&s->mutex);
  return false;
}

void mo_sending_start(mo_sending *s, mousse_optimizer *opt)
{
  const bool wanted = opt->comm.size > 1 && opt->options.overlap != 0.0;
  s->opt = opt;
  s->failed = false;
  s->ahead = wanted && start_thread(s);
}

void mo_sending_done(mo_sending *s, mo_param *param)
{
  if (!s->ahead) return;
  pthread_mutex_lock(&s->mutex);
  if (--param->items_left == 0) pthread_cond_signal(&s->ready);
  pthread_mutex_unlock(&s->mutex);
}

mousse_status mo_sending_finish(mo_sending *s)
{
  if (s->opt->comm.size == 1) return MOUSSE_OK;
  if (s->ahead) {
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->ready);
    pthread_mutex_destroy(&s->mutex);
  } else {
    send_all(s, false);
  }
  return s->failed ? mo_come_apart(s->opt, "share values") : MOUSSE_OK;
}
