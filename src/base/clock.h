/* clock.h - seconds that only go forward. */
#ifndef MOUSSE_BASE_CLOCK_H
#define MOUSSE_BASE_CLOCK_H

double mo_seconds(void);

/* That this thread has computed: what it would take if nobody else used the machine. */
double mo_thread_seconds(void);

#endif
