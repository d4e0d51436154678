/* same_ranks.c - see same_ranks.h.
 *
 * What was registered is a list of sentences: options of the object, algorithm and options of
 * each group, each parameter. Ranks first compare a checksum of the whole list. Only when that
 * differs, rank 0 sends the checksum of every sentence, the others look for the first one of
 * theirs that is another, and the two sentences go to everybody.
 */
#include "optim/same_ranks.h"

#include "comm/ranks.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* SHOWN: characters of a name; of a longer one there is its checksum. */
enum {
  SENTENCE = 512,
  SHOWN = 100,
  CHUNK = MO_EXCHANGE_FLOATS * sizeof(float) / sizeof(uint64_t)
};

/* Walks along the list: object options, then each group with its options, then parameters. */
typedef struct outline_walk {
  const mousse_optimizer *opt;
  size_t object, group, row, param;
} outline_walk;

static void describe_option(const mousse_option *info, double value, const char *of, char *text)
{
  char number[64];
  mo_option_text(info, value, number, sizeof number);
  snprintf(text, SENTENCE, "%s%s is %s", info->name, of, number);
}

static void describe_group(outline_walk *w, char *text)
{
  const mo_group *group = &w->opt->groups[w->group];
  const mo_algorithm *algorithm = group->algorithm;
  char of[64];
  snprintf(of, sizeof of, " of group %zu (%.20s)", w->group, algorithm->name);
  if (w->row == 0)
    snprintf(text, SENTENCE, "group %zu is %s", w->group, algorithm->name);
  else
    describe_option(&algorithm->options[w->row - 1].info,
                    mo_option_get(&algorithm->options[w->row - 1], group->config), of, text);
  if (++w->row <= algorithm->option_count) return;
  w->row = 0;
  w->group++;
}

static void describe_param(const outline_walk *w, char *text)
{
  static const char *const types[] = {"float32", "bfloat16", "float16"};
  const mo_param *p = &w->opt->params[w->param];
  const size_t length = strlen(p->name);
  char factors[96] = "", steps[40] = "", rest[40] = "";
  if (p->steps > 0) snprintf(steps, sizeof steps, ", steps %llu", (unsigned long long)p->steps);
  if (length > SHOWN)
    snprintf(rest, sizeof rest, "... %016llx",
             (unsigned long long)XXH3_64bits(p->name, length));
  if (p->options.lr_factor != 1.0 || p->options.weight_decay_factor != 1.0)
    snprintf(factors, sizeof factors, ", lr_factor %.17g, weight_decay_factor %.17g",
             p->options.lr_factor, p->options.weight_decay_factor);
  snprintf(text, SENTENCE, "parameter %zu is '%.*s%s' (%zu x %zu%s, %s values, group %d%s%s)",
           w->param, (int)SHOWN, p->name, rest, p->shape.rows, p->shape.cols,
           w->opt->tensors[p->tensor].transposed ? " transposed" : "",
           types[p->storage.value_type], p->group, factors, steps);
}

/* The next sentence; false at the end, with a sentence that says so. */
static bool next(outline_walk *w, char text[SENTENCE])
{
  if (w->object < mo_object_table.count) {
    const mo_option *row = &mo_object_table.rows[w->object++];
    describe_option(&row->info, mo_option_get(row, &w->opt->options), "", text);
    return true;
  }
  if (w->group < w->opt->group_count) {
    describe_group(w, text);
    return true;
  }
  snprintf(text, SENTENCE, "there are %zu parameters", w->param);
  if (w->param >= w->opt->param_count) return false;
  describe_param(w, text);
  w->param++;
  return true;
}

static uint64_t checksum(const mousse_optimizer *opt)
{
  outline_walk w = {.opt = opt};
  char text[SENTENCE];
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  while (next(&w, text)) XXH3_64bits_update(&hash, text, strlen(text) + 1);
  return XXH3_64bits_digest(&hash);
}

/* Fills a chunk with the checksums of the next sentences; after the end, zeros. */
static void fill(outline_walk *w, uint64_t *sums)
{
  char text[SENTENCE];
  for (size_t i = 0; i < CHUNK; i++)
    sums[i] = next(w, text) ? XXH3_64bits(text, strlen(text)) | 1 : 0;
}

/* The number of the first sentence that is not rank 0's, which every rank walks past until rank
 * 0's list has ended. */
static mousse_status first_difference(mousse_optimizer *opt, uint64_t *number)
{
  outline_walk w = {.opt = opt}, theirs = {.opt = opt};
  uint64_t *sums = (uint64_t *)(void *)opt->exchange;
  char text[SENTENCE];
  *number = UINT64_MAX;
  for (uint64_t at = 0;; at += CHUNK) {
    if (opt->comm.rank == 0) fill(&theirs, sums);
    MO_TRY(mo_ranks_spread(&opt->comm, sums, CHUNK * sizeof *sums, &opt->error));
    for (size_t i = 0; i < CHUNK && *number == UINT64_MAX; i++) {
      const uint64_t mine = next(&w, text) ? XXH3_64bits(text, strlen(text)) | 1 : 0;
      if (mine != sums[i]) *number = at + i;
    }
    if (sums[CHUNK - 1] == 0) return MOUSSE_OK;
  }
}

static void sentence_at(const mousse_optimizer *opt, uint64_t number, char text[SENTENCE])
{
  outline_walk w = {.opt = opt};
  memset(text, 0, SENTENCE);
  for (uint64_t i = 0; next(&w, text) && i < number; i++) continue;
}

static mousse_status send(mousse_optimizer *opt, int from, void *data, size_t bytes)
{
  if (opt->comm.broadcast(opt->comm.context, data, bytes / sizeof(float), from) == 0)
    return MOUSSE_OK;
  return mo_fail(&opt->error, MOUSSE_COMM, "could not reach the other ranks");
}

static mousse_status tell_difference(mousse_optimizer *opt, int rank, uint64_t number)
{
  _Alignas(8) char first[SENTENCE], other[SENTENCE];
  uint64_t agreed = number;
  MO_TRY(send(opt, rank, &agreed, sizeof agreed));
  sentence_at(opt, agreed, first);
  memcpy(other, first, sizeof other);
  MO_TRY(send(opt, 0, first, sizeof first));
  MO_TRY(send(opt, rank, other, sizeof other));
  return mo_fail(&opt->error, MOUSSE_INVALID_ARGUMENT,
                 "the ranks differ: %.220s on rank 0, but %.220s on rank %d", first, other,
                 rank);
}

mousse_status mo_same_on_all_ranks(mousse_optimizer *opt)
{
  if (opt->comm.size == 1) return MOUSSE_OK;
  const uint64_t mine = checksum(opt);
  uint64_t first = mine, number = 0;
  int rank = -1;
  float flag = 0;
  MO_TRY(mo_ranks_spread(&opt->comm, &first, sizeof first, &opt->error));
  MO_TRY(mo_ranks_first(&opt->comm, first != mine ? 1.0f : 0.0f, &rank, &flag, &opt->error));
  if (rank < 0) return MOUSSE_OK;
  MO_TRY(first_difference(opt, &number));
  return tell_difference(opt, rank, number);
}
