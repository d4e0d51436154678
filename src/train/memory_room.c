/* memory_room.c - asks Linux, the control group (version 2) and the process's limits. */
#include "train/memory_room.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

static uint64_t number_below(const char *folder, const char *name, const char *format)
{
  char path[4096 + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return number_in(path, format);
}

/* Bytes of files that are kept in memory, 0 where nobody counts them. */
static uint64_t cached_in(const char *folder, const char *format)
{
  const uint64_t bytes = number_below(folder, "memory.stat", format);
  return bytes == UINT64_MAX ? 0 : bytes;
}

static uint64_t room_in(const char *folder)
{
  const uint64_t limit = number_below(folder, "memory.max", "%llu");
  const uint64_t used = number_below(folder, "memory.current", "%llu");
  const uint64_t cached =
      cached_in(folder, "active_file %llu") + cached_in(folder, "inactive_file %llu");
  return left_of(limit, used == UINT64_MAX ? used : left_of(used, cached));
}

/* The name of the process's group, such as /user.slice, in the line "0::NAME"; "": not known. */
static void find_group(const char *root, char name[2048])
{
  char line[2048];
  name[0] = '\0';
  snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
  FILE *file = fopen(line, "r");
  if (file == NULL) return;
  while (fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "0::/", 4) == 0 && strstr(line, "/..") == NULL)
      snprintf(name, 2048, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
  fclose(file);
}

uint64_t memory_group_room(const char *root)
{
  char folder[4096], name[2048];
  uint64_t room = UINT64_MAX;
  find_group(root, name);
  const int top = snprintf(folder, sizeof folder, "%.1900s/sys/fs/cgroup", root);
  snprintf(folder + top, sizeof folder - (size_t)top, "%s", name);
  for (char *end = folder + strlen(folder); end >= folder + top; end--)
    if (end == folder + top || *end == '/' || *end == '\0') {
      *end = '\0';
      room = smaller(room, room_in(folder));
    }
  return room;
}

static uint64_t process_room(void)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  const uint64_t pages = number_in("/proc/self/statm", "%llu");
  const bool known = pages != UINT64_MAX;
  return left_of(limit.rlim_cur, known ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : pages);
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
  const uint64_t shared = smaller(machine, memory_group_room(""));
  return smaller(shared == UINT64_MAX ? shared : shared / ranks_here(ranks), process_room());
}
