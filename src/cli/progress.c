/* progress.c - a progress bar on a terminal, plain lines elsewhere. */
#include "cli/progress.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_CELLS = 24 };
static const double terminal_pause = 0.1, plain_pause = 10.0; /* seconds between updates */

cli_progress progress_start(const char *label, const char *unit, double unit_size, double total,
                            bool quiet)
{
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const double now = mo_seconds();
  return (cli_progress){.label = label,
                        .unit = unit,
                        .unit_size = unit_size,
                        .total = total,
                        .started = now,
                        .due = now + (terminal ? terminal_pause : plain_pause),
                        .quiet = quiet,
                        .terminal = terminal};
}

static void print_duration(double seconds)
{
  const long s = (long)(seconds + 0.5);
  if (s < 3600)
    fprintf(stderr, "%ld:%02ld", s / 60, s % 60);
  else
    fprintf(stderr, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

static void print_bar(double fraction)
{
  char bar[BAR_CELLS + 1];
  const int full = (int)(fraction * BAR_CELLS);
  for (int i = 0; i < BAR_CELLS; i++) bar[i] = i < full ? '#' : '.';
  bar[BAR_CELLS] = '\0';
  fprintf(stderr, " [%s]", bar);
}

static void show(cli_progress *p, double done, double now, bool last)
{
  const double elapsed = now - p->started;
  const double rate = elapsed > 0 ? (done - p->base) / elapsed : 0;
  double fraction = p->total > 0 ? done / p->total : 0;
  if (fraction > 1) fraction = 1;

  fprintf(stderr, "%s%s", p->terminal ? "\r\033[K" : "", p->label);
  if (p->terminal && p->total > 0 && !last) print_bar(fraction);
  if (p->total > 0 && !last) fprintf(stderr, " %3.0f%%", 100 * fraction);
  fprintf(stderr, " %.1f %s, %.1f %s/s", done / p->unit_size, p->unit, rate / p->unit_size,
          p->unit);
  if (last) {
    fprintf(stderr, " in ");
    print_duration(elapsed);
  } else if (p->total > 0 && rate > 0) {
    fprintf(stderr, ", ");
    print_duration((p->total - done > 0 ? p->total - done : 0) / rate);
    fprintf(stderr, " left");
  }
  if (!p->terminal || last) fputc('\n', stderr);
  fflush(stderr);
}

void progress_update(cli_progress *p, double done)
{
  const double now = mo_seconds();
  if (p->quiet || now < p->due) return;
  show(p, done, now, false);
  p->due = now + (p->terminal ? terminal_pause : plain_pause);
}

void progress_end(cli_progress *p, double done)
{
  if (!p->quiet) show(p, done, mo_seconds(), true);
}
