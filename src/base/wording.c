/* wording.c - counts, sizes and text from outside as people read them. */
#include "base/wording.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* es after a hissing sound: batches, losses, prefixes. */
static const char *plural_end(const char *noun)
{
  const size_t length = strlen(noun);
  const char last = length > 0 ? noun[length - 1] : '\0';
  const char before = length > 1 ? noun[length - 2] : '\0';
  const bool hisses = last == 's' || last == 'x' || (last == 'h' && strchr("cs", before));
  return hisses ? "es" : "s";
}

const char *mo_count_text(char text[WORDING_SIZE], uint64_t count, const char *noun)
{
  char digits[24];
  const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
  size_t used = 0;
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0) text[used++] = ',';
    text[used++] = digits[i];
  }
  text[used] = '\0';
  if (noun[0] != '\0')
    snprintf(text + used, WORDING_SIZE - used, " %s%s", noun,
             count == 1 ? "" : plural_end(noun));
  return text;
}

const char *mo_bytes_text(char text[WORDING_SIZE], double bytes)
{
  static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  if (bytes < 1000) return mo_count_text(text, bytes > 0 ? (uint64_t)bytes : 0, "byte");
  for (bytes /= 1000; bytes >= 999.95 && unit + 1 < sizeof units / sizeof *units; unit++)
    bytes /= 1000;
  snprintf(text, WORDING_SIZE, "%.1f %s", bytes, units[unit]);
  return text;
}

const char *mo_duration_text(char text[WORDING_SIZE], double seconds)
{
  const long s = seconds >= 0 && seconds < 1e9 ? lrint(seconds) : 0;
  const long days = s / 86400;
  if (s < 3600)
    snprintf(text, WORDING_SIZE, "%ld:%02ld", s / 60, s % 60);
  else if (days == 0)
    snprintf(text, WORDING_SIZE, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else
    snprintf(text, WORDING_SIZE, "%ld day%s %ld:%02ld:%02ld", days, days == 1 ? "" : "s",
             s / 3600 % 24, s / 60 % 60, s % 60);
  return text;
}

size_t mo_character_bytes(const char *c)
{
  const unsigned char first = (unsigned char)*c;
  const size_t expected = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first > 0xF4) return 1;
  for (size_t i = 1; i < expected; i++)
    if (((unsigned char)c[i] & 0xC0) != 0x80) return 1;
  return expected;
}

bool mo_is_control(const char *c)
{
  const unsigned char first = (unsigned char)*c;
  if (first < 0x20 || first == 0x7F) return true;
  /* As a character, or as the bare byte that eight-bit terminals obey. */
  if (first == 0xC2) return (unsigned char)c[1] >= 0x80 && (unsigned char)c[1] < 0xA0;
  return first >= 0x80 && first < 0xA0;
}

void mo_clean_line(char *text)
{
  char *to = text;
  for (const char *c = text; *c != '\0';) {
    const size_t bytes = mo_character_bytes(c);
    if (*c == '\n' || *c == '\t' || *c == '\r')
      *to++ = ' ';
    else if (mo_is_control(c))
      *to++ = '?';
    else
      for (size_t i = 0; i < bytes; i++) *to++ = c[i];
    c += bytes;
  }
  *to = '\0';
}

/* The code point of a character of so many bytes. */
static uint32_t code_point(const char *c, size_t bytes)
{
  static const unsigned char masks[] = {0, 0xFF, 0x1F, 0x0F, 0x07};
  uint32_t code = (unsigned char)*c & masks[bytes];
  for (size_t i = 1; i < bytes; i++) code = code << 6 | ((unsigned char)c[i] & 0x3F);
  return code;
}

/* East Asian characters and pictures take two columns, combining accents none. */
size_t mo_character_columns(const char *c)
{
  static const struct {
    uint32_t first, last;
    size_t columns;
  } ranges[] = {
      {0x0300, 0x036F, 0}, {0x1100, 0x115F, 2}, {0x200B, 0x200F, 0},   {0x2E80, 0xA4CF, 2},
      {0xAC00, 0xD7A3, 2}, {0xF900, 0xFAFF, 2}, {0xFE00, 0xFE0F, 0},   {0xFE30, 0xFE6F, 2},
      {0xFF00, 0xFF60, 2}, {0xFFE0, 0xFFE6, 2}, {0x1F300, 0x1FAFF, 2}, {0x20000, 0x3FFFD, 2},
  };
  const uint32_t code = code_point(c, mo_character_bytes(c));
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (code >= ranges[i].first && code <= ranges[i].last) return ranges[i].columns;
  return 1;
}

size_t mo_columns(const char *text)
{
  size_t columns = 0;
  for (; *text != '\0'; text += mo_character_bytes(text)) columns += mo_character_columns(text);
  return columns;
}
