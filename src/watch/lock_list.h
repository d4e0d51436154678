/* lock_list.h - the files on which some process of this machine holds an flock, as the kernel
 * lists them: nothing is asked for, so nobody is disturbed. */
#ifndef MOUSSE_WATCH_LOCK_LIST_H
#define MOUSSE_WATCH_LOCK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { LOCK_LIST_MOST = 1024 };

typedef struct lock_list {
  struct {
    unsigned major, minor;
    unsigned long long inode;
  } files[LOCK_LIST_MOST];
  size_t count;
  bool is_known; /* the kernel told */
} lock_list;

void lock_list_read(lock_list *list);
bool lock_list_has(const lock_list *list, const struct stat *file);

#endif
