/* report_svg.c - every chart as a picture for papers, drawn by gnuplot.
 *
 * gnuplot gets its script on its standard input, a nameless file, and gives the picture on its
 * standard output; a picture is written when all of it is there.
 */
#include "base/buffer.h"
#include "base/file.h"
#include "report/chart_style.h"
#include "report/gnuplot_script.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static mousse_status start_gnuplot(FILE *script, FILE *complaints, int output, pid_t *child,
                                   mo_error *error)
{
  char *const words[] = {"gnuplot", "-", NULL};
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0)
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory to start gnuplot");
  posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(complaints), STDERR_FILENO);
  const int failure = posix_spawnp(child, words[0], &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == ENOENT)
    return mo_fail(error, MOUSSE_IO,
                   "gnuplot, which draws the SVG pictures, is not installed (Debian: "
                   "apt-get install gnuplot-nox)");
  return failure == 0
             ? MOUSSE_OK
             : mo_fail(error, MOUSSE_IO, "gnuplot cannot be started: %s", strerror(failure));
}

static bool read_all(int descriptor, mo_buffer *into)
{
  char block[1 << 14];
  for (;;) {
    const ssize_t got = read(descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    if (!mo_buffer_add(into, block, (size_t)got)) return false;
  }
}

static mousse_status check_end(int ended, FILE *complaints, const char *path, mo_error *error)
{
  char line[200] = "";
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return MOUSSE_OK;
  rewind(complaints);
  while (fgets(line, sizeof line, complaints) != NULL && strspn(line, " \n^") == strlen(line)) {
  }
  line[strcspn(line, "\n")] = '\0';
  return mo_fail(error, MOUSSE_IO, "%s: gnuplot failed: %s", path, line);
}

static mousse_status draw_with(FILE *script, FILE *complaints, const char *path,
                               mo_error *error)
{
  int ends[2], ended = 0;
  pid_t child = 0;
  mo_buffer picture = {0};
  if (pipe2(ends, O_CLOEXEC) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: no pipe to gnuplot: %s", path, strerror(errno));
  mousse_status status = start_gnuplot(script, complaints, ends[1], &child, error);
  close(ends[1]);
  const bool started = status == MOUSSE_OK;
  if (started && !read_all(ends[0], &picture))
    status = mo_fail(error, MOUSSE_IO, "%s: cannot read what gnuplot draws", path);
  close(ends[0]); /* or it would wait for a reader of the rest, and we for it */
  while (started && waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  if (status == MOUSSE_OK) status = check_end(ended, complaints, path, error);
  if (status == MOUSSE_OK) status = mo_file_write(path, picture.data, picture.size, error);
  mo_buffer_close(&picture);
  return status;
}

static mousse_status draw(const json_t *chart, const char *path, mo_error *error)
{
  FILE *script = tmpfile(), *complaints = tmpfile();
  mousse_status status = MOUSSE_OK;
  if (script != NULL && complaints != NULL) {
    gnuplot_script(script, chart);
    rewind(script); /* also writes what is buffered */
    status = ferror(script)
                 ? mo_fail(error, MOUSSE_IO, "%s: cannot write a script for gnuplot", path)
                 : draw_with(script, complaints, path, error);
  } else {
    status = mo_fail(error, MOUSSE_IO, "%s: no temporary file for gnuplot: %s", path,
                     strerror(errno));
  }
  if (script != NULL) fclose(script);
  if (complaints != NULL) fclose(complaints);
  return status;
}

/* One that gnuplot refuses leaves the others as they are: the first failure is kept and told at
 * the end. */
static void draw_figure(const json_t *figure, const char *directory, mousse_status *status,
                        mo_error *error)
{
  const json_t *charts = json_object_get(figure, "charts");
  for (size_t i = 0; i < json_array_size(charts); i++) {
    char name[128], path[4096];
    const json_t *chart = json_array_get(charts, i);
    mo_error *say = *status == MOUSSE_OK ? error : NULL;
    if (i == 0)
      snprintf(name, sizeof name, "%s.svg", json_string_value(json_object_get(figure, "id")));
    else
      snprintf(name, sizeof name, "%s-%zu.svg",
               json_string_value(json_object_get(figure, "id")), i + 1);
    mousse_status drawn = mo_path_join(path, sizeof path, directory, name, say);
    if (drawn == MOUSSE_OK && gnuplot_can_draw(chart)) drawn = draw(chart, path, say);
    if (*status == MOUSSE_OK) *status = drawn;
  }
}

mousse_status report_svg(const json_t *results, const char *directory, mo_error *error)
{
  mousse_status status = MOUSSE_OK;
  MO_TRY(results_check(results, error));
  MO_TRY(mo_make_directories(directory, error));
  json_t *copy = json_deep_copy(results);
  if (copy == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for pictures");
  chart_styles_add(copy);
  const json_t *figures = json_object_get(copy, "figures");
  for (size_t i = 0; i < json_array_size(figures); i++)
    draw_figure(json_array_get(figures, i), directory, &status, error);
  json_decref(copy);
  return status;
}
