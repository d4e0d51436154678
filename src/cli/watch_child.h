/* watch_child.h - 'mousse watch' beside a run, as a process of its own that ends with this one. */
#ifndef MOUSSE_CLI_WATCH_CHILD_H
#define MOUSSE_CLI_WATCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* Starts it and waits for the address of its page. False: it did not start, or has none. */
bool watch_child_start(const char *directory, char *address, size_t capacity);

#endif
