/* memory_room.c - asks Linux, the control group (version 2) and the process's limits. */
#include "train/memory_room.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static uint64_t smaller(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* The number behind a word of a file's lines, or the file's first one; UINT64_MAX: none. */
static uint64_t number_in(const char *path, const char *format)
{
  char line[256];
  unsigned long long number = 0;
  uint64_t found = UINT64_MAX;
  FILE *file = fopen(path, "r");
  if (file == NULL) return found;
  while (found == UINT64_MAX && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, format, &number) == 1) found = number;
  fclose(file);
  return found;
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
  if (limit == UINT64_MAX || used == UINT64_MAX) return UINT64_MAX;
  return limit > used ? limit - used : 0;
}

static uint64_t process_room(void)
{
  struct rlimit limit;
  unsigned long long pages = 0;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  pages = number_in("/proc/self/statm", "%llu");
  return left_of(limit.rlim_cur, pages * 4096);
}

/* As the launchers say it; all of them share one machine when nobody does. */
static uint64_t ranks_here(int ranks)
{
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                      "PMI_LOCAL_SIZE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    int64_t number = 0;
    const char *text = getenv(names[i]);
    if (text != NULL && mo_parse_integer(text, &number) && number > 0) return (uint64_t)number;
  }
  return ranks > 0 ? (uint64_t)ranks : 1;
}

uint64_t memory_room(int ranks)
{
  const uint64_t kilobytes = number_in("/proc/meminfo", "MemAvailable: %llu");
  const uint64_t machine = kilobytes == UINT64_MAX ? UINT64_MAX : 1024 * kilobytes;
  const uint64_t group = left_of(number_in("/sys/fs/cgroup/memory.max", "%llu"),
                                 number_in("/sys/fs/cgroup/memory.current", "%llu"));
  const uint64_t shared = smaller(machine, group);
  return smaller(shared == UINT64_MAX ? shared : shared / ranks_here(ranks), process_room());
}
