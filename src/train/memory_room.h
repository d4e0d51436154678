/* memory_room.h - how much memory this process may still take. */
#ifndef MOUSSE_TRAIN_MEMORY_ROOM_H
#define MOUSSE_TRAIN_MEMORY_ROOM_H

#include <stdint.h>

/* Bytes: what the machine has left (MemAvailable), divided among the ranks that share it, and not
 * more than the limits of the control group and of the process leave. UINT64_MAX: not known. */
uint64_t memory_room(int ranks);

#endif
