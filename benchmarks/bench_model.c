/* bench_model.c - times forward and backward of one model; driven by benchmarks/model.
 *
 *     bench_model CONFIG BATCH SEQUENCE TOKENS
 *
 * CONFIG is a preset or a config.json. TOKENS is a file of uint32: BATCH x SEQUENCE tokens, then as many targets. The program
 * answers each line "step" on standard input with the seconds of one step, and "sgemm" with the
 * rate in GFLOP/s of a 3072^3 product on all threads (the best of three ways), so that
 * the driver can take turns with another program.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "bench/bench.h"
#include "gpt/gpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(mousse_status status, const mo_error *error)
{
  if (status == MOUSSE_OK) return;
  fprintf(stderr, "bench_model: %s\n", error->text);
  exit(1);
}

static double time_step(gpt_pass *pass, const gpt_batch *batch)
{
  mo_error error = {{0}};
  float loss = 0;
  const double start = mo_seconds();
  check(gpt_gradients(pass, batch, 1.0f, false, &loss, &error), &error);
  return mo_seconds() - start;
}

int main(int argc, char **argv)
{
  mo_error error = {{0}};
  gpt_params *params = NULL;
  gpt_pass *pass = NULL;
  gpt_config config = {0};
  if (argc != 5) return 2;
  if (gpt_preset(argv[1], &config, &error) != MOUSSE_OK)
    check(gpt_load_config(&config, argv[1], &error), &error);
  const gpt_shape shape = {.batch = strtoul(argv[2], NULL, 10),
                           .sequence = strtoul(argv[3], NULL, 10),
                           .gradients = true};
  config.sequence_len = shape.sequence;
  check(gpt_params_create(&params, &config, true, NULL, &error), &error);
  gpt_params_initialise(params, 1, 0);
  check(gpt_pass_create(&pass, params, &shape, NULL, &error), &error);

  const size_t count = shape.batch * shape.sequence;
  char *data = NULL;
  size_t size = 0;
  check(mo_file_read(NULL, argv[4], (size_t)1 << 30, &data, &size, &error), &error);
  if (size != 2 * count * sizeof(uint32_t)) return 2;
  const uint32_t *tokens = (const uint32_t *)(const void *)data;
  const gpt_batch batch = {tokens, tokens + count, shape.batch, shape.sequence, NULL};

  char line[32];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const int gemm = strcmp(line, "sgemm\n") == 0;
    printf("%.6g\n",
           gemm ? bench_sgemm_gflops(mo_threads_available()) : time_step(pass, &batch));
    fflush(stdout);
  }
  mo_release(NULL, data, size + 1);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
  return 0;
}
