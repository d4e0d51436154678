/* watch_child.c - 'mousse watch' beside a run. */
#include "cli/watch_child.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PATIENCE = 10000 }; /* milliseconds */

/* In the child: only calls that are safe after fork. It yields to the run, and Ctrl-C is not for
 * it: it ends when the run has. */
static void become(const char *directory, int output, pid_t parent)
{
  char *const words[] = {"mousse", "watch", "--quiet", "--", (char *)(uintptr_t)directory,
                         NULL}; /* --: whatever its name begins with */
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1); /* it died before the line above */
  setpgid(0, 0);
  if (nice(10) == -1) (void)0; /* then it does not yield */
  dup2(output, STDOUT_FILENO);
  execv("/proc/self/exe", words);
  _exit(127);
}

/* The first line of what a process prints. */
static bool read_line(int from, char *line, size_t capacity)
{
  size_t used = 0;
  struct pollfd ready = {.fd = from, .events = POLLIN};
  while (used + 1 < capacity && poll(&ready, 1, PATIENCE) > 0) {
    const ssize_t got = read(from, line + used, 1);
    if (got != 1) return false;
    if (line[used] == '\n') {
      line[used] = '\0';
      return used > 0;
    }
    used++;
  }
  return false;
}

bool watch_child_start(const char *directory, char *address, size_t capacity)
{
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    close(ends[0]);
    become(directory, ends[1], parent);
  }
  close(ends[1]);
  const bool told = child > 0 && read_line(ends[0], address, capacity);
  close(ends[0]);
  return told;
}
