/* quickstart.c - train a matrix with mousse and a bias with adamw.
 *
 *     cc quickstart.c $(pkg-config --cflags --libs mousse) -lm && ./a.out
 *
 * Fits y = W x + b to noisy samples of a random linear map; any gradient will do in its place.
 */
#include <mousse/mousse.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUT = 32, IN = 64, BATCH = 128, STEPS = 300 };

static float uniform(void)
{
  return (float)rand() / (float)RAND_MAX - 0.5f;
}

static float w[OUT][IN], b[OUT], dw[OUT][IN], db[OUT], truth[OUT][IN];

/* Mean squared error of one random batch, and its gradients. */
static float loss_and_gradients(void)
{
  float loss = 0;
  for (int i = 0; i < OUT; i++) {
    db[i] = 0;
    for (int j = 0; j < IN; j++) dw[i][j] = 0;
  }
  for (int n = 0; n < BATCH; n++) {
    float x[IN];
    for (int j = 0; j < IN; j++) x[j] = uniform();
    for (int i = 0; i < OUT; i++) {
      float error = b[i] - 0.3f - 0.01f * uniform(); /* the true bias is 0.3 */
      for (int j = 0; j < IN; j++) error += (w[i][j] - truth[i][j]) * x[j];
      loss += error * error / (BATCH * OUT);
      db[i] += 2 * error / BATCH;
      for (int j = 0; j < IN; j++) dw[i][j] += 2 * error * x[j] / BATCH;
    }
  }
  return loss;
}

static mousse_status train(void)
{
  mousse_optimizer *opt = NULL;
  int matrices = 0, vectors = 0;
  mousse_status s = mousse_create(NULL, &opt);

  if (!s) s = mousse_add_group(opt, "mousse", &matrices);
  if (!s) s = mousse_add_group(opt, "adamw", &vectors);
  if (!s) s = mousse_add_param(opt, matrices, "w", OUT, IN, &w[0][0], &dw[0][0]);
  if (!s) s = mousse_add_param(opt, vectors, "b", 1, OUT, b, db);
  if (!s) s = mousse_set(opt, vectors, "lr", 0.01);
  if (!s) s = mousse_prepare(opt);
  for (int i = 0; !s && i < STEPS; i++) {
    const float loss = loss_and_gradients();
    if (i % 50 == 0) printf("step %3d  loss %.5f\n", i, (double)loss);
    s = mousse_set(opt, matrices, "lr", 0.1 * (STEPS - i) / STEPS); /* a schedule */
    if (!s) s = mousse_step(opt);
  }
  if (!s) printf("step %3d  loss %.5f\n", STEPS, (double)loss_and_gradients());
  if (s) fprintf(stderr, "mousse: %s\n", opt ? mousse_error(opt) : mousse_status_text(s));
  mousse_destroy(opt);
  return s;
}

int main(void)
{
  for (int i = 0; i < OUT; i++)
    for (int j = 0; j < IN; j++) truth[i][j] = uniform();
  return train() == MOUSSE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
