/* completion.h - the words that may follow on a command line, found in the tables. */
#ifndef MOUSSE_CLI_COMPLETION_H
#define MOUSSE_CLI_COMPLETION_H

#include <stddef.h>

/* Prints one word a line with a tab and what it means, for the last of the words, which may be
 * empty or begun; ":files" where the shell should offer files. words: those after the
 * program's name. */
void completion_print(const char *const *words, size_t count);

#endif
