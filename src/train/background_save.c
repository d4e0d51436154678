/* background_save.c - see background_save.h. */
#include "train/background_save.h"

#include "base/parallel.h"
#include "comm/ranks.h"
#include "train/row_blocks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Beside its arrays, a parameter's saved state has names and options: about 3 kB. */
enum { COPY_BLOCK = 1 << 16, PARAM_BYTES = 1 << 13, FIXED_BYTES = 1 << 16, NICENESS = 10 };

static size_t state_capacity(const mousse_optimizer *optimizer, const gpt_params *params,
                             size_t state_bytes)
{
  size_t count = 0;
  for (size_t i = 0; i < params->tensor_count; i++)
    count += row_block_count(optimizer, &params->tensors[i]);
  return state_bytes + count * PARAM_BYTES + FIXED_BYTES;
}

size_t background_save_bytes(const mousse_optimizer *optimizer, const gpt_params *outline,
                             size_t arrays, size_t state_bytes)
{
  return arrays * outline->value_count * sizeof(float) +
         state_capacity(optimizer, outline, state_bytes);
}

static void lay_out(background_save *b, const checkpoint_content *c)
{
  const size_t count = c->params->value_count;
  b->weights = mo_arena_floats(&b->memory, count);
  if (c->average->values != NULL) b->average = mo_arena_floats(&b->memory, count);
  if (c->previous->values != NULL) b->previous = mo_arena_floats(&b->memory, count);
  b->optimizer = mo_arena_take(&b->memory, b->capacity, 1);
}

void background_save_open(background_save *b, const checkpoint_content *content,
                          size_t state_bytes, int threads)
{
  *b = (background_save){.threads = threads,
                         .memory = mo_arena_start(NULL),
                         .capacity =
                             state_capacity(content->optimizer, content->params, state_bytes)};
  lay_out(b, content);
  b->on = mo_arena_commit(&b->memory);
  if (b->on) lay_out(b, content);
}

void background_save_close(background_save *b)
{
  background_save_wait(b, &(run_notices){NULL, NULL}, NULL);
  mo_arena_release(&b->memory);
  *b = (background_save){0};
}

typedef struct copying {
  float *to;
  const float *from;
  size_t count;
} copying;

static void copy_block(void *context, size_t item, int thread)
{
  const copying *c = context;
  const size_t first = item * COPY_BLOCK, left = c->count - first;
  (void)thread;
  memcpy(c->to + first, c->from + first,
         (left < COPY_BLOCK ? left : COPY_BLOCK) * sizeof *c->to);
}

static void copy_floats(const background_save *b, float *to, const float *from)
{
  copying c = {to, from, b->content.params->value_count};
  if (to != NULL)
    mo_parallel(b->threads, (c.count + COPY_BLOCK - 1) / COPY_BLOCK, copy_block, &c);
}

static int keep_state(void *user, const void *data, size_t bytes)
{
  background_save *b = user;
  if (bytes > b->capacity - b->optimizer_bytes) return -1;
  memcpy(b->optimizer + b->optimizer_bytes, data, bytes);
  b->optimizer_bytes += bytes;
  return 0;
}

mousse_status background_save_take(background_save *b, const checkpoint_content *content,
                                   mo_error *error)
{
  mousse_optimizer *optimizer = content->optimizer;
  b->state = *content->state;
  b->content = *content;
  b->content.state = &b->state;
  b->optimizer_bytes = 0;
  if (content->comm->rank == 0) {
    copy_floats(b, b->weights, content->params->values);
    copy_floats(b, b->average, content->average->values);
    copy_floats(b, b->previous, content->previous->values);
  }
  const mousse_status status = mousse_save(optimizer, keep_state, b);
  if (status != MOUSSE_OK) mo_fail(error, status, "%s", mousse_error(optimizer));
  return mo_ranks_agree(content->comm, status, error);
}

/* The thread's notices, in lines; what has no room is left out. */
static void note(void *user, const char *text)
{
  background_save *b = user;
  const size_t used = strlen(b->notices);
  snprintf(b->notices + used, sizeof b->notices - used, "%s\n", text);
}

static void write_copy(background_save *b)
{
  const save_request *r = &b->request;
  const run_notices notices = {note, b};
  const checkpoint_numbers numbers = {b->weights, b->average, b->previous, b->optimizer,
                                      b->optimizer_bytes};
  if (r->metrics >= 0 && fdatasync(r->metrics) != 0) b->sync_error = errno;
  checkpoint_make_room(r->root, r->bytes, b->state.step, r->intact, &r->rule, &notices);
  b->status = checkpoint_write(r->root, &b->content, &numbers, &b->error);
  if (b->status == MOUSSE_OK && !r->keep_all)
    checkpoint_prune(r->root, b->state.step, &r->rule, &notices);
  atomic_store(&b->finished, true);
}

/* Threads that compute come first: for what is taken from one of them, all wait at the end of a
 * loop. On Linux niceness is a thread's own, elsewhere the whole program's. */
static void *work(void *argument)
{
#ifdef __linux__
  nice(NICENESS);
#endif
  write_copy(argument);
  return NULL;
}

/* Signals are for the main thread. */
static bool start_thread(background_save *b)
{
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool started = pthread_create(&b->thread, NULL, work, b) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

void background_save_start(background_save *b, const save_request *request)
{
  b->request = *request;
  b->status = MOUSSE_OK;
  b->sync_error = 0;
  b->error = (mo_error){{0}};
  b->notices[0] = '\0';
  atomic_store(&b->finished, false);
  b->threaded = start_thread(b);
  if (!b->threaded) write_copy(b);
  b->running = true;
}

bool background_save_is_finished(background_save *b)
{
  return b->running && atomic_load(&b->finished);
}

mousse_status background_save_wait(background_save *b, const run_notices *notices,
                                   mo_error *error)
{
  char *rest = b->notices;
  if (!b->running) return MOUSSE_OK;
  if (b->threaded) pthread_join(b->thread, NULL);
  b->running = false;
  if (b->request.metrics >= 0) close(b->request.metrics);
  for (char *line = strtok_r(b->notices, "\n", &rest); line != NULL;
       line = strtok_r(NULL, "\n", &rest))
    run_notify(notices, "%s", line);
  return b->status == MOUSSE_OK ? MOUSSE_OK : mo_fail(error, b->status, "%s", b->error.text);
}
