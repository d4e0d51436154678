/* memory_room.h - how much memory this process may still take. */
#ifndef MOUSSE_TRAIN_MEMORY_ROOM_H
#define MOUSSE_TRAIN_MEMORY_ROOM_H

#include <stdint.h>

/* Bytes: what the machine has left (MemAvailable), divided among the ranks that share it, and not
 * more than the limits of the control group and of the process leave. UINT64_MAX: not known. */
uint64_t memory_room(int ranks);

/* The part of it that control groups leave: the smallest room from the process's own group up to
 * the topmost. What they keep of files is given back on demand and counts as free. root: the
 * directory that has proc and sys, "" for the machine's own. */
uint64_t memory_group_room(const char *root);

#endif
