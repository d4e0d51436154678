/* many_params.c - what a small parameter costs when there are few or many of them: registering,
 * giving a new gradient and a step, in microseconds of processor time for each parameter of 4 x 4.
 *
 *     build/dev/benchmarks/many_params [algorithm]
 */
#include <mousse/mousse.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ELEMENTS = 16, MOST = 8000 };

static float values[MOST * ELEMENTS], grads[MOST * ELEMENTS], others[MOST * ELEMENTS];
static char names[MOST][24];

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(mousse_status s, const mousse_optimizer *opt)
{
  if (s == MOUSSE_OK) return;
  fprintf(stderr, "many_params: %s\n", mousse_error(opt));
  exit(EXIT_FAILURE);
}

static void measure(const char *algorithm, int count)
{
  mousse_env env = MOUSSE_ENV_INIT;
  mousse_optimizer *opt = NULL;
  int group = 0;
  const int steps = 160000 / count;
  env.threads = 1;
  must(mousse_create(&env, &opt), opt);
  must(mousse_add_group(opt, algorithm, &group), opt);
  const double start = seconds();
  for (int i = 0; i < count; i++)
    must(mousse_add_param(opt, group, names[i], 4, 4, values + i * ELEMENTS,
                          grads + i * ELEMENTS),
         opt);
  const double added = seconds();
  must(mousse_prepare(opt), opt);
  const double prepared = seconds();
  for (int i = 0; i < count; i++)
    must(mousse_rebind(opt, names[i], values + i * ELEMENTS, others + i * ELEMENTS), opt);
  const double rebound = seconds();
  must(mousse_step(opt), opt);
  const double first = seconds();
  for (int i = 0; i < steps; i++) must(mousse_step(opt), opt);
  const double each = 1e6 / count;
  printf("%6d parameters: register %.2f us, rebind %.2f us, step %.2f us\n", count,
         each * (added - start), each * (rebound - prepared),
         each * (seconds() - first) / steps);
  mousse_destroy(opt);
}

int main(int argc, char **argv)
{
  const char *algorithm = argc > 1 ? argv[1] : "adamw";
  for (int i = 0; i < MOST; i++) snprintf(names[i], sizeof names[i], "layer.%d.w", i);
  for (int i = 0; i < MOST * ELEMENTS; i++) grads[i] = others[i] = (float)(i % 97) / 97 - 0.5f;
  measure(algorithm, 500); /* once to warm up */
  measure(algorithm, 500);
  measure(algorithm, MOST);
  return EXIT_SUCCESS;
}
