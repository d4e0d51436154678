/* buffer.c - growing arrays of bytes and of token ids. */
#include "base/buffer.h"

#include <string.h>

bool text_buffer_add(text_buffer *buffer, const char *data, size_t size)
{
  if (!mo_grow(NULL, &buffer->data, &buffer->capacity, buffer->size + size, 1)) return false;
  if (size > 0) memcpy(buffer->data + buffer->size, data, size);
  buffer->size += size;
  return true;
}

void text_buffer_close(text_buffer *buffer)
{
  mo_release(NULL, buffer->data, buffer->capacity);
  *buffer = (text_buffer){0};
}

bool id_list_reserve(id_list *list, size_t more)
{
  return mo_grow(NULL, &list->ids, &list->capacity, list->count + more, sizeof *list->ids);
}

void id_list_close(id_list *list)
{
  mo_release(NULL, list->ids, list->capacity * sizeof *list->ids);
  *list = (id_list){0};
}
