/* tensorboard.c - event records, byte by byte. */
#include "train/tensorboard.h"

#include <string.h>

uint32_t tensorboard_crc(const void *data, size_t bytes)
{
  const unsigned char *from = data;
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < bytes; i++) {
    crc ^= from[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
  }
  return ~crc;
}

uint32_t tensorboard_masked_crc(const void *data, size_t bytes)
{
  const uint32_t crc = tensorboard_crc(data, bytes);
  return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* A message being put together. Field keys are number * 8 + wire type: 0 varint, 1 eight
 * bytes, 2 length and bytes, 5 four bytes. */
typedef struct message {
  unsigned char bytes[TENSORBOARD_MOST];
  size_t size;
} message;

static void put_raw(message *m, const void *data, size_t bytes)
{
  memcpy(m->bytes + m->size, data, bytes);
  m->size += bytes;
}

static void put_varint(message *m, uint64_t value)
{
  for (; value >= 128; value >>= 7) m->bytes[m->size++] = (unsigned char)(value | 128);
  m->bytes[m->size++] = (unsigned char)value;
}

static void put_number(message *m, unsigned field, uint64_t value)
{
  put_varint(m, field * 8);
  put_varint(m, value);
}

static void put_text(message *m, unsigned field, const void *data, size_t bytes)
{
  put_varint(m, field * 8 + 2);
  put_varint(m, bytes);
  put_raw(m, data, bytes);
}

static message start_event(double time, uint64_t step)
{
  message event = {.size = 0};
  put_varint(&event, 1 * 8 + 1);
  put_raw(&event, &time, sizeof time);
  put_number(&event, 2, step);
  return event;
}

static size_t frame(unsigned char *record, const message *event)
{
  const uint64_t length = event->size;
  const uint32_t length_crc = tensorboard_masked_crc(&length, sizeof length);
  const uint32_t data_crc = tensorboard_masked_crc(event->bytes, event->size);
  memcpy(record, &length, 8);
  memcpy(record + 8, &length_crc, 4);
  memcpy(record + 12, event->bytes, event->size);
  memcpy(record + 12 + event->size, &data_crc, 4);
  return 16 + event->size;
}

size_t tensorboard_version(unsigned char *record, double time)
{
  static const char version[] = "brain.Event:2";
  message event = start_event(time, 0);
  put_text(&event, 3, version, strlen(version));
  return frame(record, &event);
}

size_t tensorboard_restart(unsigned char *record, double time, uint64_t step)
{
  message event = start_event(time, step), log = {.size = 0};
  put_number(&log, 1, 1); /* START */
  put_text(&event, 7, log.bytes, log.size);
  return frame(record, &event);
}

size_t tensorboard_scalar(unsigned char *record, double time, uint64_t step, const char *tag,
                          float number)
{
  message event = start_event(time, step), summary = {.size = 0}, value = {.size = 0};
  const size_t length = strlen(tag) < 64 ? strlen(tag) : 64;
  put_text(&value, 1, tag, length);
  put_varint(&value, 2 * 8 + 5);
  put_raw(&value, &number, sizeof number);
  put_text(&summary, 1, value.bytes, value.size);
  put_text(&event, 5, summary.bytes, summary.size);
  return frame(record, &event);
}
