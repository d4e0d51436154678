/* steps.c - the C side of test_torch.py: steps over two tensors from a file of floats.
 *
 *     python_steps ALGORITHM ROWS COLS STEPS FILE [OPTION VALUE]...
 *
 * FILE holds the weights of a ROWS x COLS matrix and then STEPS gradients; the weights after the
 * steps are written over the first of them.
 */
#include <mousse/mousse.h>
#include <stdio.h>
#include <stdlib.h>

static mousse_status prepare(mousse_optimizer *opt, char **words, int count, size_t rows,
                             size_t cols, float *value)
{
  int group = 0;
  mousse_status s = mousse_add_group(opt, words[1], &group);
  for (int i = 6; !s && i + 1 < count; i += 2)
    s = mousse_set_text(opt, group, words[i], words[i + 1]);
  if (!s) s = mousse_add_param(opt, group, "0", rows, cols, value, NULL);
  return s ? s : mousse_prepare(opt);
}

int main(int count, char **words)
{
  if (count < 6) return 2;
  const size_t rows = strtoul(words[2], NULL, 10), cols = strtoul(words[3], NULL, 10);
  const size_t steps = strtoul(words[4], NULL, 10), size = rows * cols;
  float *data = malloc((steps + 1) * size * sizeof *data);
  FILE *file = fopen(words[5], "r+b");
  if (data == NULL || file == NULL) return 1;
  if (fread(data, sizeof *data, (steps + 1) * size, file) != (steps + 1) * size) return 1;

  mousse_optimizer *opt = NULL;
  mousse_status s = mousse_create(NULL, &opt);
  if (!s) s = prepare(opt, words, count, rows, cols, data);
  for (size_t i = 1; !s && i <= steps; i++) {
    s = mousse_rebind(opt, "0", data, data + i * size);
    if (!s) s = mousse_step(opt);
  }
  if (s) fprintf(stderr, "%s\n", mousse_error(opt));
  mousse_destroy(opt);
  rewind(file);
  if (!s && fwrite(data, sizeof *data, size, file) != size) return 1;
  free(data);
  return fclose(file) != 0 || s ? 1 : 0;
}
