/* fuzz_results.c - a document of results from any bytes: one that passes the check can be shown
 * in a terminal of any width. */
#include "fuzz.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  json_t *results = NULL;
  mo_error error;
  mo_buffer text = {0};
  const size_t width = size > 0 ? data[size - 1] : 80;
  if (results_parse(&results, "input", (const char *)data, size, &error) != MOUSSE_OK) return 0;
  FUZZ_CHECK(report_text(results, width, &text, &error) == MOUSSE_OK);
  for (size_t i = 0; i < text.size; i++)
    FUZZ_CHECK((unsigned char)text.data[i] >= ' ' || text.data[i] == '\n');
  mo_buffer_close(&text);
  json_decref(results);
  return 0;
}
