/* next_step.c - what one would do after a command. */
#include "cli/next_step.h"

#include "cli/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char *const *words;
static size_t word_count;

void next_step_start(int argc, char *const *argv)
{
  words = argv;
  word_count = argc > 0 ? (size_t)argc : 0;
}

const char *next_step_program(void)
{
  return word_count > 0 ? words[0] : "mousse";
}

static void print_quoted(const char *text)
{
  char quoted[2 * MO_SETTING_PATH];
  fputs(terminal_quoted(text, quoted, sizeof quoted), stderr);
}

/* %s takes the next argument, quoted; all else stays as it is. */
static void print_line(const char *format, va_list arguments)
{
  for (const char *c = format; *c != '\0'; c++) {
    if (c[0] == '%' && c[1] == 's') {
      print_quoted(va_arg(arguments, const char *));
      c++;
    } else {
      fputc(*c, stderr);
    }
  }
  fputc('\n', stderr);
}

/* "next:" stands before the first line only. */
static void print_head(void)
{
  static bool said;
  fflush(stdout); /* the results come first */
  fprintf(stderr, "%s%s%s ", terminal_code(stderr, STYLE_BOLD),
          said ? "     " : "next:", terminal_code(stderr, STYLE_NONE));
  said = true;
}

void next_step(const cli_invocation *call, const char *format, ...)
{
  va_list arguments;
  if (call->quiet) return;
  print_head();
  print_quoted(next_step_program());
  fputc(' ', stderr);
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
}

void next_step_model(const cli_invocation *call, const char *command, const char *model,
                     const char *tokenizer)
{
  if (tokenizer[0] != '\0')
    next_step(call, "%s --init %s --tokenizer %s", command, model, tokenizer);
  else
    next_step(call, "%s --init %s", command, model);
}

void next_step_words(const cli_invocation *call, const char *format, ...)
{
  va_list arguments;
  if (call->quiet) return;
  print_head();
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
}

static bool is_truth(const char *word)
{
  return strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
}

/* How many words from this one on are an option of the list with its value; 0: none. */
static size_t words_of(size_t at, const char *list)
{
  char option[64], name[64];
  int length = 0;
  const bool ends_here = strchr(words[at], '=') != NULL;
  if (sscanf(words[at], "--%63[^=]", option) != 1) return 0;
  for (; sscanf(list, " %63[^ =]%n", name, &length) == 1; list += strcspn(list, " ")) {
    list += length;
    if (!mo_same_name(option, name)) continue;
    const bool has_value =
        *list == '=' || (at + 1 < word_count && is_truth(words[at + 1])); /* of a switch */
    return has_value && !ends_here ? 2 : 1;
  }
  return 0;
}

void next_step_on_ranks(const cli_invocation *call, long long ranks, const char *command,
                        const char *without)
{
  if (call->quiet) return;
  print_head();
  if (ranks > 1) fprintf(stderr, "mpirun -n %lld ", ranks);
  print_quoted(next_step_program());
  fprintf(stderr, " %s", command);
  for (size_t i = 2; i < word_count; i++) {
    const size_t left_out = words_of(i, without);
    if (left_out > 0) {
      i += left_out - 1;
      continue;
    }
    fputc(' ', stderr);
    print_quoted(words[i]);
  }
  fputc('\n', stderr);
}

void next_step_again(const cli_invocation *call, const char *command, const char *without)
{
  next_step_on_ranks(call, 1, command, without);
}
