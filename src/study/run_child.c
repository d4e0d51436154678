/* run_child.c - starts a training run as a child process and records how it ended. */
#include "study/run_child.h"

#include "base/clock.h"
#include "base/file.h"
#include "study/loss_watch.h"
#include "support/run_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A request to stop that comes between fork and exec waits: the handler that a child has from its parent
 * would only note it. Returns the signals that waited before. */
static sigset_t hold_requests(void)
{
  sigset_t requests, before;
  sigemptyset(&requests);
  sigaddset(&requests, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &requests, &before);
  return before;
}

/* In the child: only calls that are safe after fork. */
static void become(const char *program, const char *configuration, int output, pid_t parent,
                   const sigset_t *mask)
{
  char *const words[] = {(char *)(uintptr_t)program,       "train",   "--config",
                         (char *)(uintptr_t)configuration, "--quiet", NULL};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1); /* it died before the line above */
  signal(SIGTERM, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, mask, NULL);
  setpgid(0, 0); /* Ctrl-C reaches the study, which ends its runs in order */
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execv(program, words);
  _exit(127);
}

mousse_status run_child_start(study_run *r, const char *program, mo_error *error)
{
  char configuration[MO_SETTING_PATH], printed[MO_SETTING_PATH];
  MO_TRY(run_directory_take(r->directory, error));
  MO_TRY(mo_path_join(configuration, sizeof configuration, r->directory, "run.yaml", error));
  MO_TRY(mo_path_join(printed, sizeof printed, r->directory, "output.txt", error));
  MO_TRY(options_write(&r->run, configuration, error));
  const int output = open(printed, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (output < 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot be written: %s", printed, strerror(errno));
  const pid_t parent = getpid();
  const sigset_t before = hold_requests();
  const pid_t child = fork();
  if (child == 0) become(program, configuration, output, parent, &before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(output);
  if (child < 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot start a process for it: %s", r->name,
                   strerror(errno));
  r->child = child;
  r->started = mo_seconds();
  r->state = STUDY_RUNNING;
  r->asked_to_stop = false;
  r->steps_before = r->course.step;
  loss_watch_start(&r->course);
  return MOUSSE_OK;
}

static double seconds_of(struct timeval time)
{
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static mousse_status write_result(const study_run *r, const struct rusage *used,
                                  mo_error *error)
{
  const run_result result = {
      .status = r->state == STUDY_COMPLETE   ? RECORD_COMPLETE
                : r->state == STUDY_DIVERGED ? RECORD_DIVERGED
                                             : RECORD_HOPELESS,
      .steps = r->course.step,
      .peak_bytes = (double)used->ru_maxrss * 1024,
      .wall_seconds = mo_seconds() - r->started,
      .cpu_seconds = seconds_of(used->ru_utime) + seconds_of(used->ru_stime),
  };
  return run_result_write(&result, r->directory, error);
}

/* All of the file once more: the child may have cut off and rewritten what was read while it
 * went on. */
static loss_verdict whole_course(study_run *r)
{
  loss_watch_start(&r->course);
  return loss_watch_follow(&r->course, r->directory, &r->rule);
}

static study_state end_state(study_run *r, int status)
{
  const loss_verdict verdict = whole_course(r);
  if (verdict == LOSS_DIVERGED) return STUDY_DIVERGED;
  if (verdict == LOSS_HOPELESS) return STUDY_HOPELESS;
  /* Also before its last step: the run itself may have stopped because nothing improved. */
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return STUDY_COMPLETE;
  return r->asked_to_stop ? STUDY_STOPPED : STUDY_FAILED;
}

mousse_status run_child_attend(study_run *r, bool stop_diverged, mo_error *error)
{
  int status = 0;
  struct rusage used = {0};
  const pid_t ended = wait4(r->child, &status, WNOHANG, &used);
  if (ended == 0) {
    const loss_verdict verdict = loss_watch_follow(&r->course, r->directory, &r->rule);
    if (verdict == LOSS_HOPELESS || (verdict == LOSS_DIVERGED && stop_diverged))
      kill(r->child, SIGKILL);
    return MOUSSE_OK;
  }
  if (ended < 0 && errno == EINTR) return MOUSSE_OK;
  r->child = 0;
  r->state = ended < 0 ? STUDY_FAILED : end_state(r, status);
  return study_run_ended(r) ? write_result(r, &used, error) : MOUSSE_OK;
}

void run_child_take(study_run *r, const run_result *result)
{
  if (result->status == RECORD_COMPLETE) r->state = STUDY_COMPLETE;
  if (result->status == RECORD_DIVERGED) r->state = STUDY_DIVERGED;
  if (result->status == RECORD_HOPELESS) r->state = STUDY_HOPELESS;
}

mousse_status run_child_look(study_run *r, mo_error *error)
{
  run_result result;
  MO_TRY(run_result_read(&result, r->directory, error));
  run_child_take(r, &result);
  return MOUSSE_OK;
}
