/* model_dump.c - runs the model on a folder's weights and tokens and writes what it computed.
 *
 *     model_dump FOLDER BATCH SEQUENCE
 *
 * reads config.json, model.safetensors and tokens.bin (uint32: BATCH x SEQUENCE tokens, then as
 * many targets), prints the loss, and writes gradients.safetensors (summed from two
 * micro-batches of the same tokens) and logits.safetensors (of the first sequence, by the
 * generator).
 */
#include "gpt/gpt.h"
#include "gpt/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(mousse_status status, const mo_error *error)
{
  if (status == MOUSSE_OK) return;
  fprintf(stderr, "model_dump: %s\n", error->text);
  exit(1);
}

static void in_folder(char *path, size_t capacity, const char *folder, const char *name)
{
  mo_error error = {{0}};
  check(mo_path_join(path, capacity, folder, name, &error), &error);
}

static void write_gradients(const gpt_params *params, const char *folder)
{
  char path[4096];
  mo_error error = {{0}};
  safetensors_matrix *m = mo_allocate(NULL, params->tensor_count * sizeof *m);
  if (m == NULL) exit(1);
  size_t count = 0;
  for (size_t i = 0; i < params->tensor_count; i++) {
    const gpt_tensor *t = &params->tensors[i];
    const size_t rows = t->role == GPT_VECTOR ? 0 : t->rows;
    if (t->gradient != NULL)
      m[count++] = (safetensors_matrix){t->name, rows, t->cols, t->gradient};
  }
  in_folder(path, sizeof path, folder, "gradients.safetensors");
  check(safetensors_write(path, m, count, &error), &error);
  mo_release(NULL, m, params->tensor_count * sizeof *m);
}

/* The first half of the text at once, the rest token by token: both ways of feeding. */
static void write_logits(const gpt_params *params, const uint32_t *tokens, size_t sequence,
                         const char *folder)
{
  char path[4096];
  mo_error error = {{0}};
  gpt_generator *g = NULL;
  const size_t vocabulary = params->config.vocab_size, start = (sequence + 1) / 2;
  const size_t rows = sequence - start + 1;
  float *logits = mo_allocate(NULL, rows * vocabulary * sizeof *logits);
  if (logits == NULL) exit(1);
  check(gpt_generator_create(&g, params, sequence, 0, NULL, &error), &error);
  for (size_t row = 0; row < rows; row++) {
    const size_t fed = row == 0 ? start : 1;
    check(gpt_generator_feed(g, tokens, fed, &error), &error);
    tokens += fed;
    memcpy(logits + row * vocabulary, gpt_generator_logits(g), vocabulary * sizeof *logits);
  }
  gpt_generator_destroy(g);
  in_folder(path, sizeof path, folder, "logits.safetensors");
  const safetensors_matrix matrix = {"logits", rows, vocabulary, logits};
  check(safetensors_write(path, &matrix, 1, &error), &error);
  mo_release(NULL, logits, rows * vocabulary * sizeof *logits);
}

int main(int argc, char **argv)
{
  char path[4096], *data = NULL;
  mo_error error = {{0}};
  gpt_config config;
  gpt_params *params = NULL;
  gpt_pass *pass = NULL;
  size_t size = 0;
  float loss = 0, again = 0;
  if (argc != 4) return 2;
  const gpt_shape shape = {.batch = strtoul(argv[2], NULL, 10),
                           .sequence = strtoul(argv[3], NULL, 10),
                           .gradients = true,
                           false};
  in_folder(path, sizeof path, argv[1], "config.json");
  check(gpt_load_config(&config, path, &error), &error);
  check(gpt_params_create(&params, &config, true, NULL, &error), &error);
  in_folder(path, sizeof path, argv[1], "model.safetensors");
  check(gpt_load_weights(params, path, &error), &error);
  in_folder(path, sizeof path, argv[1], "tokens.bin");
  check(mo_file_read(NULL, path, (size_t)1 << 30, &data, &size, &error), &error);
  const size_t count = shape.batch * shape.sequence;
  const bool documents = size == 3 * count * sizeof(uint32_t);
  if (size != 2 * count * sizeof(uint32_t) && !documents) return 2;

  const uint32_t *tokens = (const uint32_t *)(const void *)data;
  const gpt_batch batch = {tokens, tokens + count, shape.batch, shape.sequence,
                           documents ? tokens + 2 * count : NULL};
  check(gpt_pass_create(&pass, params, &shape, NULL, &error), &error);
  check(gpt_gradients(pass, &batch, 0.5f, false, &loss, &error), &error);
  check(gpt_gradients(pass, &batch, 0.5f, true, &again, &error), &error);
  if (memcmp(&loss, &again, sizeof loss) != 0) return 3;
  printf("%.9g\n", (double)loss);
  write_gradients(params, argv[1]);
  write_logits(params, tokens, shape.sequence, argv[1]);
  gpt_pass_destroy(pass);
  gpt_params_destroy(params);
  mo_release(NULL, data, size + 1);
  return 0;
}
