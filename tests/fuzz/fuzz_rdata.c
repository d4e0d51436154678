/* fuzz_rdata.c - R's serialization from any bytes, as an index and as a vector of strings. */
#include "data/text/rdata.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  text_buffer text = {0};
  mo_rdata rdata = {0};
  mo_error error;
  (void)rdata_parse_text("input", (const char *)data, size, &text, &error);
  if (rdata_parse_index(&rdata, "input", (const char *)data, size, &error) == MOUSSE_OK)
    rdata_close(&rdata);
  text_buffer_close(&text);
  return 0;
}
