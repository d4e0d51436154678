/* cmd_watch.c - mousse watch: a page on runs, while they train. */
#include "cli/command.h"
#include "cli/terminal.h"
#include "support/signals.h"
#include "watch/text_screen.h"
#include "watch/watch.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct watch_values {
  int64_t port;
  char bind[64], token[64];
  bool open, terminal;
} watch_values;

static const mo_setting rows[] = {
    MO_SETTING_INTEGER(watch_values, port, "0", 0, 65535,
                       "port of the page; 0: 8787, or a free one where that is taken"),
    MO_SETTING_SWITCH(watch_values, open, "false", "open the page in a browser"),
    MO_SETTING_SWITCH(
        watch_values, terminal, "false",
        "show the runs as text in this terminal instead; once, if output is not a terminal"),
    MO_SETTING_TEXT(watch_values, bind, "",
                    "address to listen on for other machines, such as 0.0.0.0; the page then "
                    "asks for a token (default: 127.0.0.1, this machine only)"),
    MO_SETTING_TEXT(
        watch_values, token, "",
        "token that the page asks for; with --bind, by default a new one, which is printed"),
};

static const struct timespec between_turns = {.tv_nsec = 400000000};

/* The browser that the desktop has; what it prints is not for this terminal, and the Ctrl-C that
 * ends the page is not for it: it gets a session of its own. */
static void open_browser(const char *address)
{
  const pid_t child = fork();
  if (child < 0) return;
  if (child > 0) {
    waitpid(child, NULL, 0);
    return;
  }
  if (fork() == 0) { /* nobody waits for it */
    setsid();
    signal(SIGPIPE, SIG_DFL); /* what main.c ignores */
    signal(SIGXFSZ, SIG_DFL);
    if (freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL)
      execlp("xdg-open", "xdg-open", address, (char *)NULL);
  }
  _exit(0);
}

static mousse_status serve(const cli_invocation *call, watch_model *model, mo_error *error)
{
  const watch_values *v = call->values;
  watch_server *server = NULL;
  const watch_options options = {.bind = v->bind, .token = v->token, .port = (unsigned)v->port};
  MO_TRY(watch_open(&server, model, &options, error));
  printf("%s\n", watch_address(server));
  fflush(stdout);
  if (!call->quiet && v->bind[0] != '\0')
    terminal_note("anyone with this address can see the runs; the connection is not encrypted");
  if (v->open) open_browser(watch_address(server));
  while (signals_stop() == 0) {
    watch_turn(server);
    nanosleep(&between_turns, NULL);
  }
  watch_close(server);
  return MOUSSE_OK;
}

/* Drawn over and over on a screen of its own, which is gone afterwards. */
static mousse_status show_screen(watch_model *model, mo_error *error)
{
  const bool terminal = terminal_is(stdout);
  mo_buffer text = {0};
  if (terminal) fputs("\033[?1049h\033[?25l", stdout);
  do {
    const screen_size size = {terminal_has_columns(stdout) ? terminal_columns(stdout) : 0,
                              terminal ? terminal_rows(stdout) : 0, terminal_unicode()};
    text.size = 0;
    watch_model_refresh(model);
    if (!text_screen(model, size, &text)) break;
    if (terminal) fputs("\033[H\033[J", stdout);
    fwrite(text.data, 1, text.size, stdout);
    fflush(stdout);
    if (terminal) nanosleep(&between_turns, NULL);
  } while (terminal && signals_stop() == 0);
  if (terminal) fputs("\033[?25h\033[?1049l", stdout);
  const bool whole = text.size > 0;
  mo_buffer_close(&text);
  return whole ? MOUSSE_OK : mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a screen of text");
}

/* DIR, or runs where there is such a folder, or this one. */
static const char *directory_of(const cli_invocation *call)
{
  struct stat info;
  if (call->argument_count > 0) return call->arguments[0];
  return stat("runs", &info) == 0 && S_ISDIR(info.st_mode) ? "runs" : ".";
}

static mousse_status run(const cli_invocation *call, mo_error *error)
{
  const watch_values *v = call->values;
  watch_model model;
  if (!v->terminal && !watch_is_built(error)) return MOUSSE_INVALID_ARGUMENT;
  MO_TRY(watch_model_open(&model, directory_of(call), error));
  signals_watch();
  const mousse_status status =
      v->terminal ? show_screen(&model, error) : serve(call, &model, error);
  signals_ignore();
  watch_model_close(&model);
  return status;
}

const cli_command command_watch = {
    .name = "watch",
    .summary = "See runs while they train: a live page, or a screen of text",
    .arguments = "[DIR]",
    .details =
        "DIR is the --out of a run, or a directory with runs below it; by default the folder "
        "runs, or the current folder if there is none. Without --bind, only this machine can "
        "open the page; it needs no network and never writes. Ctrl-C ends it.\n\n"
        "  mousse watch\n"
        "  mousse watch runs/sweep --open\n"
        "  mousse watch runs --terminal               (in this terminal)\n"
        "  mousse watch runs --bind 0.0.0.0           (for other machines, with a token)\n"
        "  ssh -L 8787:127.0.0.1:8787 HOST mousse watch runs\n",
    .settings = MO_SETTINGS(rows),
    .values_bytes = sizeof(watch_values),
    .most_arguments = 1,
    .run = run,
};
