/* buffer.c - growing arrays of bytes and of token ids. */
#include "base/buffer.h"

#include <string.h>

bool mo_buffer_add(mo_buffer *buffer, const char *data, size_t size)
{
  if (!mo_grow(NULL, &buffer->data, &buffer->capacity, buffer->size + size, 1)) return false;
  if (size > 0) memcpy(buffer->data + buffer->size, data, size);
  buffer->size += size;
  return true;
}

void mo_buffer_close(mo_buffer *buffer)
{
  mo_release(NULL, buffer->data, buffer->capacity);
  *buffer = (mo_buffer){0};
}

bool mo_id_list_reserve(mo_id_list *list, size_t more)
{
  return mo_grow(NULL, &list->ids, &list->capacity, list->count + more, sizeof *list->ids);
}

void mo_id_list_close(mo_id_list *list)
{
  mo_release(NULL, list->ids, list->capacity * sizeof *list->ids);
  *list = (mo_id_list){0};
}
