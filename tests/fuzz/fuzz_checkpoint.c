/* fuzz_checkpoint.c - the small files of a run from any bytes: the first byte says which,
 * trainer.json, manifest.json, config.json or history.jsonl. */
#include "fuzz.h"
#include "train/checkpoint.h"
#include "train/history.h"
#include "train/manifest.h"

static void read_trainer(const char *text, size_t size)
{
  trainer_state state = {.step = 77};
  mo_error error;
  if (trainer_state_parse(&state, "input", text, size, &error) != MOUSSE_OK)
    FUZZ_CHECK(state.step == 77 && error.text[0] != '\0');
  else
    FUZZ_CHECK(state.step <= INT64_MAX && state.tokens <= INT64_MAX);
}

static void read_config(const char *text, size_t size)
{
  gpt_config config;
  if (gpt_parse_config(&config, "input", text, size, NULL) == MOUSSE_OK)
    FUZZ_CHECK(gpt_config_check(&config, NULL) == MOUSSE_OK &&
               gpt_parameter_count(&config) > 0);
}

static void read_history(const char *text, size_t size)
{
  size_t kept = 0;
  if (history_measure("input", text, size, 1000, &kept, NULL) == MOUSSE_OK)
    FUZZ_CHECK(kept <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  mo_error error;
  if (size == 0) return 0;
  const char *text = (const char *)data + 1;
  switch (data[0]) {
  case 't':
    read_trainer(text, size - 1);
    break;
  case 'c':
    read_config(text, size - 1);
    break;
  case 'h':
    read_history(text, size - 1);
    break;
  default:
    (void)manifest_check("input", text, size - 1, checkpoint_file, checkpoint_needs, &error);
  }
  return 0;
}
