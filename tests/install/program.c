/* program.c - an outside program: one matrix, a few steps, through the installed header. It is
 * compiled as C and as C++. */
#include <mousse/mousse.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
  enum { ROWS = 4, COLS = 6 };
  static float w[ROWS * COLS], g[ROWS * COLS];
  mousse_optimizer *opt = NULL;
  int group = 0;
  mousse_status s = mousse_create(NULL, &opt);
  if (!s) s = mousse_add_group(opt, "mousse", &group);
  if (!s) s = mousse_add_param(opt, group, "w", ROWS, COLS, w, g);
  if (!s) s = mousse_set(opt, group, "lr", 0.1);
  if (!s) s = mousse_prepare(opt);
  for (int t = 0; !s && t < 20; t++) {
    for (int i = 0; i < ROWS * COLS; i++) g[i] = w[i] - (float)(i % 5);
    s = mousse_step(opt);
  }
  if (s) fprintf(stderr, "%s\n", opt ? mousse_error(opt) : mousse_status_text(s));
  if (strcmp(mousse_version(), MOUSSE_VERSION_TEXT) != 0) s = MOUSSE_INVALID_ARGUMENT;
  if (!(w[4] > 0.1f)) s = MOUSSE_INVALID_ARGUMENT; /* moved towards 4 */
  mousse_destroy(opt);
  return s == MOUSSE_OK ? 0 : 1;
}
