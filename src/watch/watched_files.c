/* watched_files.c - config.yaml, history.jsonl, result.json and the checkpoints of a run, read
 * when they change. */
#include "watch/watched_run.h"

#include "base/json_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_FILE = 16 << 20, MOST_CHECKPOINTS = 1000 };

static void add_option(json_t *options, const char *name, const char *text)
{
  json_object_set_new(options, name, mo_json_text(text));
}

/* Every option as text. */
static json_t *options_of(const train_options *run)
{
  json_t *options = json_object();
  for (size_t i = 0; i < train_settings.count; i++) {
    char text[MO_SETTING_PATH];
    if (mo_setting_text(&train_settings.rows[i], run, text, sizeof text))
      add_option(options, train_settings.rows[i].name, text);
  }
  for (size_t i = 0; i < run->option_count; i++) {
    char name[OPTION_TEXT_SIZE + 8];
    snprintf(name, sizeof name, "%s.%s", run->options[i].scalar ? "scalar" : "opt",
             run->options[i].name);
    add_option(options, name, run->options[i].value);
  }
  return options;
}

/* Of a file that cannot be read now, what was known stays. */
static bool read_config(watched_run *run, int directory)
{
  mo_buffer text = {0};
  mo_error error = {{0}};
  const place_news news = place_read(directory, "config.yaml", LARGEST_FILE, &text);
  if (news != PLACE_LATER) {
    const bool there = news == PLACE_WHOLE;
    json_decref(run->options);
    run->has_options = there && options_defaults(&run->record.options, &error) == MOUSSE_OK &&
                       options_parse(&run->record.options, "config.yaml", text.data, text.size,
                                     NULL, &error) == MOUSSE_OK;
    snprintf(run->problem, sizeof run->problem, "%.250s",
             run->has_options ? ""
             : there          ? error.text
                              : "config.yaml cannot be read");
    run->options = run->has_options ? options_of(&run->record.options) : json_object();
  }
  mo_buffer_close(&text);
  return news != PLACE_LATER;
}

/* The last whole line of a text, as an object. */
static json_t *last_line(const mo_buffer *text)
{
  size_t end = text->size;
  while (end > 0 && text->data[end - 1] == '\n') end--;
  size_t start = end;
  while (start > 0 && text->data[start - 1] != '\n') start--;
  json_t *line = NULL;
  (void)mo_json_line(&line, text->data + start, end - start, MO_JSON_FEW, NULL);
  if (json_is_object(line)) return line;
  json_decref(line);
  return NULL;
}

static bool read_history(watched_run *run, int directory)
{
  mo_buffer text = {0};
  const place_news news = place_read(directory, "history.jsonl", LARGEST_FILE, &text);
  if (news != PLACE_LATER) {
    run_history_release(&run->record.history);
    json_decref(run->stretch);
    run->stretch = NULL;
  }
  if (news == PLACE_WHOLE && text.size > 0) {
    run_history_parse(&run->record.history, "history.jsonl", text.data, text.size, NULL);
    run->stretch = last_line(&text);
  }
  mo_buffer_close(&text);
  return news != PLACE_LATER;
}

static bool read_result(watched_run *run, int directory)
{
  mo_buffer text = {0};
  const place_news news = place_read(directory, "result.json", LARGEST_FILE, &text);
  if (news == PLACE_NONE ||
      (news == PLACE_WHOLE && run_result_parse(&run->record.result, "result.json", text.data,
                                               text.size, NULL) != MOUSSE_OK))
    run->record.result =
        (run_result){.peak_bytes = NAN, .wall_seconds = NAN, .cpu_seconds = NAN};
  mo_buffer_close(&text);
  return news != PLACE_LATER;
}

static int by_step(const void *a, const void *b)
{
  const json_int_t x = *(const json_int_t *)a, y = *(const json_int_t *)b;
  return (x > y) - (x < y);
}

/* The steps of folders such as step-0000000100. */
static bool read_checkpoints(watched_run *run, int directory)
{
  json_int_t steps[MOST_CHECKPOINTS];
  size_t count = 0;
  const int folder = place_directory(directory, "checkpoints");
  DIR *list = folder >= 0 ? fdopendir(folder) : NULL;
  const bool absent = list == NULL && place_is_absent(errno);
  if (list == NULL && folder >= 0) close(folder);
  if (list == NULL && !absent) return false;
  json_array_clear(run->checkpoints);
  for (const struct dirent *entry = NULL; list != NULL && (entry = readdir(list)) != NULL;) {
    char *end = NULL;
    if (strncmp(entry->d_name, "step-", 5) != 0 || count == MOST_CHECKPOINTS) continue;
    steps[count] = strtoll(entry->d_name + 5, &end, 10);
    count += end != entry->d_name + 5 && *end == '\0';
  }
  if (list != NULL) closedir(list);
  qsort(steps, count, sizeof *steps, by_step);
  for (size_t i = 0; i < count; i++)
    json_array_append_new(run->checkpoints, json_integer(steps[i]));
  return true;
}

/* The time of a folder changes with its entries. */
static bool folder_changed(place_stamp *stamp, int directory)
{
  struct stat info;
  const place_stamp before = *stamp;
  memset(stamp, 0, sizeof *stamp);
  if (fstatat(directory, "checkpoints", &info, AT_SYMLINK_NOFOLLOW) == 0)
    stamp->changed = info.st_ctim;
  return before.changed.tv_sec != stamp->changed.tv_sec ||
         before.changed.tv_nsec != stamp->changed.tv_nsec;
}

/* Reads what has changed; what cannot be read is tried again. */
static bool look_again(watched_run *run, int directory, bool changed, place_stamp *stamp,
                       bool (*read)(watched_run *, int))
{
  const bool news = changed && read(run, directory);
  if (changed && !news) place_forget(stamp);
  return news;
}

bool watched_files_read(watched_run *run, int directory)
{
  const bool config = place_changed(&run->config, directory, "config.yaml");
  const bool history = place_changed(&run->history, directory, "history.jsonl");
  const bool result = place_changed(&run->result, directory, "result.json");
  const bool folder = folder_changed(&run->folder, directory);
  bool news = look_again(run, directory, config, &run->config, read_config);
  news |= look_again(run, directory, history, &run->history, read_history);
  news |= look_again(run, directory, result, &run->result, read_result);
  news |= look_again(run, directory, folder, &run->folder, read_checkpoints);
  return news;
}
