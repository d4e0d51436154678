/* rank_checks.c - agreement of ranks about a run. */
#include "train/rank_checks.h"

#include "base/file.h"
#include "comm/ranks.h"
#include "train/checkpoint.h"
#include "train/gradient.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The number of slices in the config.yaml of a run that can be continued; 0: there is none, or the
 * batch is another one, which they do not fit. */
static mousse_status slices_before(const train_options *run, int64_t *slices, mo_error *error)
{
  char directory[4096], root[4096], path[4096];
  checkpoint_list list;
  train_options before;
  *slices = 0;
  MO_TRY(options_directory(run, directory, sizeof directory, error));
  MO_TRY(mo_path_join(root, sizeof root, directory, CHECKPOINT_FOLDER, error));
  MO_TRY(mo_path_join(path, sizeof path, directory, "config.yaml", error));
  MO_TRY(checkpoint_list_open(&list, root, error));
  const bool continued = list.count > 0 && access(path, F_OK) == 0;
  checkpoint_list_close(&list);
  if (!continued) return MOUSSE_OK;
  MO_TRY(options_defaults(&before, error));
  MO_TRY(options_read(&before, path, NULL, error));
  if (options_slices_fit(run, before.slices)) *slices = before.slices;
  return MOUSSE_OK;
}

/* By the batch, so that 1, 2, 4 and 8 ranks end in the same bits; other numbers of ranks get
 * a slice each. */
static int64_t slices_by_batch(const train_options *run, int ranks, const run_notices *notices)
{
  const size_t slices = options_slices(run);
  if (gradient_divides(slices, (size_t)ranks)) return (int64_t)slices;
  run_notify(notices,
             "%d ranks cannot share the %zu slices of this batch: it is cut into %d, and the "
             "last bits differ from those at 1 rank",
             ranks, slices, ranks);
  return ranks;
}

mousse_status ranks_choose_slices(train_options *run, const mousse_comm *comm,
                                  const run_notices *notices, mo_error *error)
{
  int64_t slices = run->slices;
  if (slices == 0) MO_TRY(MO_FIRST_RANK(comm, slices_before(run, &slices, error), error));
  MO_TRY(mo_ranks_spread(comm, &slices, sizeof slices, error));
  run->slices = slices > 0 ? slices : slices_by_batch(run, comm->size, notices);
  if (gradient_divides((size_t)run->slices, (size_t)comm->size)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "%d ranks cannot share %lld slices: the slices of a rank must be a power of "
                 "two; change the number of ranks, or give --slices (%d would do), which "
                 "changes the last bits of the result",
                 comm->size, (long long)run->slices, comm->size);
}

/* Not inline: of a constant, gcc would warn about the branches of XXH3 for longer ones. */
__attribute__((noinline)) static uint64_t hash_text(const char *text, uint64_t hash)
{
  return XXH3_64bits_withSeed(text, strlen(text) + 1, hash);
}

/* How many threads a rank uses changes nothing, and its data are compared themselves. */
static bool may_differ(const mo_setting *row)
{
  return strcmp(row->name, "threads") == 0 || strcmp(row->name, "data_dir") == 0;
}

static uint64_t hash_options(const train_options *run)
{
  uint64_t hash = 0;
  for (size_t i = 0; i < train_settings.count; i++) {
    char text[MO_SETTING_PATH];
    const mo_setting *row = &train_settings.rows[i];
    if (may_differ(row)) continue;
    if (mo_setting_text(row, run, text, sizeof text)) hash = hash_text(text, hash);
  }
  for (size_t i = 0; i < run->option_count; i++) {
    hash = hash_text(run->options[i].scalar ? "scalar" : "opt", hash);
    hash = hash_text(run->options[i].name, hash);
    hash = hash_text(run->options[i].value, hash);
  }
  return hash;
}

/* In parts: a rank that is short of memory must not look like one of another build. */
static mousse_status hash_file(const char *path, uint64_t *hash, mo_error *error)
{
  char part[1 << 14];
  ssize_t got = 0;
  XXH3_state_t state;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return mo_fail(error, MOUSSE_IO, "%s: cannot open: %s", path, strerror(errno));
  XXH3_64bits_reset_withSeed(&state, *hash);
  while ((got = read(file, part, sizeof part)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) XXH3_64bits_update(&state, part, (size_t)got);
  const int reason = errno;
  *hash = XXH3_64bits_digest(&state);
  close(file);
  if (got == 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO, "%s: cannot read: %s", path, strerror(reason));
}

/* Where no rank can read its program, as without /proc, only versions are compared. */
static mousse_status hash_program(const mousse_comm *comm, uint64_t *hash, mo_error *error)
{
  uint64_t whole = hash_text(MOUSSE_VERSION_TEXT, 0);
  *hash = whole;
  const mousse_status status = hash_file("/proc/self/exe", &whole, error);
  float unread = status != MOUSSE_OK;
  MO_TRY(mo_ranks_sum(comm, &unread, 1, error));
  if (unread > 0 && unread < (float)comm->size) return mo_ranks_agree(comm, status, error);
  if (unread == 0) *hash = whole;
  return MOUSSE_OK;
}

mousse_status ranks_compare_options(const train_options *run, const mousse_comm *comm,
                                    mo_error *error)
{
  uint64_t program = 0;
  if (comm->size == 1) return MOUSSE_OK;
  MO_TRY(hash_program(comm, &program, error));
  MO_TRY(mo_ranks_same(comm, program,
                       "all ranks must run the same build of mousse: its checksum is", error));
  return mo_ranks_same(comm, hash_options(run),
                       "all ranks must get the same options: their checksum is", error);
}

mousse_status ranks_take_options(train_options *run, const train_options *asked,
                                 const mousse_comm *comm, mo_error *error)
{
  if (comm->size == 1) return MOUSSE_OK;
  MO_TRY(ranks_compare_options(asked, comm, error));
  MO_TRY(mo_ranks_spread(comm, run, sizeof *run, error));
  if (asked->threads > 0) run->threads = asked->threads;
  if (asked->data_dir[0] != '\0') memcpy(run->data_dir, asked->data_dir, sizeof run->data_dir);
  return MOUSSE_OK;
}

mousse_status ranks_compare_weights(const gpt_params *params, const mousse_comm *comm,
                                    mo_error *error)
{
  if (comm->size == 1) return MOUSSE_OK;
  const uint64_t hash = XXH3_64bits(params->values, params->value_count * sizeof(float));
  const mousse_status status =
      mo_ranks_same(comm, hash, "the ranks have diverged: the weights' checksum is", error);
  return status == MOUSSE_OK ? MOUSSE_OK : MOUSSE_COMM;
}
