/* utf8.c - which bytes are UTF-8. */
#include "base/utf8.h"

#include <string.h>

/* How many bytes a sequence with this first byte has; 0: none starts so. */
static size_t announced(unsigned char first)
{
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
}

bool mo_utf8_continues(char byte)
{
  return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t mo_utf8_sequence(const char *text, size_t length)
{
  const unsigned char *s = (const unsigned char *)text;
  if (length == 0) return 0;
  const size_t size = announced(s[0]);
  if (size <= 1 || length < size) return size <= 1 ? size : 0;
  for (size_t i = 1; i < size; i++)
    if (!mo_utf8_continues(text[i])) return 0;
  if (s[0] == 0xe0 && s[1] < 0xa0) return 0; /* overlong */
  if (s[0] == 0xed && s[1] > 0x9f) return 0; /* surrogate */
  if (s[0] == 0xf0 && s[1] < 0x90) return 0; /* overlong */
  if (s[0] == 0xf4 && s[1] > 0x8f) return 0; /* above U+10FFFF */
  return size;
}

size_t mo_utf8_prefix(const char *text, size_t length)
{
  size_t at = 0;
  while (at < length) {
    uint64_t eight = 0;
    while (length - at >= 8) { /* plain ASCII, eight at a time */
      memcpy(&eight, text + at, 8);
      if ((eight & UINT64_C(0x8080808080808080)) != 0) break;
      at += 8;
    }
    const size_t step = mo_utf8_sequence(text + at, length - at);
    if (step == 0) break;
    at += step;
  }
  return at;
}

uint32_t mo_utf8_character(const char *text)
{
  const unsigned char *s = (const unsigned char *)text;
  const size_t size = announced(s[0]);
  if (size <= 1) return s[0];
  uint32_t character = s[0] & (0x7fu >> size);
  for (size_t i = 1; i < size; i++) character = character << 6 | (s[i] & 0x3fu);
  return character;
}

size_t mo_utf8_put(uint32_t character, char *bytes)
{
  const size_t size = character < 0x80      ? 1
                      : character < 0x800   ? 2
                      : character < 0x10000 ? 3
                                            : 4;
  if (size == 1) {
    bytes[0] = (char)character;
    return 1;
  }
  for (size_t i = size; i-- > 1; character >>= 6) bytes[i] = (char)(0x80 | (character & 0x3f));
  bytes[0] = (char)(0xf00u >> size | character); /* as many leading ones as bytes */
  return size;
}

static void count_bad(mo_utf8_count *count)
{
  if (count->bad++ == 0) count->first_bad = count->bytes;
  count->bytes++;
}

/* Could these few bytes at the end of a part become a sequence with what follows? */
static bool may_continue(const char *text, size_t length)
{
  if (length == 0 || length >= announced((unsigned char)text[0])) return false;
  for (size_t i = 1; i < length; i++)
    if (!mo_utf8_continues(text[i])) return false;
  return true;
}

/* What was held back, with the bytes that follow it; says how many of those are used up. */
static size_t settle_held(mo_utf8_count *count, const char *text, size_t length)
{
  size_t used = 0;
  while (count->held_count > 0) {
    while (used < length && may_continue(count->held, count->held_count))
      count->held[count->held_count++] = text[used++];
    if (may_continue(count->held, count->held_count)) return used;
    const size_t whole = mo_utf8_sequence(count->held, count->held_count);
    if (whole > 0)
      count->bytes += whole;
    else
      count_bad(count);
    const size_t gone = whole > 0 ? whole : 1;
    count->held_count -= gone;
    memmove(count->held, count->held + gone, count->held_count);
  }
  return used;
}

void mo_utf8_count_add(mo_utf8_count *count, const char *text, size_t length)
{
  size_t at = settle_held(count, text, length);
  while (at < length) {
    const size_t valid = mo_utf8_prefix(text + at, length - at);
    count->bytes += valid;
    at += valid;
    if (at == length) return;
    if (may_continue(text + at, length - at)) {
      count->held_count = length - at;
      memcpy(count->held, text + at, count->held_count);
      return;
    }
    count_bad(count);
    at++;
  }
}

void mo_utf8_count_finish(mo_utf8_count *count)
{
  for (; count->held_count > 0; count->held_count--) count_bad(count);
}

void mo_utf8_repair(char *text, size_t length)
{
  for (size_t at = 0; at < length;) {
    const size_t sequence = mo_utf8_sequence(text + at, length - at);
    if (sequence == 0) text[at] = '?';
    at += sequence > 0 ? sequence : 1;
  }
}
