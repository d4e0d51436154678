/* lr_factors.c - patterns and factors, one after the other. */
#include "train/lr_factors.h"

#include "base/text.h"
#include "gpt/name_pattern.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 256 };
static const double smallest = 1e-6, largest = 1e3;

typedef struct factor_entry {
  char pattern[LONGEST];
  double factor;
} factor_entry;

static mousse_status not_an_entry(const char *text, mo_error *error)
{
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "lr_factor: '%.100s' is not PATTERN=FACTOR, with a factor from %g to %g; "
                 "several are separated by |",
                 text, smallest, largest);
}

/* The first entry of *text, which is moved behind it. */
static mousse_status next_entry(const char **text, factor_entry *entry, mo_error *error)
{
  char number[32];
  const size_t length = strcspn(*text, "="), end = length + strcspn(*text + length, "|");
  const size_t digits = end > length ? end - length - 1 : 0;
  if (length == 0 || length >= LONGEST || digits == 0 || digits >= sizeof number)
    return not_an_entry(*text, error);
  snprintf(entry->pattern, sizeof entry->pattern, "%.*s", (int)length, *text);
  snprintf(number, sizeof number, "%.*s", (int)digits, *text + length + 1);
  if (!mo_parse_double(number, &entry->factor) || !(entry->factor >= smallest) ||
      entry->factor > largest)
    return not_an_entry(*text, error);
  *text += end;
  if (**text != '|') return MOUSSE_OK;
  (*text)++;
  return **text != '\0' ? MOUSSE_OK : not_an_entry("", error);
}

/* Factors that are 0 are not found yet. */
static size_t mark(const regex_t *expression, double factor, const gpt_params *params,
                   double *factors)
{
  size_t count = 0;
  for (size_t i = 0; i < params->tensor_count; i++) {
    const gpt_tensor *t = &params->tensors[i];
    if (t->frozen || regexec(expression, t->name, 0, NULL, 0) != 0) continue;
    if (factors[i] == 0) factors[i] = factor;
    count++;
  }
  return count;
}

static mousse_status apply(const factor_entry *entry, const gpt_params *params, double *factors,
                           mo_error *error)
{
  regex_t expression;
  MO_TRY(name_pattern_open(&expression, "lr_factor", entry->pattern, error));
  const size_t count = mark(&expression, entry->factor, params, factors);
  regfree(&expression);
  if (count > 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "lr_factor: '%.100s' matches no trained tensor's name; names look like %s",
                 entry->pattern, params->tensors[params->tensor_count / 2].name);
}

mousse_status lr_factors_find(const char *text, const gpt_params *params, double *factors,
                              mo_error *error)
{
  memset(factors, 0, params->tensor_count * sizeof *factors);
  while (*text != '\0') {
    factor_entry entry;
    MO_TRY(next_entry(&text, &entry, error));
    MO_TRY(apply(&entry, params, factors, error));
  }
  for (size_t i = 0; i < params->tensor_count; i++)
    if (factors[i] == 0) factors[i] = 1;
  return MOUSSE_OK;
}
