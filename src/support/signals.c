/* signals.c - handlers only set a flag. A handler gets no argument of ours, so the flags and
 * the handlers of before are the one piece of global state in the program. */
#include "support/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal, save_wanted;
static int watching; /* calls of signals_watch that signals_ignore has not answered yet */
static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { WATCHED = sizeof watched / sizeof *watched };
static struct sigaction before[WATCHED];

static void on_signal(int number)
{
  if (number == SIGUSR1)
    save_wanted = 1;
  else if (stop_signal == 0)
    stop_signal = number;
  else if (number != SIGHUP) /* a terminal that is closed sends two: its shell does, then it */
    _exit(128 + number);     /* the second request to stop: at once */
}

static void handle(int number)
{
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

void signals_expect_save(void)
{
  handle(SIGUSR1);
}

void signals_watch(void)
{
  if (watching++ > 0) return;
  stop_signal = 0;
  for (size_t i = 0; i < WATCHED; i++) {
    sigaction(watched[i], NULL, &before[i]);
    if (watched[i] != SIGHUP || before[i].sa_handler != SIG_IGN) handle(watched[i]);
  }
}

void signals_ignore(void)
{
  if (--watching > 0) return;
  for (size_t i = 0; i < WATCHED; i++) sigaction(watched[i], &before[i], NULL);
}

int signals_stop(void)
{
  return stop_signal;
}

void signals_end(int number)
{
  signal(number, SIG_DFL);
  raise(number);
}

bool signals_save(void)
{
  const bool wanted = save_wanted != 0;
  save_wanted = 0;
  return wanted;
}
