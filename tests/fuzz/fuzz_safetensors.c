/* fuzz_safetensors.c - any bytes as a safetensors file: refused with a sentence, or all of its
 * tensors lie inside it. */
#include "gpt/safetensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
  safetensors file;
  mo_error error = {{0}};
  if (safetensors_parse(&file, "input", data, size, NULL, &error) != MOUSSE_OK) {
    if (error.text[0] == '\0') abort();
    return 0;
  }
  unsigned sum = 0;
  for (size_t i = 0; i < file.entry_count; i++) {
    const safetensors_entry *entry = &file.entries[i];
    for (size_t j = 0; j < entry->bytes; j++) sum += entry->data[j];
    if (safetensors_find(&file, entry->name) != entry) abort();
  }
  safetensors_close(&file);
  return sum == 0xffffffffu; /* the bytes are read, whatever they are */
}
