/* signals.h - requests from outside: SIGINT, SIGTERM and SIGHUP (a terminal that was closed) ask to
 * save and stop, a second SIGINT or SIGTERM ends the process at once; SIGUSR1 asks to save and go on. SIGHUP stays
 * ignored where it was, as nohup has it. */
#ifndef MOUSSE_SUPPORT_SIGNALS_H
#define MOUSSE_SUPPORT_SIGNALS_H

#include <stdbool.h>

void signals_watch(void);  /* from now on; may be nested */
void signals_ignore(void); /* as it was before the outermost of them */
int signals_stop(void);    /* the signal that asked to stop; 0: none */
bool signals_save(void);   /* whether saving was asked for; the request is taken back */

/* From now on a request to save that comes before signals_watch waits for it, where it would have
 * ended the process. A request to stop still does. */
void signals_expect_save(void);

/* Ends the process by a signal, so that whoever sent it sees that it had effect; also one that was
 * ignored when the process began, as shells do with SIGINT for what they run in the background. */
void signals_end(int number);

#endif
