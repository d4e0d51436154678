/* buffer.h - growing arrays of bytes and of token ids; zeroed is empty. */
#ifndef MOUSSE_BASE_BUFFER_H
#define MOUSSE_BASE_BUFFER_H

#include "base/memory.h"

#include <stdint.h>

typedef struct text_buffer {
  char *data; /* owned */
  size_t size, capacity;
} text_buffer;

bool text_buffer_add(text_buffer *buffer, const char *data, size_t size); /* false: no memory */
void text_buffer_close(text_buffer *buffer);

typedef struct id_list {
  uint32_t *ids; /* owned */
  size_t count, capacity;
} id_list;

bool id_list_reserve(id_list *list, size_t more); /* false: no memory */
void id_list_close(id_list *list);

#endif
