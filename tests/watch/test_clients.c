/* test_clients.c - connections that keep their place by a byte now and then do not keep it. */
#include "base/clock.h"
#include "scratch.h"
#include "watch/watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SLOW = 20 };

static int connected(unsigned port)
{
  const struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int link = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(link >= 0);
  assert_int_equal(connect(link, (const struct sockaddr *)&address, sizeof address), 0);
  return link;
}

static unsigned port_of(const watch_server *server)
{
  return (unsigned)strtoul(strrchr(watch_address(server), ':') + 1, NULL, 10);
}

static bool has_ended(int link)
{
  char byte = 0;
  const ssize_t got = recv(link, &byte, 1, MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN);
}

/* Up to the end of the event that tells of the present state. */
static void read_stream(int link)
{
  char text[4096] = "";
  for (size_t used = 0; strstr(text, "data: ") == NULL;) {
    const ssize_t got = recv(link, text + used, sizeof text - used - 1, 0);
    assert_true(got > 0);
    used += (size_t)got;
    text[used] = '\0';
  }
  while (recv(link, text, sizeof text, MSG_DONTWAIT) > 0) continue;
}

static void heads_that_drip_in_are_ended(void **state)
{
  static const char ask[] = "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  static const char start[] = "GET / HTTP/1.1\r\nX: ";
  watch_model model;
  watch_server *server = NULL;
  mo_error error = {{0}};
  int slow[SLOW];
  size_t open = SLOW;
  signal(SIGPIPE, SIG_IGN);
  assert_int_equal(watch_model_open(&model, *state, &error), MOUSSE_OK);
  assert_int_equal(watch_open(&server, &model,
                              &(watch_options){.bind = "", .token = "", .patience = 1}, &error),
                   MOUSSE_OK);
  const int stream = connected(port_of(server));
  assert_int_equal(send(stream, ask, strlen(ask), 0), strlen(ask));
  for (size_t i = 0; i < SLOW; i++) {
    slow[i] = connected(port_of(server));
    send(slow[i], start, strlen(start), 0);
  }
  read_stream(stream);
  const double begin = mo_seconds();
  while (open > 0 && mo_seconds() - begin < 30) {
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    watch_turn(server);
    open = 0;
    for (size_t i = 0; i < SLOW; i++) {
      (void)!send(slow[i], "a", 1, MSG_NOSIGNAL); /* never silent for a second */
      open += !has_ended(slow[i]);
    }
  }
  assert_int_equal(open, 0);
  assert_false(has_ended(stream));
  for (size_t i = 0; i < SLOW; i++) close(slow[i]);
  close(stream);
  watch_close(server);
  watch_model_close(&model);
}

int main(void)
{
  const struct CMUnitTest tests[] = {scratch_test(heads_that_drip_in_are_ended)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
