/* fuzz_llmc.c - any bytes as a checkpoint of llm.c: refused with a sentence, or exactly as long
 * as its header says. */
#include "formats/llmc.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  gpt_config config = {0};
  mo_error error = {{0}};
  if (llmc_parse_header("input", data, size, &config, &error) != MOUSSE_OK) {
    FUZZ_CHECK(error.text[0] != '\0');
    return 0;
  }
  FUZZ_CHECK(gpt_config_check(&config, NULL) == MOUSSE_OK);
  FUZZ_CHECK(gpt_parameter_count(&config) * 2 <= size);
  return 0;
}
