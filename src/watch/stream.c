/* stream.c - server-sent events. */
#include "watch/stream.h"

#include "base/clock.h"
#include "base/json_text.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double comment_seconds = 10;
enum { MOST_NAMED = 100, STREAM_BLOCK = 4096 };

struct stream_client {
  watch_streams *streams;
  struct MHD_Connection *connection;
  stream_client *next;
  uint64_t told;  /* version of the model */
  double written; /* seconds: when something was sent last */
  bool asleep;    /* suspended */
  mo_buffer text; /* owned: what is being sent */
  size_t sent;    /* of it */
};

/* The paths of runs that changed. *all: there are more of them than are named, or the list of runs
 * itself has changed. */
static json_t *changed_runs(const watch_model *m, uint64_t since, bool *all)
{
  json_t *names = json_array();
  *all = m->list_version > since;
  for (size_t i = 0; i < m->count; i++) {
    if (m->runs[i]->version <= since) continue;
    if (json_array_size(names) < MOST_NAMED)
      json_array_append_new(names, mo_json_text(m->runs[i]->path));
    else
      *all = true;
  }
  return names;
}

/* Puts the next event into the text; false: there is nothing to tell. */
static bool prepare(stream_client *c)
{
  static const char head[] = "event: change\ndata: ", end[] = "\n\n", comment[] = ": here\n\n";
  const watch_model *m = c->streams->model;
  c->text.size = c->sent = 0;
  if (m->version == c->told) {
    const bool silent = mo_seconds() - c->written > comment_seconds;
    return silent && mo_buffer_add(&c->text, comment, strlen(comment));
  }
  bool all = false;
  json_t *names = changed_runs(m, c->told, &all);
  json_t *news = json_pack("{s:I, s:b, s:o}", "version", (json_int_t)m->version, "list", all,
                           "runs", names);
  char *text = json_dumps(news, JSON_COMPACT);
  json_decref(news);
  const bool whole = text != NULL && mo_buffer_add(&c->text, head, strlen(head)) &&
                     mo_buffer_add(&c->text, text, strlen(text)) &&
                     mo_buffer_add(&c->text, end, strlen(end));
  free(text);
  c->told = m->version;
  return whole;
}

static ssize_t hand_out(stream_client *c, char *data, size_t room)
{
  const size_t left = c->text.size - c->sent, part = left < room ? left : room;
  memcpy(data, c->text.data + c->sent, part);
  c->sent += part;
  c->written = mo_seconds();
  return (ssize_t)part;
}

/* Called by the server's thread for more to send. */
static ssize_t read_stream(void *client, uint64_t place, char *data, size_t room)
{
  stream_client *c = client;
  ssize_t given = 0;
  (void)place;
  watch_model_lock(c->streams->model);
  if (c->streams->closing)
    given = MHD_CONTENT_READER_END_OF_STREAM;
  else if (c->sent < c->text.size || prepare(c))
    given = hand_out(c, data, room);
  else {
    c->asleep = true;
    MHD_suspend_connection(c->connection);
  }
  watch_model_unlock(c->streams->model);
  return given;
}

static void free_stream(void *client)
{
  stream_client *c = client;
  watch_streams *s = c->streams;
  watch_model_lock(s->model);
  stream_client **at = &s->first;
  while (*at != c) at = &(*at)->next;
  *at = c->next;
  s->count--;
  watch_model_unlock(s->model);
  mo_buffer_close(&c->text);
  mo_release(NULL, c, sizeof *c);
}

/* A new client is told of the present version first. */
struct MHD_Response *stream_response(watch_streams *s, struct MHD_Connection *connection)
{
  stream_client *c = NULL;
  watch_model_lock(s->model);
  if (s->count < WATCH_STREAMS && !s->closing) c = mo_allocate(NULL, sizeof *c);
  if (c != NULL) {
    *c = (stream_client){.streams = s, .connection = connection, .next = s->first};
    s->first = c;
    s->count++;
  }
  watch_model_unlock(s->model);
  if (c == NULL) return NULL;
  struct MHD_Response *response = MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, c, free_stream);
  if (response == NULL) free_stream(c);
  return response;
}

static void wake(watch_streams *s, bool all)
{
  for (stream_client *c = s->first; c != NULL; c = c->next) {
    const bool news =
        s->model->version != c->told || mo_seconds() - c->written > comment_seconds;
    if (!c->asleep || !(all || news)) continue;
    c->asleep = false;
    MHD_resume_connection(c->connection);
  }
}

void streams_wake(watch_streams *s)
{
  watch_model_lock(s->model);
  wake(s, false);
  watch_model_unlock(s->model);
}

void streams_end(watch_streams *s)
{
  watch_model_lock(s->model);
  s->closing = true;
  wake(s, true);
  watch_model_unlock(s->model);
}
