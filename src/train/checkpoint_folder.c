/* checkpoint_folder.c - names of checkpoints, listing and removing them. */
#include "base/directory.h"
#include "base/file.h"
#include "train/checkpoint.h"
#include "train/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  const char *name;
  bool needed; /* every checkpoint has it */
} files[] = {{"model.safetensors", true},     {"config.json", true},
             {"tokenizer.json", false},       {"ema.safetensors", false},
             {"previous.safetensors", false}, {OPTIMIZER_FILE, true},
             {"trainer.json", true}};

const char *checkpoint_file(size_t index)
{
  return index < sizeof files / sizeof *files ? files[index].name : NULL;
}

bool checkpoint_needs(const char *name)
{
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (strcmp(files[i].name, name) == 0) return files[i].needed;
  return false;
}

static const struct {
  const char *before, *after;
} places[] = {
    [CHECKPOINT_FINAL] = {"step-", ""},
    [CHECKPOINT_MAKING] = {".step-", ".making"},
    [CHECKPOINT_LEAVING] = {".step-", ".leaving"},
};
enum { PLACE_COUNT = sizeof places / sizeof *places };

mousse_status checkpoint_path(char *path, size_t capacity, const char *root, uint64_t step,
                              checkpoint_place place, mo_error *error)
{
  char name[64];
  snprintf(name, sizeof name, "%s%010llu%s", places[place].before, (unsigned long long)step,
           places[place].after);
  return mo_path_join(path, capacity, root, name, error);
}

/* True when name is exactly what checkpoint_path makes of a step in this place. */
static bool parse_name(const char *name, checkpoint_place place, uint64_t *step)
{
  char again[64];
  const size_t prefix = strlen(places[place].before);
  if (strncmp(name, places[place].before, prefix) != 0) return false;
  *step = strtoull(name + prefix, NULL, 10);
  snprintf(again, sizeof again, "%s%010llu%s", places[place].before, (unsigned long long)*step,
           places[place].after);
  return strcmp(name, again) == 0;
}

static int by_step(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static mousse_status list_place(checkpoint_list *list, const char *root, checkpoint_place place,
                                mo_error *error)
{
  *list = (checkpoint_list){0};
  DIR *folder = opendir(root);
  const int reason = errno;
  /* ENOTDIR of what does not exist: it would be below a file, which others complain about. */
  if (folder == NULL && (reason == ENOENT || (reason == ENOTDIR && access(root, F_OK) != 0)))
    return MOUSSE_OK;
  if (folder == NULL)
    return mo_fail(error, MOUSSE_IO, "%s: cannot list: %s", root, strerror(reason));
  mousse_status status = MOUSSE_OK;
  for (const struct dirent *e; status == MOUSSE_OK && (e = readdir(folder)) != NULL;) {
    uint64_t step = 0;
    if (!parse_name(e->d_name, place, &step)) continue;
    if (mo_grow(NULL, &list->steps, &list->capacity, list->count + 1, sizeof *list->steps))
      list->steps[list->count++] = step;
    else
      status = mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to list it", root);
  }
  closedir(folder);
  if (list->count > 0) qsort(list->steps, list->count, sizeof *list->steps, by_step);
  if (status != MOUSSE_OK) checkpoint_list_close(list);
  return status;
}

mousse_status checkpoint_list_open(checkpoint_list *list, const char *root, mo_error *error)
{
  return list_place(list, root, CHECKPOINT_FINAL, error);
}

void checkpoint_list_close(checkpoint_list *list)
{
  mo_release(NULL, list->steps, list->capacity * sizeof *list->steps);
  *list = (checkpoint_list){0};
}

/* Whether it is a run that took steps, of which nothing was kept. */
static bool never_saved(const char *run)
{
  char root[4096], log[4096];
  checkpoint_list list;
  if (mo_path_join(root, sizeof root, run, CHECKPOINT_FOLDER, NULL) != MOUSSE_OK ||
      mo_path_join(log, sizeof log, run, "log.txt", NULL) != MOUSSE_OK ||
      access(root, F_OK) != 0 || access(log, F_OK) != 0 ||
      checkpoint_list_open(&list, root, NULL) != MOUSSE_OK)
    return false;
  const bool none = list.count == 0;
  checkpoint_list_close(&list);
  return none;
}

mousse_status checkpoint_missing(const char *run, const char *reason, mo_error *error)
{
  if (!never_saved(run)) return mo_fail(error, MOUSSE_IO, "%s: %s", run, reason);
  return mo_fail(error, MOUSSE_IO,
                 "%s: is a run of which no checkpoint was ever saved; see its log.txt", run);
}

/* The files above and the manifest, also while they were being written. */
static bool is_ours(const char *name)
{
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (mo_is_file_of(name, files[i].name)) return true;
  return mo_is_file_of(name, MANIFEST_NAME);
}

mousse_status checkpoint_remove(const char *root, uint64_t step, checkpoint_place place,
                                mo_error *error)
{
  char path[4096], leaving[4096];
  MO_TRY(checkpoint_path(path, sizeof path, root, step, place, error));
  MO_TRY(checkpoint_path(leaving, sizeof leaving, root, step, CHECKPOINT_LEAVING, error));
  MO_TRY(mo_directory_check(path, is_ours, error));
  if (place == CHECKPOINT_FINAL && rename(path, leaving) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot rename: %s", path, strerror(errno));
  return mo_directory_remove(place == CHECKPOINT_FINAL ? leaving : path, is_ours, error);
}

void checkpoint_clean(const char *root, const run_notices *notices)
{
  for (int place = CHECKPOINT_MAKING; place < PLACE_COUNT; place++) {
    checkpoint_list list;
    mo_error error = {{0}};
    if (list_place(&list, root, (checkpoint_place)place, &error) != MOUSSE_OK)
      run_notify(notices, "%s", error.text);
    for (size_t i = 0; i < list.count; i++)
      if (checkpoint_remove(root, list.steps[i], (checkpoint_place)place, &error) != MOUSSE_OK)
        run_notify(notices, "partial checkpoint left behind: %s", error.text);
    checkpoint_list_close(&list);
  }
}

mousse_status checkpoint_look_up(const char *root, uint64_t step, checkpoint_info *info,
                                 mo_error *error)
{
  char folder[4096], path[4096];
  struct stat file;
  *info = (checkpoint_info){.step = step};
  MO_TRY(checkpoint_path(folder, sizeof folder, root, step, CHECKPOINT_FINAL, error));
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    MO_TRY(mo_path_join(path, sizeof path, folder, files[i].name, error));
    if (stat(path, &file) == 0) info->bytes += (uint64_t)file.st_size;
  }
  MO_TRY(mo_path_join(path, sizeof path, folder, MANIFEST_NAME, error));
  if (stat(path, &file) == 0) info->time = file.st_mtime; /* it is written last */
  MO_TRY(mo_path_join(path, sizeof path, folder, "trainer.json", error));
  return trainer_state_read(&info->state, step, path, error);
}

double checkpoint_loss(const checkpoint_info *info)
{
  const validation_result *v = &info->state.validation;
  return v->step == info->step ? v->loss : NAN;
}

bool checkpoint_lowest(const char *root, const checkpoint_list *list, size_t *place)
{
  double lowest = INFINITY;
  for (size_t i = 0; i < list->count; i++) {
    checkpoint_info info;
    if (checkpoint_look_up(root, list->steps[i], &info, NULL) != MOUSSE_OK ||
        !(checkpoint_loss(&info) < lowest))
      continue;
    lowest = checkpoint_loss(&info);
    *place = i;
  }
  return isfinite(lowest);
}
