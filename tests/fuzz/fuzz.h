/* fuzz.h - what every fuzz target defines. Data is exactly size bytes long. */
#ifndef MOUSSE_TESTS_FUZZ_H
#define MOUSSE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that must hold, whatever the input. */
#define FUZZ_CHECK(condition)                                                                  \
  do {                                                                                         \
    if (!(condition)) abort();                                                                 \
  } while (0)

#endif
