/* progress.c - a line that shows how far a job is. */
#include "cli/progress.h"

#include "base/clock.h"
#include "base/wording.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>

enum { SHORTEST_BAR = 8, LONGEST_BAR = 40 };
static const double terminal_pause = 0.1, plain_pause = 10.0; /* seconds between updates */

progress_line progress_line_start(bool quiet)
{
  const bool terminal = terminal_is(stderr);
  const double now = mo_seconds();
  return (progress_line){.terminal = terminal,
                         .quiet = quiet,
                         .due = now + (terminal ? terminal_pause : plain_pause)};
}

bool progress_line_due(const progress_line *line)
{
  return !line->quiet && mo_seconds() >= line->due;
}

static void print_bar(double fraction, size_t cells)
{
  const bool unicode = terminal_unicode();
  const size_t full = (size_t)(fraction * (double)cells);
  fprintf(stderr, " %s%s", unicode ? "" : "[", terminal_code(stderr, STYLE_GREEN));
  for (size_t i = 0; i < full; i++) fputs(unicode ? "━" : "#", stderr);
  fputs(terminal_code(stderr, STYLE_NONE), stderr);
  fputs(terminal_code(stderr, STYLE_DIM), stderr);
  for (size_t i = full; i < cells; i++) fputs(unicode ? "─" : ".", stderr);
  fprintf(stderr, "%s%s", terminal_code(stderr, STYLE_NONE), unicode ? "" : "]");
}

/* As much of the text as fits; an ellipsis stands for the rest. Returns the columns taken. */
static size_t print_cut(const char *text, size_t most)
{
  size_t columns = 0;
  const bool fits = mo_columns(text) <= most;
  for (; *text != '\0'; text += mo_character_bytes(text)) {
    const size_t wide = mo_character_columns(text);
    if (columns + wide > most - (fits ? 0 : 1)) break;
    fwrite(mo_is_control(text) ? "?" : text, 1,
           mo_is_control(text) ? 1 : mo_character_bytes(text), stderr);
    columns += wide;
  }
  if (!fits && most > 0) fputc('~', stderr);
  return columns + (!fits && most > 0);
}

/* The last column stays free: a terminal may wrap when it is written. */
static void draw(const char *label, double fraction, const char *const *fields, size_t count)
{
  const size_t columns = terminal_columns(stderr);
  const size_t room = columns > 1 ? columns - 1 : 1;
  const size_t percent = fraction >= 0 && room > 24 ? 5 : 0; /* " 100%" */
  const size_t bar = percent > 0 && room > 50 ? SHORTEST_BAR + 3 : 0;
  fputs("\r\033[K", stderr);
  size_t used = print_cut(label, room > 40 ? room / 2 : room - percent) + percent;
  size_t shown = 0, next = 0;
  while (shown < count && used + bar + (next = 2 + mo_columns(fields[shown])) <= room) {
    used += next;
    shown++;
  }
  if (bar > 0 && room - used >= bar) {
    const size_t cells = room - used - 3;
    print_bar(fraction, cells < LONGEST_BAR ? cells : LONGEST_BAR);
  }
  if (percent > 0) fprintf(stderr, " %3.0f%%", 100 * fraction);
  for (size_t i = 0; i < shown; i++) fprintf(stderr, "  %s", fields[i]);
}

static void print_plain(const char *label, double fraction, const char *const *fields,
                        size_t count)
{
  fputs(label, stderr);
  if (fraction >= 0) fprintf(stderr, " %3.0f%%", 100 * fraction);
  for (size_t i = 0; i < count; i++) fprintf(stderr, "  %s", fields[i]);
  fputc('\n', stderr);
}

void progress_line_show(progress_line *line, const char *label, double fraction,
                        const char *const *fields, size_t field_count)
{
  if (line->quiet) return;
  if (fraction > 1) fraction = 1;
  if (line->terminal)
    draw(label, fraction, fields, field_count);
  else
    print_plain(label, fraction, fields, field_count);
  fflush(stderr);
  line->open = line->terminal;
  line->due = mo_seconds() + (line->terminal ? terminal_pause : plain_pause);
}

void progress_line_clear(progress_line *line)
{
  if (line->open) fputs("\r\033[K", stderr);
  line->open = false;
}

void progress_line_end(progress_line *line)
{
  if (line->open) fputc('\n', stderr);
  line->open = false;
}

cli_progress progress_start(const char *label, const char *unit, double unit_size, double total,
                            bool quiet)
{
  return (cli_progress){.label = label,
                        .unit = unit,
                        .unit_size = unit_size,
                        .total = total,
                        .started = mo_seconds(),
                        .line = progress_line_start(quiet)};
}

/* "12 windows", "3.4 MB": what is counted one by one is whole. */
static void amount_text(const cli_progress *p, double amount, char text[WORDING_SIZE])
{
  if (p->unit_size == 1)
    mo_count_text(text, (uint64_t)amount, p->unit);
  else
    snprintf(text, WORDING_SIZE, "%.1f %s", amount / p->unit_size, p->unit);
}

static double rate_of(const cli_progress *p, double done)
{
  const double elapsed = mo_seconds() - p->started;
  return elapsed > 0 ? (done - p->base) / elapsed : 0;
}

void progress_update(cli_progress *p, double done)
{
  char amount[WORDING_SIZE], speed[2 * WORDING_SIZE], left[WORDING_SIZE + 8];
  if (!progress_line_due(&p->line)) return;
  const double rate = rate_of(p, done);
  const bool timed = p->total > 0 && rate > 0;
  amount_text(p, done, amount);
  snprintf(speed, sizeof speed, "%.3g %s/s", rate / p->unit_size, p->unit);
  snprintf(left, sizeof left, "%s left",
           timed ? MO_DURATION((p->total > done ? p->total - done : 0) / rate) : "?");
  const char *const fields[] = {timed ? left : amount, timed ? amount : speed, speed};
  progress_line_show(&p->line, p->label, p->total > 0 ? done / p->total : -1, fields,
                     timed ? 3 : 2);
}

mousse_status progress_check(cli_progress *p, mousse_status status)
{
  if (status != MOUSSE_OK) progress_line_end(&p->line);
  return status;
}

void progress_end(cli_progress *p, double done)
{
  char amount[WORDING_SIZE];
  if (p->line.quiet) return;
  amount_text(p, done, amount);
  progress_line_clear(&p->line);
  fprintf(stderr, "%s: %s in %s, %.3g %s/s\n", p->label, amount,
          MO_DURATION(mo_seconds() - p->started), rate_of(p, done) / p->unit_size, p->unit);
}
