/* bench_memory.c - the memory that a model plans to take and the memory that it takes.
 *
 *     bench_memory PRESET BATCH SEQUENCE [train]
 *
 * prints the plan, makes the model, runs one pass on it, and prints the peak of the process.
 */
#include "base/clock.h"
#include "gpt/gpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void check(mousse_status status, const mo_error *error)
{
  if (status == MOUSSE_OK) return;
  fprintf(stderr, "bench_memory: %s\n", error->text);
  exit(1);
}

static double peak_mebibytes(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
  mo_error error = {{0}};
  gpt_config config;
  gpt_params *params = NULL;
  gpt_pass *pass = NULL;
  float loss = 0;
  if (argc != 4 && argc != 5) return 2;
  check(gpt_preset(argv[1], &config, &error), &error);
  const gpt_shape shape = {.batch = strtoul(argv[2], NULL, 10),
                           .sequence = strtoul(argv[3], NULL, 10),
                           .gradients = argc == 5 && strcmp(argv[4], "train") == 0};
  printf("planned %.1f MiB\n", (double)gpt_plan_bytes(&config, &shape) / (1 << 20));
  check(gpt_params_create(&params, &config, shape.gradients, NULL, &error), &error);
  gpt_params_initialise(params, 1, 0);
  check(gpt_pass_create(&pass, params, &shape, NULL, &error), &error);
  uint32_t *tokens = mo_allocate(NULL, shape.batch * shape.sequence * sizeof *tokens);
  if (tokens == NULL) return 1;
  const gpt_batch batch = {tokens, tokens, shape.batch, shape.sequence, NULL};
  const double start = mo_seconds();
  check(shape.gradients ? gpt_gradients(pass, &batch, 1, false, &loss, &error)
                        : gpt_loss(pass, &batch, &loss, &error),
        &error);
  printf("one pass: loss %.4f, %.2f s; peak of the process %.1f MiB\n", (double)loss,
         mo_seconds() - start, peak_mebibytes());
  mo_release(NULL, tokens, shape.batch * shape.sequence * sizeof *tokens);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
  return 0;
}
