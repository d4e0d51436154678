/* text_screen.c - a line for each run:
 *
 *     run                  state      at      left    loss    best tokens/s curve
 *     mousse-lr0.02-seed1  running   24%      3:05  3.2410  3.2401    74.5k ▇▅▄▃▂▂▁▁
 */
#include "watch/text_screen.h"

#include "base/wording.h"
#include "report/text_form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_NAME = 12, FIXED = 54, LONGEST_CURVE = 40, SHORTEST_CURVE = 8 };

/* How the width is shared between names and curves. */
typedef struct screen_plan {
  size_t name, curve;
} screen_plan;

/* As wide as it takes to show every name. */
static size_t columns_for(size_t longest)
{
  return FIXED + (longest > LEAST_NAME ? longest : LEAST_NAME) + 1 + LONGEST_CURVE;
}

static screen_plan plan_of(size_t columns, size_t longest)
{
  const size_t room = columns > FIXED + LEAST_NAME ? columns - FIXED : LEAST_NAME;
  screen_plan plan = {room, 0};
  if (room > LEAST_NAME + SHORTEST_CURVE + 1) {
    plan.name = room - SHORTEST_CURVE - 1 < longest ? room - SHORTEST_CURVE - 1 : longest;
    if (plan.name < LEAST_NAME) plan.name = LEAST_NAME;
    plan.curve = room - plan.name - 1 < LONGEST_CURVE ? room - plan.name - 1 : LONGEST_CURVE;
  }
  return plan;
}

/* With fewer digits where it would not fit, as the loss of a run that diverges. */
static void put_number(text_form *form, double value, const char *format, int width)
{
  char text[32] = "-";
  if (isfinite(value)) snprintf(text, sizeof text, format, value);
  for (int digits = 3; digits > 0 && strlen(text) > (size_t)width; digits--)
    snprintf(text, sizeof text, "%.*g", digits, value);
  form_print(form, " %*s", width, text);
}

/* 74.5k; what three digits would round to 1000 has the next unit. */
static void put_rate(text_form *form, double rate)
{
  static const char *const units[] = {"", "k", "M", "G"};
  char text[32] = "-";
  size_t unit = 0;
  for (; isfinite(rate) && rate >= 999.5 && unit < 3; unit++) rate /= 1e3;
  if (isfinite(rate)) snprintf(text, sizeof text, "%.3g%s", rate, units[unit]);
  form_print(form, " %8s", text);
}

/* "3:05", "1:02:03", "2d 3:04", "123d": no more than the nine columns there are. */
static void put_left(text_form *form, double left)
{
  char text[32] = "-";
  const double minutes = rint(left / 60), days = floor(minutes / 1440),
               rest = minutes - 1440 * days;
  if (left < 86399.5)
    snprintf(text, sizeof text, "%s", MO_DURATION(left));
  else if (days < 100)
    snprintf(text, sizeof text, "%.0fd %.0f:%02.0f", days, floor(rest / 60), fmod(rest, 60));
  else if (isfinite(left))
    snprintf(text, sizeof text, "%.0fd", days);
  form_print(form, " %9.9s", text);
}

/* The mean loss of a part of the buckets. */
static double part_mean(const watch_series *s, size_t part, size_t parts)
{
  double sum = 0, count = 0;
  for (size_t i = part * s->count / parts; i < (part + 1) * s->count / parts; i++) {
    const double mean = series_mean(series_at(s, i, STEP_LOSS));
    if (!isfinite(mean)) continue;
    sum += mean;
    count++;
  }
  return count > 0 ? sum / count : NAN;
}

static void put_curve(text_form *form, const watch_series *s, size_t width, bool unicode)
{
  static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double values[LONGEST_CURVE], low = INFINITY, high = -INFINITY;
  const size_t count = s->count < width ? s->count : width;
  for (size_t i = 0; i < count; i++) {
    values[i] = part_mean(s, i, count);
    if (isfinite(values[i])) low = fmin(low, values[i]), high = fmax(high, values[i]);
  }
  form_print(form, " ");
  for (size_t i = 0; i < count; i++) {
    const double share = high > low ? (values[i] - low) / (high - low) : 0;
    const int level = isfinite(share) ? (int)fmin(7, fmax(0, 8 * share)) : 0;
    if (!isfinite(values[i]))
      form_print(form, " ");
    else if (unicode)
      form_print(form, "%s", bars[level]);
    else
      form_print(form, "%d", level);
  }
}

/* Cut or filled to a width; of names that begin alike the end is seen. */
static void put_name(text_form *form, const char *name, size_t width)
{
  const size_t used = form_foreign_end(form, name, width / 2, width);
  form_repeat(form, " ", width - used);
}

static void put_run(text_form *form, const watch_model *m, const watched_run *run,
                    screen_plan plan, bool unicode)
{
  const run_course *c = &run->course;
  const double steps = run->has_options ? (double)run->record.options.num_iterations : NAN;
  put_name(form, watch_model_name(m, run), plan.name);
  form_print(form, " %-8.8s", watched_run_state(run));
  put_number(form, 100 * (double)c->step / steps, "%.0f%%", 4);
  put_left(form, watched_run_left(run));
  put_number(form, c->loss, "%.4f", 7);
  put_number(form, c->best, "%.4f", 7);
  put_rate(form, watched_run_rate(run));
  if (plan.curve > 0) put_curve(form, &run->steps, plan.curve, unicode);
  form_print(form, "\n");
}

static void put_head(text_form *form, const watch_model *m, screen_plan plan, size_t running)
{
  char counts[96];
  snprintf(counts, sizeof counts, "%s, %zu running", MO_COUNT(m->count, "run"), running);
  const size_t room = form->width > strlen(counts) + 1 ? form->width - strlen(counts) - 1 : 1;
  put_name(form, m->directory, room);
  form_print(form, " %s\n\n", counts);
  form_print(form, "%-*s %-8s %4s %9s %7s %7s %8s%s\n", (int)plan.name, "run", "state", "at",
             "left", "loss", "best", "tokens/s", plan.curve > 0 ? " curve" : "");
}

static size_t longest_name(const watch_model *m)
{
  size_t longest = 0;
  for (size_t i = 0; i < m->count; i++) {
    const size_t columns = mo_columns(watch_model_name(m, m->runs[i]));
    if (columns > longest) longest = columns;
  }
  return longest;
}

/* The runs that run, then the others, as many as there are rows for. */
static void put_runs(text_form *form, const watch_model *m, screen_plan plan,
                     const screen_size *size)
{
  const size_t most = size->rows > 5 ? size->rows - 5 : m->count;
  size_t put = 0;
  for (int running = 1; running >= 0; running--)
    for (size_t i = 0; i < m->count && put < most; i++)
      if (m->runs[i]->running == (running == 1)) {
        put_run(form, m, m->runs[i], plan, size->unicode);
        put++;
      }
  if (put < m->count) form_print(form, "and %zu more\n", m->count - put);
  if (m->count == 0) form_print(form, "no runs yet\n");
}

bool text_screen(watch_model *m, screen_size size, mo_buffer *text)
{
  size_t running = 0;
  watch_model_lock(m);
  const size_t longest = longest_name(m);
  text_form form = {.text = text,
                    .width = size.columns > 0 ? size.columns : columns_for(longest)};
  const screen_plan plan = plan_of(form.width, longest);
  for (size_t i = 0; i < m->count; i++) running += m->runs[i]->running;
  put_head(&form, m, plan, running);
  put_runs(&form, m, plan, &size);
  watch_model_unlock(m);
  return !form.no_memory;
}
