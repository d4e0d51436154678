/* file_list.h - the files that inputs stand for: a file is itself; a directory is all regular
 * files below it that are not hidden, in the order of their paths. A directory that is reached
 * again, by a link or another name, has been listed. */
#ifndef MOUSSE_DATA_TEXT_FILE_LIST_H
#define MOUSSE_DATA_TEXT_FILE_LIST_H

#include "base/error.h"
#include "base/table.h"

/* Zeroed is empty. */
typedef struct file_list {
  mo_text_table paths;    /* each with its NUL */
  mo_text_table left_out; /* likewise, without links in them */
  mo_text_table folders;  /* listed so far; likewise */
  uint64_t bytes;         /* sum of the sizes of the files */
} file_list;

/* From now on no directory that is added has what is at or below this path, or what a writer of it left
 * there when it was killed (mo_is_file_of). A file that is added by its own name is not left out. */
mousse_status file_list_leave_out(file_list *list, const char *path, mo_error *error);
/* path: - is standard input. */
mousse_status file_list_add(file_list *list, const char *path, mo_error *error);
const char *file_list_get(const file_list *list, uint32_t number);
void file_list_close(file_list *list);

#endif
