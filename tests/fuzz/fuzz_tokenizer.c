/* fuzz_tokenizer.c - tokenizer.json from any bytes, and if it is one, itself encoded by it. */
#include "round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  mo_tokenizer tokenizer;
  mo_error error;
  if (tokenizer_parse_json(&tokenizer, "input", (const char *)data, size, &error) != MOUSSE_OK)
    return 0;
  check_round_trip(&tokenizer, data, size);
  tokenizer_close(&tokenizer);
  return 0;
}
