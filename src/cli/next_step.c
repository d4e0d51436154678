/* next_step.c - what one would do after a command. */
#include "cli/next_step.h"

#include "cli/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *program = "mousse";

void next_step_program(const char *path)
{
  program = path;
}

/* %s takes the next argument, quoted; all else stays as it is. */
static void print_line(const char *format, va_list arguments)
{
  char quoted[2 * MO_SETTING_PATH];
  for (const char *c = format; *c != '\0'; c++) {
    if (c[0] == '%' && c[1] == 's') {
      fputs(terminal_quoted(va_arg(arguments, const char *), quoted, sizeof quoted), stderr);
      c++;
    } else {
      fputc(*c, stderr);
    }
  }
}

void next_step(const cli_invocation *call, const char *format, ...)
{
  static bool said;
  char quoted[2 * MO_SETTING_PATH];
  va_list arguments;
  if (call->quiet) return;
  fflush(stdout); /* the results come first */
  fprintf(stderr, "%s%s%s %s ", terminal_code(stderr, STYLE_BOLD),
          said ? "     " : "next:", terminal_code(stderr, STYLE_NONE),
          terminal_quoted(program, quoted, sizeof quoted));
  said = true;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}
