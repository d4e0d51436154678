/* train_display.c - the progress of a training run. */
#include "cli/train_display.h"

#include "base/clock.h"
#include "train/estimate.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR_CELLS = 20 };
static const double terminal_pause = 0.1, plain_pause = 10.0; /* seconds between updates */

void train_display_duration(double seconds, char text[32])
{
  const long s = seconds < 1e9 ? (long)(seconds + 0.5) : 0;
  if (s < 3600)
    snprintf(text, 32, "%ld:%02ld", s / 60, s % 60);
  else
    snprintf(text, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

cli_train_display train_display_start(bool quiet, bool json)
{
  return (cli_train_display){
      .quiet = quiet, .json = json, .terminal = !json && isatty(STDERR_FILENO) == 1};
}

/* Other output starts on a line of its own. */
static void clear_line(cli_train_display *d)
{
  if (d->line_open) fprintf(stderr, "\r\033[K");
  d->line_open = false;
}

static void on_notice(void *user, const char *text)
{
  cli_train_display *d = user;
  if (d->quiet) return;
  clear_line(d);
  fprintf(stderr, "mousse: note: %s\n", text);
}

static void on_start(void *user, const train_start *s)
{
  cli_train_display *d = user;
  const gpt_config *c = &s->config;
  d->steps = (uint64_t)s->run->num_iterations;
  d->per_step = s->tokens_per_step;
  d->flops = gpt_flops_per_token(c, c->sequence_len);
  if (d->quiet || d->json) return;
  d->speed = estimate_speed(s->threads);
  fprintf(stderr,
          "run        %s%s\n"
          "model      %.2f M parameters: width %zu, %zu layers, %zu heads, context %zu, "
          "vocabulary %zu\n"
          "optimizer  %s, %s for embedding and head; %.1f MB\n"
          "data       %s: %llu sequences; %llu tokens per step, %.2f epochs in all\n"
          "machine    %d threads, %.0f GFLOP/s in matrix products\n",
          s->directory, s->step > 0 ? " (continued)" : "", (double)s->parameters / 1e6,
          c->n_embd, c->n_layer, c->n_head, c->sequence_len, c->vocab_size, s->run->optimizer,
          s->run->scalar_opt, (double)s->optimizer_bytes / 1e6, s->run->data_dir,
          (unsigned long long)s->windows, (unsigned long long)s->tokens_per_step,
          (double)d->steps * (double)s->run->batch_size / (double)s->windows, s->threads,
          d->speed / 1e9);
  if (s->step > 0)
    fprintf(stderr, "continues at step %llu of %llu\n", (unsigned long long)s->step,
            (unsigned long long)d->steps);
}

static void print_bar(double fraction)
{
  const int full = (int)(fraction * BAR_CELLS);
  fputs(" [", stderr);
  for (int i = 0; i < BAR_CELLS; i++) fputc(i < full ? '#' : '.', stderr);
  fputc(']', stderr);
}

static void show_step(cli_train_display *d, const step_report *r)
{
  char left[32];
  const double rate = (double)d->per_step / d->per_seconds;
  train_display_duration((double)(d->steps - r->step) * d->per_seconds, left);
  if (d->terminal) fprintf(stderr, "\r\033[K");
  fprintf(stderr, "step %llu/%llu", (unsigned long long)r->step, (unsigned long long)d->steps);
  if (d->terminal) print_bar((double)r->step / (double)d->steps);
  fprintf(stderr, " loss %.4f lr %.3g grad %.3g %.1fk tok/s", r->loss, r->lr, r->grad_norm,
          rate / 1e3);
  if (d->speed > 0) fprintf(stderr, " (%.0f%%)", 100 * rate * d->flops / d->speed);
  fprintf(stderr, " %s left%s", left, d->terminal ? "" : "\n");
  d->line_open = d->terminal;
  fflush(stderr);
}

static void on_step(void *user, const step_report *r)
{
  cli_train_display *d = user;
  const double now = mo_seconds();
  /* The first step is slower than the rest; afterwards an average over about 20. */
  d->seen++;
  d->per_seconds = d->seen <= 2 ? r->seconds : 0.95 * d->per_seconds + 0.05 * r->seconds;
  if (d->json) {
    char line[METRICS_LINE];
    metrics_format_step(r, line);
    fputs(line, stdout);
    fflush(stdout);
  }
  if (d->quiet || d->json || (now < d->due && r->step < d->steps)) return;
  show_step(d, r);
  d->due = now + (d->terminal ? terminal_pause : plain_pause);
}

static void on_validation(void *user, uint64_t step, double loss)
{
  cli_train_display *d = user;
  if (d->json) printf("{\"step\": %llu, \"val_loss\": %.9g}\n", (unsigned long long)step, loss);
  if (d->quiet || d->json) return;
  clear_line(d);
  fprintf(stderr, "step %llu/%llu validation loss %.4f\n", (unsigned long long)step,
          (unsigned long long)d->steps, loss);
}

static void on_sample(void *user, uint64_t step, const char *text, size_t length)
{
  cli_train_display *d = user;
  if (d->quiet || d->json) return;
  clear_line(d);
  fprintf(stderr, "step %llu sample: ", (unsigned long long)step);
  fwrite(text, 1, length, stderr);
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
  if (d->line_open) fputc('\n', stderr);
  d->line_open = false;
}
