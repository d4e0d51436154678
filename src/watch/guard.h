/* guard.h - who may ask what.
 *
 * A page of the web that somebody visits can send requests to 127.0.0.1, and by giving its own
 * name that address (DNS rebinding) even read the answers. So a request must be a GET, name this
 * server as its Host, and come from no other site. When the server is reachable from outside it
 * must also show the token, in its address (?token=), as a cookie or as a bearer.
 */
#ifndef MOUSSE_WATCH_GUARD_H
#define MOUSSE_WATCH_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUARD_TOKEN = 64, GUARD_NAME = 256, GUARD_COOKIE = 32 };

typedef struct watch_argument {
  const char *name, *value; /* value may be NULL */
} watch_argument;

/* A request as it came; what it does not have is NULL. All is borrowed. */
typedef struct watch_request {
  const char *method, *path;
  const char *host, *origin, *site; /* site: Sec-Fetch-Site */
  const char *cookie, *authorization;
  bool has_body;
  const watch_argument *arguments;
  size_t argument_count;
} watch_request;

typedef struct watch_guard {
  char bound[GUARD_NAME];   /* the address that --bind names; "" for loopback alone */
  char machine[GUARD_NAME]; /* the machine's own name */
  char token[GUARD_TOKEN];  /* "" when none is needed */
} watch_guard;

/* The status of HTTP: 200, or why not, with a sentence for people. */
unsigned guard_check(const watch_guard *guard, const watch_request *request,
                     const char **sentence);

/* Whether the request has the token in its address: then a cookie is set. */
bool guard_shows_token(const watch_guard *guard, const watch_request *request);

/* The name of the cookie that holds the token: mousse_token_PORT. A browser shows a cookie to all
 * ports of a host, and servers there must not replace each other's. The port is the one that the
 * browser asks, by the request's Host: through a tunnel it is not this server's. */
void guard_cookie_name(const watch_request *request, char name[GUARD_COOKIE]);

/* The value of an argument, or NULL; `skip` of the same name come before it. */
const char *guard_argument(const watch_request *request, const char *name, size_t skip);

/* 128 random bits as text. False: the system has none. */
bool guard_make_token(char token[GUARD_TOKEN]);

#endif
