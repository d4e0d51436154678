/* loss_watch.c - follows a run's metrics.jsonl and says when to stop it. */
#include "study/loss_watch.h"

#include "base/file.h"
#include "study/metrics_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_LINE = 4096 };
static const double worse_by = 1; /* nats */

void loss_watch_start(loss_watch *watch)
{
  *watch = (loss_watch){.val_loss = NAN};
}

static bool has_diverged(const loss_watch *w, const loss_rule *rule)
{
  double sum = 0;
  if (w->skipped >= rule->most_skipped) return true;
  if (rule->any_loss || w->seen < STUDY_WINDOW) return false;
  for (size_t i = 0; i < STUDY_WINDOW; i++) sum += w->window[i];
  return sum / STUDY_WINDOW > w->first + worse_by;
}

static void take_step(loss_watch *w, const metrics_line *line)
{
  w->step = line->step;
  w->val_loss = NAN; /* a validation of before is one of another model */
  w->skipped = line->skipped ? w->skipped + 1 : 0;
  w->loss = isfinite(line->loss) ? line->loss : INFINITY;
  if (line->skipped) return; /* its loss says nothing */
  if (w->seen == 0) w->first = w->loss;
  w->window[w->seen++ % STUDY_WINDOW] = w->loss;
}

static bool is_hopeless(const metrics_line *line, const loss_rule *rule)
{
  for (size_t i = 0; i < rule->limit_count; i++)
    if (rule->limits[i].step == line->step && !(line->loss <= rule->limits[i].loss))
      return true;
  return false;
}

/* A line that cannot be read says nothing here; whoever reads the record is told. */
static loss_verdict take_line(loss_watch *w, const char *text, size_t size,
                              const loss_rule *rule)
{
  metrics_line line;
  loss_verdict verdict = LOSS_FINE;
  if (metrics_line_read(&line, text, size, NULL) != MOUSSE_OK) return LOSS_FINE;
  if (line.kind == METRICS_VALIDATION) {
    w->val_loss = line.loss;
    if (line.step > w->step) w->step = line.step; /* early archives left out the last steps */
    if (is_hopeless(&line, rule)) verdict = LOSS_HOPELESS;
  }
  if (line.kind == METRICS_STEP) {
    take_step(w, &line);
    if (has_diverged(w, rule)) verdict = LOSS_DIVERGED;
  }
  metrics_line_release(&line);
  return verdict;
}

loss_verdict loss_watch_follow(loss_watch *watch, const char *directory, const loss_rule *rule)
{
  char path[MO_SETTING_PATH + 32], line[LONGEST_LINE];
  loss_verdict verdict = LOSS_FINE;
  snprintf(path, sizeof path, "%s/metrics.jsonl", directory);
  int descriptor = -1;
  size_t size = 0;
  if (mo_file_open(path, &descriptor, &size, NULL) != MOUSSE_OK)
    return LOSS_FINE; /* the run has not begun */
  FILE *file = fdopen(descriptor, "r");
  if (file == NULL) {
    close(descriptor);
    return LOSS_FINE;
  }
  if (fseek(file, watch->offset, SEEK_SET) == 0) {
    while (verdict == LOSS_FINE && fgets(line, sizeof line, file) != NULL) {
      if (strchr(line, '\n') == NULL) break;
      watch->offset = ftell(file);
      verdict = take_line(watch, line, strlen(line), rule);
    }
  }
  fclose(file);
  return verdict;
}

void loss_watch_read(loss_watch *watch, const char *text)
{
  const loss_rule none = {.most_skipped = UINT64_MAX, .any_loss = true};
  for (size_t size = 0; *text != '\0'; text += size) {
    size = strcspn(text, "\n");
    size += text[size] == '\n';
    take_line(watch, text, size, &none);
  }
}
