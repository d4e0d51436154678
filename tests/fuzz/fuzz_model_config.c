/* fuzz_model_config.c - any text as config.json, ours or another program's: refused with a
 * sentence, or a table that passes every check and comes back from being written. */
#include "formats/hf_config.h"
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  mo_error error = {{0}};
  bool foreign = false;
  model_family family = FAMILY_NONE;
  gpt_config config = {0}, again = {0};
  if (hf_parse_config(&config, &foreign, &family, "input", (const char *)data, size, &error) !=
      MOUSSE_OK) {
    FUZZ_CHECK(error.text[0] != '\0');
    return 0;
  }
  FUZZ_CHECK(gpt_config_check(&config, NULL) == MOUSSE_OK);
  FUZZ_CHECK(gpt_parameter_count(&config) > 0);
  json_t *written = hf_config_json(&config, NUMBER_F32, NULL);
  char *text = json_dumps(written, JSON_COMPACT);
  FUZZ_CHECK(text != NULL);
  FUZZ_CHECK(hf_parse_config(&again, &foreign, &family, "written", text, strlen(text),
                             &error) == MOUSSE_OK);
  FUZZ_CHECK(gpt_config_equal(&config, &again));
  json_decref(written);
  free(text);
  return 0;
}
