/* main.c - the program mousse: finds the command, parses its options, runs it, and turns a
 * status into a message and an exit code. Only src/cli prints, and only this file exits. */
#include "base/memory.h"
#include "cli/arguments.h"
#include "cli/help.h"
#include "cli/next_step.h"
#include "cli/terminal.h"
#include "linalg/blas_core.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int exit_code(mousse_status status)
{
  switch (status) {
  case MOUSSE_OK:
    return EXIT_DONE;
  case MOUSSE_INVALID_ARGUMENT:
  case MOUSSE_UNKNOWN_NAME:
  case MOUSSE_OUT_OF_RANGE:
    return EXIT_USAGE;
  case MOUSSE_BAD_FORMAT:
    return EXIT_DAMAGED;
  default:
    return EXIT_FAILED;
  }
}

static mousse_status run(const cli_command *command, size_t count, char *const *words,
                         mo_error *error)
{
  void *values = mo_allocate(NULL, command->values_bytes);
  const char **arguments = mo_allocate(NULL, count * sizeof *arguments);
  common_values common = {0};
  cli_invocation call = {.values = values, .arguments = arguments};
  mousse_status status = MOUSSE_OK;
  if (values == NULL || arguments == NULL)
    status = mo_fail(error, MOUSSE_NO_MEMORY, "no memory to read the command line");
  else
    status = arguments_parse(command, count, words, values, &common, arguments,
                             &call.argument_count, error);
  call.quiet = common.quiet;
  if (status == MOUSSE_OK && common.help)
    help_command(command);
  else if (status == MOUSSE_OK)
    status = command->run(&call, error);
  mo_release(NULL, arguments, count * sizeof *arguments);
  mo_release(NULL, values, command->values_bytes);
  return status;
}

/* Output that could not be written (a full disk behind '>') is a failure, not a success. */
static mousse_status flush_output(mo_error *error)
{
  if (fflush(stdout) == 0 && !ferror(stdout)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO, "cannot write to standard output");
}

static const cli_command *choose_command(const char *name, mo_error *error)
{
  char note[128];
  const cli_command *command = command_find(name);
  if (command == NULL) {
    command_unknown(name, error);
  } else if (strcmp(command->name, name) != 0) {
    snprintf(note, sizeof note, "'%s' is called '%s' here", name, command->name);
    terminal_note(note);
  }
  return command;
}

/* OpenBLAS has chosen its kernels before main; where it does not know the processor, the program
 * starts once more and tells it. If that fails, it is slower and no less right. */
static void choose_blas_core(char **argv)
{
  const char *core = mo_blas_better_core();
  if (core != NULL && setenv("OPENBLAS_CORETYPE", core, 1) == 0) execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
  mo_error error = {{0}};
  choose_blas_core(argv);
  terminal_open_descriptors();
  signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a failed write, with a sentence */
  signal(SIGPIPE, SIG_IGN); /* `mousse data | head` ends with a message, not a signal */
  next_step_start(argc, argv);
  const char *name = argc > 1 ? argv[1] : "help";
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
  if (strcmp(name, "--version") == 0) name = "version";

  const cli_command *command = choose_command(name, &error);
  mousse_status status = MOUSSE_UNKNOWN_NAME;
  if (command != NULL)
    status =
        run(command, argc > 2 ? (size_t)argc - 2 : 0, argv + (argc > 2 ? 2 : argc), &error);
  if (status == MOUSSE_OK) status = flush_output(&error);
  if (status != MOUSSE_OK && error.text[0] != '\0') /* else a command has told it */
    terminal_error(error.text);
  return exit_code(status);
}
