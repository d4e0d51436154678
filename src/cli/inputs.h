/* inputs.h - what 'mousse tokenize' and 'mousse text' are asked to read. */
#ifndef MOUSSE_CLI_INPUTS_H
#define MOUSSE_CLI_INPUTS_H

#include "cli/command.h"

/* Whether a path names a token shard. */
bool inputs_is_shard(const char *path);

/* Refuses directories of token shards, which would be read as text, byte by byte; but for `out`,
 * which is left out. */
mousse_status inputs_check(const cli_invocation *call, const char *out, mo_error *error);

#endif
