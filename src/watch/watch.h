/* watch.h - a page on runs while they train: an HTTP server that only reads.
 *
 *     watch_server *server = NULL;
 *     watch_model_open(&model, "runs", &error);
 *     watch_open(&server, &model, &options, &error);
 *     while (...) { watch_turn(server); sleep }
 *     watch_close(server);
 *
 * It serves on a thread of its own; whoever opened it reads the files, in watch_turn. At most
 * WATCH_CLIENTS connections are open, fewer where the process may open few files; each may be
 * silent for WATCH_PATIENCE seconds, a request may take some times as long (clients.h), and at
 * most WATCH_STREAMS of them wait for what changes.
 */
#ifndef MOUSSE_WATCH_WATCH_H
#define MOUSSE_WATCH_WATCH_H

#include "watch/guard.h"
#include "watch/watch_model.h"

enum { WATCH_ANY_PORT = 0, WATCH_USUAL_PORT = 8787 };
enum { WATCH_CLIENTS = 512, WATCH_STREAMS = 64, WATCH_PATIENCE = 20, WATCH_ADDRESS = 512 };

typedef struct watch_options {
  const char *bind;  /* "" for 127.0.0.1; an address of this machine asks for a token */
  const char *token; /* "" to make one where it is needed */
  unsigned port;     /* WATCH_ANY_PORT: the usual one, or one that is free */
  unsigned patience; /* seconds; 0: WATCH_PATIENCE */
} watch_options;

typedef struct watch_server watch_server;

/* Whether the program was built with libmicrohttpd, and if not, what to do. */
bool watch_is_built(mo_error *error);

mousse_status watch_open(watch_server **server, watch_model *model,
                         const watch_options *options, mo_error *error);
void watch_turn(watch_server *server); /* reads what is new and tells those who wait */
void watch_close(watch_server *server);

/* Where a browser finds it: "http://127.0.0.1:8787/", with the token where one is needed. */
const char *watch_address(const watch_server *server);

#endif
