/* meeting.c - see meeting.h. */
#include "property/meeting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everybody meets; the sums or the root's data lie in the middle. */
struct meeting {
  pthread_barrier_t barrier;
  struct {
    float *data;
    size_t count;
    int root; /* -1: a sum */
  } said[MEETING_MAX_RANKS];
  int ranks, fail_after;
};

static void meet(meeting_member *m, float *data, size_t count, int root)
{
  meeting *all = m->meeting;
  all->said[m->rank].data = data;
  all->said[m->rank].count = count;
  all->said[m->rank].root = root;
  pthread_barrier_wait(&all->barrier);
  for (int rank = 0; rank < all->ranks; rank++)
    if (all->said[rank].count != count || all->said[rank].root != root) {
      fprintf(stderr, "rank %d: %zu floats, root %d; rank %d: %zu floats, root %d\n", m->rank,
              count, root, rank, all->said[rank].count, all->said[rank].root);
      abort();
    }
}

static int fails(meeting_member *m)
{
  m->calls++;
  return m->meeting->fail_after >= 0 && m->calls > m->meeting->fail_after;
}

static int sum(void *context, float *data, size_t count)
{
  meeting_member *m = context;
  if (fails(m)) return -1;
  m->sums++;
  float *sums = calloc(count + 1, sizeof *sums);
  if (sums == NULL) abort();
  meet(m, data, count, -1);
  for (int rank = 0; rank < m->meeting->ranks; rank++)
    for (size_t i = 0; i < count; i++) sums[i] += m->meeting->said[rank].data[i];
  pthread_barrier_wait(&m->meeting->barrier);
  memcpy(data, sums, count * sizeof *sums);
  free(sums);
  return 0;
}

static int broadcast(void *context, float *data, size_t count, int root)
{
  meeting_member *m = context;
  if (fails(m)) return -1;
  meet(m, data, count, root);
  if (m->rank != root) memcpy(data, m->meeting->said[root].data, count * sizeof *data);
  pthread_barrier_wait(&m->meeting->barrier);
  return 0;
}

typedef struct seat {
  meeting_member member;
  meeting_fn fn;
} seat;

static void *take_part(void *argument)
{
  seat *s = argument;
  const mousse_comm comm = {s->member.rank, s->member.meeting->ranks, sum, broadcast,
                            &s->member};
  s->fn(&s->member, &comm);
  return NULL;
}

void meeting_run(int ranks, int fail_after, meeting_fn fn, void *const *users)
{
  meeting m = {.ranks = ranks, .fail_after = fail_after};
  seat seats[MEETING_MAX_RANKS];
  pthread_t threads[MEETING_MAX_RANKS];
  if (ranks > MEETING_MAX_RANKS) abort();
  pthread_barrier_init(&m.barrier, NULL, (unsigned)ranks);
  for (int rank = 0; rank < ranks; rank++) {
    seats[rank] = (seat){{.meeting = &m, .rank = rank, .user = users[rank]}, fn};
    if (pthread_create(&threads[rank], NULL, take_part, &seats[rank]) != 0) abort();
  }
  for (int rank = 0; rank < ranks; rank++) pthread_join(threads[rank], NULL);
  pthread_barrier_destroy(&m.barrier);
}
