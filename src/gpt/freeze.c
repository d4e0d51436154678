/* freeze.c - tensors that stay as they are: by a regular expression (POSIX, extended) that is
 * looked for in their names. */
#include "gpt/gpt.h"

#include <regex.h>

static size_t mark(gpt_params *params, const regex_t *expression)
{
  size_t count = 0;
  for (size_t i = 0; i < params->tensor_count; i++) {
    gpt_tensor *tensor = &params->tensors[i];
    tensor->frozen = regexec(expression, tensor->name, 0, NULL, 0) == 0;
    count += tensor->frozen;
  }
  return count;
}

mousse_status gpt_freeze(gpt_params *params, const char *pattern, mo_error *error)
{
  regex_t expression;
  char reason[200] = "";
  if (pattern[0] == '\0') return MOUSSE_OK;
  const int wrong = regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB);
  if (wrong != 0) {
    regerror(wrong, &expression, reason, sizeof reason);
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "freeze: '%.100s' is not a regular expression: %s", pattern, reason);
  }
  const size_t count = mark(params, &expression);
  regfree(&expression);
  if (count == 0)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "freeze: no tensor's name has '%.100s' in it; names are as %s", pattern,
                   params->tensors[params->tensor_count / 2].name);
  if (count == params->tensor_count)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "freeze: '%.100s' is in every tensor's name, nothing would be trained",
                   pattern);
  return MOUSSE_OK;
}
