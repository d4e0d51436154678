/* run_tree.c - the runs below a directory. */
#include "watch/run_tree.h"

#include "watch/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { DEEPEST = 4 };

typedef struct tree_walk {
  void (*found)(void *user, const char *path);
  void *user;
  size_t runs, folders;
  bool failed;
} tree_walk;

static void look_below(tree_walk *w, int folder, const char *path, int depth);

static bool is_run(tree_walk *w, int folder)
{
  struct stat info;
  const int file = place_open(folder, "config.yaml", &info);
  if (file >= 0)
    close(file);
  else
    w->failed |= !place_is_absent(errno);
  return file >= 0;
}

/* Takes the descriptor. */
static void look_at(tree_walk *w, int folder, const char *path, int depth)
{
  if (w->runs >= TREE_RUNS || w->folders++ >= TREE_FOLDERS) {
    close(folder);
  } else if (is_run(w, folder)) {
    close(folder);
    w->runs++;
    w->found(w->user, path);
  } else if (depth < DEEPEST) {
    look_below(w, folder, path, depth + 1);
  } else {
    close(folder);
  }
}

static bool may_be_folder(const struct dirent *entry)
{
  return entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

static void look_into(tree_walk *w, int root, const char *name, const char *path, int depth)
{
  const int folder = place_directory(root, name);
  if (folder >= 0)
    look_at(w, folder, path, depth);
  else
    w->failed |= !place_is_absent(errno);
}

static void look_below(tree_walk *w, int folder, const char *path, int depth)
{
  DIR *list = fdopendir(folder);
  if (list == NULL) {
    w->failed = true;
    close(folder);
    return;
  }
  for (;;) {
    char below[TREE_PATH];
    errno = 0; /* the end of the list is told from a failure by this alone */
    const struct dirent *entry = readdir(list);
    if (entry == NULL) w->failed |= errno != 0;
    if (entry == NULL) break;
    if (!may_be_folder(entry)) continue;
    const int length = path[0] == '.' && path[1] == '\0'
                           ? snprintf(below, sizeof below, "%s", entry->d_name)
                           : snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    if (length < 0 || (size_t)length >= sizeof below) continue;
    look_into(w, dirfd(list), entry->d_name, below, depth);
  }
  closedir(list);
}

bool run_tree_walk(int root, void (*found)(void *user, const char *path), void *user)
{
  tree_walk w = {.found = found, .user = user};
  look_into(&w, root, ".", ".", 0);
  return !w.failed;
}
