/* bench_generate.c - how fast a model writes, beside what the machine could do.
 *
 *     bench_generate PRESET PROMPT TOKENS [ROUNDS]
 *
 * One new token reads every weight but the embedding's once: its bytes per second are compared
 * with those of a plain sum over the same memory on as many threads. A prompt is compared with
 * gpt_loss, training's forward pass, on as many tokens. In turns, best of all rounds.
 */
#include "base/clock.h"
#include "base/parallel.h"
#include "gpt/gpt.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 1 << 16 };

static void check(mousse_status status, const mo_error *error)
{
  if (status == MOUSSE_OK) return;
  fprintf(stderr, "bench_generate: %s\n", error->text);
  exit(1);
}

typedef struct reading {
  const float *values;
  double *sums;
  size_t count;
} reading;

static void read_block(void *context, size_t item, int thread)
{
  const reading *r = context;
  const size_t first = item * BLOCK, left = r->count - first;
  const float *x = r->values + first;
  float sum = 0.0f;
  (void)thread;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < (left < BLOCK ? left : BLOCK); i++) sum += x[i];
  r->sums[item] = (double)sum;
}

static double read_seconds(const gpt_params *params)
{
  const size_t blocks = (params->value_count + BLOCK - 1) / BLOCK;
  double *sums = mo_allocate(NULL, blocks * sizeof *sums);
  if (sums == NULL) exit(1);
  reading r = {params->values, sums, params->value_count};
  const double start = mo_seconds();
  mo_parallel(mo_threads_available(), blocks, read_block, &r);
  const double seconds = mo_seconds() - start;
  mo_release(NULL, sums, blocks * sizeof *sums);
  return seconds;
}

static void keep_best(double *best, double seconds)
{
  if (*best == 0 || seconds < *best) *best = seconds;
}

int main(int argc, char **argv)
{
  mo_error error = {{0}};
  gpt_config config;
  gpt_params *params = NULL;
  gpt_pass *pass = NULL;
  gpt_generator *g = NULL;
  double read = 0, one = 0, prompt = 0, forward = 0, start = 0;
  float loss = 0;
  if (argc != 4 && argc != 5) return 2;
  const size_t length = strtoul(argv[2], NULL, 10), count = strtoul(argv[3], NULL, 10);
  const size_t rounds = argc == 5 ? strtoul(argv[4], NULL, 10) : 3;
  check(gpt_preset(argv[1], &config, &error), &error);
  check(gpt_params_create(&params, &config, false, NULL, &error), &error);
  gpt_params_initialise(params, 1, 0);
  check(gpt_generator_create(&g, params, length + count, 0, NULL, &error), &error);
  const gpt_shape shape = {.batch = 1, .sequence = length};
  check(gpt_pass_create(&pass, params, &shape, NULL, &error), &error);
  uint32_t *tokens = mo_allocate(NULL, length * sizeof *tokens), token = 1;
  if (tokens == NULL) return 1;
  const gpt_batch batch = {tokens, tokens, 1, length};
  const gpt_sampling sampling = {.temperature = 0.8, .top_p = 1, .seed = 1, .stop_token = -1};
  for (size_t round = 0; round < rounds; round++) {
    keep_best(&read, read_seconds(params));
    start = mo_seconds();
    check(gpt_loss(pass, &batch, &loss, &error), &error);
    keep_best(&forward, mo_seconds() - start);
    gpt_generator_restart(g);
    start = mo_seconds();
    check(gpt_generator_feed(g, tokens, length, &error), &error);
    keep_best(&prompt, mo_seconds() - start);
    for (size_t i = 0; i < count; i++) {
      start = mo_seconds();
      check(gpt_generator_sample(g, &sampling, i, &token, &error), &error);
      check(gpt_generator_feed(g, &token, 1, &error), &error);
      keep_best(&one, mo_seconds() - start);
    }
  }
  const double all = 4e-9 * (double)params->value_count;
  const size_t lookup = config.tied ? 0 : config.vocab_size * config.n_embd;
  const double used = all - 4e-9 * (double)lookup;
  printf("memory   %.1f GB/s\n", all / read);
  printf("token    %.2f ms, %.1f GB/s, %.0f%% of memory\n", 1e3 * one, used / one,
         100 * used / one / (all / read));
  printf("prompt   %.0f tokens/s; forward pass of training %.0f, %.0f%% of it\n",
         (double)length / prompt, (double)length / forward, 100 * forward / prompt);
  mo_release(NULL, tokens, length * sizeof *tokens);
  gpt_generator_destroy(g);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
  return 0;
}
