/* stream.c - see stream.h. */
#include "property/stream.h"

#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void stream_seal(blob *b)
{
  assert_true(b->size > 8);
  const uint64_t checksum = XXH3_64bits(b->data, b->size - 8);
  memcpy(b->data + b->size - 8, &checksum, sizeof checksum);
}

static size_t find(const blob *b, size_t from, const void *bytes, size_t count)
{
  for (size_t i = from; i + count <= b->size; i++)
    if (memcmp(b->data + i, bytes, count) == 0) return i;
  fail_msg("the stream does not have what was looked for");
  return 0;
}

static size_t put_text(unsigned char *to, const char *text)
{
  const uint32_t length = (uint32_t)strlen(text);
  memcpy(to, &length, sizeof length);
  memcpy(to + sizeof length, text, length);
  return sizeof length + length;
}

size_t stream_record(const blob *b, const char *name, const char *algorithm)
{
  unsigned char key[256];
  size_t length = put_text(key, name);
  length += put_text(key + length, algorithm);
  return find(b, 0, key, length) + length + 16;
}

size_t stream_array(const blob *b, const char *name, size_t n)
{
  unsigned char key[256];
  const size_t length = put_text(key, name);
  size_t at = 0;
  for (size_t i = 0; i <= n; i++) at = find(b, at + (i > 0), key, length);
  return at + length + 8;
}

/* A reader that copies what it passes, unless told otherwise. */
typedef struct converter {
  const blob *from;
  size_t at;
  uint32_t version;
  blob to;
} converter;

static void copy(converter *c, size_t bytes)
{
  assert_true(c->at + bytes <= c->from->size);
  blob_write(&c->to, c->from->data + c->at, bytes);
  c->at += bytes;
}

static uint32_t peek(const converter *c)
{
  uint32_t value = 0;
  memcpy(&value, c->from->data + c->at, sizeof value);
  return value;
}

/* Bytes that there are from a version on. */
static void pass(converter *c, size_t bytes, uint32_t since)
{
  if (c->version >= since)
    copy(c, bytes);
  else
    c->at += bytes;
}

static void copy_text(converter *c)
{
  copy(c, 4 + peek(c));
}

/* Version 1 has none. */
static void options(converter *c)
{
  const size_t start = c->at;
  const uint32_t count = peek(c);
  c->at += 4;
  for (uint32_t i = 0; i < count; i++) {
    c->at += 4 + peek(c); /* name */
    c->at += 8;
    c->at += 4 + peek(c); /* choice */
    c->at += 4;
  }
  const size_t length = c->at - start;
  c->at = start;
  pass(c, length, 2);
}

static void convert_param(converter *c)
{
  copy_text(c);
  copy_text(c);
  copy(c, 32);   /* rows, cols, scale exponent, stagger offset */
  pass(c, 8, 2); /* steps */
  pass(c, 8, 3); /* weight sum */
  copy(c, 24);
  pass(c, 8, 4); /* flags */
  pass(c, 8, 5); /* blank steps */
  options(c);
  options(c);
  const uint32_t arrays = peek(c);
  copy(c, 4);
  for (uint32_t i = 0; i < arrays; i++) {
    uint64_t count = 0;
    copy_text(c);
    memcpy(&count, c->from->data + c->at, sizeof count);
    copy(c, 8 + 4 * count);
  }
}

blob stream_version(const blob *b, uint32_t version)
{
  converter c = {b, 12, version, blob_new()};
  blob_write(&c.to, "MOUSSEST", 8);
  blob_write(&c.to, &version, sizeof version);
  const uint32_t count = peek(&c);
  copy(&c, 12);
  options(&c);
  for (uint32_t i = 0; i < count; i++) convert_param(&c);
  copy(&c, 8);
  assert_int_equal(c.at, b->size);
  stream_seal(&c.to);
  return c.to;
}
