/* fuzz_weights_index.c - any text as an index of weights files: refused with a sentence, or
 * names of files in the same folder. */
#include "formats/hf_weights.h"
#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  hf_index index;
  mo_error error = {{0}};
  if (hf_index_parse(&index, "input", (const char *)data, size, &error) != MOUSSE_OK) {
    FUZZ_CHECK(error.text[0] != '\0');
    return 0;
  }
  for (size_t i = 0; i < index.count; i++)
    FUZZ_CHECK(strchr(index.files[i], '/') == NULL && index.files[i][0] != '.');
  hf_index_close(&index);
  return 0;
}
