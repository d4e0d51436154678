/* signals.c - handlers only set a flag. A handler gets no argument of ours, so the flags and
 * the handlers of before are the one piece of global state in the program. */
#include "support/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal, save_wanted;
static int watching; /* calls of signals_watch that signals_ignore has not answered yet */
static struct sigaction before[3];
static const int watched[3] = {SIGINT, SIGTERM, SIGUSR1};

static void on_signal(int number)
{
  if (number == SIGUSR1)
    save_wanted = 1;
  else if (stop_signal != 0)
    _exit(128 + number); /* the second request to stop: at once */
  else
    stop_signal = number;
}

void signals_watch(void)
{
  if (watching++ > 0) return;
  stop_signal = save_wanted = 0;
  for (size_t i = 0; i < 3; i++) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(watched[i], &action, &before[i]);
  }
}

void signals_ignore(void)
{
  if (--watching > 0) return;
  for (size_t i = 0; i < 3; i++) sigaction(watched[i], &before[i], NULL);
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
