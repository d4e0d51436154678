/* fuzz_merges.c - vocab.json and merges.txt, one after the other with a line of --- between. */
#include "round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char line[] = "\n---\n";
  mo_tokenizer tokenizer;
  mo_error error;
  const char *text = (const char *)data, *middle = memmem(data, size, line, strlen(line));
  const size_t first = middle != NULL ? (size_t)(middle - text) : size;
  const size_t second = middle != NULL ? first + strlen(line) : size;
  if (tokenizer_parse_pair(&tokenizer, "vocab.json", text, first, "merges.txt", text + second,
                           size - second, &error) != MOUSSE_OK)
    return 0;
  check_round_trip(&tokenizer, data, size);
  tokenizer_close(&tokenizer);
  return 0;
}
