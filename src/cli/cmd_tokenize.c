/* cmd_tokenize.c - mousse tokenize: text to a directory of token shards. */
#include "base/file.h"
#include "base/parallel.h"
#include "base/wording.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/next_step.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "data/shards/dataset.h"

#include <stdio.h>
#include <string.h>

typedef struct tokenize_values {
  char tokenizer[MO_SETTING_PATH], out[MO_SETTING_PATH], name[128];
  double val_fraction;
  int64_t shard_tokens, threads;
  int64_t chat_template;
  char field[128], completion_field[128], messages_field[128], separator[128];
} tokenize_values;

static const mo_setting rows[] = {
    MO_SETTING_TEXT(tokenize_values, tokenizer, "bytes",
                    "directory or file of a tokenizer; or bytes; or train:SIZE to learn one of "
                    "SIZE tokens from the inputs"),
    MO_SETTING_TEXT(tokenize_values, out, "", "directory to make (required)"),
    MO_SETTING_TEXT(tokenize_values, name, "text", "first part of the shards' names"),
    MO_SETTING_NUMBER(tokenize_values, val_fraction, "0.01", 0, 0.9,
                      "share of the text for validation"),
    MO_SETTING_INTEGER(tokenize_values, shard_tokens, "100M", 1, 2147483647,
                       "tokens in a shard"),
    MO_SETTING_TEXT(tokenize_values, field, "text", "field of JSON lines that holds the text"),
    MO_SETTING_TEXT(tokenize_values, completion_field, "",
                    "field of JSON lines that holds a completion: only the completion is "
                    "learned; --field, by default 'prompt', holds what comes before it"),
    MO_SETTING_TEXT(
        tokenize_values, messages_field, "",
        "field of JSON lines that holds a conversation, a list of {role, content}: only "
        "what the assistant says is learned"),
    MO_SETTING_CHOICE(
        tokenize_values, chat_template, "auto", chat_form_names,
        "format of conversations; auto: the one whose tokens the tokenizer has, else plain"),
    MO_SETTING_TEXT(tokenize_values, separator, "<|endoftext|>",
                    "a line of text files that separates documents; empty for none"),
    MO_SETTING_INTEGER(tokenize_values, threads, "0", 0, 1024, "threads; 0: one per core"),
};

typedef struct display {
  cli_progress bar;
  const char *stage;
  bool quiet;
  uint64_t done;
} display;

static void show(void *user, const char *stage, uint64_t done, uint64_t total)
{
  display *d = user;
  if (d->stage == NULL || strcmp(d->stage, stage) != 0) {
    if (d->stage != NULL) progress_end(&d->bar, (double)d->done);
    d->bar = progress_start(stage, "MB", 1e6, (double)total, d->quiet);
    d->stage = stage;
  }
  d->done = done;
  progress_update(&d->bar, (double)done);
}

static void tell(void *user, const char *text)
{
  display *d = user;
  if (d->quiet) return;
  progress_line_clear(&d->bar.line);
  terminal_print(stderr, text, strlen(text));
  fputc('\n', stderr);
}

static void print_part(const char *name, const dataset_split *part)
{
  printf("%-6s %s in %s, %s\n", name, MO_COUNT(part->tokens, "token"),
         MO_COUNT(part->documents, "document"), MO_COUNT(part->shards, "shard"));
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const tokenize_values *v = call->values;
  display d = {.quiet = call->quiet};
  mo_dataset made = {0};
  bool existed = false;
  if (v->out[0] == '\0')
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "tokenize needs --out DIRECTORY");
  if (strpbrk(v->name, "/*?[") != NULL || v->name[0] == '.' || v->name[0] == '\0')
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "option 'name': '%s' cannot be part of a file name", v->name);
  MO_TRY(inputs_check(call, v->out, error));
  const bool pairs = v->completion_field[0] != '\0', chats = v->messages_field[0] != '\0';
  if (pairs && chats)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "give --completion-field or --messages-field, not both");
  const dataset_options options = {
      .inputs = call->arguments,
      .input_count = call->argument_count,
      .tokenizer = v->tokenizer,
      .out = v->out,
      .name = v->name,
      .val_fraction = v->val_fraction,
      .shard_tokens = (uint64_t)v->shard_tokens,
      .field = pairs && strcmp(v->field, "text") == 0 ? "prompt" : v->field,
      .completion = pairs ? v->completion_field : NULL,
      .messages = chats ? v->messages_field : NULL,
      .chat = (chat_form)v->chat_template,
      .separator = v->separator,
      .threads = v->threads > 0 ? (int)v->threads : mo_threads_available(),
      .progress = show,
      .notice = tell,
      .user = &d,
  };
  MO_TRY(progress_check(&d.bar, dataset_build(&options, &made, &existed, error)));
  if (d.stage != NULL) progress_end(&d.bar, (double)d.done);
  if (call->quiet) return MOUSSE_OK;
  if (existed) printf("%s: already complete, from the same inputs and options\n", v->out);
  printf("%s: vocabulary %s, %s of text\n", v->out, MO_NUMBER(made.vocabulary),
         MO_BYTES(made.text_bytes));
  print_part("train", &made.train);
  print_part("val", &made.val);
  const char *name = mo_path_name(v->out); /* empty when a slash is at the end */
  next_step(call, "train --data-dir %s --out runs/%s", v->out,
            name[0] != '\0' ? name : v->name);
  return MOUSSE_OK;
}

const cli_command command_tokenize = {
    .name = "tokenize",
    .summary = "Turn text into token shards",
    .arguments = "INPUT...",
    .details =
        "INPUT is a text file, a directory of them, or JSON lines (.jsonl); any of them may be "
        "compressed with gzip or zstd; - is standard input. The output directory appears only "
        "once it is complete: "
        "if killed, run the same command again; what is complete is not made twice.\n\n"
        "  mousse tokenize book.txt --tokenizer train:4096 --out data/book\n"
        "  mousse tokenize articles/*.jsonl.gz --tokenizer gpt2/ --out data/articles\n"
        "  mousse tokenize tasks.jsonl --completion-field answer --out data/tasks\n"
        "  mousse tokenize chats.jsonl --messages-field messages --out data/chats\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(tokenize_values),
    .least_arguments = 1,
    .most_arguments = ANY_NUMBER_OF_ARGUMENTS,
    .run = run,
};
