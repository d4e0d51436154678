/* tutorial.c - the program of docs/tutorial-library.md: a small network trained with a schedule,
 * watched, saved, loaded, and trained by two ranks.
 *
 *     cc tutorial.c $(pkg-config --cflags --libs mousse) -lm -lpthread && ./a.out
 */
#include <math.h>
#include <mousse/mousse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN = 16, HIDDEN = 32, OUT = 8, BATCH = 64, STEPS = 200, RANKS = 2 };

/* A network with one hidden layer, y = W2 tanh(W1 x + b), and its gradients. */
typedef struct network {
  float w1[HIDDEN][IN], w2[OUT][HIDDEN], b[HIDDEN];
  float dw1[HIDDEN][IN], dw2[OUT][HIDDEN], db[HIDDEN];
} network;

/* Numbers in [-0.5, 0.5) that depend on nothing but their index. */
static float noise(unsigned index)
{
  index = (index ^ 61u ^ (index >> 16)) * 9u;
  index = (index ^ (index >> 4)) * 0x27d4eb2du;
  return (float)((index ^ (index >> 15)) & 0xffffu) / 65536.0f - 0.5f;
}

static void start(network *n)
{
  float *w1 = &n->w1[0][0], *w2 = &n->w2[0][0];
  memset(n, 0, sizeof *n);
  for (int i = 0; i < HIDDEN * IN; i++) w1[i] = 0.5f * noise((unsigned)i + 1000u);
  for (int i = 0; i < OUT * HIDDEN; i++) w2[i] = 0.3f * noise((unsigned)i + 9000u);
}

/* One example: adds its share of the gradients, returns its share of the loss. */
static float learn(network *n, unsigned example)
{
  float x[IN], h[HIDDEN], dh[HIDDEN] = {0}, loss = 0;
  for (int j = 0; j < IN; j++) x[j] = noise(example * 64u + (unsigned)j);
  for (int i = 0; i < HIDDEN; i++) {
    float sum = n->b[i];
    for (int j = 0; j < IN; j++) sum += n->w1[i][j] * x[j];
    h[i] = tanhf(sum);
  }
  for (int o = 0; o < OUT; o++) {
    float error = -x[o] * x[o + 1]; /* what it is to learn: products of neighbours */
    for (int i = 0; i < HIDDEN; i++) error += n->w2[o][i] * h[i];
    loss += error * error / (OUT * BATCH);
    for (int i = 0; i < HIDDEN; i++) {
      n->dw2[o][i] += 2 * error * h[i] / (OUT * BATCH);
      dh[i] += 2 * error * n->w2[o][i] / (OUT * BATCH);
    }
  }
  for (int i = 0; i < HIDDEN; i++) {
    const float d = dh[i] * (1 - h[i] * h[i]);
    n->db[i] += d;
    for (int j = 0; j < IN; j++) n->dw1[i][j] += d * x[j];
  }
  return loss;
}

/* Loss and gradients of the examples first, first + apart, ... of a step's batch. */
static float loss_and_gradients(network *n, int step, int first, int apart)
{
  float loss = 0;
  memset(n->dw1, 0, sizeof n->dw1);
  memset(n->dw2, 0, sizeof n->dw2);
  memset(n->db, 0, sizeof n->db);
  for (int i = first; i < BATCH; i += apart) loss += learn(n, (unsigned)(step * BATCH + i));
  return loss;
}

/* 1. Groups: matrices under one algorithm, vectors under another. */
static mousse_status build(const mousse_env *env, network *n, mousse_optimizer **opt)
{
  int matrices = 0, vectors = 0;
  mousse_status s = mousse_create(env, opt);
  if (!s) s = mousse_add_group(*opt, "mousse", &matrices);
  if (!s) s = mousse_add_group(*opt, "adamw", &vectors);
  if (!s) s = mousse_add_param(*opt, matrices, "w1", HIDDEN, IN, &n->w1[0][0], &n->dw1[0][0]);
  if (!s) s = mousse_add_param(*opt, matrices, "w2", OUT, HIDDEN, &n->w2[0][0], &n->dw2[0][0]);
  if (!s) s = mousse_add_param(*opt, vectors, "b", 1, HIDDEN, n->b, n->db);
  if (!s) s = mousse_set(*opt, matrices, "lr", 0.05);
  if (!s) s = mousse_set_text(*opt, matrices, "nesterov", "on");
  if (!s) s = mousse_set(*opt, vectors, "lr", 0.003);
  if (!s) s = mousse_prepare(*opt);
  return s;
}

/* 2. A schedule: one factor for the learning rates of all groups. */
static mousse_status take_step(mousse_optimizer *opt, network *n, int step)
{
  const double factor = 0.5 + 0.5 * cos(3.14159265358979 * step / STEPS);
  const float loss = loss_and_gradients(n, step, 0, 1);
  if (step % 50 == 0) printf("step %3d  loss %.5f\n", step, (double)loss);
  mousse_status s = mousse_set(opt, MOUSSE_OBJECT, "lr_factor", factor);
  if (!s) s = mousse_step(opt);
  return s;
}

/* 3. Watching: the size of every matrix's update. */
static void watch(void *user, const char *param, const char *quantity, double value)
{
  (void)user;
  if (strcmp(quantity, "update_rms") == 0) printf("  %-3s update_rms %.4f\n", param, value);
}

/* 4. Saving and loading: the callbacks are yours; here they write and read a file. */
static int write_file(void *user, const void *data, size_t bytes)
{
  return fwrite(data, 1, bytes, user) == bytes ? 0 : -1;
}

static int read_file(void *user, void *data, size_t bytes)
{
  return fread(data, 1, bytes, user) == bytes ? 0 : -1;
}

static mousse_status save(mousse_optimizer *opt, network *n, FILE *file)
{
  rewind(file);
  if (fwrite(n, sizeof *n, 1, file) != 1) return MOUSSE_IO; /* the weights are yours to save */
  return mousse_save(opt, write_file, file);
}

static mousse_status load(mousse_optimizer *opt, network *n, FILE *file)
{
  rewind(file);
  if (fread(n, sizeof *n, 1, file) != 1) return MOUSSE_IO;
  return mousse_load(opt, read_file, file);
}

/* Half of the steps, a save, the other half; then the other half again from what was saved. */
static mousse_status train_and_resume(network *n, network *again, FILE *file)
{
  mousse_optimizer *opt = NULL, *resumed = NULL;
  start(n);
  mousse_status s = build(NULL, n, &opt);
  for (int i = 0; !s && i < STEPS; i++) {
    if (i == STEPS / 2) s = save(opt, n, file);
    if (!s) s = mousse_observe(opt, i == STEPS - 1 ? watch : NULL, NULL);
    if (!s) s = take_step(opt, n, i);
  }
  if (!s) s = build(NULL, again, &resumed);
  if (!s) s = load(resumed, again, file);
  for (int i = STEPS / 2; !s && i < STEPS; i++) s = take_step(resumed, again, i);
  if (s) fprintf(stderr, "%s\n", mousse_error(resumed ? resumed : opt));
  mousse_destroy(opt);
  mousse_destroy(resumed);
  return s;
}

/* 5. Several ranks: how they talk is yours to say. Here two threads share memory; with MPI,
 * mousse_mpi_open does the same for processes. */
static pthread_barrier_t meeting;
static float *shared[RANKS];

static int sum(void *context, float *data, size_t count)
{
  const int rank = *(int *)context;
  float *total = malloc(count * sizeof *total);
  if (total == NULL) return -1;
  shared[rank] = data;
  pthread_barrier_wait(&meeting);
  for (size_t i = 0; i < count; i++) total[i] = shared[0][i] + shared[1][i];
  pthread_barrier_wait(&meeting); /* all have read before anybody writes */
  memcpy(data, total, count * sizeof *data);
  free(total);
  return 0;
}

static int broadcast(void *context, float *data, size_t count, int root)
{
  const int rank = *(int *)context;
  shared[rank] = data;
  pthread_barrier_wait(&meeting);
  if (rank != root) memcpy(data, shared[root], count * sizeof *data);
  pthread_barrier_wait(&meeting);
  return 0;
}

typedef struct member {
  int rank;
  network net;
  float loss;
  mousse_status status;
} member;

static void *train_as_rank(void *argument)
{
  member *m = argument;
  mousse_comm comm = {m->rank, RANKS, sum, broadcast, &m->rank};
  mousse_env env = MOUSSE_ENV_INIT;
  mousse_optimizer *opt = NULL;
  env.comm = &comm;
  env.threads = 1;
  start(&m->net); /* the same weights on every rank */
  mousse_status s = build(&env, &m->net, &opt);
  for (int i = 0; !s && i < STEPS; i++) {
    m->loss = loss_and_gradients(&m->net, i, m->rank, RANKS); /* a share of the batch */
    sum(&m->rank, &m->net.dw1[0][0], HIDDEN * IN); /* gradients are summed before the step */
    sum(&m->rank, &m->net.dw2[0][0], OUT * HIDDEN);
    sum(&m->rank, m->net.db, HIDDEN);
    s = mousse_step(opt); /* each rank updates its share; all get all weights */
  }
  if (s) fprintf(stderr, "rank %d: %s\n", m->rank, mousse_error(opt));
  m->status = s;
  mousse_destroy(opt);
  return NULL;
}

static int train_on_ranks(void)
{
  static member members[RANKS];
  pthread_t threads[RANKS];
  pthread_barrier_init(&meeting, NULL, RANKS);
  for (int i = 0; i < RANKS; i++) {
    members[i].rank = i;
    if (pthread_create(&threads[i], NULL, train_as_rank, &members[i]) != 0) return 0;
  }
  for (int i = 0; i < RANKS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&meeting);
  return members[0].status == MOUSSE_OK && members[1].status == MOUSSE_OK &&
         memcmp(members[0].net.w1, members[1].net.w1, sizeof members[0].net.w1) == 0;
}

int main(void)
{
  static network n, again;
  FILE *file = tmpfile();
  if (file == NULL || train_and_resume(&n, &again, file) != MOUSSE_OK) return EXIT_FAILURE;
  fclose(file);
  printf("resumed: %s\n", memcmp(&n, &again, sizeof n) == 0 ? "the same bits" : "other bits");
  printf("two ranks: %s\n", train_on_ranks() ? "the same weights on both" : "they differ");
  return EXIT_SUCCESS;
}
