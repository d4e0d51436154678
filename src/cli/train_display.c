/* train_display.c - the progress of a training run. */
#include "cli/train_display.h"

#include "base/wording.h"
#include "cli/terminal.h"
#include "cli/watch_child.h"
#include "train/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

cli_train_display train_display_start(bool quiet, bool json)
{
  return (cli_train_display){
      .quiet = quiet, .json = json, .line = progress_line_start(quiet || json)};
}

static void on_notice(void *user, const char *text)
{
  cli_train_display *d = user;
  if (d->quiet) return;
  progress_line_clear(&d->line);
  terminal_note(text);
}

/* What will run, in lines that fit. */
static void show_start(const cli_train_display *d, const train_start *s)
{
  char text[MO_SETTING_PATH + 256], optimizers[128];
  const gpt_config *c = &s->config;
  snprintf(text, sizeof text, "%s%s", s->directory, s->step > 0 ? " (continued)" : "");
  terminal_label(stderr, "run", text);
  snprintf(text, sizeof text, "%.2f M parameters: width %zu, %s, %s, context %s, vocabulary %s",
           (double)s->parameters / 1e6, c->n_embd, MO_COUNT(c->n_layer, "layer"),
           MO_COUNT(c->n_head, "head"), MO_NUMBER(c->sequence_len), MO_NUMBER(c->vocab_size));
  terminal_label(stderr, "model", text);
  groups_describe(s->run, optimizers, sizeof optimizers);
  snprintf(text, sizeof text, "%s; %s%s", optimizers, MO_BYTES(s->optimizer_bytes),
           s->ranks > 1 ? " on the rank that holds most" : "");
  terminal_label(stderr, "optimizer", text);
  snprintf(text, sizeof text, "%s: %s; %s per step, %.2f epochs in all", s->run->data_dir,
           MO_COUNT(s->windows, "sequence"), MO_COUNT(s->tokens_per_step, "token"),
           (double)d->steps * (double)s->run->batch_size / (double)s->windows);
  terminal_label(stderr, "data", text);
  snprintf(text, sizeof text, "%s of %s, %.0f GFLOP/s in matrix products",
           MO_COUNT(s->ranks, "rank"), MO_COUNT(s->threads, "thread"), d->speed / 1e9);
  terminal_label(stderr, "machine", text);
}

static void start_watch(const train_start *s)
{
  char address[512];
  if (watch_child_start(s->directory, address, sizeof address))
    terminal_label(stderr, "watch", address);
  else
    terminal_note("the page on this run did not start; 'mousse watch' shows why");
}

static double on_start(void *user, const train_start *s)
{
  cli_train_display *d = user;
  const gpt_config *c = &s->config;
  d->steps = (uint64_t)s->run->num_iterations;
  d->per_step = s->tokens_per_step;
  d->flops = gpt_flops_per_token(c, c->sequence_len);
  if (d->watch) start_watch(s);
  if (d->quiet || d->json) return 0;
  d->speed = estimate_speed(s->threads) * s->ranks;
  show_start(d, s);
  if (s->step > 0)
    fprintf(stderr, "continues at step %s of %s\n", MO_NUMBER(s->step), MO_NUMBER(d->steps));
  return d->speed;
}

/* Loss and time first: they stay on a narrow terminal. */
static void show_step(cli_train_display *d, const step_report *r)
{
  char label[64], loss[32], left[WORDING_SIZE + 8], lr[32], rate_text[48], peak[32], grad[32];
  const double rate = (double)d->per_step / d->per_seconds;
  /* The machine may have been busy while its speed was measured. */
  if (d->speed > 0 && rate * d->flops > d->speed) d->speed = rate * d->flops;
  snprintf(label, sizeof label, "step %llu/%llu", (unsigned long long)r->step,
           (unsigned long long)d->steps);
  snprintf(loss, sizeof loss, "loss %.4f", r->loss);
  snprintf(left, sizeof left, "%s left",
           MO_DURATION((double)(d->steps - r->step) * d->per_seconds));
  snprintf(lr, sizeof lr, "lr %.3g", r->lr);
  snprintf(rate_text, sizeof rate_text, "%.1fk tokens/s", rate / 1e3);
  snprintf(grad, sizeof grad, "grad %.3g", r->grad_norm);
  snprintf(peak, sizeof peak, "%.0f%% of peak", 100 * rate * d->flops / d->speed);
  const char *const fields[] = {loss, left, lr, rate_text, grad, peak};
  progress_line_show(&d->line, label, (double)r->step / (double)d->steps, fields,
                     d->speed > 0 ? 6 : 5);
}

static void print_line(char *line)
{
  if (line != NULL) fputs(line, stdout);
  fflush(stdout);
  free(line);
}

static void on_step(void *user, const step_report *r)
{
  cli_train_display *d = user;
  /* The first step is slower than the rest; afterwards an average over about 20. */
  d->seen++;
  d->per_seconds = d->seen <= 2 ? r->seconds : 0.95 * d->per_seconds + 0.05 * r->seconds;
  if (d->json) print_line(metrics_step_line(r));
  if (progress_line_due(&d->line) || r->step == d->steps) show_step(d, r);
}

static void on_validation(void *user, const validation_report *r)
{
  cli_train_display *d = user;
  if (d->json) print_line(metrics_validation_line(r));
  if (d->quiet || d->json) return;
  progress_line_clear(&d->line);
  fprintf(stderr, "step %llu/%llu validation loss %.4f", (unsigned long long)r->step,
          (unsigned long long)d->steps, r->loss);
  if (isfinite(r->bits_per_byte)) fprintf(stderr, ", %.4f bits per byte", r->bits_per_byte);
  fputc('\n', stderr);
}

static void on_sample(void *user, uint64_t step, const char *text, size_t length)
{
  cli_train_display *d = user;
  if (d->quiet || d->json) return;
  progress_line_clear(&d->line);
  fprintf(stderr, "step %llu sample: ", (unsigned long long)step);
  terminal_print(stderr, text, length);
  fputc('\n', stderr);
}

train_display train_display_functions(cli_train_display *d)
{
  return (train_display){.notices = {on_notice, d},
                         .started = on_start,
                         .step = on_step,
                         .validated = on_validation,
                         .sampled = on_sample,
                         .user = d};
}

void train_display_end(cli_train_display *d)
{
  progress_line_end(&d->line);
}
