/* chat.h - conversations as tokens, in the form that a family of models was trained with.
 *
 *     chatml   <|im_start|>ROLE\nTEXT<|im_end|>\n                                SmolLM2, Qwen
 *     llama3   <|start_header_id|>ROLE<|end_header_id|>\n\nTEXT<|eot_id|>        Llama 3; TEXT is trimmed
 *     plain    ### Role:\nTEXT\n\n, of the assistant ### Assistant:\nTEXT and the end-of-text token
 *
 * Words in <||> are single tokens, which no text contains, whatever a tokenizer's file says of them;
 * \n is a line end. These are the
 * published templates of the families but for what some of them put in by themselves: a system
 * message where there is none, the date.
 *
 * To be learned of a message of the assistant is its text with the token that ends it.
 */
#ifndef MOUSSE_DATA_TOKENIZER_CHAT_H
#define MOUSSE_DATA_TOKENIZER_CHAT_H

#include "data/tokenizer/tokenizer.h"

typedef enum chat_form { CHAT_AUTO, CHAT_PLAIN, CHAT_CHATML, CHAT_LLAMA3 } chat_form;

extern const char *const chat_form_names[]; /* by number, ending in NULL */

typedef struct chat_template {
  chat_form form; /* never CHAT_AUTO */
  const mo_tokenizer *tokenizer;
  uint32_t before, after; /* the role; after: only with llama3 */
  uint32_t end;           /* of a message; in the plain form of the assistant's only */
} chat_template;

/* Is this one of the words in <||>? Found in a message, it would end the message, and begin one of
 * somebody else. */
bool chat_is_control(const char *text, size_t length);

/* CHAT_AUTO: the form whose tokens the tokenizer has, else plain. */
mousse_status chat_template_open(chat_template *chat, const mo_tokenizer *tokenizer,
                                 chat_form wanted, mo_error *error);

/* The form as the Jinja text that other programs take, which render `messages`, and begin the
 * assistant's with add_generation_prompt; NULL: plain, which needs no tokens of its own and
 * belongs to no model more than to another. */
const char *chat_template_jinja(const chat_template *chat);

typedef struct chat_message {
  const char *role, *text; /* role ends in NUL */
  size_t length;
  bool is_first; /* of the conversation */
} chat_message;

/* Appends a message; [*first, *end) of ids is to be learned. In the plain form what ends a message
 * of the assistant is not in it: chat_end appends that. */
mousse_status chat_add(const chat_template *chat, mo_encoder *encoder,
                       const chat_message *message, mo_id_list *ids, size_t *first, size_t *end,
                       mo_error *error);

/* What a message of the assistant starts with, and what follows it when another one comes. */
mousse_status chat_ask(const chat_template *chat, mo_encoder *encoder, mo_id_list *ids,
                       mo_error *error);
mousse_status chat_end(const chat_template *chat, mo_encoder *encoder, mo_id_list *ids,
                       mo_error *error);

#endif
