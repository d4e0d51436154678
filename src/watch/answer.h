/* answer.h - the answer to a request, as bytes: everything of the server but its sockets.
 *
 *     /                       the page, and its parts as its markup names them
 *     /api/runs               the table of runs (watch_json.h)
 *     /api/run?run=PATH       one run; &steps=LAYOUT,FROM&validations=LAYOUT,FROM: what is new
 *     /api/curvature?run=PATH its matrices over time (curvature.h); &quantity=NAME&matrix=NAME
 *     /api/report?run=PATH... the document of a report on these runs; without names, on all
 *     /report.html?run=...    the same as a page to keep
 *     /api/events             a stream of what changes (stream.h)
 *
 * A run's path is only ever compared with those that were found: no request names a file.
 */
#ifndef MOUSSE_WATCH_ANSWER_H
#define MOUSSE_WATCH_ANSWER_H

#include "watch/guard.h"
#include "watch/watch_model.h"

typedef struct watch_answer {
  unsigned status;
  const char *type;
  const char *content; /* borrowed: part of the program or of body */
  size_t size;
  mo_buffer body;       /* owned, by watch_answer_release */
  const char *download; /* the name to keep it under; NULL: to be shown */
  bool stream;          /* /api/events: there is no content */
  bool cacheable;       /* the table of runs at this version of the model */
  uint64_t version;
} watch_answer;

/* Takes the model's lock while it works. */
void watch_answer_make(watch_answer *answer, watch_model *model, const watch_guard *guard,
                       const watch_request *request);
void watch_answer_release(watch_answer *answer);

#endif
