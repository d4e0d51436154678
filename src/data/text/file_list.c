/* file_list.c - the files that inputs stand for. */
#include "data/text/file_list.h"

#include "base/directory.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 64 };

static mousse_status add_path(file_list *list, const char *path, uint64_t bytes,
                              mo_error *error)
{
  uint32_t number = 0;
  bool added = false;
  if (!mo_text_table_add(&list->paths, path, strlen(path) + 1, &number, &added))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to list files");
  if (added) list->bytes += bytes;
  return MOUSSE_OK;
}

/* The names in a directory, with their NULs, sorted: order[i] points into names. */
typedef struct folder_listing {
  mo_text_table names;
  const char **order;
} folder_listing;

static int by_name(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void listing_close(folder_listing *l)
{
  mo_release(NULL, l->order, l->names.count * sizeof *l->order);
  mo_text_table_close(&l->names);
}

static mousse_status listing_open(folder_listing *l, const char *path, mo_error *error)
{
  DIR *directory = opendir(path);
  bool memory = true;
  *l = (folder_listing){0};
  if (directory == NULL)
    return mo_fail(error, MOUSSE_IO, "%s: cannot list: %s", path, strerror(errno));
  for (struct dirent *e = readdir(directory); e != NULL && memory; e = readdir(directory)) {
    uint32_t number = 0;
    bool added = false;
    if (e->d_name[0] != '.')
      memory = mo_text_table_add(&l->names, e->d_name, strlen(e->d_name) + 1, &number, &added);
  }
  closedir(directory);
  const size_t count = l->names.count;
  if (memory) l->order = mo_allocate(NULL, count * sizeof *l->order);
  if (l->order == NULL) {
    mo_text_table_close(&l->names);
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to list it", path);
  }
  for (uint32_t i = 0; i < count; i++) {
    size_t length = 0;
    l->order[i] = mo_text_table_get(&l->names, i, &length);
  }
  qsort(l->order, count, sizeof *l->order, by_name);
  return MOUSSE_OK;
}

/* The same, below it, or what a killed writer left beside it. */
static bool belongs_to(const char *path, const char *left)
{
  const size_t length = strlen(left);
  if (strncmp(path, left, length) != 0) return false;
  return path[length] == '/' || (strchr(path + length, '/') == NULL &&
                                 mo_is_file_of(mo_path_name(path), mo_path_name(left)));
}

/* By the path without links: what is left out may be reached by another way. */
static bool is_left_out(const file_list *list, const char *path)
{
  char real[PATH_MAX];
  bool found = false;
  if (list->left_out.count == 0 || realpath(path, real) == NULL) return false;
  for (uint32_t i = 0; i < list->left_out.count && !found; i++) {
    size_t length = 0;
    found = belongs_to(real, mo_text_table_get(&list->left_out, i, &length));
  }
  return found;
}

/* By the path without links: two links in each of twenty directories to the next one make a
 * million ways to the last. */
static mousse_status note_folder(file_list *list, const char *path, bool *is_new,
                                 mo_error *error)
{
  char real[PATH_MAX];
  uint32_t number = 0;
  if (realpath(path, real) == NULL)
    return mo_fail(error, MOUSSE_IO, "%s: cannot list: %s", path, strerror(errno));
  if (mo_text_table_add(&list->folders, real, strlen(real) + 1, &number, is_new))
    return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to list files");
}

static mousse_status add_below(file_list *list, const char *path, int depth, mo_error *error)
{
  struct stat info;
  if (stat(path, &info) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot open: %s", path, strerror(errno));
  /* A file that somebody names is meant. */
  if ((depth > 0 || S_ISDIR(info.st_mode)) && is_left_out(list, path)) return MOUSSE_OK;
  if (!S_ISDIR(info.st_mode))
    return depth == 0 || S_ISREG(info.st_mode)
               ? add_path(list, path, (uint64_t)info.st_size, error)
               : MOUSSE_OK;
  if (depth == DEEPEST)
    return mo_fail(error, MOUSSE_IO, "%s: %d directories deep, which is the limit", path,
                   DEEPEST);

  folder_listing names;
  bool is_new = false;
  MO_TRY(note_folder(list, path, &is_new, error));
  if (!is_new) return MOUSSE_OK;
  mousse_status status = listing_open(&names, path, error);
  if (status != MOUSSE_OK) return status;
  for (uint32_t i = 0; i < names.names.count && status == MOUSSE_OK; i++) {
    char below[4096];
    status = mo_path_join(below, sizeof below, path, names.order[i], error);
    if (status == MOUSSE_OK) status = add_below(list, below, depth + 1, error);
  }
  listing_close(&names);
  return status;
}

/* Where a path will be written, without links: of a link to a file that is the link, which will be
 * replaced, and not the file. */
static bool find_place(const char *path, char real[PATH_MAX])
{
  struct stat info, target;
  char folder[PATH_MAX], resolved[PATH_MAX];
  const bool exists = stat(path, &target) == 0;
  const bool link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
  if (exists && (!link || S_ISDIR(target.st_mode))) return realpath(path, real) != NULL;
  return mo_path_parent(folder, sizeof folder, path, NULL) == MOUSSE_OK &&
         realpath(folder, resolved) != NULL &&
         mo_path_join(real, PATH_MAX, resolved, mo_path_name(path), NULL) == MOUSSE_OK;
}

mousse_status file_list_leave_out(file_list *list, const char *path, mo_error *error)
{
  char real[PATH_MAX];
  uint32_t number = 0;
  bool added = false;
  if (!find_place(path, real) ||
      mo_text_table_add(&list->left_out, real, strlen(real) + 1, &number, &added))
    return MOUSSE_OK;
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to list files");
}

mousse_status file_list_add(file_list *list, const char *path, mo_error *error)
{
  return add_below(list, strcmp(path, "-") == 0 ? "/dev/stdin" : path, 0, error);
}

const char *file_list_get(const file_list *list, uint32_t number)
{
  size_t length = 0;
  return mo_text_table_get(&list->paths, number, &length);
}

void file_list_close(file_list *list)
{
  mo_text_table_close(&list->paths);
  mo_text_table_close(&list->left_out);
  mo_text_table_close(&list->folders);
  *list = (file_list){0};
}
