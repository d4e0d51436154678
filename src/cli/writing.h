/* writing.h - what 'generate' and 'chat' share: a model with its tokenizer, and the options of
 * drawing tokens. */
#ifndef MOUSSE_CLI_WRITING_H
#define MOUSSE_CLI_WRITING_H

#include "cli/command.h"
#include "cli/terminal.h"
#include "train/text_sample.h"

/* The first member of such a command's values. */
typedef struct writing_values {
  char init[MO_SETTING_PATH], tokenizer[MO_SETTING_PATH];
  int64_t tokens, top_k, seed, threads, weights;
  double temperature, top_p, repetition_penalty;
  bool stop, allow_other_tokenizer;
} writing_values;

extern const mo_settings writing_settings;

typedef struct writing {
  gpt_params *params;
  gpt_q8 *q8; /* NULL: weights as they are */
  mo_tokenizer tokenizer;
  text_writer writer;
  terminal_text screen; /* standard output */
  uint32_t ends[16];    /* tokens that end a text, as the model's own files say */
  size_t end_count;
} writing;

/* Options are checked before anything is read. window as in text_writer_open, but for the tokens
 * of the prompt (NULL: none), which are added to it. */
mousse_status writing_open(writing *w, const writing_values *values, const mo_buffer *prompt,
                           size_t window, bool quiet, mo_error *error);
void writing_close(writing *w);

/* Draws as many tokens as the options say and prints them as they come; seed_offset makes texts
 * of one call differ. interrupted: NULL, or set by a signal that ends the text. */
mousse_status writing_draw(writing *w, const writing_values *values, uint64_t seed_offset,
                           const volatile int *interrupted, mo_error *error);

/* cmd_chat.c: 'mousse chat' without options of its own. */
mousse_status chat_by_default(const cli_invocation *call, const writing_values *values,
                              mo_error *error);

#endif
