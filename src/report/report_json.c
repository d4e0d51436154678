/* report_json.c - results.json. */
#include "base/file.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

mousse_status report_json(const json_t *results, const char *path, mo_error *error)
{
  MO_TRY(results_check(results, error));
  char *text = json_dumps(results, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  if (text == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to write it", path);
  const mousse_status status = mo_file_write(path, text, strlen(text), error);
  free(text);
  return status;
}
