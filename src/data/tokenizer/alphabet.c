/* alphabet.c - bytes as printable characters. */
#include "data/tokenizer/alphabet.h"

#include "base/utf8.h"

static bool is_printable(unsigned byte)
{
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* How many bytes below this one are not printable: 33 low ones, 127 to 160, and 173. */
static unsigned hidden_below(unsigned byte)
{
  if (byte <= 33) return byte;
  if (byte <= 127) return 33;
  if (byte <= 161) return 33 + byte - 127;
  return byte <= 173 ? 67 : 68;
}

uint32_t alphabet_character(unsigned char byte)
{
  return is_printable(byte) ? byte : 256 + hidden_below(byte);
}

unsigned char alphabet_byte_at(unsigned k)
{
  const unsigned printable = 188;
  unsigned seen = 0;
  for (unsigned byte = 0; byte < 256; byte++) {
    if (is_printable(byte) != (k < printable)) continue;
    if (seen++ == (k < printable ? k : k - printable)) return (unsigned char)byte;
  }
  return 0;
}

size_t alphabet_spell(const char *bytes, size_t length, char *spelled)
{
  size_t used = 0;
  for (size_t i = 0; i < length; i++) {
    const uint32_t c = alphabet_character((unsigned char)bytes[i]);
    if (c >= 128) spelled[used++] = (char)(0xc0 | c >> 6);
    spelled[used++] = (char)(c >= 128 ? 0x80 | (c & 0x3f) : c);
  }
  return used;
}

static bool byte_of(uint32_t character, char *byte)
{
  if (character < 256) {
    *byte = (char)character;
    return is_printable(character);
  }
  for (unsigned b = 0; b < 256; b++) {
    if (is_printable(b) || alphabet_character((unsigned char)b) != character) continue;
    *byte = (char)b;
    return true;
  }
  return false;
}

bool alphabet_read(const char *spelled, size_t length, char *bytes, size_t *count)
{
  *count = 0;
  for (size_t i = 0; i < length;) {
    const size_t step = mo_utf8_sequence(spelled + i, length - i);
    if (step == 0 || step > 2) return false;
    const unsigned first = (unsigned char)spelled[i];
    const uint32_t c =
        step == 1 ? first : (first & 0x1f) << 6 | ((unsigned char)spelled[i + 1] & 0x3f);
    if (!byte_of(c, &bytes[*count])) return false;
    (*count)++;
    i += step;
  }
  return true;
}
