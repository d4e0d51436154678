/* next_step.h - what one would do after a command: lines at its end that can be copied.
 *
 *     next_step(call, "generate --init %s", run);
 *
 * Printed to standard error, and only where a person reads it: not with --quiet. Paths are put
 * in quotes where a shell needs them; the program is named as it was started. */
#ifndef MOUSSE_CLI_NEXT_STEP_H
#define MOUSSE_CLI_NEXT_STEP_H

#include "cli/command.h"

void next_step_start(int argc, char *const *argv); /* of main; borrowed */
const char *next_step_program(void);

/* format: the command line after the program's name; every argument is text, and quoted. */
void next_step(const cli_invocation *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "generate --init MODEL", or "chat"; with --tokenizer where `tokenizer` is not "". */
void next_step_model(const cli_invocation *call, const char *command, const char *model,
                     const char *tokenizer);
/* The same for what does not begin with the program: "open %s in a browser". */
void next_step_words(const cli_invocation *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* This command line once more as another command, without the options in `without`: names with a space
 * between them; one that ends with = has a value. */
void next_step_again(const cli_invocation *call, const char *command, const char *without);
/* The same on several ranks. */
void next_step_on_ranks(const cli_invocation *call, long long ranks, const char *command,
                        const char *without);

#endif
