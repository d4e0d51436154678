/* fuzz_run_yaml.c - a run's configuration from any bytes: what is read stays within its ranges.
 */
#include "fuzz.h"
#include "train/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  train_options run;
  mo_error error;
  FUZZ_CHECK(options_defaults(&run, &error) == MOUSSE_OK);
  (void)options_parse(&run, "input", (const char *)data, size, NULL, &error);
  FUZZ_CHECK(run.batch_size >= 1 && run.warmup_ratio >= 0 && run.warmup_ratio <= 1);
  FUZZ_CHECK(run.option_count <= OPTION_MOST);
  return 0;
}
