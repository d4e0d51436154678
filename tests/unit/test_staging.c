/* test_staging.c - directories that are complete or absent, and nobody else's files. */
#include "base/staging.h"
#include "scratch.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(const char *name)
{
  return mo_is_file_of(name, "a.bin") || mo_is_file_of(name, "b.json");
}

static bool exists(void **state, const char *name)
{
  struct stat info;
  return lstat(scratch_path(state, name), &info) == 0;
}

static void assert_refused(void **state, const char *word)
{
  mo_staging staging;
  mo_error error = {{0}};
  assert_int_equal(mo_staging_open(&staging, scratch_path(state, "out"), is_ours, &error),
                   MOUSSE_IO);
  if (strstr(error.text, word) == NULL) fail_msg("'%s' does not say '%s'", error.text, word);
  assert_false(exists(state, "out"));
}

static void test_complete_or_absent(void **state)
{
  mo_staging staging;
  mo_error error = {{0}};
  char out[256];
  snprintf(out, sizeof out, "%s/", scratch_path(state, "x/out"));
  for (int round = 0; round < 2; round++) {
    assert_int_equal(mo_staging_open(&staging, out, is_ours, &error), MOUSSE_OK);
    scratch_write(state, "x/out.partial/a.bin", "1", 1);
    assert_false(exists(state, "x/out"));
    if (round == 0)
      mo_staging_abandon(&staging);
    else
      assert_int_equal(mo_staging_commit(&staging, &error), MOUSSE_OK);
    assert_false(exists(state, "x/out.partial"));
  }
  assert_true(exists(state, "x/out/a.bin"));
  assert_false(exists(state, "x/out/lock"));
  static const char *const unusable[] = {"", "/", "..", "a/.", "//"};
  for (size_t i = 0; i < sizeof unusable / sizeof *unusable; i++)
    assert_int_equal(mo_staging_open(&staging, unusable[i], is_ours, &error),
                     MOUSSE_INVALID_ARGUMENT);
}

/* What a killed process left is cleared; files it was just writing, too. */
static void test_left_behind(void **state)
{
  mo_staging staging;
  mo_error error = {{0}};
  const char *out = scratch_path(state, "out");
  assert_int_equal(mo_staging_open(&staging, out, is_ours, &error), MOUSSE_OK);
  scratch_write(state, "out.partial/a.bin", "1", 1);
  scratch_write(state, "out.partial/b.json.123.tmp", "1", 1);
  mo_lock_release(&staging.lock); /* as a kill does */
  assert_int_equal(mo_staging_open(&staging, out, is_ours, &error), MOUSSE_OK);
  assert_false(exists(state, "out.partial/a.bin"));
  assert_false(exists(state, "out.partial/b.json.123.tmp"));
  mo_staging_abandon(&staging);
}

static void test_foreign_files(void **state)
{
  /* A directory of the user's, and a link to one. */
  assert_int_equal(mkdir(scratch_path(state, "out.partial"), 0777), 0);
  scratch_write(state, "out.partial/notes.txt", "x", 1);
  assert_refused(state, "notes.txt");
  assert_true(exists(state, "out.partial/notes.txt"));
  assert_false(exists(state, "out.partial/lock"));
  assert_int_equal(rename(scratch_path(state, "out.partial"), scratch_path(state, "mine")), 0);
  assert_int_equal(symlink(scratch_path(state, "mine"), scratch_path(state, "out.partial")), 0);
  assert_refused(state, "symbolic link");
  assert_true(exists(state, "mine/notes.txt"));
  assert_int_equal(unlink(scratch_path(state, "out.partial")), 0);
  /* Names like ours, but without our mark. */
  assert_int_equal(mkdir(scratch_path(state, "out.partial"), 0777), 0);
  scratch_write(state, "out.partial/a.bin", "x", 1);
  assert_refused(state, "not made by mousse");
  assert_true(exists(state, "out.partial/a.bin"));
}

/* A file of the user's that is called lock is none of ours; an empty one may be. */
static void test_foreign_locks(void **state)
{
  mo_staging staging;
  mo_error error = {{0}};
  assert_int_equal(mkdir(scratch_path(state, "out.partial"), 0777), 0);
  scratch_write(state, "out.partial/lock", "combination: 1-2-3", 18);
  assert_refused(state, "not made by mousse");
  assert_true(
      mo_file_begins(scratch_path(state, "out.partial/lock"), "combination: 1-2-3", 18));
  scratch_write(state, "out.partial/lock", "", 0);
  assert_int_equal(mo_staging_open(&staging, scratch_path(state, "out"), is_ours, &error),
                   MOUSSE_OK);
  mo_staging_abandon(&staging);
}

/* Inside a directory of ours: a link, a directory, a hidden file. */
static void test_foreign_entries(void **state)
{
  mo_staging staging;
  mo_error error = {{0}};
  const char *out = scratch_path(state, "out");
  assert_int_equal(mo_staging_open(&staging, out, is_ours, &error), MOUSSE_OK);
  scratch_write(state, "thesis", "x", 1);
  assert_int_equal(
      symlink(scratch_path(state, "thesis"), scratch_path(state, "out.partial/a.bin")), 0);
  mo_lock_release(&staging.lock);
  assert_refused(state, "a.bin");
  assert_int_equal(unlink(scratch_path(state, "out.partial/a.bin")), 0);
  scratch_write(state, "out.partial/.hidden", "x", 1);
  assert_refused(state, ".hidden");
  assert_true(exists(state, "thesis") && exists(state, "out.partial/.hidden"));
}

/* A file that appears during the work is not removed, and a lock is a file, never a link. */
static void test_links_to_write_through(void **state)
{
  mo_lock lock;
  mo_writer writer;
  mo_error error = {{0}};
  char link[300], text[2] = "";
  scratch_write(state, "thesis", "x", 1);
  assert_int_equal(symlink("thesis", scratch_path(state, "lock")), 0);
  assert_int_equal(mo_lock_take(&lock, *state, "is here", &error), MOUSSE_IO);
  snprintf(link, sizeof link, "%s.%ld.tmp", scratch_path(state, "f"), (long)getpid());
  assert_int_equal(symlink("thesis", link), 0);
  assert_int_equal(mo_writer_open(&writer, scratch_path(state, "f"), &error), MOUSSE_OK);
  assert_int_equal(mo_writer_write(&writer, "new", 3, &error), MOUSSE_OK);
  assert_int_equal(mo_writer_commit(&writer, &error), MOUSSE_OK);
  const int fd = open(scratch_path(state, "thesis"), O_RDONLY);
  assert_int_equal(read(fd, text, 2), 1);
  assert_int_equal(text[0], 'x');
  close(fd);
}

/* While one process works, a second is refused; after the rename, the lock is still the first
 * one's, so that a second cannot clear what is finished. */
static void test_second_process(void **state)
{
  mo_staging first, second;
  mo_error error = {{0}};
  const char *out = scratch_path(state, "out");
  assert_int_equal(mo_staging_open(&first, out, is_ours, &error), MOUSSE_OK);
  assert_int_equal(mo_staging_open(&second, out, is_ours, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "another process"));
  scratch_write(state, "out.partial/a.bin", "1", 1);
  assert_int_equal(mo_staging_commit(&first, &error), MOUSSE_OK);
  assert_int_equal(mo_staging_open(&second, out, is_ours, &error), MOUSSE_OK);
  assert_int_equal(mo_staging_commit(&second, &error), MOUSSE_IO);
  assert_true(exists(state, "out/a.bin"));
  assert_false(exists(state, "out.partial"));
}

/* Files that never end or never begin are refused at once. */
static void test_special_files(void **state)
{
  char *data = NULL;
  size_t size = 0;
  mo_map map;
  mo_error error = {{0}};
  const char *fifo = scratch_path(state, "fifo");
  assert_int_equal(mkfifo(fifo, 0666), 0);
  assert_int_equal(mo_file_read(NULL, fifo, 100, &data, &size, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "not a regular file"));
  assert_int_equal(mo_map_open(&map, fifo, &error), MOUSSE_IO);
  assert_int_equal(mo_map_open(&map, "/dev/zero", &error), MOUSSE_IO);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(test_complete_or_absent), scratch_test(test_left_behind),
      scratch_test(test_foreign_files),      scratch_test(test_foreign_locks),
      scratch_test(test_foreign_entries),    scratch_test(test_links_to_write_through),
      scratch_test(test_second_process),     scratch_test(test_special_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
