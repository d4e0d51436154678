/* unwrap.c - paragraphs from hard-wrapped lines. */
#include "data/text/unwrap.h"

#include <string.h>

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

static bool end_line(mo_unwrap *state, mo_buffer *out)
{
  const char *line = state->line.data;
  size_t start = 0, end = state->line.size;
  while (start < end && is_space(line[start])) start++;
  while (end > start && is_space(line[end - 1])) end--;
  state->line.size = 0;
  if (start == end) {
    state->blank = true;
    return true;
  }
  const char *joint = !state->wrote ? "" : state->blank ? "\n\n" : " ";
  state->wrote = true;
  state->blank = false;
  return mo_buffer_add(out, joint, strlen(joint)) &&
         mo_buffer_add(out, line + start, end - start);
}

bool unwrap_add(mo_unwrap *state, const char *text, size_t length, mo_buffer *out)
{
  for (size_t at = 0; at < length;) {
    const char *end = memchr(text + at, '\n', length - at);
    const size_t part = end != NULL ? (size_t)(end - text) - at : length - at;
    if (!mo_buffer_add(&state->line, text + at, part)) return false;
    if (end != NULL && !end_line(state, out)) return false;
    at += part + 1;
  }
  return true;
}

bool unwrap_finish(mo_unwrap *state, mo_buffer *out)
{
  const bool fine = end_line(state, out) && mo_buffer_add(out, "\n", state->wrote ? 1 : 0);
  state->wrote = state->blank = false;
  return fine;
}

void unwrap_close(mo_unwrap *state)
{
  mo_buffer_close(&state->line);
}
