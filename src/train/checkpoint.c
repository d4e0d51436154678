/* checkpoint.c - verifying, loading and pruning checkpoints. */
#include "train/checkpoint.h"

#include "base/file.h"
#include "comm/ranks.h"
#include "support/run_directory.h"
#include "train/manifest.h"
#include "train/run_model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* What the library cannot read is no damage: the manifest's checksums were those of the file. */
static mousse_status load_optimizer(mousse_optimizer *optimizer, const mousse_comm *comm,
                                    const char *path, mo_error *error)
{
  state_reader r = {{0}, 0};
  MO_TRY(MO_FIRST_RANK(comm, mo_map_open(&r.map, path, error), error));
  mousse_status status = mousse_load(optimizer, read_state, &r);
  mo_map_close(&r.map);
  if (status == MOUSSE_BAD_FORMAT)
    status = mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "%s: %s; the file is intact but does not match the current options: give "
                     "those that the run had, or start a new one with another --out",
                     path, mousse_error(optimizer));
  else if (status != MOUSSE_OK)
    mo_fail(error, status, "%s: %s", path, mousse_error(optimizer));
  return mo_ranks_agree(comm, status, error);
}

/* The copy of the weights that is in the file of this name; NULL: it is another file. */
static weight_average *copy_in(const checkpoint_content *c, const char *name)
{
  if (strcmp(name, "ema.safetensors") == 0) return c->average;
  return strcmp(name, "previous.safetensors") == 0 ? c->previous : NULL;
}

mousse_status checkpoint_verify(const char *root, uint64_t step, mo_error *error)
{
  char path[4096];
  MO_TRY(checkpoint_path(path, sizeof path, root, step, CHECKPOINT_FINAL, error));
  return manifest_verify(path, step, checkpoint_file, checkpoint_needs, error);
}

/* Whether a file cannot be opened for a reason that is not its own. */
static bool is_closed_to_us(const char *folder, const char *name)
{
  char path[4096];
  if (mo_path_join(path, sizeof path, folder, name, NULL) != MOUSSE_OK) return true;
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) return close(fd) != 0;
  return errno != ENOENT && errno != EIO && errno != ENOTDIR && errno != ELOOP &&
         errno != ENXIO;
}

/* Whether verifying it failed with this status although nothing is known to be wrong with it. */
static bool is_out_of_reach(const char *root, uint64_t step, mousse_status status)
{
  char folder[4096];
  const char *name = NULL;
  if (status != MOUSSE_IO) return status != MOUSSE_BAD_FORMAT;
  if (checkpoint_path(folder, sizeof folder, root, step, CHECKPOINT_FINAL, NULL) != MOUSSE_OK ||
      is_closed_to_us(folder, MANIFEST_NAME))
    return true;
  for (size_t i = 0; (name = checkpoint_file(i)) != NULL; i++)
    if (is_closed_to_us(folder, name)) return true;
  return false;
}

/* *intact is false, and the reason said, when the checkpoint is damaged. */
static mousse_status look_for_damage(const char *root, uint64_t step,
                                     const run_notices *notices, bool *intact, mo_error *error)
{
  const mousse_status status = checkpoint_verify(root, step, error);
  *intact = status == MOUSSE_OK;
  if (*intact || is_out_of_reach(root, step, status)) return status;
  run_notify(notices, "checkpoint of step %llu skipped: %s", (unsigned long long)step,
             error->text);
  return MOUSSE_OK;
}

mousse_status checkpoint_newest(const char *root, const run_notices *notices, uint64_t *step,
                                bool *found, mo_error *error)
{
  checkpoint_list list;
  mo_error reason = {{0}};
  mousse_status status = MOUSSE_OK;
  *found = false;
  MO_TRY(checkpoint_list_open(&list, root, error));
  for (size_t i = list.count; i-- > 0 && !*found && status == MOUSSE_OK;) {
    *step = list.steps[i];
    status = look_for_damage(root, *step, notices, found, &reason);
  }
  const size_t count = list.count;
  checkpoint_list_close(&list);
  if (status != MOUSSE_OK) return mo_fail(error, status, "%s", reason.text);
  if (*found || count == 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: none of its %zu checkpoints is intact (%s); move the folder away to "
                 "start anew",
                 root, count, reason.text);
}

mousse_status checkpoint_best(const char *root, const run_notices *notices, uint64_t *step,
                              bool *found, mo_error *error)
{
  checkpoint_list list;
  mo_error reason = {{0}};
  mousse_status status = MOUSSE_OK;
  size_t place = 0;
  *found = false;
  MO_TRY(checkpoint_list_open(&list, root, error));
  while (!*found && status == MOUSSE_OK && checkpoint_lowest(root, &list, &place)) {
    *step = list.steps[place];
    status = look_for_damage(root, *step, notices, found, &reason);
    memmove(list.steps + place, list.steps + place + 1,
            (--list.count - place) * sizeof *list.steps);
  }
  checkpoint_list_close(&list);
  return status == MOUSSE_OK ? MOUSSE_OK : mo_fail(error, status, "%s", reason.text);
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
  uint64_t kept = 0;
  size_t best = 0;
  checkpoint_clean(root, notices);
  if (checkpoint_list_open(&list, root, &error) != MOUSSE_OK)
    run_notify(notices, "%s", error.text);
  const bool has_best = rule->best && checkpoint_lowest(root, &list, &best);
  for (size_t i = list.count; i-- > 0;) {
    const uint64_t step = list.steps[i];
    if (step > newest || ++kept <= rule->last) continue;
    if (rule->every > 0 && step % rule->every == 0) continue;
    if ((has_best && i == best) || step == rule->intact) continue;
    if (checkpoint_remove(root, step, CHECKPOINT_FINAL, &error) != MOUSSE_OK)
      run_notify(notices, "old checkpoint kept: %s", error.text);
  }
  checkpoint_list_close(&list);
}

void checkpoint_make_room(const char *root, uint64_t bytes, uint64_t newest, uint64_t intact,
                          const checkpoint_rule *rule, const run_notices *notices)
{
  const checkpoint_rule fewer = {rule->last - 1, rule->every, rule->best, intact};
  if (rule->last > 1 && run_directory_room(root) < bytes)
    checkpoint_prune(root, newest, &fewer, notices);
}
