/* loss_watch.c - follows a run's metrics.jsonl and says when it has diverged. */
#include "study/loss_watch.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_LINE = 4096 };
static const double worse_by = 1; /* nats */

void loss_watch_start(loss_watch *watch)
{
  *watch = (loss_watch){.val_loss = NAN};
}

static bool has_diverged(const loss_watch *c, uint64_t most_skipped)
{
  double sum = 0;
  if (c->skipped >= most_skipped) return true;
  if (c->seen < STUDY_WINDOW) return false;
  for (size_t i = 0; i < STUDY_WINDOW; i++) sum += c->window[i];
  return sum / STUDY_WINDOW > c->first + worse_by;
}

static void take_step(loss_watch *c, const json_t *entry)
{
  const json_t *loss = json_object_get(entry, "loss");
  const bool skipped = json_is_true(json_object_get(entry, "skipped"));
  c->step = (uint64_t)json_integer_value(json_object_get(entry, "step"));
  c->skipped = skipped ? c->skipped + 1 : 0;
  c->loss = json_is_number(loss) ? json_number_value(loss) : INFINITY;
  if (skipped) return; /* its loss says nothing */
  if (c->seen == 0) c->first = c->loss;
  c->window[c->seen++ % STUDY_WINDOW] = c->loss;
}

static bool take_line(loss_watch *c, const char *line, uint64_t most_skipped)
{
  json_t *entry = json_loads(line, 0, NULL);
  bool diverged = false;
  if (json_object_get(entry, "val_loss") != NULL) {
    c->val_loss = json_number_value(json_object_get(entry, "val_loss"));
  } else if (json_object_get(entry, "matrix") == NULL && entry != NULL) {
    take_step(c, entry);
    diverged = has_diverged(c, most_skipped);
  }
  json_decref(entry);
  return diverged;
}

bool loss_watch_follow(loss_watch *watch, const char *directory, uint64_t most_skipped)
{
  char path[MO_SETTING_PATH + 32], line[LONGEST_LINE];
  bool diverged = false;
  snprintf(path, sizeof path, "%s/metrics.jsonl", directory);
  FILE *file = fopen(path, "r");
  if (file == NULL) return false; /* the run has not begun */
  if (fseek(file, watch->offset, SEEK_SET) == 0) {
    while (!diverged && fgets(line, sizeof line, file) != NULL) {
      if (strchr(line, '\n') == NULL) break;
      watch->offset = ftell(file);
      diverged = take_line(watch, line, most_skipped);
    }
  }
  fclose(file);
  return diverged;
}
