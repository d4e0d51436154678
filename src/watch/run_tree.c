/* run_tree.c - the runs below a directory. */
#include "watch/run_tree.h"

#include "watch/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { DEEPEST = 4 };

typedef struct tree_walk {
  void (*found)(void *user, const char *path);
  void *user;
  size_t runs, folders;
} tree_walk;

static void look_below(tree_walk *w, int folder, const char *path, int depth);

static bool is_run(int folder)
{
  struct stat info;
  const int file = place_open(folder, "config.yaml", &info);
  if (file >= 0) close(file);
  return file >= 0;
}

/* Takes the descriptor. */
static void look_at(tree_walk *w, int folder, const char *path, int depth)
{
  if (w->runs >= TREE_RUNS || w->folders++ >= TREE_FOLDERS) {
    close(folder);
  } else if (is_run(folder)) {
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

static void look_below(tree_walk *w, int folder, const char *path, int depth)
{
  DIR *list = fdopendir(folder);
  if (list == NULL) {
    close(folder);
    return;
  }
  for (const struct dirent *entry = NULL; (entry = readdir(list)) != NULL;) {
    char below[TREE_PATH];
    if (!may_be_folder(entry)) continue;
    const int length = path[0] == '.' && path[1] == '\0'
                           ? snprintf(below, sizeof below, "%s", entry->d_name)
                           : snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    if (length < 0 || (size_t)length >= sizeof below) continue;
    const int next = place_directory(dirfd(list), entry->d_name);
    if (next >= 0) look_at(w, next, below, depth);
  }
  closedir(list);
}

size_t run_tree_walk(int root, void (*found)(void *user, const char *path), void *user)
{
  tree_walk w = {found, user, 0, 0};
  const int folder = place_directory(root, ".");
  if (folder >= 0) look_at(&w, folder, ".", 0);
  return w.runs;
}
