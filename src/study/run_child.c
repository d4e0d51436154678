/* run_child.c - starts a training run as a child process and records how it ended. */
#include "study/run_child.h"

#include "base/clock.h"
#include "base/file.h"
#include "study/loss_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: only calls that are safe after fork. */
static void become(const char *program, const char *configuration, int output, pid_t parent)
{
  char *const words[] = {(char *)(uintptr_t)program,       "train",   "--config",
                         (char *)(uintptr_t)configuration, "--quiet", NULL};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1); /* it died before the line above */
  setpgid(0, 0); /* Ctrl-C reaches the study, which ends its runs in order */
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execv(program, words);
  _exit(127);
}

mousse_status run_child_start(study_run *r, const char *program, mo_error *error)
{
  char configuration[MO_SETTING_PATH], printed[MO_SETTING_PATH];
  MO_TRY(mo_make_directories(r->directory, error));
  MO_TRY(mo_path_join(configuration, sizeof configuration, r->directory, "run.yaml", error));
  MO_TRY(mo_path_join(printed, sizeof printed, r->directory, "output.txt", error));
  MO_TRY(options_write(&r->run, configuration, error));
  const int output = open(printed, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (output < 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot be written: %s", printed, strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) become(program, configuration, output, parent);
  close(output);
  if (child < 0)
    return mo_fail(error, MOUSSE_IO, "%s: no process for it: %s", r->name, strerror(errno));
  r->child = child;
  r->started = mo_seconds();
  r->state = STUDY_RUNNING;
  loss_watch_start(&r->course);
  return MOUSSE_OK;
}

static mousse_status write_result(const study_run *r, const struct rusage *used,
                                  mo_error *error)
{
  char path[MO_SETTING_PATH], text[512];
  const double cpu = (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
                     (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6;
  MO_TRY(mo_path_join(path, sizeof path, r->directory, "result.json", error));
  const int length = snprintf(
      text, sizeof text,
      "{\"status\": \"%s\", \"steps\": %llu, \"peak_bytes\": %lld, \"wall_seconds\": %.3f, "
      "\"cpu_seconds\": %.3f}\n",
      study_state_name(r->state), (unsigned long long)r->course.step,
      (long long)used->ru_maxrss * 1024, mo_seconds() - r->started, cpu);
  return mo_file_write(path, text, (size_t)length, error);
}

/* All of the file once more: the child may have cut off and rewritten what was read while it
 * went on. */
static bool whole_course_diverged(study_run *r)
{
  loss_watch_start(&r->course);
  return loss_watch_follow(&r->course, r->directory, (uint64_t)r->run.max_skipped);
}

static study_state end_state(study_run *r, int status)
{
  if (whole_course_diverged(r)) return STUDY_DIVERGED;
  const bool all_steps = r->course.step >= (uint64_t)r->run.num_iterations;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 && all_steps ? STUDY_COMPLETE
                                                                    : STUDY_FAILED;
}

mousse_status run_child_attend(study_run *r, bool stop_diverged, mo_error *error)
{
  int status = 0;
  struct rusage used = {0};
  const pid_t ended = wait4(r->child, &status, WNOHANG, &used);
  if (ended == 0) {
    if (loss_watch_follow(&r->course, r->directory, (uint64_t)r->run.max_skipped) &&
        stop_diverged)
      kill(r->child, SIGKILL);
    return MOUSSE_OK;
  }
  if (ended < 0 && errno == EINTR) return MOUSSE_OK;
  r->child = 0;
  r->state = ended < 0 ? STUDY_FAILED : end_state(r, status);
  return r->state == STUDY_FAILED ? MOUSSE_OK : write_result(r, &used, error);
}

mousse_status run_result_read(study_run *r, mo_error *error)
{
  char path[MO_SETTING_PATH];
  json_error_t problem;
  MO_TRY(mo_path_join(path, sizeof path, r->directory, "result.json", error));
  if (access(path, F_OK) != 0) return MOUSSE_OK;
  json_t *result = json_load_file(path, 0, &problem);
  const char *status = json_string_value(json_object_get(result, "status"));
  if (status != NULL && strcmp(status, "complete") == 0)
    r->state = STUDY_COMPLETE;
  else if (status != NULL && strcmp(status, "diverged") == 0)
    r->state = STUDY_DIVERGED;
  json_decref(result);
  if (r->state != STUDY_WAITING) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: has no \"status\" of complete or diverged; remove it to repeat the run",
                 path);
}
