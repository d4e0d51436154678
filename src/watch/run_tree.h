/* run_tree.h - where the runs below a directory are: folders with a config.yaml, at most four
 * deep, as 'mousse report' finds them, but without following links. */
#ifndef MOUSSE_WATCH_RUN_TREE_H
#define MOUSSE_WATCH_RUN_TREE_H

#include <stdbool.h>

enum { TREE_PATH = 1024, TREE_RUNS = 2000, TREE_FOLDERS = 20000 };

/* Calls found with the path of each below root, "." for root itself, in no certain order. No
 * more than TREE_RUNS are found and no more than TREE_FOLDERS looked at. False: something could
 * not be looked at, as with too many open files, so that there may be more. */
bool run_tree_walk(int root, void (*found)(void *user, const char *path), void *user);

#endif
