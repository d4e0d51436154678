/* cmd_chat.c - mousse chat: a prompt loop. Each line is added to one text, which the model
 * continues; its words appear as they are drawn. */
#include "cli/line_editor.h"
#include "cli/next_step.h"
#include "cli/writing.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_WINDOW = 4096 }; /* tokens that the model sees; long contexts need memory */

static volatile int interrupted; /* by Ctrl-C while a text is written */

static void on_interrupt(int number)
{
  (void)number;
  interrupted = 1;
}

static void print_help(void)
{
  printf(
      "A line is added to the text, which the model then continues; an empty line lets it "
      "go on.\n"
      "Ctrl-C stops a text, Ctrl-D ends. Commands:\n"
      "  /new           forget the text\n"
      "  /show          the options as they are\n"
      "  /NAME VALUE    set one: temperature, tokens, top-k, top-p, repetition-penalty, seed, "
      "stop\n"
      "  /help, /quit\n");
}

static void print_options(const writing_values *v)
{
  for (size_t i = 0; i < writing_settings.count; i++) {
    char text[MO_SETTING_PATH];
    if (!mo_setting_text(&writing_settings.rows[i], v, text, sizeof text)) continue;
    printf("%s: ", writing_settings.rows[i].name);
    terminal_print(stdout, text, strlen(text));
    printf("\n");
  }
}

/* Options that can change while the model stays. */
static bool is_free(const char *name)
{
  static const char *const names[] = {"temperature",        "tokens", "top_k", "top_p",
                                      "repetition_penalty", "seed",   "stop"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (mo_same_name(names[i], name)) return true;
  return false;
}

static void set_option(writing_values *v, char *line)
{
  mo_error error = {{0}};
  char *value = line + strcspn(line, " ");
  if (*value != '\0') *value++ = '\0';
  value += strspn(value, " ");
  if (!is_free(line))
    mo_fail(&error, MOUSSE_UNKNOWN_NAME, "there is no command '/%.60s'; /help lists them",
            line);
  else if (*value == '\0')
    mo_fail(&error, MOUSSE_INVALID_ARGUMENT, "/%s needs a value", line);
  else
    mo_settings_set(&writing_settings, v, line, value, &error);
  if (error.text[0] != '\0') terminal_error(error.text);
}

/* false: /quit. */
static bool obey(writing *w, writing_values *v, char *line, mo_error *error)
{
  if (strcmp(line, "quit") == 0 || strcmp(line, "exit") == 0) return false;
  if (strcmp(line, "help") == 0 || line[0] == '\0')
    print_help();
  else if (strcmp(line, "show") == 0)
    print_options(v);
  else if (strcmp(line, "new") == 0)
    text_writer_restart(&w->writer, error);
  else
    set_option(v, line);
  return true;
}

/* The line as a new one of the text, and what the model makes of it. */
static mousse_status answer(writing *w, const writing_values *v, const line_editor *editor,
                            mo_error *error)
{
  if (editor->length > 0) {
    if (w->writer.ids.count > 1) MO_TRY(text_writer_add(&w->writer, "\n", 1, error));
    MO_TRY(text_writer_add(&w->writer, editor->text, editor->length, error));
    terminal_put(&w->screen, editor->text, editor->length);
  }
  interrupted = 0;
  MO_TRY(writing_draw(w, v, 0, &interrupted, error));
  printf("\n");
  fflush(stdout);
  return MOUSSE_OK;
}

static mousse_status talk(writing *w, writing_values *v, line_editor *editor, mo_error *error)
{
  while (line_editor_read(editor, "> ")) {
    if (editor->text[0] == '/') {
      if (!obey(w, v, editor->text + 1, error)) break;
    } else {
      const mousse_status status = answer(w, v, editor, error);
      if (status != MOUSSE_OK && status != MOUSSE_OUT_OF_RANGE) return status;
      if (status != MOUSSE_OK) terminal_error(error->text); /* an option: to be set anew */
    }
    fflush(stdout);
    if (ferror(stdout)) break;
  }
  return MOUSSE_OK;
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  writing_values v = *(const writing_values *)call->values;
  static line_editor editor; /* large */
  writing w;
  MO_TRY(writing_open(&w, &v, LONGEST_WINDOW, call->quiet, error));
  if (!call->quiet && terminal_is(stdin))
    fprintf(stderr, "Type a line; the model continues it. /help explains, Ctrl-D ends.\n");
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART}, before;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before);
  const mousse_status status = talk(&w, &v, &editor, error);
  sigaction(SIGINT, &before, NULL);
  line_editor_close(&editor);
  writing_close(&w);
  if (status == MOUSSE_OK) next_step(call, "generate --init %s --samples 3", v.init);
  return status;
}

const cli_command command_chat = {
    .name = "chat",
    .summary = "Write together with a model, line by line",
    .arguments = "",
    .details =
        "Each line you type is added to one text, which the model continues. An empty line "
        "lets it go on, /new starts over, and /temperature 0.5 and the like change options "
        "on the way. Lines can be edited; up and down recall earlier ones. Input that is "
        "not a terminal is read line by line.\n\n"
        "  mousse chat --init runs/book --temperature 0.7\n",
    .settings = {NULL, 0, NULL, NULL},
    .base = &writing_settings,
    .values_bytes = sizeof(writing_values),
    .run = run,
};
