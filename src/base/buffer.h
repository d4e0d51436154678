/* buffer.h - growing arrays of bytes and of token ids; zeroed is empty. */
#ifndef MOUSSE_BASE_BUFFER_H
#define MOUSSE_BASE_BUFFER_H

#include "base/memory.h"

#include <stdint.h>

typedef struct mo_buffer {
  char *data; /* owned */
  size_t size, capacity;
} mo_buffer;

bool mo_buffer_add(mo_buffer *buffer, const char *data, size_t size); /* false: no memory */
void mo_buffer_close(mo_buffer *buffer);

typedef struct mo_id_list {
  uint32_t *ids; /* owned */
  size_t count, capacity;
} mo_id_list;

bool mo_id_list_reserve(mo_id_list *list, size_t more); /* false: no memory */
void mo_id_list_close(mo_id_list *list);

#endif
