/* cmd_download.c - mousse download: published token shards into a directory. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "data/shards/download.h"

#include <stdio.h>
#include <string.h>

typedef struct values {
  char out[MO_SETTING_PATH], base[MO_SETTING_PATH];
  int64_t shards, retries;
  double pause;
} values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(values, out, "", "directory to write to; by default data/NAME"),
    MO_SETTING_INTEGER(values, shards, "0", 0, 1e6,
                       "how many training shards besides the validation shard; 0: all"),
    MO_SETTING_TEXT(values, base, "", "address to fetch from instead of the published one"),
    MO_SETTING_INTEGER(values, retries, "5", 0, 1000, "how many times to retry a failed file"),
    MO_SETTING_NUMBER(values, pause, "1", 0, 3600,
                      "seconds before the first retry; doubled each time"),
};

static const published_set *find_set(const char *name)
{
  for (unsigned i = 0; published_set_at(i) != NULL; i++)
    if (strcmp(published_set_at(i)->name, name) == 0) return published_set_at(i);
  return NULL;
}

static mousse_status unknown_set(const char *name, mo_error *error)
{
  char names[256] = "";
  for (unsigned i = 0; published_set_at(i) != NULL; i++)
    snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
             published_set_at(i)->name);
  return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no data set '%s'; there is:%s", name,
                 names);
}

static void show(void *user, uint64_t done, uint64_t total)
{
  cli_progress *p = user;
  if (p->base == 0) p->base = (double)done;
  p->total = (double)total;
  progress_update(p, (double)done);
}

static mousse_status fetch(const values *v, const published_set *set, const char *directory,
                           const char *file, bool quiet, mo_error *error)
{
  char url[2 * MO_SETTING_PATH], path[MO_SETTING_PATH];
  bool existed = false;
  cli_progress p = progress_start(file, "MB", 1e6, 0, quiet);
  const download_options options = {.retries = (int)v->retries,
                                    .first_pause = v->pause,
                                    .vocabulary = set->vocabulary,
                                    .progress = show,
                                    .user = &p};
  snprintf(url, sizeof url, "%s/%s", v->base[0] != '\0' ? v->base : set->base, file);
  MO_TRY(mo_path_join(path, sizeof path, directory, file, error));
  MO_TRY(download_shard(url, path, &options, &existed, error));
  if (existed && !quiet) fprintf(stderr, "%s: already there\n", file);
  if (!existed) progress_end(&p, p.total);
  return MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const values *v = call->values;
  char file[128], directory[MO_SETTING_PATH];
  const published_set *set = find_set(call->arguments[0]);
  if (set == NULL) return unknown_set(call->arguments[0], error);
  snprintf(directory, sizeof directory, "data/%s", set->name);
  if (v->out[0] != '\0') memcpy(directory, v->out, sizeof directory);
  const uint64_t wanted = v->shards == 0 ? set->train_shards : (uint64_t)v->shards;
  if (wanted > set->train_shards)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "option 'shards': %llu, but %s has %u",
                   (unsigned long long)wanted, set->name, set->train_shards);

  MO_TRY(mo_make_directories(directory, error));
  if (!call->quiet)
    fprintf(stderr, "%s: %s, into %s\n", set->name, set->description, directory);
  snprintf(file, sizeof file, "%s_val_%06d.bin", set->prefix, 0);
  MO_TRY(fetch(v, set, directory, file, call->quiet, error));
  for (uint64_t i = 1; i <= wanted; i++) {
    snprintf(file, sizeof file, "%s_train_%06llu.bin", set->prefix, (unsigned long long)i);
    MO_TRY(fetch(v, set, directory, file, call->quiet, error));
  }
  return MOUSSE_OK;
}

const cli_command command_download = {
    .name = "download",
    .summary = "Fetch published token shards",
    .arguments = "NAME",
    .details = "NAME is fineweb10B: the FineWeb sample tokenized with GPT-2's tokenizer, one "
               "validation\n"
               "shard and 103 training shards of 100 million tokens (200 MB) each. A download "
               "that was\n"
               "interrupted resumes where it stopped.\n\n"
               "  mousse download fineweb10B --shards 8 --out data/fineweb10B\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(values),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
