/* stream.h - clients that wait for news, by server-sent events:
 *
 *     event: change
 *     data: {"version": 17, "list": false, "runs": ["muon-1", ...]}
 *
 * with the runs that changed since this client was told last; "list": the table has other runs.
 * A comment line now and then shows whether a client is still there. One that does not read is
 * left behind by the connection's own time limit, and gets all at once when it comes back.
 */
#ifndef MOUSSE_WATCH_STREAM_H
#define MOUSSE_WATCH_STREAM_H

#include "watch/watch.h"

#include <microhttpd.h>

typedef struct stream_client stream_client;

typedef struct watch_streams {
  watch_model *model; /* its lock guards all of this, too */
  stream_client *first;
  size_t count;
  bool closing;
} watch_streams;

/* The response to /api/events; NULL: too many wait already. */
struct MHD_Response *stream_response(watch_streams *streams, struct MHD_Connection *connection);

/* Wakes those for whom there is news. */
void streams_wake(watch_streams *streams);
/* Wakes all, for the last time: their streams end. */
void streams_end(watch_streams *streams);

#endif
