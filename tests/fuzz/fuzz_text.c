/* fuzz_text.c - a tokenizer trained on any bytes gives them back. */
#include "data/tokenizer/bpe_train.h"
#include "round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  bpe_trainer *trainer = NULL;
  mo_tokenizer tokenizer;
  mo_error error;
  FUZZ_CHECK(bpe_trainer_open(&trainer, &error) == MOUSSE_OK);
  FUZZ_CHECK(bpe_trainer_add(trainer, (const char *)data, size, &error) == MOUSSE_OK);
  if (bpe_trainer_finish(trainer, 270, &tokenizer, &error) == MOUSSE_OK) {
    check_round_trip(&tokenizer, data, size);
    tokenizer_close(&tokenizer);
  }
  bpe_trainer_close(trainer);
  return 0;
}
