/* run_records.c - the runs below a directory. */
#include "base/file.h"
#include "study/run_record.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 4 };

/* One search: where it adds, what is read, and how many runs were met. */
typedef struct record_search {
  run_records *records;
  record_parts parts;
  size_t met;
} record_search;

static bool is_run(const char *directory)
{
  char path[MO_SETTING_PATH];
  return mo_path_join(path, sizeof path, directory, "config.yaml", NULL) == MOUSSE_OK &&
         access(path, F_OK) == 0;
}

static bool is_directory(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_there(const run_records *records, const run_record *record)
{
  for (size_t i = 0; i < records->count; i++)
    if (strcmp(records->list[i].directory, record->directory) == 0) return true;
  return false;
}

static mousse_status add_run(record_search *s, const char *directory, mo_error *error)
{
  run_records *records = s->records;
  if (!mo_grow(NULL, &records->list, &records->capacity, records->count + 1,
               sizeof *records->list))
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for another run", directory);
  run_record *record = &records->list[records->count];
  MO_TRY(run_record_read(record, directory, s->parts, error));
  s->met++;
  if (is_there(records, record))
    run_record_release(record);
  else
    records->count++;
  return MOUSSE_OK;
}

static mousse_status look_below(record_search *s, const char *directory, int depth,
                                mo_error *error);

static mousse_status look_at(record_search *s, const char *directory, int depth,
                             mo_error *error)
{
  if (is_run(directory)) return add_run(s, directory, error);
  return depth < DEEPEST ? look_below(s, directory, depth + 1, error) : MOUSSE_OK;
}

static int is_shown(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

static mousse_status look_below(record_search *s, const char *directory, int depth,
                                mo_error *error)
{
  struct dirent **entries = NULL;
  const int count = scandir(directory, &entries, is_shown, alphasort);
  if (count < 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot list: %s", directory, strerror(errno));
  mousse_status status = MOUSSE_OK;
  for (int i = 0; i < count && status == MOUSSE_OK; i++) {
    char path[MO_SETTING_PATH];
    status = mo_path_join(path, sizeof path, directory, entries[i]->d_name, error);
    if (status == MOUSSE_OK && is_directory(path)) status = look_at(s, path, depth, error);
  }
  for (int i = 0; i < count; i++) free(entries[i]); /* scandir's own */
  free(entries);
  return status;
}

mousse_status run_records_find(run_records *records, const char *directory, record_parts parts,
                               mo_error *error)
{
  record_search s = {.records = records, .parts = parts};
  MO_TRY(look_at(&s, directory, 0, error));
  if (s.met == 0)
    return mo_fail(
        error, MOUSSE_IO,
        "%s: no runs in it: no config.yaml there or up to %d folders below; name the "
        "--out of 'mousse train'",
        directory, DEEPEST);
  return MOUSSE_OK;
}

void run_records_release(run_records *records)
{
  for (size_t i = 0; i < records->count; i++) run_record_release(&records->list[i]);
  mo_release(NULL, records->list, records->capacity * sizeof *records->list);
  *records = (run_records){0};
}
