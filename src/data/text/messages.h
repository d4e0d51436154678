/* messages.h - conversations: a list of messages in a field of a JSON line,
 *
 *     {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]}
 *
 * A role is a word; what the assistant says is to be learned, so each conversation has some.
 */
#ifndef MOUSSE_DATA_TEXT_MESSAGES_H
#define MOUSSE_DATA_TEXT_MESSAGES_H

#include "base/buffer.h"
#include "base/error.h"

enum { MESSAGE_ROLE = 32 }; /* bytes of a role's name with its end */

#define MESSAGE_ASSISTANT "assistant"

typedef struct message_mark {
  char role[MESSAGE_ROLE];
  size_t length; /* of its text, at least 1 */
} message_mark;

typedef struct message_list {
  message_mark *marks; /* owned */
  size_t count, capacity;
} message_list;

void message_list_close(message_list *list);

struct json_t; /* of Jansson */

/* The messages' texts are appended one behind the other, and the list says whose they are. */
mousse_status messages_read(message_list *list, const char *path, uint64_t line,
                            const struct json_t *object, const char *field, mo_buffer *text,
                            mo_error *error);

#endif
