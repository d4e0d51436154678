/* checkpoint_save.c - writing a checkpoint: from the run's own memory, or from a copy of it. */
#include "base/file.h"
#include "comm/ranks.h"
#include "train/checkpoint.h"
#include "train/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SMALL_WRITE = 1 << 16 };

/* The optimizer saves many small records: they are collected before they are written. */
typedef struct state_writer {
  mo_writer file;
  size_t used;
  mo_error *error;
  unsigned char buffer[SMALL_WRITE];
} state_writer;

static int flush_state(state_writer *w)
{
  const mousse_status status = mo_writer_write(&w->file, w->buffer, w->used, w->error);
  w->used = 0;
  return status == MOUSSE_OK ? 0 : -1;
}

static int write_state(void *user, const void *data, size_t bytes)
{
  state_writer *w = user;
  if (w == NULL || w->file.descriptor < 0) return -1; /* could not be opened */
  if (w->used + bytes > SMALL_WRITE && flush_state(w) != 0) return -1;
  if (bytes > SMALL_WRITE)
    return mo_writer_write(&w->file, data, bytes, w->error) == MOUSSE_OK ? 0 : -1;
  memcpy(w->buffer + w->used, data, bytes);
  w->used += bytes;
  return 0;
}

/* Rank 0's part. The other ranks are on their way into mousse_save: it is called even when the
 * file cannot be opened, and hears of it from the callback. */
static mousse_status write_optimizer(mousse_optimizer *optimizer, const char *path,
                                     mo_error *error)
{
  mo_error reason = {{0}};
  state_writer *w = mo_allocate(NULL, sizeof *w);
  if (w == NULL) {
    mousse_save(optimizer, write_state, NULL);
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  }
  w->error = &reason;
  const bool opened = mo_writer_open(&w->file, path, &reason) == MOUSSE_OK;
  if (!opened) w->file.descriptor = -1;
  mousse_status status = mousse_save(optimizer, write_state, w);
  if (status == MOUSSE_OK && flush_state(w) != 0) status = MOUSSE_IO;
  if (status == MOUSSE_OK)
    status = mo_writer_commit(&w->file, &reason);
  else if (opened)
    mo_writer_abandon(&w->file);
  mo_release(NULL, w, sizeof *w);
  if (status == MOUSSE_OK) return MOUSSE_OK;
  return mo_fail(error, status, "%s", reason.text[0] ? reason.text : mousse_error(optimizer));
}

static mousse_status save_optimizer(const checkpoint_content *c, const char *folder,
                                    mo_error *error)
{
  char path[4096];
  if (c->comm->rank > 0) {
    const mousse_status status = mousse_save(c->optimizer, write_state, NULL);
    if (status == MOUSSE_OK) return MOUSSE_OK;
    return mo_fail(error, status, "%s", mousse_error(c->optimizer));
  }
  /* A name that is too long was refused when the other files were written. */
  MO_TRY(mo_path_join(path, sizeof path, folder, OPTIMIZER_FILE, error));
  return write_optimizer(c->optimizer, path, error);
}

/* A checkpoint in the making. */
typedef struct making {
  const char *root;
  const checkpoint_content *content;
  const checkpoint_numbers *numbers;
  char path[4096]; /* the directory under its temporary name */
} making;

/* The numbers that are in the file of this name; NULL: it has none, or is left out. */
static const float *numbers_in(const checkpoint_numbers *n, const char *name)
{
  if (strcmp(name, "model.safetensors") == 0) return n->weights;
  if (strcmp(name, "ema.safetensors") == 0) return n->average;
  return strcmp(name, "previous.safetensors") == 0 ? n->previous : NULL;
}

/* Files that this run does not have are left out. */
static bool is_part(const making *m, const char *name)
{
  if (strcmp(name, "tokenizer.json") == 0) return m->content->tokenizer != NULL;
  return checkpoint_needs(name) || numbers_in(m->numbers, name) != NULL;
}

static mousse_status write_file(const making *m, const char *name, const char *path,
                                mo_error *error)
{
  const checkpoint_content *c = m->content;
  const float *numbers = numbers_in(m->numbers, name);
  if (numbers != NULL) return gpt_save_values(c->params, numbers, path, error);
  if (strcmp(name, "config.json") == 0) return gpt_save_config(&c->params->config, path, error);
  if (strcmp(name, "trainer.json") == 0)
    return trainer_state_write(c->state, c->options, c->data_checksum, path, error);
  return tokenizer_save(c->tokenizer, path, error);
}

/* All files but the optimizer's, for which every rank may be needed. */
static mousse_status write_files(const making *m, mo_error *error)
{
  const char *name = NULL;
  for (size_t i = 0; (name = checkpoint_file(i)) != NULL; i++) {
    char path[4096];
    MO_TRY(mo_path_join(path, sizeof path, m->path, name, error));
    if (is_part(m, name) && strcmp(name, OPTIMIZER_FILE) != 0)
      MO_TRY(write_file(m, name, path, error));
  }
  return MOUSSE_OK;
}

static mousse_status write_manifest(const making *m, mo_error *error)
{
  const char *names[16], *name = NULL;
  size_t count = 0;
  for (size_t i = 0; (name = checkpoint_file(i)) != NULL; i++)
    if (is_part(m, name)) names[count++] = name;
  return manifest_write(m->path, m->content->state->step, names, count, error);
}

/* What stands in the way under the final name is a checkpoint that was found damaged. */
static mousse_status put_in_place(const making *m, mo_error *error)
{
  char path[4096];
  const uint64_t step = m->content->state->step;
  MO_TRY(checkpoint_path(path, sizeof path, m->root, step, CHECKPOINT_FINAL, error));
  if (access(path, F_OK) == 0)
    MO_TRY(checkpoint_remove(m->root, step, CHECKPOINT_FINAL, error));
  if (rename(m->path, path) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot rename the finished checkpoint: %s", path,
                   strerror(errno));
  return mo_sync_parent(path, error);
}

static mousse_status begin(const making *m, mo_error *error)
{
  MO_TRY(mo_make_directories(m->root, error));
  if (access(m->path, F_OK) == 0)
    MO_TRY(checkpoint_remove(m->root, m->content->state->step, CHECKPOINT_MAKING, error));
  MO_TRY(mo_make_directories(m->path, error));
  return write_files(m, error);
}

static mousse_status finish(const making *m, mo_error *error)
{
  MO_TRY(write_manifest(m, error));
  MO_TRY(put_in_place(m, error));
  return checkpoint_verify(m->root, m->content->state->step, error);
}

/* Gives a full disk its room back. */
static void abandon(const making *m)
{
  if (access(m->path, F_OK) == 0)
    checkpoint_remove(m->root, m->content->state->step, CHECKPOINT_MAKING, NULL);
}

static mousse_status start(making *m, mo_error *error)
{
  return checkpoint_path(m->path, sizeof m->path, m->root, m->content->state->step,
                         CHECKPOINT_MAKING, error);
}

mousse_status checkpoint_save(const char *root, const checkpoint_content *content,
                              mo_error *error)
{
  const mousse_comm *comm = content->comm;
  const checkpoint_numbers own = {content->params->values, content->average->values,
                                  content->previous->values, NULL, 0};
  making m = {.root = root, .content = content, .numbers = &own};
  MO_TRY(start(&m, error));
  mousse_status status = MO_FIRST_RANK(comm, begin(&m, error), error);
  if (status == MOUSSE_OK)
    status = mo_ranks_agree(comm, save_optimizer(content, m.path, error), error);
  if (status == MOUSSE_OK) status = MO_FIRST_RANK(comm, finish(&m, error), error);
  if (status != MOUSSE_OK && comm->rank == 0) abandon(&m);
  return status;
}

static mousse_status write_all(const making *m, mo_error *error)
{
  char path[4096];
  MO_TRY(begin(m, error));
  MO_TRY(mo_path_join(path, sizeof path, m->path, OPTIMIZER_FILE, error));
  MO_TRY(mo_file_write(path, m->numbers->optimizer, m->numbers->optimizer_bytes, error));
  return finish(m, error);
}

mousse_status checkpoint_write(const char *root, const checkpoint_content *content,
                               const checkpoint_numbers *numbers, mo_error *error)
{
  making m = {.root = root, .content = content, .numbers = numbers};
  MO_TRY(start(&m, error));
  const mousse_status status = write_all(&m, error);
  if (status != MOUSSE_OK) abandon(&m);
  return status;
}
