/* greedy_dump.c - greedy tokens and the logarithms of all probabilities, step by step.
 *
 *     greedy_dump FOLDER STEPS OUT ID...
 *
 * Reads a model of any format, feeds the ids, then STEPS times takes the most probable token.
 * Prints the tokens and writes to OUT, for each step, log softmax of the logits as float32.
 */
#include "base/file.h"
#include "formats/formats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(mousse_status status, const mo_error *error)
{
  if (status == MOUSSE_OK) return;
  fprintf(stderr, "greedy_dump: %s\n", error->text);
  exit(1);
}

static void write_logarithms(FILE *out, const float *logits, size_t count)
{
  double top = logits[0], sum = 0;
  for (size_t i = 0; i < count; i++) top = fmax(top, (double)logits[i]);
  for (size_t i = 0; i < count; i++) sum += exp((double)logits[i] - top);
  for (size_t i = 0; i < count; i++) {
    const float value = (float)((double)logits[i] - top - log(sum));
    if (fwrite(&value, sizeof value, 1, out) != 1) exit(1);
  }
}

int main(int argc, char **argv)
{
  mo_error error = {{0}};
  gpt_config config = {0};
  gpt_params *params = NULL;
  gpt_generator *g = NULL;
  uint32_t token = 0;
  char weights[4096];
  const gpt_sampling greedy = {.temperature = 0, .top_p = 1, .stop_token = -1};
  if (argc < 5) return 2;
  const size_t steps = strtoul(argv[2], NULL, 10);
  check(mo_path_join(weights, sizeof weights, argv[1], "model.safetensors", &error), &error);
  const model_place place = {argv[1], weights};
  check(format_read_config(&place, &config, &error), &error);
  check(gpt_params_create(&params, &config, false, NULL, &error), &error);
  check(format_read_weights(&place, params, &error), &error);
  check(gpt_generator_create(&g, params, config.sequence_len, 0, NULL, &error), &error);
  FILE *out = fopen(argv[3], "wb");
  if (out == NULL) return 1;
  for (int i = 4; i < argc; i++) {
    token = (uint32_t)strtoul(argv[i], NULL, 10);
    check(gpt_generator_feed(g, &token, 1, &error), &error);
  }
  for (size_t i = 0; i < steps; i++) {
    write_logarithms(out, gpt_generator_logits(g), config.vocab_size);
    check(gpt_generator_sample(g, &greedy, 0, &token, &error), &error);
    printf("%u\n", token);
    if (i + 1 < steps) check(gpt_generator_feed(g, &token, 1, &error), &error);
  }
  gpt_generator_destroy(g);
  gpt_params_destroy(params);
  return fclose(out) == 0 ? 0 : 1;
}
