/* lock_list.c - locked files, from /proc/locks:
 *
 *     1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF        process, device and inode
 */
#include "watch/lock_list.h"

#include <errno.h>
#include <stdio.h>
#include <sys/sysmacros.h>

void lock_list_read(lock_list *list)
{
  char line[256];
  FILE *file = fopen("/proc/locks", "re");
  if (file == NULL && errno != ENOENT && errno != EACCES) return; /* it is as it was */
  list->count = 0;
  list->is_known = file != NULL;
  while (file != NULL && list->count < LOCK_LIST_MOST && fgets(line, sizeof line, file) != NULL)
    list->count +=
        /* NOLINTNEXTLINE(cert-err34-c) - the kernel's own numbers fit */
        sscanf(line, "%*d: FLOCK %*s %*s %*d %x:%x:%llu", &list->files[list->count].major,
               &list->files[list->count].minor, &list->files[list->count].inode) == 3;
  if (file != NULL) fclose(file);
}

bool lock_list_has(const lock_list *list, const struct stat *file)
{
  for (size_t i = 0; i < list->count; i++)
    if (list->files[i].inode == (unsigned long long)file->st_ino &&
        list->files[i].major == major(file->st_dev) &&
        list->files[i].minor == minor(file->st_dev))
      return true;
  return false;
}
