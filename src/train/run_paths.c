/* run_paths.c - see run_paths.h. */
#include "train/run_paths.h"

#include "base/file.h"
#include "data/shards/mixture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool exists(const char *path)
{
  return access(path, F_OK) == 0;
}

/* Without what names the same place in other words: ./ before it, slashes behind it. */
static void tidy(char name[MO_SETTING_PATH], const char *path)
{
  while (strncmp(path, "./", 2) == 0) path += 1 + strspn(path + 1, "/");
  snprintf(name, MO_SETTING_PATH, "%s", strcmp(path, ".") == 0 ? "" : path);
  for (size_t n = strlen(name); n > 1 && name[n - 1] == '/';) name[--n] = '\0';
}

static bool has_dots(const char *name)
{
  const char *at = strstr(name, "..");
  return at != NULL && (at == name || at[-1] == '/') && (at[2] == '/' || at[2] == '\0');
}

/* directory = start/name, or start itself where there is no name. */
static bool cut_name(char start[PATH_MAX], const char *directory, const char *name)
{
  char whole[MO_SETTING_PATH];
  tidy(whole, directory);
  const size_t length = strlen(whole), end = strlen(name);
  snprintf(start, PATH_MAX, "%s", whole[0] != '\0' ? whole : ".");
  if (end == 0) return true;
  if (strcmp(whole, name) == 0) {
    memcpy(start, ".", 2);
    return true;
  }
  if (length <= end || whole[length - end - 1] != '/' ||
      strcmp(whole + length - end, name) != 0)
    return false;
  start[length - end - 1] = '\0';
  return true;
}

static bool same_file(const char *a, const char *b)
{
  struct stat one, other;
  return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

/* The folder in which the run in `directory` began. False: not known, or the one that we are in. */
static bool find_start(char start[PATH_MAX], const train_options *run, const char *directory)
{
  char out[MO_SETTING_PATH], name[MO_SETTING_PATH], real[PATH_MAX];
  if (options_directory(run, out, sizeof out, NULL) != MOUSSE_OK) return false;
  tidy(name, out);
  if (name[0] == '/' || has_dots(name)) return false;
  if (!cut_name(start, directory, name) &&
      (realpath(directory, real) == NULL || !cut_name(start, real, name)))
    return false;
  return !same_file(start, ".");
}

/* start/path, in as few words as this folder allows. */
static bool join(char *joined, size_t capacity, const char *start, const char *path)
{
  char here[PATH_MAX];
  if (path[0] == '/') start = "";
  const char *slash = path[0] == '/' || strcmp(start, "/") == 0 ? "" : "/";
  const int length = snprintf(joined, capacity, "%s%s%s", start, slash, path);
  if (length < 0 || (size_t)length >= capacity) return false;
  const size_t own = getcwd(here, sizeof here) != NULL ? strlen(here) : 0;
  if (path[0] != '/' && own > 1 && strncmp(joined, here, own) == 0 && joined[own] == '/')
    memmove(joined, joined + own + 1, strlen(joined + own));
  return true;
}

/* Each part of a mixture begins in the folder. */
static bool join_parts(char joined[MO_SETTING_PATH], const char *start, const char *data)
{
  size_t used = 0;
  for (const char *part = data; part != NULL;) {
    char name[MO_SETTING_PATH];
    const size_t length = strcspn(part, ",");
    snprintf(name, sizeof name, "%.*s", (int)length, part);
    if (used > 0) joined[used++] = ',';
    if (!join(joined + used, MO_SETTING_PATH - used - 1, start, name)) return false;
    used += strlen(joined + used);
    part = part[length] == ',' ? part + length + 1 : NULL;
  }
  return true;
}

static void move_data(train_options *run, const char *start)
{
  char joined[MO_SETTING_PATH];
  if (run->data_dir[0] == '\0') return;
  const bool whole = join(joined, sizeof joined, start, run->data_dir) && exists(joined);
  if (!whole && !join_parts(joined, start, run->data_dir)) return;
  if (strlen(joined) >= sizeof run->data_dir) return;
  if (whole || mixture_exists(joined) || !mixture_exists(run->data_dir))
    memcpy(run->data_dir, joined, strlen(joined) + 1);
}

/* RUN@STEP -> RUN, and the length of that; a name with an @ that is there is a name. */
static size_t without_step(char place[MO_SETTING_PATH], const char *path)
{
  snprintf(place, MO_SETTING_PATH, "%s", path);
  char *at = strrchr(place, '@');
  if (at != NULL && at > place && !exists(path)) *at = '\0';
  return strlen(place);
}

static void move_weights(train_options *run, const char *start)
{
  char joined[MO_SETTING_PATH], there[MO_SETTING_PATH], here[MO_SETTING_PATH];
  if (run->init[0] == '\0' || !join(joined, sizeof joined, start, run->init) ||
      strlen(joined) >= sizeof run->init)
    return;
  without_step(there, joined);
  without_step(here, run->init);
  if (exists(there) || !exists(here)) memcpy(run->init, joined, strlen(joined) + 1);
}

void run_paths_from_here(train_options *run, const char *directory)
{
  char start[PATH_MAX];
  if (!find_start(start, run, directory)) return;
  move_data(run, start);
  move_weights(run, start);
}

/* What is kept may begin in a folder that is not known: then the end of the other's name tells. */
static bool same_place(const char *kept, const char *given)
{
  char name[MO_SETTING_PATH], real[PATH_MAX], start[PATH_MAX];
  if (strcmp(kept, given) == 0 || same_file(kept, given)) return true;
  if (kept[0] == '/' || kept[0] == '\0' || exists(kept) || realpath(given, real) == NULL)
    return false;
  for (tidy(name, kept); strncmp(name, "../", 3) == 0;)
    memmove(name, name + 3, strlen(name + 2));
  return name[0] != '\0' && !has_dots(name) && cut_name(start, real, name);
}

bool run_paths_same_weights(const char *kept, const char *given)
{
  char a[MO_SETTING_PATH], b[MO_SETTING_PATH];
  const size_t m = without_step(a, kept), n = without_step(b, given);
  return strcmp(kept, given) == 0 || (strcmp(kept + m, given + n) == 0 && same_place(a, b));
}

bool run_paths_same_data(const char *kept, const char *given)
{
  mo_mixture a, b;
  if (strcmp(kept, given) == 0) return true;
  if (mixture_parse(&a, kept, NULL) != MOUSSE_OK ||
      mixture_parse(&b, given, NULL) != MOUSSE_OK || a.count != b.count)
    return false;
  for (size_t i = 0; i < a.count; i++)
    if (a.weights[i] < b.weights[i] || a.weights[i] > b.weights[i] ||
        !same_place(mixture_path(&a, i), mixture_path(&b, i)))
      return false;
  return true;
}

bool run_paths_same_option(const char *name, const char *kept, const char *given)
{
  if (strcmp(name, "init") == 0) return run_paths_same_weights(kept, given);
  if (strcmp(name, "data_dir") == 0) return run_paths_same_data(kept, given);
  return strcmp(kept, given) == 0;
}
