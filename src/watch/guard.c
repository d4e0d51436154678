/* guard.c - who may ask what. */
#include "watch/guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

/* The name in a Host without its port, and without the brackets of an IPv6 address. */
static bool host_name(const char *host, char name[GUARD_NAME])
{
  const bool bracket = host[0] == '[';
  const char *start = host + bracket;
  const size_t length = strcspn(start, bracket ? "]" : ":");
  if (length == 0 || length >= GUARD_NAME) return false;
  if (bracket && start[length] != ']') return false;
  memcpy(name, start, length);
  name[length] = '\0';
  const char *port = start + length + bracket;
  return *port == '\0' || (*port == ':' && strspn(port + 1, "0123456789") == strlen(port + 1));
}

static bool is_address(const char *name)
{
  unsigned char room[sizeof(struct in6_addr)];
  return inet_pton(AF_INET, name, room) == 1 || inet_pton(AF_INET6, name, room) == 1;
}

/* A name that nobody else can give to this server. Outside of loopback, an address is one. */
static bool is_ours(const watch_guard *g, const char *host)
{
  char name[GUARD_NAME];
  if (host == NULL || !host_name(host, name)) return false;
  if (strcmp(name, "127.0.0.1") == 0 || strcasecmp(name, "localhost") == 0 ||
      strcmp(name, "::1") == 0)
    return true;
  if (g->bound[0] == '\0') return false;
  return is_address(name) || strcasecmp(name, g->machine) == 0 ||
         strcasecmp(name, g->bound) == 0;
}

static bool same_origin(const char *origin, const char *host)
{
  return strncmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

/* In a time that tells nothing of where they differ. */
static bool same_token(const char *token, const char *text, size_t length)
{
  const size_t size = strlen(token);
  unsigned char differ = length == size ? 0 : 1;
  for (size_t i = 0; i < size; i++)
    differ |= (unsigned char)(token[i] ^ (i < length ? text[i] : 0));
  return differ == 0;
}

const char *guard_argument(const watch_request *request, const char *name, size_t skip)
{
  for (size_t i = 0; i < request->argument_count; i++)
    if (strcmp(request->arguments[i].name, name) == 0 && skip-- == 0)
      return request->arguments[i].value;
  return NULL;
}

bool guard_shows_token(const watch_guard *g, const watch_request *request)
{
  const char *text = guard_argument(request, "token", 0);
  return g->token[0] != '\0' && text != NULL && same_token(g->token, text, strlen(text));
}

void guard_cookie_name(const watch_request *r, char name[GUARD_COOKIE])
{
  enum { LONGEST_PORT = 5 };
  const char *colon = r->host != NULL ? strrchr(r->host, ':') : NULL;
  const char *port = colon != NULL ? colon + 1 : "";
  const size_t length = strspn(port, "0123456789");
  const bool is_port = length > 0 && length <= LONGEST_PORT && port[length] == '\0';
  snprintf(name, GUARD_COOKIE, "mousse_token%s%s", is_port ? "_" : "", is_port ? port : "");
}

static bool cookie_has(const watch_guard *g, const watch_request *r)
{
  char name[GUARD_COOKIE];
  const char *cookie = r->cookie;
  guard_cookie_name(r, name);
  const size_t before = strlen(name) + 1; /* with the = */
  while (cookie != NULL && *cookie != '\0') {
    cookie += strspn(cookie, "; ");
    const size_t length = strcspn(cookie, ";");
    if (length > before && strncmp(cookie, name, before - 1) == 0 &&
        cookie[before - 1] == '=' && same_token(g->token, cookie + before, length - before))
      return true;
    cookie += length;
  }
  return false;
}

static bool has_token(const watch_guard *g, const watch_request *r)
{
  static const char bearer[] = "Bearer ";
  if (g->token[0] == '\0' || guard_shows_token(g, r) || cookie_has(g, r)) return true;
  return r->authorization != NULL && strncmp(r->authorization, bearer, strlen(bearer)) == 0 &&
         same_token(g->token, r->authorization + strlen(bearer),
                    strlen(r->authorization) - strlen(bearer));
}

static bool from_elsewhere(const watch_request *r)
{
  if (r->origin != NULL && !same_origin(r->origin, r->host)) return true;
  return r->site != NULL && strcmp(r->site, "same-origin") != 0 && strcmp(r->site, "none") != 0;
}

/* A link on another page may lead here, but only to the page itself. */
static bool is_visit(const watch_request *r)
{
  return r->origin == NULL && strcmp(r->path, "/") == 0;
}

unsigned guard_check(const watch_guard *g, const watch_request *r, const char **sentence)
{
  *sentence = "";
  if (!is_ours(g, r->host)) {
    *sentence = "This server has another name. Use the address that 'mousse watch' printed.";
    return 421;
  }
  if (from_elsewhere(r) && !is_visit(r)) {
    *sentence = "Other sites may not use this server.";
    return 403;
  }
  if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0) {
    *sentence = "This server is read-only: use GET.";
    return 405;
  }
  if (r->has_body) {
    *sentence = "This server accepts no data: send no body.";
    return 413;
  }
  if (!has_token(g, r)) {
    *sentence = "A token is needed. Use the whole address that 'mousse watch' printed.";
    return 401;
  }
  return 200;
}

bool guard_make_token(char token[GUARD_TOKEN])
{
  unsigned char random[16];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return false;
  for (size_t i = 0; i < sizeof random; i++) snprintf(token + 2 * i, 3, "%02x", random[i]);
  return true;
}
