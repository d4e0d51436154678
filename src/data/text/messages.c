/* messages.c - the messages of a JSON line. */
#include "data/text/messages.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

void message_list_close(message_list *list)
{
  mo_release(NULL, list->marks, list->capacity * sizeof *list->marks);
  *list = (message_list){0};
}

static bool is_role(const char *role)
{
  static const char letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const size_t length = role != NULL ? strlen(role) : 0;
  return length > 0 && length < MESSAGE_ROLE && strspn(role, letters) == length;
}

static mousse_status add_message(message_list *list, const json_t *message, mo_buffer *text,
                                 const char *where, mo_error *error)
{
  const char *role = json_string_value(json_object_get(message, "role"));
  const json_t *content = json_object_get(message, "content");
  if (!is_role(role))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: the role must be a word such as system, user or assistant", where);
  if (!json_is_string(content) || json_string_length(content) == 0)
    return mo_fail(error, MOUSSE_BAD_FORMAT, "%s: its 'content' is not a text, or is empty",
                   where);
  if (!mo_grow(NULL, &list->marks, &list->capacity, list->count + 1, sizeof *list->marks) ||
      !mo_buffer_add(text, json_string_value(content), json_string_length(content)))
    return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for it", where);
  message_mark *mark = &list->marks[list->count++];
  *mark = (message_mark){.length = json_string_length(content)};
  snprintf(mark->role, sizeof mark->role, "%s", role);
  return MOUSSE_OK;
}

mousse_status messages_read(message_list *list, const char *path, uint64_t line,
                            const json_t *object, const char *field, mo_buffer *text,
                            mo_error *error)
{
  const json_t *messages = json_object_get(object, field), *message;
  const unsigned long long number = line;
  size_t i;
  bool answered = false;
  list->count = 0;
  if (!json_is_array(messages))
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: line %llu has no list of messages in field '%s'; --messages-field NAME "
                   "chooses another",
                   path, number, field);
  json_array_foreach(messages, i, message)
  {
    char where[512];
    snprintf(where, sizeof where, "%.400s: line %llu, message %zu", path, number, i + 1);
    MO_TRY(add_message(list, message, text, where, error));
    answered = answered || strcmp(list->marks[i].role, MESSAGE_ASSISTANT) == 0;
  }
  if (answered) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_BAD_FORMAT,
                 "%s: line %llu has no message of the role '%s', so there is nothing to learn",
                 path, number, MESSAGE_ASSISTANT);
}
