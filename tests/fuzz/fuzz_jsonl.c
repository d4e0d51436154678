/* fuzz_jsonl.c - one line of JSON lines from any bytes. */
#include "data/text/corpus.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  mo_buffer text = {0};
  mo_error error;
  (void)source_parse_line("input", 1, (const char *)data, size, "text", &text, &error);
  mo_buffer_close(&text);
  return 0;
}
