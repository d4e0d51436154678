/* arguments.h - a command line into a struct, checked against the command's table.
 *
 *     --name value   --name=value   --switch   --no-switch   --switch=false   -- rest
 *     -h for --help, -o for --out
 *
 * Options and positional arguments may be mixed; after "--" all are positional. Names that other
 * programs use are understood, with a note.
 */
#ifndef MOUSSE_CLI_ARGUMENTS_H
#define MOUSSE_CLI_ARGUMENTS_H

#include "cli/command.h"

/* values: the command's struct, zeroed, filled here with defaults and options. arguments: room
 * for count pointers. */
mousse_status arguments_parse(const cli_command *command, size_t count, char *const *words,
                              void *values, common_values *common, const char **arguments,
                              size_t *argument_count, mo_error *error);

/* The row that an option's name, or another name for it, means; NULL when there is none. */
const mo_setting *arguments_find(const cli_command *command, const char *name);

#endif
