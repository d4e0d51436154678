/* cmd_text.c - mousse text: any input as plain text, or token shards decoded back to it. */
#include "base/file.h"
#include "cli/inputs.h"
#include "cli/next_step.h"
#include "cli/terminal.h"
#include "data/shards/decode.h"
#include "data/text/corpus.h"
#include "data/text/unwrap.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct text_values {
  char out[MO_SETTING_PATH], tokenizer[MO_SETTING_PATH];
  char field[128], separator[128];
  bool unwrap;
} text_values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(text_values, out, "", "file to write; by default standard output"),
    MO_SETTING_TEXT(text_values, tokenizer, "",
                    "tokenizer of token shards (.bin); by default the one in their directory"),
    MO_SETTING_TEXT(text_values, field, "text", "field of JSON lines that holds the text"),
    MO_SETTING_TEXT(text_values, separator, "<|endoftext|>",
                    "line between documents, in text files and in the output; empty for "
                    "none, and then the text is exact"),
    MO_SETTING_SWITCH(
        text_values, unwrap, "false",
        "join hard-wrapped lines into paragraphs, with one empty line between them"),
};

/* Where text goes: a file that appears when it is complete, or standard output. */
typedef struct output {
  const text_values *values;
  bool to_file, started;
  bool inside_line; /* the text so far does not end with a line end */
  mo_writer file;
  terminal_text screen; /* a terminal gets no control characters */
  mo_unwrap unwrap;
  mo_buffer text;
} output;

static mousse_status put(output *out, const char *text, size_t length, mo_error *error)
{
  if (length > 0) out->inside_line = text[length - 1] != '\n';
  if (out->to_file) return mo_writer_write(&out->file, text, length, error);
  terminal_put(&out->screen, text, length);
  if (!ferror(stdout)) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO, "cannot write to standard output");
}

static mousse_status put_unwrapped(output *out, bool fits, mo_error *error)
{
  if (!fits) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a paragraph");
  MO_TRY(put(out, out->text.data, out->text.size, error));
  out->text.size = 0;
  return MOUSSE_OK;
}

static mousse_status put_separator(output *out, mo_error *error)
{
  const char *separator = out->values->separator;
  if (separator[0] == '\0') return MOUSSE_OK;
  if (out->inside_line) MO_TRY(put(out, "\n", 1, error));
  MO_TRY(put(out, separator, strlen(separator), error));
  return put(out, "\n", 1, error);
}

/* A part of a document, for inputs and for decoded shards alike. */
static mousse_status put_part(void *user, const char *text, size_t length, bool starts_document,
                              mo_error *error)
{
  output *out = user;
  if (starts_document && out->started) {
    if (out->values->unwrap)
      MO_TRY(put_unwrapped(out, unwrap_finish(&out->unwrap, &out->text), error));
    MO_TRY(put_separator(out, error));
  }
  out->started = true;
  if (!out->values->unwrap) return put(out, text, length, error);
  return put_unwrapped(out, unwrap_add(&out->unwrap, text, length, &out->text), error);
}

/* Listed before there is a file of ours, and without the one of an earlier call. */
static mousse_status list_inputs(const cli_invocation *call, file_list *files, mo_error *error)
{
  const text_values *v = call->values;
  if (inputs_is_shard(call->arguments[0])) return MOUSSE_OK;
  if (v->out[0] != '\0') MO_TRY(file_list_leave_out(files, v->out, error));
  for (size_t i = 0; i < call->argument_count; i++)
    MO_TRY(file_list_add(files, call->arguments[i], error));
  if (files->paths.count > 0) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: there is no file in it%s",
                 call->arguments[0], v->out[0] != '\0' ? " (that of --out is no input)" : "");
}

static mousse_status put_inputs(const file_list *files, output *out, mo_error *error)
{
  mo_corpus *text = NULL;
  corpus_piece piece;
  const corpus_options read = {.field = out->values->field,
                               .separator = out->values->separator};
  MO_TRY(corpus_open_files(&text, files, &read, error));
  mousse_status status = corpus_next(text, &piece, error);
  while (status == MOUSSE_OK && piece.length > 0) {
    status = put_part(out, piece.text, piece.length, piece.starts_document, error);
    if (status == MOUSSE_OK) status = corpus_next(text, &piece, error);
  }
  corpus_close(text);
  return status;
}

/* All are shards, or none is. */
static mousse_status check_inputs(const cli_invocation *call, mo_error *error)
{
  const bool shards = inputs_is_shard(call->arguments[0]);
  for (size_t i = 1; i < call->argument_count; i++)
    if (inputs_is_shard(call->arguments[i]) != shards)
      return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                     "give token shards (.bin) or text, not both: '%.100s' and '%.100s'",
                     call->arguments[0], call->arguments[i]);
  return inputs_check(call, "", error);
}

/* Shards of one directory go on with each other, in the order in which they are given. */
static mousse_status put_shards(const cli_invocation *call, output *out, mo_error *error)
{
  char folder[MO_SETTING_PATH] = "", last[MO_SETTING_PATH] = "";
  uint32_t before = DECODE_NOTHING;
  for (size_t i = 0; i < call->argument_count; i++) {
    const char *path = call->arguments[i];
    MO_TRY(mo_path_parent(folder, sizeof folder, path, error));
    if (strcmp(folder, last) != 0) before = DECODE_NOTHING;
    memcpy(last, folder, sizeof last);
    MO_TRY(decode_shard(path, out->values->tokenizer, &before, put_part, out, error));
  }
  return MOUSSE_OK;
}

static mousse_status put_everything(const cli_invocation *call, const file_list *files,
                                    output *out, mo_error *error)
{
  if (!inputs_is_shard(call->arguments[0]))
    MO_TRY(put_inputs(files, out, error));
  else
    MO_TRY(put_shards(call, out, error));
  if (!out->values->unwrap) return MOUSSE_OK;
  return put_unwrapped(out, unwrap_finish(&out->unwrap, &out->text), error);
}

/* Text is to be tokenized; what was shards already is to be trained on. */
static void suggest(const cli_invocation *call)
{
  const text_values *v = call->values;
  char parent[MO_SETTING_PATH];
  const char *input = v->out[0] != '\0' ? v->out : call->arguments[0];
  struct stat info;
  if (stat(input, &info) != 0 || S_ISFIFO(info.st_mode))
    return; /* what came through a pipe is gone */
  if (v->out[0] != '\0' || !inputs_is_shard(input))
    next_step(call, "tokenize %s --tokenizer train:4096 --out data/text", input);
  else if (mo_path_parent(parent, sizeof parent, input, NULL) == MOUSSE_OK)
    next_step(call, "data %s", parent);
}

/* To a file that appears when it is complete, or to standard output. */
static mousse_status write_out(const cli_invocation *call, const file_list *files,
                               mo_error *error)
{
  const text_values *v = call->values;
  output out = {.values = v, .to_file = v->out[0] != '\0', .screen = {.stream = stdout}};
  if (out.to_file) MO_TRY(mo_writer_open(&out.file, v->out, error));
  mousse_status status = put_everything(call, files, &out, error);
  terminal_put_end(&out.screen);
  unwrap_close(&out.unwrap);
  mo_buffer_close(&out.text);
  if (out.to_file && status == MOUSSE_OK)
    status = mo_writer_commit(&out.file, error);
  else if (out.to_file)
    mo_writer_abandon(&out.file);
  return status;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  file_list files = {0};
  MO_TRY(check_inputs(call, error));
  mousse_status status = list_inputs(call, &files, error);
  if (status == MOUSSE_OK) status = write_out(call, &files, error);
  file_list_close(&files);
  if (status == MOUSSE_OK) suggest(call);
  return status;
}

const cli_command command_text = {
    .name = "text",
    .summary = "Show inputs, or token shards, as plain text",
    .arguments = "INPUT...",
    .details =
        "INPUT is as for 'mousse tokenize', or token shards (.bin), which are decoded.\n\n"
        "  mousse text data/book/text_val_000000.bin\n"
        "  mousse text book.txt.gz --unwrap --out book.txt\n"
        "  xz -dc book.txt.xz | mousse text - --out book.txt\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(text_values),
    .least_arguments = 1,
    .most_arguments = ANY_NUMBER_OF_ARGUMENTS,
    .run = run,
};
