/* signals.h - requests from outside: SIGINT and SIGTERM ask to save and stop, a second one ends
 * the process at once; SIGUSR1 asks to save and go on. */
#ifndef MOUSSE_SUPPORT_SIGNALS_H
#define MOUSSE_SUPPORT_SIGNALS_H

#include <stdbool.h>

void signals_watch(void);  /* from now on; may be nested */
void signals_ignore(void); /* as it was before the outermost of them */
int signals_stop(void);    /* the signal that asked to stop; 0: none */
bool signals_save(void);   /* whether saving was asked for; the request is taken back */

/* Ends the process by a signal, so that whoever sent it sees that it had effect; also one that was
 * ignored when the process began, as shells do with SIGINT for what they run in the background. */
void signals_end(int number);

#endif
