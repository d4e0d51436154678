/* name_pattern.c - see name_pattern.h.
 *
 * A pattern may come from a stranger's file, and regcomp takes memory without a limit: it writes out
 * x{1000}, and x+ as xx*, which doubles x with every + around it. So counts are refused, references to
 * what was matched before, which take time, and more than a few +.
 */
#include "gpt/name_pattern.h"

#include <stdbool.h>
#include <stddef.h>

enum { MOST_PLUSES = 8 };

static bool is_plain(const char *pattern)
{
  bool escaped = false;
  int pluses = 0;
  for (const char *at = pattern; *at != '\0'; at++) {
    if (*at == '{' || (escaped && *at >= '0' && *at <= '9')) return false;
    pluses += *at == '+';
    escaped = *at == '\\' && !escaped;
  }
  return pluses <= MOST_PLUSES;
}

mousse_status name_pattern_open(regex_t *expression, const char *option, const char *pattern,
                                mo_error *error)
{
  char reason[200] = "";
  if (!is_plain(pattern))
    return mo_fail(
        error, MOUSSE_INVALID_ARGUMENT,
        "%s: '%.100s' has counts {}, references \\1 or more than %d +, which are not supported",
        option, pattern, MOST_PLUSES);
  const int wrong = regcomp(expression, pattern, REG_EXTENDED | REG_NOSUB);
  if (wrong == 0) return MOUSSE_OK;
  regerror(wrong, expression, reason, sizeof reason);
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: '%.100s' is not a regular expression: %s",
                 option, pattern, reason);
}
