/* unwrap.c - paragraphs from hard-wrapped lines. */
#include "data/text/unwrap.h"

#include <string.h>

enum { MOST_SPACE = 1 << 16 };

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

static bool give_space(mo_unwrap *state, mo_buffer *out)
{
  const bool fine = mo_buffer_add(out, state->space.data, state->space.size);
  state->space.size = 0;
  return fine;
}

/* What comes before the text of a line: the end of the line before, or space within. */
static bool join(mo_unwrap *state, mo_buffer *out)
{
  const char *joint = !state->wrote ? "" : state->blank ? "\n\n" : " ";
  if (state->inside) return give_space(state, out);
  state->inside = state->wrote = true;
  state->blank = false;
  return mo_buffer_add(out, joint, strlen(joint));
}

/* A part of a line, without its end. */
static bool add_part(mo_unwrap *state, const char *part, size_t length, mo_buffer *out)
{
  size_t start = 0, end = length;
  while (end > 0 && is_space(part[end - 1])) end--;
  while (!state->inside && start < end && is_space(part[start])) start++;
  if (start < end && !(join(state, out) && mo_buffer_add(out, part + start, end - start)))
    return false;
  if (!state->inside) return true;
  if (state->space.size + length - end > MOST_SPACE && !give_space(state, out)) return false;
  return mo_buffer_add(&state->space, part + end, length - end);
}

static void end_line(mo_unwrap *state)
{
  state->blank = state->blank || !state->inside;
  state->inside = false;
  state->space.size = 0;
}

bool unwrap_add(mo_unwrap *state, const char *text, size_t length, mo_buffer *out)
{
  for (size_t at = 0; at < length;) {
    const char *end = memchr(text + at, '\n', length - at);
    const size_t part = end != NULL ? (size_t)(end - text) - at : length - at;
    if (!add_part(state, text + at, part, out)) return false;
    if (end != NULL) end_line(state);
    at += part + 1;
  }
  return true;
}

bool unwrap_finish(mo_unwrap *state, mo_buffer *out)
{
  const bool fine = mo_buffer_add(out, "\n", state->wrote ? 1 : 0);
  state->space.size = 0;
  state->inside = state->wrote = state->blank = false;
  return fine;
}

void unwrap_close(mo_unwrap *state)
{
  mo_buffer_close(&state->space);
}
