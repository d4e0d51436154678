/* fuzz_request.c - a request to 'mousse watch' from any bytes, one field a line:
 *
 *     method, path, host, origin, site, cookie, authorization, then arguments NAME=VALUE
 *
 * Every answer has a status and a type; only a GET or HEAD to one of our own names, with the
 * token where there is one, is answered by 200; and nothing outside of the directory is shown.
 */
#include "base/file.h"
#include "fuzz.h"
#include "watch/answer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS = 7, MOST_ARGUMENTS = 16 };
static const char secret[] = "nobody may see this";

static const char metrics[] =
    "{\"step\": 0, \"tokens\": 0, \"val_loss\": 5}\n"
    "{\"step\": 1, \"tokens\": 9, \"loss\": 4, \"lr\": 1, \"grad_norm\": 1, \"seconds\": 2}\n"
    "{\"step\": 1, \"matrix\": \"h.0.q\", \"update_rms\": 0.5, \"ns_residual\": 1}\n";

static void write_text(const char *folder, const char *name, const char *text)
{
  char path[4096];
  FUZZ_CHECK(mo_path_join(path, sizeof path, folder, name, NULL) == MOUSSE_OK);
  FUZZ_CHECK(mo_file_write(path, text, strlen(text), NULL) == MOUSSE_OK);
}

/* One run, made once, beside a file that is none of our business. */
static watch_model *model(void)
{
  static watch_model made;
  static char folder[64] = "/tmp/mousse-fuzz-XXXXXX", runs[96], run[128];
  if (made.count > 0) return &made;
  FUZZ_CHECK(mkdtemp(folder) != NULL);
  snprintf(runs, sizeof runs, "%s/runs", folder);
  snprintf(run, sizeof run, "%s/a b", runs);
  FUZZ_CHECK(mo_make_directories(run, NULL) == MOUSSE_OK);
  write_text(folder, "secret", secret);
  write_text(run, "config.yaml", "num_iterations: 4\n");
  write_text(run, "metrics.jsonl", metrics);
  FUZZ_CHECK(watch_model_open(&made, runs, NULL) == MOUSSE_OK);
  watch_model_refresh(&made);
  FUZZ_CHECK(made.count == 1);
  return &made;
}

/* Cuts the text into lines, in place. */
static size_t cut_lines(char *text, char **lines, size_t most)
{
  size_t count = 0;
  for (char *rest = text; rest != NULL && count < most;) lines[count++] = strsep(&rest, "\n");
  return count;
}

static void check(const watch_answer *a, const watch_request *r, const watch_guard *guard)
{
  FUZZ_CHECK(a->status >= 200 && a->status < 600 && a->type != NULL);
  FUZZ_CHECK(a->size == 0 || a->content != NULL);
  FUZZ_CHECK(memmem(a->content, a->size, secret, strlen(secret)) == NULL);
  if (a->status != 200) return;
  FUZZ_CHECK(strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0);
  FUZZ_CHECK(r->host != NULL &&
             strspn(r->host, "0123456789abcdefABCDEF.:[]localhstLOCALHST") == strlen(r->host));
  FUZZ_CHECK(guard->token[0] == '\0' || r->argument_count > 0 || r->cookie != NULL ||
             r->authorization != NULL);
}

static void run_request(const watch_request *request, const watch_guard *guard)
{
  watch_answer answer;
  watch_answer_make(&answer, model(), guard, request);
  check(&answer, request, guard);
  watch_answer_release(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const watch_guard guards[] = {{.bound = ""},
                                       {.bound = "0.0.0.0", .token = "12345678"}};
  char *text = mo_allocate(NULL, size + 1), *lines[FIELDS + MOST_ARGUMENTS] = {NULL};
  watch_argument arguments[MOST_ARGUMENTS];
  FUZZ_CHECK(text != NULL);
  memcpy(text, data, size);
  const size_t count = cut_lines(text, lines, FIELDS + MOST_ARGUMENTS);
  size_t argument_count = 0;
  for (size_t i = FIELDS; i < count; i++) {
    char *value = strchr(lines[i], '=');
    if (value != NULL) *value++ = '\0';
    arguments[argument_count++] = (watch_argument){lines[i], value};
  }
  for (size_t i = 1; i < FIELDS; i++) /* an empty line: the request has none */
    if (lines[i] != NULL && i != 1 && lines[i][0] == '\0') lines[i] = NULL;
  const watch_request request = {.method = lines[0],
                                 .path = lines[1] != NULL ? lines[1] : "/",
                                 .host = lines[2],
                                 .origin = lines[3],
                                 .site = lines[4],
                                 .cookie = lines[5],
                                 .authorization = lines[6],
                                 .arguments = arguments,
                                 .argument_count = argument_count};
  for (size_t g = 0; g < 2; g++) run_request(&request, &guards[g]);
  mo_release(NULL, text, size + 1);
  return 0;
}
