/* document_writer.c - encoded documents into the splits. */
#include "data/shards/document_writer.h"

/* See dataset.h: the running share of validation is kept at its fraction, rounded to units. */
static bool goes_to_val(document_writer *w, uint64_t length)
{
  w->text_bytes += length;
  const double wanted = w->val_fraction * (double)w->text_bytes;
  return wanted - (double)w->val_bytes >= 0.5 * (double)length;
}

/* The end-of-text token is a target where it ends what is learned: completions, and messages of the
 * assistant in the plain form. */
static mousse_status start_document(document_writer *w, split_writer *part, bool is_message,
                                    mo_error *error)
{
  const mo_tokenizer *t = w->tokenizer;
  MO_TRY(split_writer_add(part, &t->end_of_text, 1, !is_message || part->last_is_open, error));
  if (t->start_of_text != TOKENIZER_NONE)
    MO_TRY(split_writer_add(part, &t->start_of_text, 1, false, error));
  part->counts.documents++;
  return MOUSSE_OK;
}

static mousse_status add_ids(split_writer *part, const batch_unit *unit, mo_error *error)
{
  const uint32_t *ids = unit->ids.ids;
  const size_t first = unit->first_target, end = unit->end_target;
  MO_TRY(split_writer_add(part, ids, first, false, error));
  MO_TRY(split_writer_add(part, ids + first, end - first, true, error));
  return split_writer_add(part, ids + end, unit->ids.count - end, false, error);
}

/* A completion goes where its prompt went, and messages where the first one of their conversation
 * went. */
mousse_status document_writer_add(document_writer *w, const batch_unit *unit, mo_error *error)
{
  const bool is_message = unit->role[0] != '\0';
  const bool whole = goes_to_val(w, unit->length);
  const bool together = (unit->is_completion || is_message) && !unit->starts_document;
  const bool to_val = together ? w->last_to_val : whole;
  split_writer *part = to_val ? &w->val : &w->train;
  if (to_val) w->val_bytes += unit->length;
  if (unit->starts_document || to_val != w->last_to_val)
    MO_TRY(start_document(w, part, is_message, error));
  else if (part->last_is_open)
    MO_TRY(split_writer_add(part, &w->tokenizer->end_of_text, 1, true, error));
  w->last_to_val = to_val;
  part->last_is_open = unit->is_open;
  return add_ids(part, unit, error);
}
