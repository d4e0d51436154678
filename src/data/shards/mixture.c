/* mixture.c - "DIRECTORY:WEIGHT,DIRECTORY:WEIGHT". */
#include "data/shards/mixture.h"

#include "base/text.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

const char *mixture_path(const mo_mixture *mixture, size_t index)
{
  return mixture->text + mixture->starts[index];
}

/* Cuts ":WEIGHT" from the end of a part; what follows the colon may also belong to a name. */
static mousse_status take_weight(char *part, double *weight, mo_error *error)
{
  char *colon = strrchr(part, ':');
  *weight = 1;
  if (access(part, F_OK) == 0 || colon == NULL || !mo_parse_double(colon + 1, weight)) {
    *weight = 1;
    return MOUSSE_OK;
  }
  if (!isfinite(*weight) || *weight <= 0)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "data '%s': the weight must be a number above 0",
                   part);
  *colon = '\0';
  return MOUSSE_OK;
}

static mousse_status add_part(mo_mixture *mixture, size_t start, mo_error *error)
{
  if (mixture->count == MIXTURE_MOST)
    return mo_fail(error, MOUSSE_OUT_OF_RANGE, "at most %d data directories can be mixed",
                   MIXTURE_MOST);
  if (mixture->text[start] == '\0')
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "a data directory has no name; expected DIRECTORY:WEIGHT,DIRECTORY:WEIGHT");
  mixture->starts[mixture->count] = start;
  return take_weight(mixture->text + start, &mixture->weights[mixture->count++], error);
}

mousse_status mixture_parse(mo_mixture *mixture, const char *text, mo_error *error)
{
  const size_t length = strlen(text);
  *mixture = (mo_mixture){0};
  if (length >= sizeof mixture->text)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "'%.80s...': the path is too long", text);
  memcpy(mixture->text, text, length + 1);
  if (access(text, F_OK) == 0) {
    mixture->count = 1;
    mixture->weights[0] = 1;
    return MOUSSE_OK;
  }
  for (size_t start = 0; start <= length;) {
    const size_t part = strcspn(mixture->text + start, ",");
    mixture->text[start + part] = '\0';
    MO_TRY(add_part(mixture, start, error));
    start += part + 1;
  }
  return MOUSSE_OK;
}

bool mixture_exists(const char *text)
{
  mo_mixture mixture;
  if (mixture_parse(&mixture, text, NULL) != MOUSSE_OK) return false;
  for (size_t i = 0; i < mixture.count; i++)
    if (access(mixture_path(&mixture, i), F_OK) != 0) return false;
  return true;
}
