/* sha256.h - SHA-256 (FIPS 180-4), the checksum that publishers of files give. */
#ifndef MOUSSE_BASE_SHA256_H
#define MOUSSE_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct mo_sha256 {
  uint32_t state[8];
  uint64_t bytes;
  unsigned char block[64]; /* the last bytes, until they are 64 */
} mo_sha256;

enum { MO_SHA256_TEXT = 65 }; /* 64 hexadecimal digits and a NUL */

void mo_sha256_start(mo_sha256 *sha);
void mo_sha256_add(mo_sha256 *sha, const void *data, size_t bytes);
void mo_sha256_finish(mo_sha256 *sha, char text[MO_SHA256_TEXT]);

#endif
