/* cmd_chat.c - mousse chat: a prompt loop. A line is a message that the model answers, in the form
 * that its family was trained with (data/tokenizer/chat.h), or is added to one text, which the model
 * continues; its words appear as they are drawn. */
#include "cli/line_editor.h"
#include "cli/next_step.h"
#include "cli/writing.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_WINDOW = 4096 }; /* tokens that the model sees; long contexts need memory */

enum { NO_TEMPLATE = CHAT_LLAMA3 + 1 };
static const char *const template_names[] = {"auto", "plain", "chatml", "llama3", "none", NULL};

typedef struct chat_values {
  writing_values writing; /* first: the base's */
  int64_t chat_template;
  char system[4096];
} chat_values;

static const mo_setting rows[] = {
    MO_SETTING_CHOICE(chat_values, chat_template, "auto", template_names,
                      "format of the conversation; none: all lines form one text; auto: the "
                      "one whose tokens the tokenizer has, else none"),
    MO_SETTING_TEXT(chat_values, system, "", "system message to begin with"),
};

typedef struct conversation {
  writing w;
  writing_values v;
  chat_template chat;
  bool has_turns; /* messages and answers; false: one text */
  const char *system;
} conversation;

static volatile int interrupted; /* by Ctrl-C while a text is written */

static void on_interrupt(int number)
{
  (void)number;
  interrupted = 1;
}

static void print_help(void)
{
  printf(
      "The model answers each line, or continues it if no chat template is used; an empty "
      "line\n"
      "lets it continue.\n"
      "Ctrl-C stops a text, Ctrl-D ends. Commands:\n"
      "  /new           start over\n"
      "  /show          show the current options\n"
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

static mousse_status start_over(conversation *c, mo_error *error)
{
  MO_TRY(text_writer_restart(&c->w.writer, error));
  if (!c->has_turns || c->system[0] == '\0') return MOUSSE_OK;
  return text_writer_say(&c->w.writer, &c->chat, "system", c->system, strlen(c->system), error);
}

/* false: /quit. */
static bool obey(conversation *c, char *line, mo_error *error)
{
  if (strcmp(line, "quit") == 0 || strcmp(line, "exit") == 0) return false;
  if (strcmp(line, "help") == 0 || line[0] == '\0')
    print_help();
  else if (strcmp(line, "show") == 0)
    print_options(&c->v);
  else if (strcmp(line, "new") == 0)
    start_over(c, error);
  else
    set_option(&c->v, line);
  return true;
}

/* The line as a message, or as a new line of the text. */
static mousse_status take_line(conversation *c, const line_editor *editor, mo_error *error)
{
  text_writer *writer = &c->w.writer;
  if (editor->length == 0) return MOUSSE_OK;
  if (c->has_turns) {
    MO_TRY(text_writer_say(writer, &c->chat, "user", editor->text, editor->length, error));
    return text_writer_ask(writer, &c->chat, error);
  }
  if (writer->ids.count > 1) MO_TRY(text_writer_add(writer, "\n", 1, error));
  MO_TRY(text_writer_add(writer, editor->text, editor->length, error));
  terminal_put(&c->w.screen, editor->text, editor->length);
  return MOUSSE_OK;
}

static mousse_status answer(conversation *c, const line_editor *editor, mo_error *error)
{
  MO_TRY(take_line(c, editor, error));
  if (c->has_turns && !c->w.writer.is_answering) return MOUSSE_OK; /* nothing to go on with */
  interrupted = 0;
  MO_TRY(writing_draw(&c->w, &c->v, 0, &interrupted, error));
  printf("\n");
  fflush(stdout);
  return MOUSSE_OK;
}

/* The model must not answer a part of what was said. */
static void refuse_line(void)
{
  char text[128];
  snprintf(text, sizeof text, "a line of more than %d bytes was not taken; divide it",
           EDITOR_LINE - 1);
  terminal_error(text);
}

static mousse_status talk(conversation *c, line_editor *editor, mo_error *error)
{
  while (line_editor_read(editor, "> ")) {
    if (editor->is_cut) {
      refuse_line();
    } else if (editor->text[0] == '/') {
      if (!obey(c, editor->text + 1, error)) break;
    } else {
      const mousse_status status = answer(c, editor, error);
      if (status != MOUSSE_OK && status != MOUSSE_OUT_OF_RANGE) return status;
      if (status != MOUSSE_OK) terminal_error(error->text); /* an option: to be set anew */
    }
    fflush(stdout);
    if (ferror(stdout)) break;
  }
  return MOUSSE_OK;
}

/* The tokens of the form end an answer, whatever the model's own files say. */
static mousse_status choose_template(conversation *c, int64_t wanted, bool quiet,
                                     mo_error *error)
{
  writing *w = &c->w;
  if (wanted == NO_TEMPLATE ||
      (wanted == CHAT_AUTO && w->tokenizer.end_of_text == TOKENIZER_NONE))
    return MOUSSE_OK;
  MO_TRY(chat_template_open(&c->chat, &w->tokenizer, (chat_form)wanted, error));
  c->has_turns = wanted != CHAT_AUTO || c->chat.form != CHAT_PLAIN;
  if (!c->has_turns) return MOUSSE_OK;
  if (w->end_count < sizeof w->ends / sizeof *w->ends) w->ends[w->end_count++] = c->chat.end;
  if (!quiet && terminal_is(stdin))
    fprintf(
        stderr,
        "A conversation with the chat template %s; --chat-template none makes it one text.\n",
        chat_form_names[c->chat.form]);
  return start_over(c, error);
}

static mousse_status talk_at_terminal(conversation *c, bool quiet, mo_error *error)
{
  static line_editor editor; /* large */
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART}, before;
  if (!quiet && terminal_is(stdin))
    fprintf(stderr, "Type a line; the model %s it. /help explains, Ctrl-D ends.\n",
            c->has_turns ? "answers" : "continues");
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, NULL, &before);
  if (terminal_is(stdin)) sigaction(SIGINT, &action, NULL); /* lines from a file end with it */
  const mousse_status status = talk(c, &editor, error);
  sigaction(SIGINT, &before, NULL);
  line_editor_close(&editor);
  return status;
}

static mousse_status converse(const cli_invocation *call, const writing_values *v,
                              int64_t template, const char *system, mo_error *error)
{
  conversation c = {.v = *v, .system = system};
  MO_TRY(writing_open(&c.w, &c.v, NULL, LONGEST_WINDOW, call->quiet, error));
  mousse_status status = choose_template(&c, template, call->quiet, error);
  if (status == MOUSSE_OK) status = talk_at_terminal(&c, call->quiet, error);
  writing_close(&c.w);
  if (status == MOUSSE_OK && c.v.tokenizer[0] != '\0')
    next_step_model(call, "generate", c.v.init, c.v.tokenizer);
  else if (status == MOUSSE_OK)
    next_step(call, "generate --init %s --samples 3", c.v.init);
  return status;
}

mousse_status chat_by_default(const cli_invocation *call, const writing_values *v,
                              mo_error *error)
{
  return converse(call, v, CHAT_AUTO, "", error);
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const chat_values *v = call->values;
  return converse(call, &v->writing, v->chat_template, v->system, error);
}

const cli_command command_chat = {
    .name = "chat",
    .summary = "Talk to a model, or write together with it, line by line",
    .arguments = "",
    .details =
        "A model whose tokenizer has the tokens of a chat template answers each line you type, "
        "in the format it was trained with. With other models, each line is added to one text, "
        "which the model continues. An empty line lets it continue, /new starts over, and "
        "commands such as /temperature 0.5 change options as you go. Lines can be edited; up "
        "and down recall earlier ones. Input that is not a terminal is read line by line.\n\n"
        "  mousse chat --init runs/book --temperature 0.7\n"
        "  mousse chat --init SmolLM2-135M-Instruct/ --system \"Answer in one sentence.\"\n",
    .settings = MO_SETTINGS(rows),
    .base = &writing_settings,
    .values_bytes = sizeof(chat_values),
    .run = run,
};
