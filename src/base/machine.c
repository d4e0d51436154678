/* machine.c - see machine.h. */
#include "base/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* From the first line "model name : ..." of /proc/cpuinfo. */
void mo_processor_name(char name[MO_PROCESSOR_NAME])
{
  static const char key[] = "model name";
  char line[256];
  struct utsname system = {0};
  FILE *file = fopen("/proc/cpuinfo", "re");
  uname(&system);
  snprintf(name, MO_PROCESSOR_NAME, "%s", system.machine);
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    const char *colon = strchr(line, ':');
    if (colon == NULL || strncmp(line, key, strlen(key)) != 0) continue;
    colon += 1 + strspn(colon + 1, " ");
    snprintf(name, MO_PROCESSOR_NAME, "%.*s", (int)strcspn(colon, "\n"), colon);
    break;
  }
  if (file != NULL) fclose(file);
}
