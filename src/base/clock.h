/* clock.h - seconds that only go forward. */
#ifndef MOUSSE_BASE_CLOCK_H
#define MOUSSE_BASE_CLOCK_H

double mo_seconds(void);

#endif
