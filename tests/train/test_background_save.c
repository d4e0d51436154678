/* test_background_save.c - checkpoints that a thread writes while training goes on: every call of
 * the thread that changes the disk is killed and failed once, and whatever happens the bits are
 * those of a run that waits. The calls are replaced by the linker (--wrap) and counted in threads
 * other than the first; each case is a process of its own.
 *
 *     test_background_save [EVERY]     each EVERY-th case; 1: all of them */
#include "comm/comm.h"
#include "tiny_run.h"
#include "told.h"
#include "train/background_save.h"
#include "train/checkpoint.h"
#include "train/memory_room.h"
#include "train/train.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

typedef enum call_kind {
  CALL_OPEN,
  CALL_PWRITE,
  CALL_FSYNC,
  CALL_FDATASYNC,
  CALL_RENAME,
  CALL_MKDIR,
  CALL_UNLINKAT,
  CALL_RMDIR,
  CALL_KINDS
} call_kind;

typedef enum fault_kind { FAULT_KILL, FAULT_EIO, FAULT_ENOSPC, FAULT_KINDS } fault_kind;

static struct {
  bool armed;
  pthread_t main;
  call_kind call;
  fault_kind fault;
  size_t when, seen; /* the fault happens at call `when`, from 1 on; ENOSPC from there on */
  size_t made[CALL_KINDS + 1]; /* calls in the thread, and at the end all of them */
} trap;

/* True when the call is to fail. */
static bool spring(call_kind call)
{
  if (!trap.armed || pthread_equal(pthread_self(), trap.main)) return false;
  trap.made[call]++;
  trap.made[CALL_KINDS]++;
  if (call != trap.call) return false;
  trap.seen++;
  if (trap.seen < trap.when || (trap.seen > trap.when && trap.fault != FAULT_ENOSPC))
    return false;
  if (trap.fault == FAULT_KILL) raise(SIGKILL);
  errno = trap.fault == FAULT_EIO ? EIO : ENOSPC;
  return true;
}

#define WRAP(kind, name, declared, passed)                                                     \
  int __real_##name declared;                                                                  \
  int __wrap_##name declared;                                                                  \
  int __wrap_##name declared                                                                   \
  {                                                                                            \
    return spring(kind) ? -1 : __real_##name passed;                                           \
  }
WRAP(CALL_FSYNC, fsync, (int fd), (fd))
WRAP(CALL_FDATASYNC, fdatasync, (int fd), (fd))
WRAP(CALL_RENAME, rename, (const char *from, const char *to), (from, to))
WRAP(CALL_MKDIR, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(CALL_UNLINKAT, unlinkat, (int folder, const char *name, int flags), (folder, name, flags))
WRAP(CALL_RMDIR, rmdir, (const char *path), (path))

ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
  return spring(CALL_PWRITE) ? -1 : __real_pwrite(fd, data, bytes, offset);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return spring(CALL_OPEN) ? -1 : __real_open(path, flags, mode);
}

static bool short_of_memory, no_threads, planned_too_small;

void __real_background_save_open(background_save *save, const checkpoint_content *content,
                                 size_t state_bytes, int threads);
void __wrap_background_save_open(background_save *save, const checkpoint_content *content,
                                 size_t state_bytes, int threads);
void __wrap_background_save_open(background_save *save, const checkpoint_content *content,
                                 size_t state_bytes, int threads)
{
  __real_background_save_open(save, content, planned_too_small ? 0 : state_bytes, threads);
}

static bool save_asked; /* as by SIGUSR1, once */
bool __wrap_signals_save(void);
bool __wrap_signals_save(void)
{
  const bool asked = save_asked;
  save_asked = false;
  return asked;
}

uint64_t __real_memory_room(int ranks);
uint64_t __wrap_memory_room(int ranks);
uint64_t __wrap_memory_room(int ranks)
{
  return short_of_memory ? 1 << 16 : __real_memory_room(ranks);
}

typedef void *thread_body(void *);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          thread_body *body, void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          thread_body *body, void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          thread_body *body, void *argument)
{
  return no_threads ? EAGAIN : __real_pthread_create(thread, attributes, body, argument);
}

static mousse_status execute(const train_options *run, mo_error *error)
{
  const train_display display = {.notices = collector};
  train_outcome outcome;
  told[0] = '\0';
  return train_execute(run, &mo_comm_self, &display, &outcome, error);
}

static void arm(call_kind call, fault_kind fault, size_t when)
{
  memset(&trap, 0, sizeof trap);
  trap.main = pthread_self();
  trap.call = call;
  trap.fault = fault;
  trap.when = when;
  trap.armed = true;
}

/* The checkpoint's manifest, which has the checksums of all its files. */
static void read_manifest(const train_options *run, char text[4096])
{
  char root[4200], path[4300];
  char *data = NULL;
  size_t size = 0;
  mo_error error = {{0}};
  snprintf(root, sizeof root, "%s/checkpoints", run->out);
  if (checkpoint_verify(root, 4, &error) != MOUSSE_OK) fail_msg("%s", error.text);
  snprintf(path, sizeof path, "%s/step-0000000004/manifest.json", root);
  assert_int_equal(mo_file_read(NULL, path, 4000, &data, &size, NULL), MOUSSE_OK);
  memcpy(text, data, size + 1);
  mo_release(NULL, data, size + 1);
}

static void run_calmly(const train_options *run, char manifest[4096])
{
  mo_error error = {{0}};
  if (execute(run, &error) != MOUSSE_OK) fail_msg("%s", error.text);
  read_manifest(run, manifest);
}

enum { NOT_REACHED = 77, NOT_TOLD = 78 };

/* What becomes of a run with a fault in it. A failure on the way is told and goes on; one of the
 * last save is the run's. */
static int run_with_fault(const train_options *run, call_kind call, fault_kind fault,
                          size_t when)
{
  mo_error error = {{0}};
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    arm(call, fault, when);
    const mousse_status status = execute(run, &error);
    if (trap.seen < when) _exit(NOT_REACHED);
    if (status != MOUSSE_OK && error.text[0] == '\0') _exit(NOT_TOLD);
    _exit(status == MOUSSE_OK ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

/* All that is called a checkpoint is one. */
static size_t check_checkpoints(const train_options *run)
{
  char root[4200];
  checkpoint_list list;
  mo_error error = {{0}};
  snprintf(root, sizeof root, "%s/checkpoints", run->out);
  assert_int_equal(checkpoint_list_open(&list, root, &error), MOUSSE_OK);
  for (size_t i = 0; i < list.count; i++)
    if (checkpoint_verify(root, list.steps[i], &error) != MOUSSE_OK)
      fail_msg("step %llu: %s", (unsigned long long)list.steps[i], error.text);
  const size_t count = list.count;
  checkpoint_list_close(&list);
  return count;
}

static void set_out(train_options *run, void *const *state, size_t number)
{
  char name[32];
  snprintf(name, sizeof name, "run-%zu", number);
  tiny_set(run, "out", scratch_path(state, name));
}

static size_t every = 11;

static void check_case(const train_options *run, call_kind call, fault_kind fault, size_t when,
                       const char *expected)
{
  char found[4096];
  const int status = run_with_fault(run, call, fault, when);
  assert_true(fault == FAULT_KILL ? WIFSIGNALED(status)
                                  : WIFEXITED(status) && WEXITSTATUS(status) <= 1);
  check_checkpoints(run);
  run_calmly(run, found);
  if (strcmp(found, expected) != 0)
    fail_msg("call %d, fault %d, time %zu: other bits", (int)call, (int)fault, when);
}

static void every_call_may_be_the_last_or_fail(void **state)
{
  train_options run = tiny_run(state);
  char expected[4096];
  size_t made[CALL_KINDS], cases = 0;
  tiny_set(&run, "keep_last", "1");
  tiny_set(&run, "ema", "0.9");
  arm(CALL_KINDS, FAULT_KINDS, 0);
  run_calmly(&run, expected);
  memcpy(made, trap.made, sizeof made);
  for (int call = 0; call < CALL_KINDS; call++) {
    assert_true(made[call] > 0);
    for (int fault = 0; fault < FAULT_KINDS; fault++)
      for (size_t when = 1; when <= made[call]; when++) {
        if (++cases % every != 0) continue;
        set_out(&run, state, cases);
        check_case(&run, (call_kind)call, (fault_kind)fault, when, expected);
      }
  }
  print_message("%zu faults, all survived\n", cases / every);
}

static void a_failure_is_told_and_the_run_goes_on(void **state)
{
  train_options run = tiny_run(state);
  mo_error error = {{0}};
  arm(CALL_FSYNC, FAULT_EIO, 1);
  assert_int_equal(execute(&run, &error), MOUSSE_OK);
  assert_non_null(strstr(told, "no checkpoint at step 2, training goes on: "));
  assert_non_null(strstr(told, strerror(EIO)));
  assert_int_equal(check_checkpoints(&run), 1);
}

static void a_failure_of_the_last_save_is_the_run_s(void **state)
{
  train_options run = tiny_run(state);
  mo_error error = {{0}};
  tiny_set(&run, "checkpoint_freq", "0");
  tiny_set(&run, "keep_best", "false");
  arm(CALL_FSYNC, FAULT_EIO, 1);
  assert_int_equal(execute(&run, &error), MOUSSE_IO);
  assert_non_null(strstr(error.text, "model.safetensors"));
  assert_null(strstr(told, "no checkpoint"));
  assert_int_equal(check_checkpoints(&run), 0);
}

static void metrics_that_cannot_be_synced_are_given_up(void **state)
{
  train_options run = tiny_run(state);
  mo_error error = {{0}};
  arm(CALL_FDATASYNC, FAULT_EIO, 1);
  assert_int_equal(execute(&run, &error), MOUSSE_OK);
  assert_non_null(strstr(told, "metrics.jsonl: cannot sync"));
  assert_int_equal(check_checkpoints(&run), 2);
}

/* Off, without a thread, or without memory: nothing happens in another thread, and nothing else
 * is different. */
static void in_place_the_files_are_the_same(void **state)
{
  train_options run = tiny_run(state);
  char expected[4096], found[4096];
  run_calmly(&run, expected);
  for (size_t i = 1; i <= 3; i++) {
    set_out(&run, state, i);
    tiny_set(&run, "save_in_background", i == 1 ? "false" : "true");
    no_threads = i == 2;
    short_of_memory = i == 3;
    arm(CALL_KINDS, FAULT_KINDS, 0);
    run_calmly(&run, found);
    no_threads = short_of_memory = false;
    assert_string_equal(found, expected);
    assert_int_equal(trap.made[CALL_KINDS], 0);
    assert_int_equal(strstr(told, "training waits for its checkpoints") != NULL, i == 3);
  }
  set_out(&run, state, 4);
  arm(CALL_KINDS, FAULT_KINDS, 0);
  run_calmly(&run, found);
  assert_string_equal(found, expected);
  assert_true(trap.made[CALL_KINDS] > 0);
}

/* Of a narrow model with many tokens, embedding and head are hundreds of the optimizer's
 * parameters, each with a record of its own. */
static void many_parameters_have_room(void **state)
{
  train_options run = tiny_run(state);
  char expected[4096], found[4096];
  tiny_set(&run, "vocab_size", "20000");
  tiny_set(&run, "save_in_background", "false");
  run_calmly(&run, expected);
  set_out(&run, state, 1);
  tiny_set(&run, "save_in_background", "true");
  arm(CALL_KINDS, FAULT_KINDS, 0);
  run_calmly(&run, found);
  assert_string_equal(found, expected);
  assert_true(trap.made[CALL_KINDS] > 0);
}

/* How large a state is can be planned wrongly: its checkpoints are written all the same. */
static void a_state_without_room_is_saved_in_place(void **state)
{
  train_options run = tiny_run(state);
  char expected[4096], found[4096];
  tiny_set(&run, "vocab_size", "20000");
  tiny_set(&run, "scalar_opt", "lion");
  run_calmly(&run, expected);
  set_out(&run, state, 1);
  planned_too_small = save_asked = true;
  arm(CALL_KINDS, FAULT_KINDS, 0);
  run_calmly(&run, found);
  planned_too_small = false;
  assert_non_null(strstr(told, "saved at step 1")); /* who asked gets an answer */
  assert_string_equal(found, expected);
  assert_int_equal(trap.made[CALL_KINDS], 0);
  assert_int_equal(check_checkpoints(&run), 2);
  const char *first = strstr(told, "training waits for its checkpoints");
  assert_non_null(first);
  assert_null(strstr(first + 1, "training waits for its checkpoints")); /* said once */
}

/* Half a checkpoint with a file that is not ours, which stays where it is. */
static void leave_half(const train_options *run, const char *name)
{
  char folder[4300], path[4400];
  snprintf(folder, sizeof folder, "%s/checkpoints/%s", run->out, name);
  snprintf(path, sizeof path, "%s/notes.txt", folder);
  assert_int_equal(mo_make_directories(folder, NULL), MOUSSE_OK);
  assert_int_equal(mo_file_write(path, "mine", 4, NULL), MOUSSE_OK);
}

/* What the thread has to say, line by line: as often as a run says it that waits. */
static void all_that_the_thread_says_is_told(void **state)
{
  train_options run = tiny_run(state);
  size_t times[2] = {0};
  for (size_t i = 0; i < 2; i++) {
    mo_error error = {{0}};
    set_out(&run, state, i);
    tiny_set(&run, "save_in_background", i == 0 ? "false" : "true");
    tiny_set(&run, "num_iterations", "2");
    assert_int_equal(execute(&run, &error), MOUSSE_OK);
    leave_half(&run, ".step-0000000007.making");
    leave_half(&run, ".step-0000000008.making");
    leave_half(&run, ".step-0000000009.leaving");
    tiny_set(&run, "num_iterations", "4");
    arm(CALL_KINDS, FAULT_KINDS, 0);
    assert_int_equal(execute(&run, &error), MOUSSE_OK);
    assert_int_equal(trap.made[CALL_KINDS] > 0, i == 1);
    for (const char *at = told; (at = strstr(at, "left behind: ")) != NULL; at++) times[i]++;
  }
  assert_true(times[0] >= 3);
  assert_int_equal(times[1], times[0]);
}

int main(int argc, char **argv)
{
  if (argc > 1) every = strtoul(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {
      scratch_test(every_call_may_be_the_last_or_fail),
      scratch_test(a_failure_is_told_and_the_run_goes_on),
      scratch_test(a_failure_of_the_last_save_is_the_run_s),
      scratch_test(metrics_that_cannot_be_synced_are_given_up),
      scratch_test(in_place_the_files_are_the_same),
      scratch_test(many_parameters_have_room),
      scratch_test(a_state_without_room_is_saved_in_place),
      scratch_test(all_that_the_thread_says_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
