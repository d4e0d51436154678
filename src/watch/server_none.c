/* server_none.c - in place of the server where libmicrohttpd was not there to build it. */
#include "watch/watch.h"

bool watch_is_built(mo_error *error)
{
  mo_fail(error, MOUSSE_INVALID_ARGUMENT,
          "this program was built without libmicrohttpd, so it has no page to show: install "
          "libmicrohttpd-dev and build it again, or use 'mousse watch --terminal'");
  return false;
}

mousse_status watch_open(watch_server **server, watch_model *model,
                         const watch_options *options, mo_error *error)
{
  (void)server, (void)model, (void)options;
  watch_is_built(error);
  return MOUSSE_INVALID_ARGUMENT;
}

void watch_turn(watch_server *server)
{
  (void)server;
}

void watch_close(watch_server *server)
{
  (void)server;
}

const char *watch_address(const watch_server *server)
{
  (void)server;
  return "";
}
