/* fuzz_manifest.c - the manifest of a data set from any bytes. */
#include "data/shards/dataset.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  mo_dataset dataset;
  mo_error error;
  if (dataset_parse(&dataset, "input", (const char *)data, size, &error) == MOUSSE_OK)
    FUZZ_CHECK(dataset.end_of_text < dataset.vocabulary);
  return 0;
}
