/* name_pattern.h - regular expressions (POSIX, extended) that are looked for in names of tensors. */
#ifndef MOUSSE_GPT_NAME_PATTERN_H
#define MOUSSE_GPT_NAME_PATTERN_H

#include "base/error.h"

#include <regex.h>

/* The caller ends it with regfree. A message begins with the option that it came from. */
mousse_status name_pattern_open(regex_t *expression, const char *option, const char *pattern,
                                mo_error *error);

#endif
