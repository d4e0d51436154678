/* watched_course.c - metrics.jsonl and events.jsonl of a run, followed. */
#include "base/json_text.h"
#include "study/metrics_line.h"
#include "watch/watched_run.h"

#include <math.h>
#include <string.h>

/* Events stay in memory: with few values each, which for most of them is a handful. */
enum { MOST_EVENTS = 200, MOST_SAMPLES = 100, EVENT_BYTES = 1 << 22, MOST_EVENT_VALUES = 1000 };

run_course run_course_start(void)
{
  return (run_course){
      .step_seconds = NAN, .loss = NAN, .last = NAN, .best = NAN, .last_bits = NAN};
}

/* An average over about 20 steps; the first step is slower than the rest. */
static double blend(double before, double now, uint64_t seen)
{
  if (!isfinite(now)) return before;
  return seen <= 2 || !isfinite(before) ? now : 0.95 * before + 0.05 * now;
}

/* A run from an archive has only some of its steps: each stands for those before it, too. */
static void take_step(watched_run *run, const metrics_line *l)
{
  run_course *c = &run->course;
  const double taken = c->step < l->step ? (double)(l->step - c->step) : 1;
  const double tokens = c->tokens < l->tokens ? (double)(l->tokens - c->tokens) / taken : NAN;
  const double values[STEP_COLUMNS] = {
      [STEP_LOSS] = l->loss,
      [STEP_LR] = l->lr,
      [STEP_GRAD_NORM] = l->grad_norm,
      [STEP_SPEED] = l->seconds > 0 ? tokens / l->seconds : NAN,
      [STEP_MEMORY] = l->memory,
      [STEP_SKIPPED] = l->skipped ? 1 : 0,
  };
  c->seen++;
  c->step = l->step;
  c->tokens = l->tokens;
  c->seconds += isfinite(l->seconds) ? l->seconds * taken : 0;
  c->step_seconds = blend(c->step_seconds, l->seconds, c->seen);
  c->loss = blend(c->loss, l->loss, c->seen);
  c->skipped += l->skipped;
  const series_place place = {
      .last = l->step, .tokens = (double)l->tokens, .seconds = c->seconds};
  series_add(&run->steps, &place, values);
}

static void take_validation(watched_run *run, const metrics_line *l)
{
  run_course *c = &run->course;
  const series_place place = {
      .last = l->step, .tokens = (double)l->tokens, .seconds = c->seconds};
  const double values[VALIDATION_COLUMNS] = {l->loss, l->bits_per_byte};
  const bool better = isfinite(l->loss) && !(l->loss >= c->best);
  series_add(&run->validations, &place, values);
  c->validations++;
  c->last = l->loss;
  c->last_bits = l->bits_per_byte;
  c->without_best = better ? 0 : c->without_best + 1;
  if (!better) return;
  c->best = l->loss;
  c->best_step = l->step;
}

/* Steps that go back, as damaged files may have them, would draw a curve that is none. Telemetry
 * is many lines, read only when somebody looks at it (curvature.h). */
static void take_metrics(void *user, const char *text, size_t size)
{
  watched_run *run = user;
  metrics_line line;
  if (metrics_is_telemetry(text, size)) return;
  if (metrics_line_read(&line, text, size, NULL) != MOUSSE_OK) return;
  if (line.kind == METRICS_STEP && (line.step > run->course.step || run->course.seen == 0))
    take_step(run, &line);
  if (line.kind == METRICS_VALIDATION) take_validation(run, &line);
  metrics_line_release(&line);
}

static void forget_metrics(void *user)
{
  watched_run *run = user;
  series_clear(&run->steps);
  series_clear(&run->validations);
  run->course = run_course_start();
}

static void keep(json_t *list, json_t *entry, size_t most)
{
  json_array_append(list, entry);
  if (json_array_size(list) > most) json_array_remove(list, 0);
}

static void take_event(void *user, const char *text, size_t size)
{
  watched_run *run = user;
  json_t *entry = NULL;
  (void)mo_json_line(&entry, text, size, MOST_EVENT_VALUES, NULL);
  const char *kind = json_string_value(json_object_get(entry, "event"));
  if (kind != NULL && json_is_integer(json_object_get(entry, "step"))) {
    const bool sample = strcmp(kind, "sample") == 0;
    keep(sample ? run->samples : run->happened, entry, sample ? MOST_SAMPLES : MOST_EVENTS);
    run->record.end = run_end_after(run->record.end, entry);
    if (strcmp(kind, "started") == 0) {
      json_decref(run->started);
      run->started = json_incref(entry);
    }
  }
  json_decref(entry);
}

static void forget_events(void *user)
{
  watched_run *run = user;
  json_array_clear(run->happened);
  json_array_clear(run->samples);
  json_decref(run->started);
  run->started = NULL;
  run->record.end = RUN_END_UNKNOWN;
}

bool watched_course_read(watched_run *run, int directory, size_t most, bool *more)
{
  const tail_reader metrics = {take_metrics, forget_metrics, run};
  const tail_reader events = {take_event, forget_events, run};
  const tail_news steps = tail_read(&run->metrics, directory, "metrics.jsonl", most, &metrics);
  const tail_news others =
      tail_read(&run->events, directory, "events.jsonl", EVENT_BYTES, &events);
  *more = steps == TAIL_MORE || others == TAIL_MORE;
  return steps != TAIL_SAME || others != TAIL_SAME;
}
