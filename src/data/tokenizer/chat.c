/* chat.c - conversations as tokens. */
#include "data/tokenizer/chat.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ASSISTANT "assistant"

const char *const chat_form_names[] = {"auto", "plain", "chatml", "llama3", NULL};

static bool find(const mo_tokenizer *tokenizer, const char *name, uint32_t *id)
{
  return mo_text_table_find(&tokenizer->tokens, name, strlen(name), id) &&
         tokenizer_is_special(tokenizer, *id);
}

/* The control tokens of the forms. */
static const char chatml_start[] = "<|im_start|>", chatml_end[] = "<|im_end|>";
static const char llama3_before[] = "<|start_header_id|>", llama3_after[] = "<|end_header_id|>";
static const char llama3_end[] = "<|eot_id|>";

bool chat_is_control(const char *text, size_t length)
{
  static const char *const names[] = {chatml_start, chatml_end, llama3_before, llama3_after,
                                      llama3_end};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) return true;
  return false;
}

static bool find_chatml(chat_template *c)
{
  return find(c->tokenizer, chatml_start, &c->before) &&
         find(c->tokenizer, chatml_end, &c->end);
}

static bool find_llama3(chat_template *c)
{
  return find(c->tokenizer, llama3_before, &c->before) &&
         find(c->tokenizer, llama3_after, &c->after) && find(c->tokenizer, llama3_end, &c->end);
}

mousse_status chat_template_open(chat_template *c, const mo_tokenizer *tokenizer,
                                 chat_form wanted, mo_error *error)
{
  *c = (chat_template){.form = wanted, .tokenizer = tokenizer};
  if (wanted == CHAT_AUTO)
    c->form = find_llama3(c) ? CHAT_LLAMA3 : find_chatml(c) ? CHAT_CHATML : CHAT_PLAIN;
  if (c->form == CHAT_PLAIN) {
    c->end = tokenizer->end_of_text;
    if (c->end != TOKENIZER_NONE) return MOUSSE_OK;
  } else if (c->form == CHAT_LLAMA3 ? find_llama3(c) : find_chatml(c)) {
    return MOUSSE_OK;
  }
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                 "the chat template '%s' needs %s, which the tokenizer does not have",
                 chat_form_names[c->form],
                 c->form == CHAT_PLAIN ? "an end-of-text token"
                 : c->form == CHAT_LLAMA3
                     ? "<|start_header_id|>, <|end_header_id|> and <|eot_id|>"
                     : "<|im_start|> and <|im_end|>");
}

static const char chatml_jinja[] =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/* Begins with the start of the text, which the family's tokenizers have. */
static const char llama3_jinja[] =
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + "
    "message['content'] | trim + '<|eot_id|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}"
    "{% endif %}";

const char *chat_template_jinja(const chat_template *c)
{
  return c->form == CHAT_CHATML ? chatml_jinja : c->form == CHAT_LLAMA3 ? llama3_jinja : NULL;
}

static mousse_status no_memory(mo_error *error)
{
  return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a message");
}

static mousse_status add_token(mo_id_list *ids, uint32_t id, mo_error *error)
{
  if (!mo_id_list_reserve(ids, 1)) return no_memory(error);
  ids->ids[ids->count++] = id;
  return MOUSSE_OK;
}

/* Text behind a special token. */
static mousse_status encode_part(const chat_template *c, mo_encoder *encoder, const char *text,
                                 size_t length, mo_id_list *ids, mo_error *error)
{
  const bool goes_on = c->tokenizer->prefix == TOKENIZER_PREFIX_FIRST;
  return (goes_on ? encoder_go_on : encoder_encode)(encoder, text, length, ids, error);
}

/* Everything before a message's text: tokens into ids, and the words that are encoded together
 * with the text into head. */
static mousse_status add_head(const chat_template *c, mo_encoder *encoder, const char *role,
                              mo_id_list *ids, char *head, size_t capacity, mo_error *error)
{
  if (c->form == CHAT_PLAIN) {
    snprintf(head, capacity, "### %c%s:\n", toupper((unsigned char)role[0]), role + 1);
    return MOUSSE_OK;
  }
  MO_TRY(add_token(ids, c->before, error));
  snprintf(head, capacity, c->form == CHAT_CHATML ? "%s\n" : "\n\n", role);
  if (c->form == CHAT_CHATML) return MOUSSE_OK;
  MO_TRY(encode_part(c, encoder, role, strlen(role), ids, error));
  return add_token(ids, c->after, error);
}

static mousse_status encode(const chat_template *c, mo_encoder *encoder, bool is_first,
                            const char *text, size_t length, mo_id_list *ids, mo_error *error)
{
  if (c->form != CHAT_PLAIN) return encode_part(c, encoder, text, length, ids, error);
  return (is_first ? encoder_encode : encoder_go_on)(encoder, text, length, ids, error);
}

/* The first of the ids from `start` on that has a byte behind the head's: a line end may be one
 * token with white space that follows. */
static size_t skip_head(const chat_template *c, const char *head, const mo_id_list *ids,
                        size_t start)
{
  uint32_t before = c->tokenizer->end_of_text;
  size_t place = start;
  for (size_t bytes = 0; place < ids->count; place++) {
    size_t length = 0;
    tokenizer_bytes_after(c->tokenizer, before, ids->ids[place], &length);
    bytes += length;
    if (bytes > strlen(head)) break;
    before = ids->ids[place];
  }
  return place;
}

static void trim(const char **text, size_t *length)
{
  while (*length > 0 && isspace((unsigned char)**text)) ++*text, --*length;
  while (*length > 0 && isspace((unsigned char)(*text)[*length - 1])) --*length;
}

static bool join(mo_buffer *whole, const char *head, const chat_message *m, const char *tail)
{
  return mo_buffer_add(whole, head, strlen(head)) && mo_buffer_add(whole, m->text, m->length) &&
         mo_buffer_add(whole, tail, strlen(tail));
}

mousse_status chat_end(const chat_template *c, mo_encoder *encoder, mo_id_list *ids,
                       mo_error *error)
{
  MO_TRY(add_token(ids, c->end, error));
  return c->form == CHAT_CHATML ? encode_part(c, encoder, "\n", 1, ids, error) : MOUSSE_OK;
}

mousse_status chat_ask(const chat_template *c, mo_encoder *encoder, mo_id_list *ids,
                       mo_error *error)
{
  char head[64];
  MO_TRY(add_head(c, encoder, ASSISTANT, ids, head, sizeof head, error));
  return encode(c, encoder, false, head, strlen(head), ids, error);
}

mousse_status chat_add(const chat_template *c, mo_encoder *encoder, const chat_message *given,
                       mo_id_list *ids, size_t *first, size_t *end, mo_error *error)
{
  chat_message m = *given;
  char head[64];
  mo_buffer whole = {0};
  const bool answer = strcmp(m.role, ASSISTANT) == 0, plain = c->form == CHAT_PLAIN;
  if (c->form == CHAT_LLAMA3) trim(&m.text, &m.length);
  MO_TRY(add_head(c, encoder, m.role, ids, head, sizeof head, error));
  const size_t start = ids->count;
  mousse_status status =
      join(&whole, head, &m, plain && !answer ? "\n\n" : "")
          ? encode(c, encoder, m.is_first, whole.data, whole.size, ids, error)
          : no_memory(error);
  mo_buffer_close(&whole);
  *first = *end = ids->count;
  if (status == MOUSSE_OK && answer) *first = skip_head(c, head, ids, start);
  if (status == MOUSSE_OK && !plain) {
    status = chat_end(c, encoder, ids, error);
    if (answer) *end += 1; /* the token; a line end behind it is not the model's to write */
    if (!answer) *first = *end;
  }
  return status;
}
