/* clients.c - connections that take too long are shut down, which the server's thread sees as their
 * end. */
#include "watch/clients.h"

#include "base/clock.h"
#include "base/memory.h"

#include <math.h>
#include <sys/socket.h>

enum { HEAD_TIMES = 2, ANSWER_TIMES = 15 }; /* of the patience with a silent connection */

struct watch_client {
  watch_client *next;
  int socket; /* the server's, as long as the client is in the list */
  double until;
};

void clients_open(watch_clients *clients, double patience)
{
  *clients = (watch_clients){.patience = patience};
  pthread_mutex_init(&clients->lock, NULL);
}

void clients_close(watch_clients *clients)
{
  pthread_mutex_destroy(&clients->lock);
}

/* Without memory for one it has no such limit. */
static watch_client *begin(watch_clients *all, struct MHD_Connection *connection)
{
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  watch_client *c = info != NULL ? mo_allocate(NULL, sizeof *c) : NULL;
  if (c == NULL) return NULL;
  *c = (watch_client){.socket = info->connect_fd,
                      .until = mo_seconds() + HEAD_TIMES * all->patience};
  pthread_mutex_lock(&all->lock);
  c->next = all->first;
  all->first = c;
  pthread_mutex_unlock(&all->lock);
  return c;
}

/* Called before the socket is closed and its number is another's. */
static void end(watch_clients *all, watch_client *c)
{
  if (c == NULL) return;
  pthread_mutex_lock(&all->lock);
  watch_client **at = &all->first;
  while (*at != c) at = &(*at)->next;
  *at = c->next;
  pthread_mutex_unlock(&all->lock);
  mo_release(NULL, c, sizeof *c);
}

void clients_notify(void *clients, struct MHD_Connection *connection, void **client,
                    enum MHD_ConnectionNotificationCode what)
{
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    *client = begin(clients, connection);
  } else {
    end(clients, *client);
    *client = NULL;
  }
}

static void set_time(watch_clients *all, struct MHD_Connection *connection, double seconds)
{
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  watch_client *c = info != NULL ? info->socket_context : NULL;
  if (c == NULL) return;
  pthread_mutex_lock(&all->lock);
  c->until = mo_seconds() + seconds;
  pthread_mutex_unlock(&all->lock);
}

void clients_answered(watch_clients *clients, struct MHD_Connection *connection, bool is_stream)
{
  set_time(clients, connection, is_stream ? INFINITY : ANSWER_TIMES * clients->patience);
}

void clients_taken(void *clients, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode how)
{
  watch_clients *all = clients;
  (void)state, (void)how;
  set_time(all, connection, HEAD_TIMES * all->patience);
}

void clients_hurry(watch_clients *clients)
{
  const double now = mo_seconds();
  pthread_mutex_lock(&clients->lock);
  for (watch_client *c = clients->first; c != NULL; c = c->next) {
    if (c->until > now) continue;
    shutdown(c->socket, SHUT_RDWR);
    c->until = INFINITY;
  }
  pthread_mutex_unlock(&clients->lock);
}
