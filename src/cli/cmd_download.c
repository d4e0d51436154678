/* cmd_download.c - mousse download: published token shards into a directory. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/next_step.h"
#include "cli/progress.h"
#include "data/shards/download.h"
#include "data/tokenizer/tokenizer.h"

#include <stdio.h>
#include <string.h>

typedef struct download_values {
  char out[MO_SETTING_PATH], base[MO_SETTING_PATH], tokenizer_base[MO_SETTING_PATH];
  int64_t shards, retries;
  double pause;
} download_values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(download_values, out, "", "directory to write to; by default data/NAME"),
    MO_SETTING_INTEGER(download_values, shards, "0", 0, 1e6,
                       "how many training shards besides the validation shard; 0: all"),
    MO_SETTING_TEXT(download_values, base, "",
                    "address to fetch from instead of the published one"),
    MO_SETTING_TEXT(download_values, tokenizer_base, "",
                    "address of the tokenizer's files; by default that of --base, else the "
                    "published one"),
    MO_SETTING_INTEGER(download_values, retries, "5", 0, 1000,
                       "how many times to retry a failed file"),
    MO_SETTING_NUMBER(download_values, pause, "1", 0, 3600,
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
  return mo_fail(error, MOUSSE_UNKNOWN_NAME, "there is no data set '%s'; available:%s", name,
                 names);
}

static void show(void *user, uint64_t done, uint64_t total)
{
  cli_progress *p = user;
  if (p->base == 0) p->base = (double)done;
  p->total = (double)total;
  progress_update(p, (double)done);
}

/* Where to, and how. */
typedef struct job {
  const download_values *values;
  const published_set *set;
  char directory[MO_SETTING_PATH];
  bool quiet;
} job;

static mousse_status fetch(const job *j, const char *base, const char *file,
                           const download_expected *expected, mo_error *error)
{
  char url[2 * MO_SETTING_PATH], path[MO_SETTING_PATH];
  bool existed = false;
  cli_progress p = progress_start(file, "MB", 1e6, 0, j->quiet);
  const download_options options = {.retries = (int)j->values->retries,
                                    .first_pause = j->values->pause,
                                    .progress = show,
                                    .user = &p};
  MO_TRY(download_url(url, sizeof url, base, file, error));
  MO_TRY(mo_path_join(path, sizeof path, j->directory, file, error));
  MO_TRY(progress_check(&p, download_file(url, path, expected, &options, &existed, error)));
  if (existed && !j->quiet) fprintf(stderr, "%s: already there\n", file);
  if (!existed) progress_end(&p, p.total);
  return MOUSSE_OK;
}

static mousse_status fetch_shards(const job *j, uint64_t wanted, mo_error *error)
{
  char file[128];
  const char *base = j->values->base[0] != '\0' ? j->values->base : j->set->base;
  const download_expected expected = {.vocabulary = j->set->vocabulary};
  snprintf(file, sizeof file, "%s_val_%06d.bin", j->set->prefix, 0);
  MO_TRY(fetch(j, base, file, &expected, error));
  for (uint64_t i = 1; i <= wanted; i++) {
    snprintf(file, sizeof file, "%s_train_%06llu.bin", j->set->prefix, (unsigned long long)i);
    MO_TRY(fetch(j, base, file, &expected, error));
  }
  return MOUSSE_OK;
}

/* From another address, other contents may be meant; then they only have to fit the shards. */
static mousse_status fetch_tokenizer(const job *j, mo_error *error)
{
  const download_values *v = j->values;
  const char *other = v->tokenizer_base[0] != '\0' ? v->tokenizer_base : v->base;
  mo_tokenizer tokenizer;
  for (size_t i = 0; i < sizeof j->set->tokenizer / sizeof *j->set->tokenizer; i++) {
    const published_file *file = &j->set->tokenizer[i];
    const download_expected known = {.bytes = file->bytes, .sha256 = file->sha256};
    const download_expected any = {.most_bytes = 100000000};
    MO_TRY(fetch(j, other[0] != '\0' ? other : j->set->tokenizer_base, file->name,
                 other[0] != '\0' ? &any : &known, error));
  }
  MO_TRY(tokenizer_open(&tokenizer, j->directory, error));
  const uint32_t count = tokenizer.tokens.count;
  tokenizer_close(&tokenizer);
  if (count == j->set->vocabulary) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: a tokenizer of %u tokens, but %s has %u",
                 j->directory, count, j->set->name, j->set->vocabulary);
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const download_values *v = call->values;
  job j = {.values = v, .set = find_set(call->arguments[0]), .quiet = call->quiet};
  if (j.set == NULL) return unknown_set(call->arguments[0], error);
  snprintf(j.directory, sizeof j.directory, "data/%s", j.set->name);
  if (v->out[0] != '\0') memcpy(j.directory, v->out, sizeof j.directory);
  const uint64_t wanted = v->shards == 0 ? j.set->train_shards : (uint64_t)v->shards;
  if (wanted > j.set->train_shards)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "option 'shards': %llu, but %s has %u",
                   (unsigned long long)wanted, j.set->name, j.set->train_shards);

  MO_TRY(mo_make_directories(j.directory, error));
  if (!j.quiet)
    fprintf(stderr, "%s: %s, with %s, into %s\n", j.set->name, j.set->description,
            j.set->tokenizer_name, j.directory);
  MO_TRY(fetch_tokenizer(&j, error));
  MO_TRY(fetch_shards(&j, wanted, error));
  next_step(call, "data %s", j.directory);
  next_step(call, "train --data-dir %s --out runs/%s", j.directory, j.set->name);
  return MOUSSE_OK;
}

const cli_command command_download = {
    .name = "download",
    .summary = "Fetch published token shards",
    .arguments = "NAME",
    .details =
        "NAME is fineweb10B: the FineWeb sample, tokenized with GPT-2's tokenizer; one "
        "validation shard, 103 training shards of 100 million tokens (200 MB) each, and the "
        "tokenizer. Sizes and checksums are checked; an interrupted download resumes where "
        "it stopped.\n\n"
        "  mousse download fineweb10B --shards 8 --out data/fineweb10B\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(download_values),
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
