/* clients.h - connections, and how long a request may take on them.
 *
 * libmicrohttpd closes connections on which nothing happens. One that sends or takes a byte now and
 * then would keep its place for ever, and some hundred of these every place; so the head of a
 * request, and the answer, have a time in which they must be through. Streams of news have none.
 */
#ifndef MOUSSE_WATCH_CLIENTS_H
#define MOUSSE_WATCH_CLIENTS_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>

typedef struct watch_client watch_client;

typedef struct watch_clients {
  pthread_mutex_t lock;
  watch_client *first;
  double patience; /* seconds */
} watch_clients;

void clients_open(watch_clients *clients, double patience);
void clients_close(watch_clients *clients); /* when the server has stopped */

/* For libmicrohttpd: a connection begins or ends, an answer was taken. */
void clients_notify(void *clients, struct MHD_Connection *connection, void **client,
                    enum MHD_ConnectionNotificationCode what);
void clients_taken(void *clients, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode how);

/* The head of a request is there, and is answered. */
void clients_answered(watch_clients *clients, struct MHD_Connection *connection,
                      bool is_stream);

/* Ends the connections whose time is over. */
void clients_hurry(watch_clients *clients);

#endif
