/* cmd_generate.c - mousse generate: text from a model, and a prompt for it from the command
 * line, a file or standard input. */
#include "base/buffer.h"
#include "cli/next_step.h"
#include "cli/writing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LARGEST_PROMPT = 1 << 26 };

typedef struct generate_values {
  writing_values writing;
  char prompt[MO_SETTING_PATH], prompt_file[MO_SETTING_PATH];
  int64_t samples;
  bool interactive;
} generate_values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(generate_values, prompt, "",
                    "what the text starts with; - reads standard input"),
    MO_SETTING_TEXT(generate_values, prompt_file, "", "file that holds the prompt"),
    MO_SETTING_INTEGER(generate_values, samples, "1", 1, 1e6,
                       "how many texts; their seeds count up from --seed"),
    MO_SETTING_SWITCH(generate_values, interactive, "false", "the same as 'mousse chat'"),
};

/* It is no part of the text: 'mousse tokenize' drops it, too. */
static void drop_byte_order_mark(mo_buffer *prompt)
{
  if (prompt->size < 3 || memcmp(prompt->data, "\xef\xbb\xbf", 3) != 0) return;
  prompt->size -= 3;
  memmove(prompt->data, prompt->data + 3, prompt->size);
}

static mousse_status read_stream(FILE *stream, const char *name, mo_buffer *prompt,
                                 mo_error *error)
{
  char block[65536];
  size_t count = 0;
  while ((count = fread(block, 1, sizeof block, stream)) > 0) {
    if (prompt->size + count > LARGEST_PROMPT)
      return mo_fail(error, MOUSSE_OUT_OF_RANGE, "%s: a prompt of more than %d bytes", name,
                     LARGEST_PROMPT);
    if (!mo_buffer_add(prompt, block, count))
      return mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory for the prompt", name);
  }
  if (ferror(stream))
    return mo_fail(error, MOUSSE_IO, "%s: cannot read the prompt: %s", name, strerror(errno));
  drop_byte_order_mark(prompt);
  return MOUSSE_OK;
}

static mousse_status read_prompt(const generate_values *v, mo_buffer *prompt, mo_error *error)
{
  if (v->prompt[0] != '\0' && v->prompt_file[0] != '\0')
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "give --prompt or --prompt-file, not both");
  if (strcmp(v->prompt, "-") == 0 || strcmp(v->prompt_file, "-") == 0)
    return read_stream(stdin, "standard input", prompt, error);
  if (v->prompt_file[0] == '\0') {
    if (mo_buffer_add(prompt, v->prompt, strlen(v->prompt))) return MOUSSE_OK;
    return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for the prompt");
  }
  FILE *file = fopen(v->prompt_file, "rb");
  if (file == NULL)
    return mo_fail(error, MOUSSE_IO, "%s: cannot open the prompt: %s", v->prompt_file,
                   strerror(errno));
  const mousse_status status = read_stream(file, v->prompt_file, prompt, error);
  fclose(file);
  return status;
}

static mousse_status write_texts(writing *w, const generate_values *v, const mo_buffer *prompt,
                                 mo_error *error)
{
  for (int64_t i = 0; i < v->samples; i++) {
    MO_TRY(text_writer_restart(&w->writer, error));
    MO_TRY(text_writer_add(&w->writer, prompt->data, prompt->size, error));
    if (i > 0) printf("\n---\n");
    terminal_put(&w->screen, prompt->data, prompt->size);
    MO_TRY(writing_draw(w, &v->writing, (uint64_t)i, NULL, error));
    printf("\n");
    if (ferror(stdout)) /* nobody reads it: no more of them */
      return mo_fail(error, MOUSSE_IO, "cannot write to standard output");
  }
  return MOUSSE_OK;
}

static mousse_status generate(const cli_invocation *call, const mo_buffer *prompt,
                              mo_error *error)
{
  const generate_values *v = call->values;
  writing w;
  MO_TRY(writing_open(&w, &v->writing, prompt, (size_t)v->writing.tokens, call->quiet, error));
  const mousse_status status = write_texts(&w, v, prompt, error);
  writing_close(&w);
  return status;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const generate_values *v = call->values;
  mo_buffer prompt = {0};
  if (v->interactive) return chat_by_default(call, &v->writing, error);
  mousse_status status = read_prompt(v, &prompt, error);
  if (status == MOUSSE_OK) status = generate(call, &prompt, error);
  mo_buffer_close(&prompt);
  if (status == MOUSSE_OK) next_step_model(call, "chat", v->writing.init, v->writing.tokenizer);
  return status;
}

const cli_command command_generate = {
    .name = "generate",
    .summary = "Generate text with a model",
    .arguments = "",
    .details = "A text may be longer than the model's context: when the context is full, the "
               "model continues from its last half.\n\n"
               "  mousse generate --init runs/book --prompt \"It was\" --tokens 100\n"
               "  mousse generate --init runs/book --prompt-file start.txt --samples 3\n"
               "  echo \"It was\" | mousse generate --init runs/book --prompt -\n",
    .settings = MO_SETTINGS(rows),
    .base = &writing_settings,
    .values_bytes = sizeof(generate_values),
    .run = run,
};
