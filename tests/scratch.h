/* scratch.h - a folder for the files of one test. */
#ifndef MOUSSE_TESTS_SCRATCH_H
#define MOUSSE_TESTS_SCRATCH_H

#include "base/file.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

/* cmocka setup and teardown: *state is the folder's path. */
static inline int scratch_make(void **state)
{
  static char path[64];
  snprintf(path, sizeof path, "/tmp/mousse-test-XXXXXX");
  *state = mkdtemp(path);
  return *state == NULL ? -1 : 0;
}

static inline int scratch_remove(void **state)
{
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
  return system(command);
}

/* folder/name, in one of a few buffers that are used in turn. */
static inline const char *scratch_path(void *const *state, const char *name)
{
  static char paths[4][256];
  static unsigned turn;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", (const char *)*state, name);
  return path;
}

static inline const char *scratch_write(void *const *state, const char *name, const void *data,
                                        size_t size)
{
  const char *path = scratch_path(state, name);
  mo_error error = {{0}};
  assert_int_equal(mo_file_write(path, data, size, &error), MOUSSE_OK);
  return path;
}

#define scratch_test(function)                                                                 \
  cmocka_unit_test_setup_teardown(function, scratch_make, scratch_remove)

#endif
