/* archive_others.c - see archive_others.h. */
#include "study/archive_others.h"

#include "base/json_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static mousse_status read_name(archive_others *o, mo_error *error)
{
  json_t *line = NULL;
  if (mo_json_line(&line, o->text + o->at, o->length, MO_JSON_FEW, NULL) == MOUSSE_NO_MEMORY)
    return mo_fail(error, MOUSSE_NO_MEMORY, "%.300s: no memory to read it", o->path);
  const char *name = json_string_value(json_object_get(line, "name"));
  const bool fits = name != NULL && strlen(name) < sizeof o->name;
  if (fits) memcpy(o->name, name, strlen(name) + 1);
  json_decref(line);
  if (fits) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: damaged after %zu bytes; move it away, and the same command writes the "
                 "runs of its own directory anew",
                 o->path, o->at);
}

/* Whether the run has ended in this study's directory, from which its line is written. */
static bool is_own(const archive_others *o)
{
  char path[MO_SETTING_PATH];
  const int length = snprintf(path, sizeof path, "%s/%s/result.json", o->study->runs, o->name);
  return strchr(o->name, '/') == NULL && (size_t)length < sizeof path &&
         access(path, F_OK) == 0;
}

/* From `at` on. */
static mousse_status find_next(archive_others *o, mo_error *error)
{
  for (o->length = 0; o->at < o->size; o->at += o->length) {
    const char *line = o->text + o->at, *end = memchr(line, '\n', o->size - o->at);
    o->length = end != NULL ? (size_t)(end - line) + 1 : o->size - o->at;
    MO_TRY(read_name(o, error));
    if (!is_own(o)) return MOUSSE_OK;
  }
  return MOUSSE_OK;
}

mousse_status archive_others_open(archive_others *o, const archived_study *study,
                                  const char *path, mo_error *error)
{
  *o = (archive_others){.study = study, .path = path};
  if (access(path, F_OK) != 0 && errno == ENOENT) return MOUSSE_OK;
  MO_TRY(mo_file_read(NULL, path, LARGEST_ARCHIVE, &o->text, &o->size, error));
  const mousse_status status = find_next(o, error);
  if (status != MOUSSE_OK) archive_others_close(o);
  return status;
}

mousse_status archive_others_write(archive_others *o, const char *before, mo_writer *writer,
                                   mo_error *error)
{
  while (o->at < o->size && (before == NULL || strcmp(o->name, before) < 0)) {
    const char *line = o->text + o->at;
    MO_TRY(mo_writer_write(writer, line, o->length, error));
    if (line[o->length - 1] != '\n') MO_TRY(mo_writer_write(writer, "\n", 1, error));
    o->at += o->length;
    MO_TRY(find_next(o, error));
  }
  return MOUSSE_OK;
}

void archive_others_close(archive_others *o)
{
  if (o->text != NULL) mo_release(NULL, o->text, o->size + 1);
  *o = (archive_others){.text = NULL};
}
