/* compare.c - every optimizer on the same small network, as a table and a plot.
 *
 * A two-layer network learns the output of another one (the teacher) from inputs whose
 * directions differ a hundredfold in size, as those of real networks do. The algorithms come
 * from the library's own list, so a new one appears here by itself. Each gets the best of a few
 * learning rates.
 */
#include <math.h>
#include <mousse/mousse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 32, HIDDEN = 48, OUTPUTS = 16, BATCH = 64, STEPS = 300, WIDTH = 56 };

typedef struct network {
  float first[HIDDEN][INPUTS], second[OUTPUTS][HIDDEN];
} network;

/* A small generator of our own: the same numbers on every machine. */
static double uniform(unsigned long long *state)
{
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(*state >> 33) / 2147483648.0 * 2.0 - 1.0;
}

static void randomise(network *n, unsigned long long seed)
{
  for (int i = 0; i < HIDDEN * INPUTS; i++)
    n->first[i / INPUTS][i % INPUTS] = (float)(uniform(&seed) * 0.3);
  for (int i = 0; i < OUTPUTS * HIDDEN; i++)
    n->second[i / HIDDEN][i % HIDDEN] = (float)(uniform(&seed) * 0.25);
}

static void forward(const network *n, const float *x, float *hidden, float *y)
{
  for (int i = 0; i < HIDDEN; i++) {
    double sum = 0;
    for (int j = 0; j < INPUTS; j++) sum += (double)n->first[i][j] * (double)x[j];
    hidden[i] = (float)tanh(sum);
  }
  for (int i = 0; i < OUTPUTS; i++) {
    double sum = 0;
    for (int j = 0; j < HIDDEN; j++) sum += (double)n->second[i][j] * (double)hidden[j];
    y[i] = (float)sum;
  }
}

static void add_gradients(const network *n, const float *x, const float *hidden,
                          const float *error, network *gradient)
{
  for (int j = 0; j < HIDDEN; j++) {
    double back = 0;
    for (int i = 0; i < OUTPUTS; i++) {
      gradient->second[i][j] += error[i] * hidden[j];
      back += (double)(error[i] * n->second[i][j]);
    }
    back *= 1.0 - (double)(hidden[j] * hidden[j]);
    for (int k = 0; k < INPUTS; k++) gradient->first[j][k] += (float)back * x[k];
  }
}

/* Mean squared error against the teacher on one batch, and its gradients. */
static double loss_and_gradients(const network *n, const network *teacher,
                                 unsigned long long *state, network *gradient)
{
  double loss = 0;
  memset(gradient, 0, sizeof *gradient);
  for (int b = 0; b < BATCH; b++) {
    float x[INPUTS], hidden[HIDDEN], y[OUTPUTS], wanted[OUTPUTS], error[OUTPUTS];
    for (int j = 0; j < INPUTS; j++)
      x[j] = (float)(uniform(state) * 2.0 * pow(10.0, -2.0 * j / INPUTS));
    forward(teacher, x, hidden, wanted);
    forward(n, x, hidden, y);
    for (int i = 0; i < OUTPUTS; i++) {
      const double e = (double)(y[i] - wanted[i]);
      loss += e * e / (BATCH * OUTPUTS);
      error[i] = (float)(2.0 * e / (BATCH * OUTPUTS));
    }
    add_gradients(n, x, hidden, error, gradient);
  }
  return loss;
}

/* Trains from the same start; losses[] gets one value per step. False: the library refused. */
static int train(const char *algorithm, double lr, double losses[STEPS])
{
  static network student, teacher, gradient;
  unsigned long long data = 7;
  mousse_optimizer *opt = NULL;
  int group = 0;
  randomise(&teacher, 1);
  randomise(&student, 2);
  mousse_status s = mousse_create(NULL, &opt);
  if (!s) s = mousse_add_group(opt, algorithm, &group);
  if (!s)
    s = mousse_add_param(opt, group, "first", HIDDEN, INPUTS, &student.first[0][0],
                         &gradient.first[0][0]);
  if (!s)
    s = mousse_add_param(opt, group, "second", OUTPUTS, HIDDEN, &student.second[0][0],
                         &gradient.second[0][0]);
  if (!s) s = mousse_set(opt, group, "weight_decay", 0.0);
  if (!s) s = mousse_prepare(opt);
  for (int i = 0; !s && i < STEPS; i++) {
    losses[i] = loss_and_gradients(&student, &teacher, &data, &gradient);
    s = mousse_set(opt, group, "lr", lr * (STEPS - i) / STEPS);
    if (!s) s = mousse_step(opt);
  }
  if (s == MOUSSE_NOT_FINITE) { /* this learning rate was too large */
    losses[STEPS - 1] = INFINITY;
    s = MOUSSE_OK;
  }
  if (s) fprintf(stderr, "%s: %s\n", algorithm, mousse_error(opt));
  mousse_destroy(opt);
  return s == MOUSSE_OK;
}

static double final_loss(const double losses[STEPS])
{
  double sum = 0;
  for (int i = STEPS - 20; i < STEPS; i++) sum += losses[i] / 20;
  return sum;
}

/* The best of nine learning rates, three per decade and a half. */
static int tune(const char *algorithm, double best[STEPS], double *best_lr)
{
  double losses[STEPS];
  int found = 0;
  for (int i = 0; i < 9; i++) {
    const double lr = pow(10.0, -3.0 + 0.5 * i);
    if (!train(algorithm, lr, losses)) return 0;
    if (!isfinite(final_loss(losses)) || (found && final_loss(losses) >= final_loss(best)))
      continue;
    memcpy(best, losses, STEPS * sizeof *best);
    *best_lr = lr;
    found = 1;
  }
  return found;
}

/* log10 of the loss over the steps, one character per algorithm. */
static void plot(double curves[][STEPS], const char *const *names, int count)
{
  enum { HEIGHT = 16 };
  char canvas[HEIGHT][WIDTH + 1];
  double top = -10, bottom = 10;
  for (int c = 0; c < count; c++)
    for (int i = 0; i < STEPS; i++) {
      top = fmax(top, log10(curves[c][i]));
      bottom = fmin(bottom, log10(curves[c][i]));
    }
  for (int row = 0; row < HEIGHT; row++) {
    memset(canvas[row], ' ', WIDTH);
    canvas[row][WIDTH] = '\0';
  }
  for (int c = 0; c < count; c++)
    for (int x = 0; x < WIDTH; x++) {
      const double level = log10(curves[c][x * (STEPS - 1) / (WIDTH - 1)]);
      const int row = (int)((top - level) / (top - bottom) * (HEIGHT - 1) + 0.5);
      canvas[row][x] = (char)('A' + c);
    }
  printf("\nloss (log scale, from %.1e down to %.1e) over %d steps\n", pow(10, top),
         pow(10, bottom), STEPS);
  for (int row = 0; row < HEIGHT; row++) printf("  |%s\n", canvas[row]);
  printf("  +");
  for (int x = 0; x < WIDTH; x++) putchar('-');
  putchar('\n');
  for (int c = 0; c < count; c++) printf("  %c %s", 'A' + c, names[c]);
  putchar('\n');
}

int main(void)
{
  enum { MOST = 26 };
  static double curves[MOST][STEPS];
  const char *names[MOST];
  int count = 0;
  printf("%-10s %8s %12s   %s\n", "optimizer", "best lr", "final loss", "what it does");
  for (size_t i = 0; mousse_algorithm_name(i) != NULL && count < MOST; i++) {
    double lr = 0;
    if (mousse_algorithm_input(mousse_algorithm_name(i), 0) != NULL) continue; /* needs more */
    names[count] = mousse_algorithm_name(i);
    if (!tune(names[count], curves[count], &lr)) return EXIT_FAILURE;
    printf("%-10s %8.3g %12.3e   %s\n", names[count], lr, final_loss(curves[count]),
           mousse_algorithm_help(names[count]));
    count++;
  }
  plot(curves, names, count);
  return EXIT_SUCCESS;
}
