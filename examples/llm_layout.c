/* llm_layout.c - a small GPT whose weights lie as in llm.c's train_gpt2.c: one arena, one tensor for
 * all layers, (L, 3C, C) with queries, keys and values in one matrix. docs/into-your-trainer.md
 * explains the two functions that use libmousse, make_optimizer and update.
 *
 *     cc -O2 llm_layout.c $(pkg-config --cflags --libs mousse) -lm && ./a.out [algorithm]
 *
 * It learns the sentences below by heart, character by character, in a few seconds.
 */
#include <math.h>
#include <mousse/mousse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = 128, T = 32, C = 48, L = 2, H = 4, D = C / H, BATCH = 4, STEPS = 120 };

static const char text[] =
    "It was a bright cold day in April, and the clocks were striking thirteen. Call me "
    "Ishmael. "
    "All happy families are alike; each unhappy family is unhappy in its own way. Many years "
    "later, as he faced the firing squad, he was to remember that distant afternoon.";

/* The weights, and their gradients in a second arena of the same layout. */
typedef struct tensors {
  float *wte, *wpe, *ln1w, *ln1b, *qkvw, *qkvb, *attprojw, *attprojb, *ln2w, *ln2b, *fcw, *fcb,
      *fcprojw, *fcprojb, *lnfw, *lnfb;
} tensors;

/* count matrices of rows x cols; blocks: stacked matrices in each. */
static const struct {
  const char *name;
  int is_matrix;
  size_t count, rows, cols, blocks;
} layout[] = {
    {"wte", 0, 1, V, C, 1},         {"wpe", 0, 1, T, C, 1},      {"ln1w", 0, L, 1, C, 1},
    {"ln1b", 0, L, 1, C, 1},        {"qkvw", 1, L, 3 * C, C, 3}, {"qkvb", 0, L, 1, 3 * C, 1},
    {"attprojw", 1, L, C, C, 1},    {"attprojb", 0, L, 1, C, 1}, {"ln2w", 0, L, 1, C, 1},
    {"ln2b", 0, L, 1, C, 1},        {"fcw", 1, L, 4 * C, C, 1},  {"fcb", 0, L, 1, 4 * C, 1},
    {"fcprojw", 1, L, C, 4 * C, 1}, {"fcprojb", 0, L, 1, C, 1},  {"lnfw", 0, 1, 1, C, 1},
    {"lnfb", 0, 1, 1, C, 1}};
enum { TENSORS = sizeof layout / sizeof *layout };

/* ------------------------------------------------------------------ what uses libmousse */

static mousse_optimizer *make_optimizer(const char *algorithm, tensors *w, tensors *g)
{
  float **values = (float **)w, **grads = (float **)g;
  mousse_optimizer *opt = NULL;
  int matrices = 0, others = 0;
  mousse_status s = mousse_create(NULL, &opt);
  if (!s) s = mousse_add_group(opt, algorithm, &matrices);
  if (!s) s = mousse_add_group(opt, "adamw", &others);
  for (int i = 0; !s && i < TENSORS; i++) {
    mousse_tensor t = {.struct_size = sizeof t, .name = layout[i].name, .value = values[i]};
    t.count = layout[i].count, t.rows = layout[i].rows, t.cols = layout[i].cols;
    t.row_blocks = layout[i].blocks, t.grad = grads[i];
    s = mousse_add_tensor(opt, layout[i].is_matrix ? matrices : others, &t);
  }
  if (!s) s = mousse_set(opt, others, "lr", 3e-3);
  if (!s) s = mousse_set(opt, MOUSSE_ALL_GROUPS, "weight_decay", 0);
  if (!s) s = mousse_set(opt, MOUSSE_OBJECT, "clip_norm", 1);
  if (!s) s = mousse_prepare(opt);
  if (!s) return opt;
  fprintf(stderr, "mousse: %s\n", mousse_error(opt));
  exit(EXIT_FAILURE);
}

static void update(mousse_optimizer *opt, double schedule)
{
  if (mousse_set(opt, MOUSSE_OBJECT, "lr_factor", schedule) || mousse_step(opt)) {
    fprintf(stderr, "mousse: %s\n", mousse_error(opt));
    exit(EXIT_FAILURE);
  }
}

/* ------------------------------------------------------------------ the model */

static float *make_arena(tensors *t)
{
  size_t all = 0;
  for (int i = 0; i < TENSORS; i++) all += layout[i].count * layout[i].rows * layout[i].cols;
  float *arena = calloc(all, sizeof *arena), *at = arena;
  if (arena == NULL) exit(EXIT_FAILURE);
  for (int i = 0; i < TENSORS; i++) {
    ((float **)t)[i] = at;
    at += layout[i].count * layout[i].rows * layout[i].cols;
  }
  return arena;
}

static float normal(void) /* nearly: a sum of twelve uniform numbers */
{
  float sum = -6;
  for (int i = 0; i < 12; i++) sum += (float)rand() / (float)RAND_MAX;
  return sum;
}

static void initialise(const tensors *w)
{
  for (int i = 0; i < TENSORS; i++)
    for (size_t e = 0; e < layout[i].count * layout[i].rows * layout[i].cols; e++)
      ((float *const *)w)[i][e] = layout[i].rows > 1 ? 0.05f * normal() : 0;
  for (int i = 0; i < L * C; i++) w->ln1w[i] = w->ln2w[i] = 1;
  for (int i = 0; i < C; i++) w->lnfw[i] = 1;
}

/* out = in w^T + b, for T rows; and its gradients. */
static void linear(float *out, const float *in, const float *w, const float *b, int n, int m)
{
  for (int t = 0; t < T; t++)
    for (int o = 0; o < m; o++) {
      float sum = b != NULL ? b[o] : 0;
      for (int i = 0; i < n; i++) sum += in[t * n + i] * w[o * n + i];
      out[t * m + o] = sum;
    }
}

static void linear_back(float *din, float *dw, float *db, const float *dout, const float *in,
                        const float *w, int n, int m)
{
  for (int t = 0; t < T; t++)
    for (int o = 0; o < m; o++) {
      const float d = dout[t * m + o];
      if (db != NULL) db[o] += d;
      for (int i = 0; i < n; i++) {
        din[t * n + i] += d * w[o * n + i];
        dw[o * n + i] += d * in[t * n + i];
      }
    }
}

static void norm(float *out, float *hat, float *scale, const float *in, const float *w,
                 const float *b)
{
  for (int t = 0; t < T; t++) {
    float mean = 0, variance = 0;
    for (int i = 0; i < C; i++) mean += in[t * C + i] / C;
    for (int i = 0; i < C; i++) variance += (in[t * C + i] - mean) * (in[t * C + i] - mean) / C;
    scale[t] = 1 / sqrtf(variance + 1e-5f);
    for (int i = 0; i < C; i++) {
      hat[t * C + i] = (in[t * C + i] - mean) * scale[t];
      out[t * C + i] = hat[t * C + i] * w[i] + b[i];
    }
  }
}

static void norm_back(float *din, float *dw, float *db, const float *dout, const float *hat,
                      const float *scale, const float *w)
{
  for (int t = 0; t < T; t++) {
    float mean = 0, along = 0;
    for (int i = 0; i < C; i++) {
      const float d = dout[t * C + i], h = hat[t * C + i];
      dw[i] += d * h;
      db[i] += d;
      mean += d * w[i] / C;
      along += d * w[i] * h / C;
    }
    for (int i = 0; i < C; i++)
      din[t * C + i] += scale[t] * (dout[t * C + i] * w[i] - mean - hat[t * C + i] * along);
  }
}

/* Causal attention of every head; qkv has q, k and v of a position one after the other. */
static void attend(float *out, float *weights, const float *qkv)
{
  for (int h = 0; h < H; h++)
    for (int t = 0; t < T; t++) {
      float *p = weights + (h * T + t) * T, sum = 0;
      const float *q = qkv + t * 3 * C + h * D;
      for (int s = 0; s <= t; s++) {
        float dot = 0;
        for (int i = 0; i < D; i++) dot += q[i] * qkv[s * 3 * C + C + h * D + i];
        sum += p[s] = expf(dot / sqrtf(D));
      }
      for (int i = 0; i < D; i++) out[t * C + h * D + i] = 0;
      for (int s = 0; s <= t; s++) {
        p[s] /= sum;
        for (int i = 0; i < D; i++)
          out[t * C + h * D + i] += p[s] * qkv[s * 3 * C + 2 * C + h * D + i];
      }
    }
}

static void attend_back(float *dqkv, const float *dout, const float *weights, const float *qkv)
{
  for (int h = 0; h < H; h++)
    for (int t = 0; t < T; t++) {
      const float *p = weights + (h * T + t) * T, *d = dout + t * C + h * D;
      float dp[T], mean = 0;
      for (int s = 0; s <= t; s++) {
        dp[s] = 0;
        for (int i = 0; i < D; i++) {
          dp[s] += d[i] * qkv[s * 3 * C + 2 * C + h * D + i];
          dqkv[s * 3 * C + 2 * C + h * D + i] += p[s] * d[i];
        }
        mean += p[s] * dp[s];
      }
      for (int s = 0; s <= t; s++) {
        const float dot = p[s] * (dp[s] - mean) / sqrtf(D);
        for (int i = 0; i < D; i++) {
          dqkv[t * 3 * C + h * D + i] += dot * qkv[s * 3 * C + C + h * D + i];
          dqkv[s * 3 * C + C + h * D + i] += dot * qkv[t * 3 * C + h * D + i];
        }
      }
    }
}

/* What the backward pass needs of the forward pass. */
typedef struct layer {
  float in[T * C], n1[T * C], hat1[T * C], scale1[T], qkv[T * 3 * C], p[H * T * T], y[T * C];
  float mid[T * C], n2[T * C], hat2[T * C], scale2[T], fc[T * 4 * C], act[T * 4 * C];
} layer;

static layer layers[L];
static float end[T * C], nf[T * C], hatf[T * C], scalef[T], logits[T * V];

static void forward(const tensors *w, const char *input)
{
  for (int i = 0; i < T * C; i++)
    layers[0].in[i] = w->wte[input[i / C] * C + i % C] + w->wpe[i];
  for (int l = 0; l < L; l++) {
    layer *a = &layers[l];
    float *out = l + 1 < L ? layers[l + 1].in : end, projected[T * C];
    norm(a->n1, a->hat1, a->scale1, a->in, w->ln1w + l * C, w->ln1b + l * C);
    linear(a->qkv, a->n1, w->qkvw + l * 3 * C * C, w->qkvb + l * 3 * C, C, 3 * C);
    attend(a->y, a->p, a->qkv);
    linear(projected, a->y, w->attprojw + l * C * C, w->attprojb + l * C, C, C);
    for (int i = 0; i < T * C; i++) a->mid[i] = a->in[i] + projected[i];
    norm(a->n2, a->hat2, a->scale2, a->mid, w->ln2w + l * C, w->ln2b + l * C);
    linear(a->fc, a->n2, w->fcw + l * 4 * C * C, w->fcb + l * 4 * C, C, 4 * C);
    for (int i = 0; i < T * 4 * C; i++) a->act[i] = a->fc[i] > 0 ? a->fc[i] * a->fc[i] : 0;
    linear(projected, a->act, w->fcprojw + l * 4 * C * C, w->fcprojb + l * C, 4 * C, C);
    for (int i = 0; i < T * C; i++) out[i] = a->mid[i] + projected[i];
  }
  norm(nf, hatf, scalef, end, w->lnfw, w->lnfb);
  linear(logits, nf, w->wte, NULL, C, V);
}

/* Mean cross-entropy; the logits become their gradient. */
static float loss_of(const char *target)
{
  float loss = 0;
  for (int t = 0; t < T; t++) {
    float *x = logits + t * V, largest = x[0], sum = 0;
    for (int v = 1; v < V; v++) largest = x[v] > largest ? x[v] : largest;
    for (int v = 0; v < V; v++) sum += x[v] = expf(x[v] - largest);
    loss -= logf(x[(int)target[t]] / sum) / T;
    for (int v = 0; v < V; v++) x[v] /= sum * T * BATCH;
    x[(int)target[t]] -= 1.0f / (T * BATCH);
  }
  return loss;
}

static void backward(const tensors *w, tensors *g, const char *input)
{
  static float dx[T * C], dn[T * C], dqkv[T * 3 * C], dact[T * 4 * C];
  memset(dn, 0, sizeof dn);
  memset(dx, 0, sizeof dx);
  linear_back(dn, g->wte, NULL, logits, nf, w->wte, C, V);
  norm_back(dx, g->lnfw, g->lnfb, dn, hatf, scalef, w->lnfw);
  for (int l = L - 1; l >= 0; l--) { /* dx: of what the layer gave; then of what it got */
    layer *a = &layers[l];
    memset(dact, 0, sizeof dact);
    linear_back(dact, g->fcprojw + l * 4 * C * C, g->fcprojb + l * C, dx, a->act,
                w->fcprojw + l * 4 * C * C, 4 * C, C);
    for (int i = 0; i < T * 4 * C; i++) dact[i] *= a->fc[i] > 0 ? 2 * a->fc[i] : 0;
    memset(dn, 0, sizeof dn);
    linear_back(dn, g->fcw + l * 4 * C * C, g->fcb + l * 4 * C, dact, a->n2,
                w->fcw + l * 4 * C * C, C, 4 * C);
    norm_back(dx, g->ln2w + l * C, g->ln2b + l * C, dn, a->hat2, a->scale2, w->ln2w + l * C);
    memset(dn, 0, sizeof dn);
    linear_back(dn, g->attprojw + l * C * C, g->attprojb + l * C, dx, a->y,
                w->attprojw + l * C * C, C, C);
    memset(dqkv, 0, sizeof dqkv);
    attend_back(dqkv, dn, a->p, a->qkv);
    memset(dn, 0, sizeof dn);
    linear_back(dn, g->qkvw + l * 3 * C * C, g->qkvb + l * 3 * C, dqkv, a->n1,
                w->qkvw + l * 3 * C * C, C, 3 * C);
    norm_back(dx, g->ln1w + l * C, g->ln1b + l * C, dn, a->hat1, a->scale1, w->ln1w + l * C);
  }
  for (int i = 0; i < T * C; i++) {
    g->wte[input[i / C] * C + i % C] += dx[i];
    g->wpe[i] += dx[i];
  }
}

int main(int argc, char **argv)
{
  tensors w, g;
  float *weights = make_arena(&w), *grads = make_arena(&g);
  const size_t grad_bytes = (size_t)(g.lnfb + C - grads) * sizeof *grads;
  initialise(&w);
  mousse_optimizer *opt = make_optimizer(argc > 1 ? argv[1] : "mousse", &w, &g);
  for (int step = 0; step <= STEPS; step++) {
    float loss = 0;
    memset(grads, 0, grad_bytes);
    for (int b = 0; b < BATCH; b++) {
      const char *input = text + rand() % (int)(sizeof text - T - 1);
      forward(&w, input);
      loss += loss_of(input + 1) / BATCH;
      backward(&w, &g, input);
    }
    if (step % 20 == 0) printf("step %3d  loss %.4f\n", step, (double)loss);
    update(opt, 1.0 - (double)step / (STEPS + 1));
  }
  mousse_destroy(opt);
  free(weights);
  free(grads);
  return EXIT_SUCCESS;
}
