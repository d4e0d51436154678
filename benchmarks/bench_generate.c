/* bench_generate.c - how fast a model writes, beside what the machine could do.
 *
 *     bench_generate PRESET PROMPT TOKENS [ROUNDS]
 *
 * One new token reads every weight but the embedding's once: its bytes per second are compared
 * with those of a plain sum over the same memory on as many threads. Sampling is beside it, and
 * the same with weights of 8 bits. A prompt is compared with gpt_loss, training's forward pass,
 * on as many tokens. In turns, best of all rounds.
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

typedef struct figures {
  double read, forward, prompt, sample, one, one_q8;
} figures;

/* One token, drawn and fed. */
static void time_token(gpt_generator *g, size_t place, double *sample, double *one)
{
  mo_error error = {{0}};
  uint32_t token = 1;
  const gpt_sampling sampling = {.temperature = 0.8, .top_p = 1, .seed = 1, .stop_token = -1};
  const double start = mo_seconds();
  check(gpt_generator_sample(g, &sampling, place, &token, &error), &error);
  const double middle = mo_seconds();
  check(gpt_generator_feed(g, &token, 1, &error), &error);
  keep_best(sample, middle - start);
  keep_best(one, mo_seconds() - start);
}

static void time_round(figures *f, gpt_pass *pass, gpt_generator *g, const gpt_batch *batch,
                       const gpt_q8 *q8, size_t count)
{
  mo_error error = {{0}};
  float loss = 0;
  double start = mo_seconds();
  check(gpt_loss(pass, batch, &loss, &error), &error);
  keep_best(&f->forward, mo_seconds() - start);
  for (int narrow = 0; narrow < 2; narrow++) {
    gpt_generator_restart(g);
    gpt_generator_use_q8(g, narrow ? q8 : NULL);
    start = mo_seconds();
    check(gpt_generator_feed(g, batch->tokens, batch->sequence, &error), &error);
    keep_best(&f->prompt, mo_seconds() - start);
    for (size_t i = 0; i < count; i++)
      time_token(g, i, &f->sample, narrow ? &f->one_q8 : &f->one);
  }
}

static void print(const figures *f, const gpt_params *params, size_t length)
{
  const gpt_config *c = &params->config;
  const double all = 4e-9 * (double)params->value_count;
  const size_t lookup = c->tied ? 0 : c->vocab_size * c->n_embd;
  const double used = all - 4e-9 * (double)lookup;
  printf("memory   %.1f GB/s\n", all / f->read);
  printf("token    %.2f ms (%.2f of it to draw one), %.1f GB/s, %.0f%% of memory\n",
         1e3 * f->one, 1e3 * f->sample, used / f->one, 100 * used / f->one / (all / f->read));
  printf("q8_0     %.2f ms, %.2f times as fast\n", 1e3 * f->one_q8, f->one / f->one_q8);
  printf("prompt   %.0f tokens/s; forward pass of training %.0f, %.0f%% of it\n",
         (double)length / f->prompt, (double)length / f->forward, 100 * f->forward / f->prompt);
}

int main(int argc, char **argv)
{
  mo_error error = {{0}};
  gpt_config config;
  gpt_params *params = NULL;
  gpt_pass *pass = NULL;
  gpt_generator *g = NULL;
  gpt_q8 *q8 = NULL;
  figures f = {0};
  if (argc != 4 && argc != 5) return 2;
  const size_t length = strtoul(argv[2], NULL, 10), count = strtoul(argv[3], NULL, 10);
  const size_t rounds = argc == 5 ? strtoul(argv[4], NULL, 10) : 3;
  check(gpt_preset(argv[1], &config, &error), &error);
  check(gpt_params_create(&params, &config, false, NULL, &error), &error);
  gpt_params_initialise(params, 1, 0);
  check(gpt_q8_create(&q8, params, 0, &error), &error);
  check(gpt_generator_create(&g, params, length + count, 0, NULL, &error), &error);
  const gpt_shape shape = {.batch = 1, .sequence = length};
  check(gpt_pass_create(&pass, params, &shape, NULL, &error), &error);
  uint32_t *tokens = mo_allocate(NULL, length * sizeof *tokens);
  if (tokens == NULL) return 1;
  const gpt_batch batch = {tokens, tokens, 1, length, NULL};
  for (size_t round = 0; round < rounds; round++) {
    keep_best(&f.read, read_seconds(params));
    time_round(&f, pass, g, &batch, q8, count);
  }
  print(&f, params, length);
  mo_release(NULL, tokens, length * sizeof *tokens);
  gpt_generator_destroy(g);
  gpt_q8_destroy(q8);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
  return 0;
}
