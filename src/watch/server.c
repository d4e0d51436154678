/* server.c - libmicrohttpd: connections, headers, limits. What is said is answer.c's business. */
#include "watch/answer.h"
#include "watch/clients.h"
#include "watch/stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 256, CONNECTION_MEMORY = 32768 };

struct watch_server {
  watch_model *model; /* borrowed */
  struct MHD_Daemon *daemon;
  watch_guard guard;
  watch_streams streams;
  watch_clients clients;
  char address[WATCH_ADDRESS];
  struct MHD_Response *table; /* the answer to /api/runs at table_version; NULL: none yet */
  uint64_t table_version;
};

/* A page is complete in itself: it loads nothing from elsewhere, is part of no other page, and
 * tells nobody where it is. A report is one file with its scripts inside, as it is when saved. */
static void add_headers(struct MHD_Response *response, const watch_answer *answer)
{
  static const char *const headers[][2] = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cache-Control", "no-store"},
  };
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
    MHD_add_response_header(response, headers[i][0], headers[i][1]);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
  if (answer->status == 405) MHD_add_response_header(response, "Allow", "GET, HEAD");
  if (answer->download != NULL)
    MHD_add_response_header(response, "Content-Disposition",
                            "attachment; filename=\"report.html\"");
}

/* From now on the browser shows the token by itself, to this server and to no page of another. */
static void add_cookie(const watch_server *s, const watch_request *request,
                       struct MHD_Response *response)
{
  char name[GUARD_COOKIE], text[GUARD_COOKIE + GUARD_TOKEN + 64];
  guard_cookie_name(request, name);
  snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict", name, s->guard.token);
  MHD_add_response_header(response, "Set-Cookie", text);
}

typedef struct argument_list {
  watch_argument list[MOST_ARGUMENTS];
  size_t count;
} argument_list;

static enum MHD_Result take_argument(void *user, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
  argument_list *a = user;
  (void)kind;
  if (a->count == MOST_ARGUMENTS) return MHD_NO;
  a->list[a->count++] = (watch_argument){name, value};
  return MHD_YES;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* The table of runs is what many ask for: it is made once for each version. The lock is held. */
static struct MHD_Response *known_table(watch_server *s, const watch_request *request)
{
  const char *sentence = NULL;
  if (strcmp(request->path, "/api/runs") != 0 || s->table == NULL ||
      s->table_version != s->model->version ||
      guard_check(&s->guard, request, &sentence) != 200)
    return NULL;
  return s->table;
}

static struct MHD_Response *make_response(watch_server *s, struct MHD_Connection *connection,
                                          watch_answer *answer)
{
  struct MHD_Response *response = NULL;
  if (answer->stream) response = stream_response(&s->streams, connection);
  if (response != NULL) clients_answered(&s->clients, connection, true);
  if (answer->stream && response == NULL) {
    answer->status = 503;
    answer->content = "Too many pages are connected to this server.\n";
    answer->size = strlen(answer->content);
    answer->type = "text/plain; charset=utf-8";
  }
  if (response == NULL)
    response = MHD_create_response_from_buffer(answer->size, (void *)answer->content,
                                               MHD_RESPMEM_MUST_COPY);
  if (response != NULL) add_headers(response, answer);
  return response;
}

/* Takes the response in place of the one of before; it stays with us. */
static void keep_table(watch_server *s, struct MHD_Response *response, uint64_t version)
{
  if (s->table != NULL) MHD_destroy_response(s->table);
  s->table = response;
  s->table_version = version;
}

static enum MHD_Result answer_request(watch_server *s, struct MHD_Connection *connection,
                                      const watch_request *request)
{
  watch_answer answer;
  watch_model_lock(s->model);
  struct MHD_Response *known = known_table(s, request);
  watch_model_unlock(s->model);
  clients_answered(&s->clients, connection, false);
  if (known != NULL) return MHD_queue_response(connection, 200, known);
  watch_answer_make(&answer, s->model, &s->guard, request);
  struct MHD_Response *response = make_response(s, connection, &answer);
  enum MHD_Result queued = MHD_NO;
  if (response != NULL) {
    if (guard_shows_token(&s->guard, request)) add_cookie(s, request, response);
    queued = MHD_queue_response(connection, answer.status, response);
    if (answer.cacheable && !guard_shows_token(&s->guard, request))
      keep_table(s, response, answer.version);
    else
      MHD_destroy_response(response);
  }
  watch_answer_release(&answer);
  return queued;
}

/* Called for the head of a request, for parts of a body, and at its end: answered at once. */
static enum MHD_Result on_request(void *server, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *body, size_t *body_size, void **state)
{
  argument_list arguments = {.count = 0};
  (void)version, (void)body, (void)state;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_argument, &arguments);
  const char *length = header(connection, "Content-Length");
  const watch_request request = {
      .method = method,
      .path = path,
      .host = header(connection, "Host"),
      .origin = header(connection, "Origin"),
      .site = header(connection, "Sec-Fetch-Site"),
      .cookie = header(connection, "Cookie"),
      .authorization = header(connection, "Authorization"),
      .has_body = *body_size > 0 || (length != NULL && strcmp(length, "0") != 0) ||
                  header(connection, "Transfer-Encoding") != NULL,
      .arguments = arguments.list,
      .argument_count = arguments.count,
  };
  *body_size = 0;
  return answer_request(server, connection, &request);
}

/* libmicrohttpd's own remarks on broken requests are nothing for the terminal. */
static void keep_quiet(void *user, const char *format, va_list values)
{
  (void)user, (void)format, (void)values;
}

bool watch_is_built(mo_error *error)
{
  (void)error;
  return true;
}

static bool is_loopback(const char *bind)
{
  return bind[0] == '\0' || strcmp(bind, "127.0.0.1") == 0 || strcmp(bind, "localhost") == 0;
}

static mousse_status set_guard(watch_guard *guard, const watch_options *o, mo_error *error)
{
  *guard = (watch_guard){.bound = ""};
  if (strlen(o->token) >= sizeof guard->token)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "token: at most %d characters",
                   GUARD_TOKEN - 1);
  if (strspn(o->token, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") !=
      strlen(o->token))
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT,
                   "token: letters, digits, - and _ only, so that it fits into an address");
  memcpy(guard->token, o->token, strlen(o->token) + 1);
  if (is_loopback(o->bind)) return MOUSSE_OK;
  snprintf(guard->bound, sizeof guard->bound, "%s", o->bind);
  if (gethostname(guard->machine, sizeof guard->machine - 1) != 0) guard->machine[0] = '\0';
  if (guard->token[0] == '\0' && !guard_make_token(guard->token))
    return mo_fail(error, MOUSSE_IO, "no random numbers for a token: give one with --token");
  return MOUSSE_OK;
}

/* IPv4 or IPv6, as it is written. */
static mousse_status set_address(struct sockaddr_storage *address, const watch_options *o,
                                 mo_error *error)
{
  struct sockaddr_in *four = (struct sockaddr_in *)address;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
  const char *bind = is_loopback(o->bind) ? "127.0.0.1" : o->bind;
  memset(address, 0, sizeof *address);
  if (inet_pton(AF_INET, bind, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)o->port);
    return MOUSSE_OK;
  }
  if (inet_pton(AF_INET6, bind, &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)o->port);
    return MOUSSE_OK;
  }
  return mo_fail(
      error, MOUSSE_INVALID_ARGUMENT,
      "bind is '%.100s': expected an address such as 127.0.0.1, 0.0.0.0 or ::", o->bind);
}

/* Runs are read with the same descriptors: connections leave some of them. */
static unsigned most_clients(void)
{
  enum { OTHERS = 64, LEAST = 16 };
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= WATCH_CLIENTS + OTHERS)
    return WATCH_CLIENTS;
  return files.rlim_cur > LEAST + OTHERS ? (unsigned)files.rlim_cur - OTHERS : LEAST;
}

static unsigned patience_of(const watch_options *o)
{
  return o->patience > 0 ? o->patience : WATCH_PATIENCE;
}

static mousse_status start_at(watch_server *s, const watch_options *o, mo_error *error)
{
  struct sockaddr_storage address;
  MO_TRY(set_address(&address, o, error));
  const unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                         (address.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0U);
  errno = 0;
  s->daemon = MHD_start_daemon(
      flags, 0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, keep_quiet, NULL,
      MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT,
      most_clients(), MHD_OPTION_CONNECTION_TIMEOUT, patience_of(o),
      MHD_OPTION_NOTIFY_CONNECTION, clients_notify, &s->clients, MHD_OPTION_NOTIFY_COMPLETED,
      clients_taken, &s->clients, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
      MHD_OPTION_END);
  if (s->daemon != NULL) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_IO,
                 "port %u of %s cannot be used: %s; without --port a free one is taken",
                 o->port, is_loopback(o->bind) ? "127.0.0.1" : o->bind,
                 errno != 0 ? strerror(errno) : "not allowed");
}

/* Without a wish, the usual port, and a free one where that is taken. */
static mousse_status start(watch_server *s, const watch_options *o, mo_error *error)
{
  watch_options at = *o;
  if (o->port != WATCH_ANY_PORT) return start_at(s, o, error);
  at.port = WATCH_USUAL_PORT;
  if (start_at(s, &at, error) == MOUSSE_OK) return MOUSSE_OK;
  at.port = 0;
  return start_at(s, &at, error);
}

static void write_address(watch_server *s, const watch_options *o)
{
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
  const unsigned port = info != NULL ? info->port : o->port;
  const char *bind = is_loopback(o->bind) ? "127.0.0.1" : o->bind;
  const bool any = strcmp(bind, "0.0.0.0") == 0 || strcmp(bind, "::") == 0;
  const char *host = any && s->guard.machine[0] != '\0' ? s->guard.machine : bind;
  const bool bracket = strchr(host, ':') != NULL;
  snprintf(s->address, sizeof s->address, "http://%s%.255s%s:%u/%s%s", bracket ? "[" : "", host,
           bracket ? "]" : "", port, s->guard.token[0] != '\0' ? "?token=" : "",
           s->guard.token);
}

mousse_status watch_open(watch_server **server, watch_model *model, const watch_options *o,
                         mo_error *error)
{
  watch_server *s = mo_allocate(NULL, sizeof *s);
  if (s == NULL) return mo_fail(error, MOUSSE_NO_MEMORY, "no memory for a server");
  s->model = model;
  s->streams.model = model;
  clients_open(&s->clients, patience_of(o));
  mousse_status status = set_guard(&s->guard, o, error);
  if (status == MOUSSE_OK) status = start(s, o, error);
  if (status != MOUSSE_OK) {
    clients_close(&s->clients);
    mo_release(NULL, s, sizeof *s);
    return status;
  }
  write_address(s, o);
  *server = s;
  return MOUSSE_OK;
}

void watch_turn(watch_server *s)
{
  watch_model_refresh(s->model);
  streams_wake(&s->streams);
  clients_hurry(&s->clients);
}

void watch_close(watch_server *s)
{
  if (s == NULL) return;
  streams_end(&s->streams);
  MHD_stop_daemon(s->daemon);
  clients_close(&s->clients);
  if (s->table != NULL) MHD_destroy_response(s->table);
  mo_release(NULL, s, sizeof *s);
}

const char *watch_address(const watch_server *s)
{
  return s->address;
}
