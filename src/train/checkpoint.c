/* checkpoint.c - saving, verifying, loading and pruning checkpoints. */
#include "train/checkpoint.h"

#include "base/file.h"
#include "comm/ranks.h"
#include "train/manifest.h"
#include "train/run_model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL_WRITE = 1 << 16 };
#define OPTIMIZER_FILE "optimizer.bin"

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

typedef struct state_reader {
  mo_map map;
  size_t place;
} state_reader;

static int read_state(void *user, void *data, size_t bytes)
{
  state_reader *r = user;
  if (bytes > r->map.size - r->place) return -1;
  memcpy(data, r->map.data + r->place, bytes);
  r->place += bytes;
  return 0;
}

static mousse_status load_optimizer(mousse_optimizer *optimizer, const mousse_comm *comm,
                                    const char *path, mo_error *error)
{
  state_reader r = {{0}, 0};
  MO_TRY(MO_FIRST_RANK(comm, mo_map_open(&r.map, path, error), error));
  mousse_status status = mousse_load(optimizer, read_state, &r);
  mo_map_close(&r.map);
  if (status != MOUSSE_OK) mo_fail(error, status, "%s: %s", path, mousse_error(optimizer));
  return mo_ranks_agree(comm, status, error);
}

/* The copy of the weights that is in the file of this name; NULL: it is another file. */
static weight_average *copy_in(const checkpoint_content *c, const char *name)
{
  if (strcmp(name, "ema.safetensors") == 0) return c->average;
  return strcmp(name, "previous.safetensors") == 0 ? c->previous : NULL;
}

/* Files that this run does not have are left out. */
static bool is_part(const checkpoint_content *c, const char *name)
{
  const weight_average *copy = copy_in(c, name);
  if (strcmp(name, "tokenizer.json") == 0) return c->tokenizer != NULL;
  return copy == NULL || copy->values != NULL;
}

static mousse_status write_file(const checkpoint_content *c, const char *name, const char *path,
                                mo_error *error)
{
  if (strcmp(name, "model.safetensors") == 0) return gpt_save_weights(c->params, path, error);
  if (strcmp(name, "config.json") == 0) return gpt_save_config(&c->params->config, path, error);
  if (copy_in(c, name) != NULL) return average_save(copy_in(c, name), path, error);
  if (strcmp(name, "trainer.json") == 0)
    return trainer_state_write(c->state, c->options, c->data_checksum, path, error);
  return tokenizer_save(c->tokenizer, path, error);
}

/* All files but the optimizer's, for which every rank is needed. */
static mousse_status write_files(const char *folder, const checkpoint_content *content,
                                 mo_error *error)
{
  const char *name = NULL;
  for (size_t i = 0; (name = checkpoint_file(i)) != NULL; i++) {
    char path[4096];
    MO_TRY(mo_path_join(path, sizeof path, folder, name, error));
    if (is_part(content, name) && strcmp(name, OPTIMIZER_FILE) != 0)
      MO_TRY(write_file(content, name, path, error));
  }
  return MOUSSE_OK;
}

static mousse_status write_manifest(const char *folder, const checkpoint_content *content,
                                    mo_error *error)
{
  const char *names[16], *name = NULL;
  size_t count = 0;
  for (size_t i = 0; (name = checkpoint_file(i)) != NULL; i++)
    if (is_part(content, name)) names[count++] = name;
  return manifest_write(folder, content->state->step, names, count, error);
}

/* What stands in the way under the final name is a checkpoint that was found damaged. */
static mousse_status put_in_place(const char *root, const char *made, uint64_t step,
                                  mo_error *error)
{
  char path[4096];
  MO_TRY(checkpoint_path(path, sizeof path, root, step, CHECKPOINT_FINAL, error));
  if (access(path, F_OK) == 0) MO_TRY(checkpoint_remove(root, step, CHECKPOINT_FINAL, error));
  if (rename(made, path) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot rename the finished checkpoint: %s", path,
                   strerror(errno));
  return mo_sync_parent(path, error);
}

static mousse_status begin(const char *root, const checkpoint_content *content,
                           const char *making, mo_error *error)
{
  MO_TRY(mo_make_directories(root, error));
  if (access(making, F_OK) == 0)
    MO_TRY(checkpoint_remove(root, content->state->step, CHECKPOINT_MAKING, error));
  MO_TRY(mo_make_directories(making, error));
  return write_files(making, content, error);
}

static mousse_status finish(const char *root, const checkpoint_content *content,
                            const char *making, mo_error *error)
{
  const uint64_t step = content->state->step;
  MO_TRY(write_manifest(making, content, error));
  MO_TRY(put_in_place(root, making, step, error));
  return checkpoint_verify(root, step, error);
}

mousse_status checkpoint_save(const char *root, const checkpoint_content *content,
                              mo_error *error)
{
  char making[4096];
  const mousse_comm *comm = content->comm;
  const uint64_t step = content->state->step;
  MO_TRY(checkpoint_path(making, sizeof making, root, step, CHECKPOINT_MAKING, error));
  mousse_status status = MO_FIRST_RANK(comm, begin(root, content, making, error), error);
  if (status == MOUSSE_OK)
    status = mo_ranks_agree(comm, save_optimizer(content, making, error), error);
  if (status == MOUSSE_OK)
    status = MO_FIRST_RANK(comm, finish(root, content, making, error), error);
  if (status != MOUSSE_OK && comm->rank == 0 && access(making, F_OK) == 0)
    checkpoint_remove(root, step, CHECKPOINT_MAKING,
                      NULL); /* gives a full disk its room back */
  return status;
}

mousse_status checkpoint_verify(const char *root, uint64_t step, mo_error *error)
{
  char path[4096];
  MO_TRY(checkpoint_path(path, sizeof path, root, step, CHECKPOINT_FINAL, error));
  return manifest_verify(path, step, checkpoint_file, checkpoint_needs, error);
}

mousse_status checkpoint_newest(const char *root, const run_notices *notices, uint64_t *step,
                                bool *found, mo_error *error)
{
  checkpoint_list list;
  mo_error reason = {{0}};
  *found = false;
  MO_TRY(checkpoint_list_open(&list, root, error));
  for (size_t i = list.count; i-- > 0 && !*found;) {
    *step = list.steps[i];
    *found = checkpoint_verify(root, *step, &reason) == MOUSSE_OK;
    if (!*found)
      run_notify(notices, "checkpoint of step %llu skipped: %s", (unsigned long long)*step,
                 reason.text);
  }
  const size_t count = list.count;
  checkpoint_list_close(&list);
  if (*found || count == 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: none of its %zu checkpoints is intact (%s); move the folder away to "
                 "start anew",
                 root, count, reason.text);
}

mousse_status checkpoint_compare(const char *root, uint64_t step, const trainer_demand *demand,
                                 const gpt_config *config, trainer_state *state,
                                 option_changes *changes, const run_notices *notices,
                                 mo_error *error)
{
  char folder[4096], path[4096];
  MO_TRY(checkpoint_path(folder, sizeof folder, root, step, CHECKPOINT_FINAL, error));
  MO_TRY(run_model_compare(folder, config, error));
  MO_TRY(mo_path_join(path, sizeof path, folder, "trainer.json", error));
  MO_TRY(trainer_state_read(state, step, path, error));
  return trainer_state_compare(path, demand, changes, notices, error);
}

static mousse_status read_copy(weight_average *copy, const char *folder, const char *name,
                               mo_error *error)
{
  char path[4096];
  MO_TRY(mo_path_join(path, sizeof path, folder, name, error));
  average_restart(copy);
  return access(path, F_OK) == 0 ? average_load(copy, path, error) : MOUSSE_OK;
}

/* After the weights, which are where a copy starts that has no file. */
static mousse_status load_copies(const checkpoint_content *c, const char *folder,
                                 mo_error *error)
{
  const char *name = NULL;
  for (size_t i = 0; (name = checkpoint_file(i)) != NULL; i++) {
    weight_average *copy = copy_in(c, name);
    if (copy == NULL || copy->values == NULL) continue;
    MO_TRY(MO_FIRST_RANK(c->comm, read_copy(copy, folder, name, error), error));
    MO_TRY(
        mo_ranks_spread(c->comm, copy->values, c->params->value_count * sizeof(float), error));
  }
  return MOUSSE_OK;
}

mousse_status checkpoint_load(const char *root, uint64_t step, const checkpoint_content *c,
                              gpt_params *params, mo_error *error)
{
  char folder[4096], path[4096];
  MO_TRY(checkpoint_path(folder, sizeof folder, root, step, CHECKPOINT_FINAL, error));
  MO_TRY(mo_path_join(path, sizeof path, folder, OPTIMIZER_FILE, error));
  MO_TRY(load_optimizer(c->optimizer, c->comm, path, error));
  MO_TRY(mo_path_join(path, sizeof path, folder, "model.safetensors", error));
  MO_TRY(MO_FIRST_RANK(c->comm, gpt_load_weights(params, path, error), error));
  MO_TRY(load_copies(c, folder, error));
  return mo_ranks_spread(c->comm, params->values, params->value_count * sizeof(float), error);
}

void checkpoint_prune(const char *root, uint64_t newest, const checkpoint_rule *rule,
                      const run_notices *notices)
{
  checkpoint_list list;
  mo_error error = {{0}};
  uint64_t kept = 0, best = 0;
  bool has_best = false;
  checkpoint_clean(root, notices);
  if (checkpoint_list_open(&list, root, &error) != MOUSSE_OK ||
      (rule->best && checkpoint_best(root, &best, &has_best, &error) != MOUSSE_OK))
    run_notify(notices, "%s", error.text);
  for (size_t i = list.count; i-- > 0;) {
    const uint64_t step = list.steps[i];
    if (step > newest || ++kept <= rule->last) continue;
    if (rule->every > 0 && step % rule->every == 0) continue;
    if (has_best && step == best) continue;
    if (checkpoint_remove(root, step, CHECKPOINT_FINAL, &error) != MOUSSE_OK)
      run_notify(notices, "kept: %s", error.text);
  }
  checkpoint_list_close(&list);
}
