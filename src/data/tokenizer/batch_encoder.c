/* batch_encoder.c - many pieces of text encoded at once, by several threads. */
#include "data/tokenizer/batch_encoder.h"

#include "base/parallel.h"

#include <stdio.h>
#include <string.h>

enum { MOST_UNITS = 1024, MOST_BYTES = 8 << 20 };

struct batch_encoder {
  int threads;
  chat_template chat;
  mo_encoder **encoders; /* one per thread */
  mo_buffer text;
  batch_unit *units; /* MOST_UNITS; their id lists are kept for the next batch */
  size_t count;
};

mousse_status batch_encoder_open(batch_encoder **opened, const mo_tokenizer *tokenizer,
                                 chat_form form, int threads, mo_error *error)
{
  batch_encoder *b = mo_allocate(NULL, sizeof *b);
  if (b != NULL) {
    b->threads = threads;
    b->encoders = mo_allocate(NULL, (size_t)threads * sizeof *b->encoders);
    b->units = mo_allocate(NULL, MOST_UNITS * sizeof *b->units);
  }
  mousse_status status = MOUSSE_OK;
  if (b == NULL || b->encoders == NULL || b->units == NULL)
    status = mo_fail(error, MOUSSE_NO_MEMORY, "no memory to encode text");
  else
    status = chat_template_open(&b->chat, tokenizer, form, error);
  for (int i = 0; i < threads && status == MOUSSE_OK; i++)
    status = encoder_open(&b->encoders[i], tokenizer, error);
  if (status != MOUSSE_OK) {
    batch_encoder_close(b);
    return status;
  }
  *opened = b;
  return MOUSSE_OK;
}

void batch_encoder_close(batch_encoder *b)
{
  if (b == NULL) return;
  for (int i = 0; i < b->threads && b->encoders != NULL; i++) encoder_close(b->encoders[i]);
  for (size_t i = 0; i < MOST_UNITS && b->units != NULL; i++)
    mo_id_list_close(&b->units[i].ids);
  mo_release(NULL, b->encoders, (size_t)b->threads * sizeof *b->encoders);
  mo_release(NULL, b->units, MOST_UNITS * sizeof *b->units);
  mo_buffer_close(&b->text);
  mo_release(NULL, b, sizeof *b);
}

mousse_status batch_encoder_add(batch_encoder *b, const batch_text *text, bool *full,
                                mo_error *error)
{
  batch_unit *unit = &b->units[b->count];
  unit->start = b->text.size;
  unit->length = text->length;
  unit->starts_document = text->starts_document;
  unit->is_completion = text->is_completion;
  snprintf(unit->role, sizeof unit->role, "%s", text->role != NULL ? text->role : "");
  if (!mo_buffer_add(&b->text, text->text, text->length))
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for %zu bytes of text", text->length);
  b->count++;
  *full = b->count == MOST_UNITS || b->text.size >= MOST_BYTES;
  return MOUSSE_OK;
}

static mousse_status encode_message(const batch_encoder *b, mo_encoder *encoder,
                                    batch_unit *unit)
{
  const chat_message message = {unit->role, b->text.data + unit->start, unit->length,
                                unit->starts_document};
  const mousse_status status = chat_add(&b->chat, encoder, &message, &unit->ids,
                                        &unit->first_target, &unit->end_target, &unit->error);
  unit->is_open = b->chat.form == CHAT_PLAIN && unit->first_target < unit->end_target;
  return status;
}

static mousse_status encode_text(const batch_encoder *b, mo_encoder *encoder, batch_unit *unit)
{
  const mousse_status status = (unit->starts_document ? encoder_encode : encoder_go_on)(
      encoder, b->text.data + unit->start, unit->length, &unit->ids, &unit->error);
  unit->end_target = unit->ids.count;
  unit->first_target = unit->is_completion ? 0 : unit->end_target;
  unit->is_open = false;
  return status;
}

static void encode_unit(void *context, size_t item, int thread)
{
  const batch_encoder *b = context;
  batch_unit *unit = &b->units[item];
  unit->ids.count = 0;
  unit->status =
      (unit->role[0] != '\0' ? encode_message : encode_text)(b, b->encoders[thread], unit);
}

mousse_status batch_encoder_encode(batch_encoder *b, mo_error *error)
{
  mo_parallel(b->threads, b->count, encode_unit, b);
  for (size_t i = 0; i < b->count; i++)
    if (b->units[i].status != MOUSSE_OK)
      return mo_fail(error, b->units[i].status, "%s", b->units[i].error.text);
  return MOUSSE_OK;
}

size_t batch_encoder_count(const batch_encoder *b)
{
  return b->count;
}

const batch_unit *batch_encoder_get(const batch_encoder *b, size_t number)
{
  return &b->units[number];
}

void batch_encoder_clear(batch_encoder *b)
{
  b->count = 0;
  b->text.size = 0;
}
